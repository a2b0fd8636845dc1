package experiment

import (
	"fmt"
	"math"
	"slices"

	"sotto/config"
	"sotto/data"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/query"
	"sotto/tensor"
)

// QuestionParams are the keys of [algorithm] for algorithm query: what is asked of all
// owners' records in one release. See package query.
type QuestionParams struct {
	// Ask are the questions of algorithm query, such as "mean(age)": see docs/query.md.
	Ask []string `toml:"ask,omitempty"`
	// Shares say how much of the release each question gets: a question with share 2 has
	// half the noise of one with share 1. None: all have the same.
	Shares []float64 `toml:"shares,omitempty"`
	// Relative chooses the shares so that every count has the same relative error if
	// records are spread evenly.
	Relative bool `toml:"relative_errors,omitempty"`
	// level of the answers' confidence intervals, above .5 and at most .999999999;
	// default .95
	Level float64 `toml:"level,omitempty"`
	// Sampling widens intervals of all but counts and sums so that they hold the value of
	// the distribution that people were drawn from.
	Sampling bool `toml:"sampling,omitempty"`
	// Model is the folder of a finished run or node whose model is evaluated; its path is
	// relative to the folder of the run file. Questions may use its predictions as
	// variables: see docs/query.md.
	Model string `toml:"model,omitempty"`
	// ModelDigest is the digest of the model, in hex. It is filled in; if you give one,
	// it is checked.
	ModelDigest string `toml:"model_digest,omitempty"`
	// Records says which records are asked about: "all" (default) or, in a simulation and
	// with model, "test": those that the model's run held out for tests.
	Records string `toml:"records,omitempty"`

	questions *query.Plan // compiled for the records' variables; nil: the run learns
}

const (
	allRecords  = "all"
	testRecords = "test"
)

// Asks reports whether the run's records are what its questions make of them.
func Asks(f *File) bool {
	return slices.Contains(f.Spec.Asks, oracle.StatisticName)
}

func (p *QuestionParams) validate(f *File) error {
	if !Asks(f) {
		if err := p.none(f.Algorithm.Name); err != nil {
			return err
		}
	}
	switch {
	case p.Relative && p.Shares != nil:
		return config.Bad("shares", fmt.Sprintf("%d numbers", len(p.Shares)),
			"none with relative_errors = true, which chooses them")
	case p.Model == "" && p.ModelDigest != "":
		return config.Bad("model_digest", p.ModelDigest, "no value without model")
	case !slices.Contains([]string{"", allRecords, testRecords}, p.Records):
		return config.Bad("records", p.Records, allRecords+" or "+testRecords)
	case Asks(f) && p.Level == 0:
		p.Level = .95
	}
	if Asks(f) && !(p.Level > .5 && p.Level <= query.HighestLevel) {
		return config.Bad("level", p.Level, "above 0.5 and at most 0.999999999")
	}
	return nil
}

// none refuses what goes with questions.
func (p *QuestionParams) none(algorithm string) error {
	allowed := "nothing with algorithm " + algorithm
	switch {
	case len(p.Ask) > 0:
		return config.Bad("ask", p.Ask[0], allowed+": query asks")
	case p.Shares != nil:
		return config.Bad("shares", fmt.Sprintf("%d numbers", len(p.Shares)), allowed)
	case p.Relative:
		return config.Bad("relative_errors", p.Relative, allowed)
	case p.Level != 0:
		return config.Bad("level", p.Level, allowed)
	case p.Sampling:
		return config.Bad("sampling", p.Sampling, allowed)
	case p.Model != "":
		return config.Bad("model", p.Model, allowed)
	case p.ModelDigest != "":
		return config.Bad("model_digest", p.ModelDigest, allowed)
	case p.Records != "":
		return config.Bad("records", p.Records, allowed)
	}
	return nil
}

// validateSum checks the keys that a sum of all records has.
func (p *PrivacyParams) validateSum(algorithm string, noisy bool) error {
	switch {
	case p.SampleRate != 0:
		return config.Bad("sample_rate", p.SampleRate,
			"nothing with algorithm "+algorithm+", which reads all records")
	case p.BatchSize != 0:
		return config.Bad("batch_size", p.BatchSize,
			"nothing with algorithm "+algorithm+", which reads all records")
	case noisy && p.adjacency.HidesCount() && p.MinRecords < 1:
		return config.Bad("min_records", p.MinRecords,
			"with add-remove a public lower bound of the number of records, for delta to be compared with")
	case !p.adjacency.HidesCount() && p.MinRecords != 0:
		return config.Bad("min_records", p.MinRecords,
			"nothing but under add-remove: elsewhere record counts are public")
	case p.Persons.Gradient == oracle.SumOfPerson:
		return config.Bad("person_gradient", p.Persons.Gradient,
			"mean with algorithm "+algorithm+": a person adds the mean of its records")
	case noisy && p.MaxGradNorm != 1:
		return config.Bad("max_grad_norm", p.MaxGradNorm,
			"nothing, or 1, with algorithm "+algorithm+", whose clips follow from public bounds")
	}
	return nil
}

// ask makes of the records what the run's questions need of them: of all, for no model is
// trained that would have to be tested.
func (e builder) ask() error {
	f := e.File
	if !Asks(f) {
		return nil
	}
	all := e.Task.Split.Pool()
	q := &f.Algorithm.QuestionParams
	if q.Records == testRecords {
		all = e.Task.Split.Test
	}
	vars := all.Described()
	if q.Model != "" {
		j, err := readJudged(f)
		if err == nil && q.Records == testRecords {
			err = testsOf(all, f)
		}
		if err == nil {
			all, vars, err = j.predicted(all)
		}
		if q.Records != testRecords {
			e.Notes.Warnings = append(e.Notes.Warnings,
				"records that the model was trained on flatter it, if some are among those that are asked")
		}
		if err != nil {
			return f.At("algorithm", err)
		}
	} else if q.Records == testRecords {
		return f.At("algorithm", config.Bad("records", q.Records, allRecords+" without model"))
	}
	shares, err := q.Shares, error(nil)
	if q.Relative {
		if shares, err = query.RelativeShares(q.Ask, vars); err != nil {
			return f.At("algorithm", err)
		}
	}
	if q.questions, err = query.Compile(q.Ask, shares, vars); err != nil {
		return f.At("algorithm", err)
	}
	numbers := q.questions.Map(all)
	e.Task.Split = &data.Split{Train: numbers, Test: numbers, Derived: e.Task.Split.Derived}
	return nil
}

// QuestionsOf are the run's questions, compiled; nil where it learns.
func QuestionsOf(e *Experiment) []query.Part {
	if q := e.File.Algorithm.questions; q != nil {
		return q.Parts
	}
	return nil
}

// Expectations say of each question how far a count of it is off, before anything is
// asked.
func Expectations(e *Experiment) []string {
	q := e.File.Algorithm.questions
	if q == nil {
		return nil
	}
	var all []string
	there := 0.
	p := &e.File.Privacy
	if seesAll(e) && !p.adjacency.HidesCount() {
		for _, part := range e.Task.Parts {
			there += float64(p.units(&e.Task, part))
		}
	}
	for k := range q.Parts {
		all = append(all, q.Foretell(k, noiseOf(e), e.File.Algorithm.Level, there, p.Unit))
	}
	return all
}

// noiseOf is the standard deviation of the noise in the sums over all owners.
func noiseOf(e *Experiment) float64 {
	squares := 0.
	for i := range e.File.Topology.Agents {
		squares += math.Pow(planOf(e, i).Noise/e.Setup.Scheme.Counts(e.Seats.ID(min(i, len(e.Plans)-1))), 2)
	}
	return math.Sqrt(squares)
}

// Answers are what a run that asks questions has found, for a file.
type Answers struct {
	Owners   int            `json:"owners"` // how many there are
	Noise    float64        `json:"noise"`  // standard deviation of the noise in the sums, whose clip is 1
	Level    float64        `json:"level"`
	Sampling bool           `json:"sampling,omitempty"`
	Counted  string         `json:"counted,omitempty"` // person; empty: record
	Answers  []query.Answer `json:"answers"`
	// True are the same of the records themselves: of a simulation alone.
	True []query.Answer `json:"true,omitempty"`
}

// AnswersOf makes the answers of a model of the run, which is the average over all
// owners; nil where the run asks nothing. It is post-processing.
func AnswersOf(e *Experiment, model tensor.Vec) (*Answers, error) {
	plan := e.File.Algorithm.questions
	if plan == nil {
		return nil, nil
	}
	f, n := e.File, e.File.Topology.Agents
	a := &Answers{Owners: n, Noise: noiseOf(e), Level: f.Algorithm.Level, Sampling: f.Algorithm.Sampling}
	if f.Privacy.perPerson() {
		a.Counted = f.Privacy.Unit
	}
	o := query.Answerer{Level: a.Level, Sampling: a.Sampling}
	var err error
	if a.Answers, err = plan.Answers(widened(model, float64(n)), a.Noise, o); err != nil || !seesAll(e) {
		return a, err
	}
	sums, err := trueSums(e, plan.Dim)
	if err == nil {
		o.Sampling = false // they are of these people alone
		a.True, err = plan.Answers(sums, 0, o)
	}
	return a, err
}

// trueSums are those of all agents' records, or persons, without noise or clip.
func trueSums(e *Experiment, dim int) ([]float64, error) {
	sums := make([]float64, dim)
	for _, part := range e.Task.Parts {
		o := oracle.Statistic{ClipNorm: math.Inf(1), Adjacency: e.File.Privacy.adjacency,
			Unit: e.File.Privacy.unit, Persons: e.File.Privacy.Persons, Dim: dim}
		if err := o.Bind(oracle.Records{Data: e.Task.Split.Train, Index: part}, nil); err != nil {
			return nil, err
		}
		var v privacy.Value
		o.Evaluate(&v, nil, nil)
		for c, x := range v.Wide {
			sums[c] += x
		}
	}
	return sums, nil
}

func widened(v tensor.Vec, factor float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = factor * float64(x)
	}
	return out
}
