package trained

import (
	"path/filepath"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/model/score"
	"sotto/tensor"
)

// Evaluation is the figures of the model on labelled records, each with its interval;
// package score defines them. They are statistics of those records: private where these
// are.
type Evaluation struct {
	Records int `json:"records"`
	// Persons of whom some have several records are drawn in the place of records; 0:
	// records are.
	Persons   int             `json:"persons,omitempty"`
	Dropped   int             `json:"rows_without_prediction"`
	Bootstrap score.Bootstrap `json:"bootstrap"`
	// Classes are the names in order. Figures of two classes are about the second one.
	Classes []string `json:"classes,omitempty"`
	Unit    string   `json:"unit,omitempty"` // of a regression's target, if known
	Comparison
	// Confusion counts records: a row for each class, a column for each that is
	// predicted. It is left out with more than 20 classes.
	Confusion   [][]int     `json:"confusion,omitempty"`
	Calibration []score.Bin `json:"calibration,omitempty"`
}

// Comparison is the figures of a model beside those of a baseline.
type Comparison struct {
	// Order lists the figures as they are shown.
	Order   []string                `json:"-"`
	Figures map[string]score.Figure `json:"figures"`
	// Baseline are those of a model that knows nothing but labels: see BaselineOf.
	Baseline   map[string]score.Figure `json:"baseline"`
	BaselineOf string                  `json:"baseline_of"`
	// Less are Figures less Baseline, on the same resamples.
	Less map[string]score.Figure `json:"less_baseline"`
}

// maxConfusion is the most classes of a confusion matrix.
const maxConfusion = 20

// labelled is records with what is true of them, and what a baseline learns from.
type labelled struct {
	labels, training []int32
	targets, known   []float64
	persons          []int32 // of each record, or nil
	of               string
}

// Evaluate judges the model on records of ReadLabelled. The baseline predicts the most
// frequent class, or the mean target, of the very same records. Records of one id are one
// person's; a model without a schema reads no ids, and takes each as another person's.
func (m *Model) Evaluate(r *Records) (*Evaluation, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	z, err := m.outputs(r.X)
	if err != nil {
		return nil, err
	}
	if r.Labels == nil && r.Targets == nil {
		return nil, config.Bad("records", "no labels", "records of ReadLabelled")
	}
	e, err := m.judge(z, labelled{r.Labels, r.Labels, r.Targets, r.Targets, r.persons(), "these records"})
	if err != nil {
		return nil, err
	}
	e.Dropped = len(r.Dropped)
	return e, nil
}

// EvaluateHeldOut judges the model on the test records of its own data set, which is
// loaded from dataDir; see experiment.File.Build. The baseline learns from the training
// records.
func (m *Model) EvaluateHeldOut(dataDir string) (*Evaluation, error) {
	if m.Kind() == Sample {
		_, err := m.outputs(tensor.Mat{})
		return nil, err
	}
	if rundir.IsNode(m.dir) || rundir.IsNode(filepath.Dir(m.dir)) { // or an owner's own one
		return nil, &config.Error{Key: "data", Found: "nothing",
			Allowed: "a file of labelled records: the state of a node has none"}
	}
	f, err := experiment.Read(filepath.Join(m.dir, rundir.ConfigFile), nil)
	if err != nil {
		return nil, err
	}
	run, err := f.Build(dataDir)
	if err != nil {
		return nil, err
	}
	t := &run.Task
	if err := heldOut(m.dir, t.Split.Test.Digest); err != nil {
		return nil, err
	}
	train, test := t.Split.Train, t.Split.Test
	z := tensor.NewMat(test.Len(), t.Model.Outputs())
	// of a model whose first layers are fixed the records are what these make of them
	t.Model.Predict(z, m.theta[len(m.theta)-t.Model.Dim():], test.X, new(model.Workspace))
	natural := func(v []float32) []float64 { return m.targets(v) }
	return m.judge(z, labelled{test.Labels, train.Labels, natural(test.Targets), natural(train.Targets),
		test.Units, "the training records"})
}

// heldOut wants test records of a digest to be those that the run in dir held out: files
// may have changed since.
func heldOut(dir, digest string) error {
	held, err := rundir.TestDigest(dir)
	if err == nil && held == digest {
		return nil
	}
	found := "other test records than those that the run held out"
	if err != nil {
		found = "no " + rundir.ManifestFile + " that says which test records the run held out"
	}
	return &config.Error{File: dir, Found: found,
		Allowed: "the data set as the run had it, or labelled records by --data FILE"}
}

// judge computes the figures of outputs z.
func (m *Model) judge(z tensor.Mat, l labelled) (*Evaluation, error) {
	if z.Rows == 0 {
		return nil, config.Bad("records", 0, "at least one that the model predicts")
	}
	var own, simple score.Scored
	var err error
	e := &Evaluation{Records: z.Rows, Persons: score.Persons(l.persons), Bootstrap: score.Usual(),
		Classes: m.Classes()}
	rows := make([]float64, 0, z.Rows*z.Cols)
	for i := range z.Rows {
		for _, v := range z.Row(i) {
			rows = append(rows, float64(v))
		}
	}
	kind := m.Kind()
	if kind == Value {
		for i, v := range rows {
			rows[i] = m.natural(v)
		}
		_, e.Unit = m.Target()
		e.BaselineOf = "the mean target of " + l.of
		of, mean := score.Regression, score.Mean
		if model.Counts(m.net) {
			of, mean = score.Counts, score.MeanCount
		}
		if own, err = of(rows, l.targets); err == nil {
			simple, err = mean(l.known, l.targets)
		}
	} else {
		of := score.Logits
		if kind == Margins {
			of = score.Margins
		}
		e.BaselineOf = "the most frequent class of " + l.of
		var p *score.Predictions
		if p, err = of(rows, z.Cols, m.shape.Classes, l.labels); err == nil {
			if m.shape.Classes <= maxConfusion {
				e.Confusion = p.Confusion()
			}
			e.Calibration, _ = p.Calibration() // none: the figure calibration_error says why
			own = p
			simple, err = score.Majority(l.training, m.shape.Classes, l.labels)
		}
	}
	if err != nil {
		return nil, err
	}
	all, err := e.Bootstrap.JudgeBy(l.persons, []score.Scored{own}, []score.Scored{simple})
	if err != nil {
		return nil, err
	}
	e.Order, e.Figures, e.Baseline = score.Names(own), all[0].Figures, all[1].Figures
	e.Less = map[string]score.Figure{}
	for _, name := range e.Order {
		e.Less[name] = all[0].Less(&all[1], name)
	}
	return e, nil
}

// Headline is the figure that is named first.
func (e *Evaluation) Headline() string { return e.Order[0] }
