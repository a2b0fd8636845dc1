package experiment

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"regexp"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/experiment/finishing"
	"sotto/experiment/metric"
	"sotto/experiment/replication"
	"sotto/experiment/runfile"
	"sotto/oracle"
	"sotto/privacy/account"
	"sotto/sim"
	"sotto/topology"
)

// Builtin is the run file of the built-in task: generated data, no download.
//
//go:embed builtin.toml
var Builtin []byte

// File is a run file with every section decoded but not yet built: the packages it names
// still have to accept their own parameters. It is to be read: what was checked and
// decoded does not follow a field that is set later, and runs refuse it (see
// [Unchanged]). [Parse] another one, with other settings.
type File struct {
	doc         *runfile.Document
	Run         RunParams // keys before all sections
	Topology    TopologyParams
	Data        DataParams
	Model       ModelParams
	Algorithm   AlgorithmParams
	Privacy     PrivacyParams
	Evaluate    EvaluateParams
	Faults      sim.Faults // [faults], as is Adversaries
	Adversaries algo.Adversaries
	Replication replication.Params // [replication]
	Tuned       TunedParams        // zero without the section
	Clock       ClockParams        // zero but for agents that wake by clocks
	Token       TokenParams        // zero but for models that walk

	Spec   algo.Spec    // of the algorithm
	Pacing agent.Pacing // how the algorithm is driven
	Pace   *Pace        // what follows from that
	Steps  uint64       // rounds, wakes of all agents together, or ticks of tokens

	settings
}

// Sections of a run file that single runs refuse: packages sweep and tune read them.
const (
	SweepSection = "sweep"
	TuneSection  = "tune"
)

// RunParams are the keys of a run file that belong to no section.
type RunParams struct {
	// Name of the run and of its directory: 1 to 64 letters, digits, ".", "_" or "-", not
	// starting with one of these signs; default "run".
	Name string `toml:"name"`
	Seed uint64 `toml:"seed"` // seed of all random draws; default 1
	// Rounds of training, or steps of each token; default: the algorithm's own, or 100.
	Rounds uint64 `toml:"rounds" allowed:"1 to 4294967296"`
	// Trial is the number, from 1, of this run in a search: each trial has its own
	// batches and noise. 0: no search.
	Trial uint64 `toml:"trial,omitempty"`
}

// TopologyParams is the [topology] section, beside the parameters of the graph itself:
// see topology.Spec.
type TopologyParams struct {
	Graph  string `toml:"graph"`  // who talks to whom, as a family of graphs; default "ring"
	Agents int    `toml:"agents"` // how many owners take part, 1 to 16,777,216; default 10
	// Weights is the rule of the mixing matrix; default "metropolis", for lists that have
	// weights "file", for directed graphs "column", for similar agents "objective".
	Weights string `toml:"weights,omitempty"`
	// Dropout is the probability, 0 to below 1, that a link is missing from a round.
	Dropout float64 `toml:"dropout,omitempty"`
	// Window is for graphs whose links change: the links of each block of so many rounds
	// together, 1 to 1,000, must connect all agents. Default: 10 with dropout, otherwise
	// the number of rounds after which the graph repeats.
	Window uint64 `toml:"window,omitempty" allowed:"1 to 1000"`
	// Wake "pair" is for algorithm gossip-average: in every round one random agent
	// averages with one random neighbor. "": all average with all neighbors.
	Wake string `toml:"wake,omitempty"`
	// Vectors says from which vectors a graph of similar agents computes angles: "hidden"
	// (default), the vectors behind generated data, or "data", each agent's mean record,
	// where each record is multiplied by its label of two (-1 or 1) or by its target.
	// Only a run that is not private, or has [replication] uncharged, may use "data".
	Vectors string `toml:"vectors,omitempty"`
}

// Directed reports whether links have one direction.
func (p *TopologyParams) Directed() bool {
	_, ok := topology.Digraphs[p.Graph]
	return ok
}

// DataParams is the [data] section, beside the parameters of data set and partition.
type DataParams struct {
	Dataset    string `toml:"dataset"`     // where the records come from; default "glyphs"
	Partition  string `toml:"partition"`   // how records are split over agents; default "iid"
	AllowEmpty bool   `toml:"allow_empty"` // whether agents may have no records to train on
	// UnitColumn is the column of an owner's file with the id of the person each record
	// belongs to.
	UnitColumn string `toml:"unit_column,omitempty"`
	// Schema is the file that says what a record of data set table is; its path is
	// relative to the folder of the run file.
	Schema string `toml:"schema,omitempty"`
	// SchemaDigest is the digest of the schema, in hex. It is filled in, so that it is
	// part of the run's identity; if you give one, it is checked.
	SchemaDigest string         `toml:"schema_digest,omitempty"`
	schema       *schema.Schema // once it is read
	memory       *data.Split    // of BuildOn
	oracle.Augmentation
	Arrivals
}

func (p *DataParams) augmented() bool { return p.Augmentation != (oracle.Augmentation{}) }

// ModelParams is the [model] section, beside the parameters of the model itself.
type ModelParams struct {
	Name      string `toml:"name"`                // what is trained; default "mlp"
	Precision string `toml:"precision,omitempty"` // of matrix products: "float32" (default) or "bf16"
	// InitFrom is a safetensors file of public initial parameters, which cost no privacy.
	// builtin:NAME is a file that comes with the program.
	InitFrom string `toml:"init_from,omitempty"`
	// InitDigest is the file's SHA-256 in hex. It is filled in, so that it is part of the
	// run's identity; if you give one, it is checked.
	InitDigest string `toml:"init_digest,omitempty"`
	// TrainLayers is how many of the last layers with parameters are trained and sent;
	// the layers before them keep the values of init_from. 0: all layers are trained.
	TrainLayers int `toml:"train_layers,omitempty"`
	// Personal is the section [personal].
	Personal finishing.Params `toml:"-"`
}

// EvaluateParams is the [evaluate] section.
type EvaluateParams struct {
	// Every is the number of rounds between two tests of the models: of wakes of all
	// agents together, or of steps of each token, if the algorithm has no rounds.
	// Default: a tenth of the run.
	Every uint64 `toml:"every" allowed:"1 or more"`
	// On says what each agent's model is tested on: "all" (default), the whole test set;
	// "own", the agent's own test records or, if it has none, those that validation holds
	// out of its records; "validation", all held-out records.
	On    string `toml:"on"`
	Limit int    `toml:"limit,omitempty"` // number of test records that are used, the first ones; 0: all
	// Validation, 0 to below 1, is the share of every agent's records that is held out.
	Validation float64 `toml:"validation,omitempty"`
	ScoreParams
	FoldParams
	// Network adds to the results, for algorithm gossip-average, how much any one agent
	// learns about another's value, exactly.
	Network bool `toml:"network,omitempty"`
	// Agents is the number of agents whose models are tested, evenly spaced; 0: all.
	Agents int `toml:"agents,omitempty"`
	metric.Params
}

// ScoreParams are the keys of [evaluate] for a score that is released.
type ScoreParams struct {
	// Score has every agent release, after the last round, the noisy "accuracy" or "loss"
	// of its model on its own held-out records. The release is charged, on top of
	// target_epsilon.
	Score string `toml:"score,omitempty"`
	// noise standard deviation divided by score_clip; default 10
	ScoreNoise float64 `toml:"score_noise_multiplier,omitempty"`
	// largest loss that one record can count; for accuracy it is 1
	ScoreClip float64 `toml:"score_clip,omitempty"`
}

const builtinName = "the built-in run file" // in errors

// Read reads the run file at path, or the built-in task for "", applies "key=value"
// settings and decodes all that does not depend on data. Bad input is a *config.Error, or
// an error that names file and line.
func Read(path string, set []string) (*File, error) {
	b, name := Builtin, builtinName
	if path != "" {
		var err error
		if b, err = os.ReadFile(path); err != nil {
			return nil, err
		}
		name = path
	}
	return Parse(name, b, set)
}

// Parse is Read on bytes; file names them in errors.
func Parse(file string, b []byte, set []string) (*File, error) {
	doc, err := runfile.Parse(file, b)
	if err != nil {
		return nil, err
	}
	if doc.Has(SweepSection) {
		return nil, doc.Locate("", config.Bad(SweepSection, "a sweep",
			"no section [sweep] in a single run: sotto sweep runs all its cells"))
	}
	for _, s := range set {
		if err := doc.Set("--set", s); err != nil {
			return nil, err
		}
	}
	return Decode(doc)
}

// Decode reads the sections of a run file.
func Decode(doc *runfile.Document) (*File, error) {
	if doc == nil {
		return nil, config.Bad("run file", "none", "one of runfile.Parse")
	}
	if doc.Has(TuneSection) {
		return nil,
			doc.Locate("", config.Bad(TuneSection, "a search", "no section [tune] here: sotto tune searches"))
	}
	if err := doc.RefuseSections("algorithm", "clock", "data", "evaluate", "faults", "model", PersonalSection,
		"privacy", "replication", "token", "topology", TunedSection); err != nil {
		return nil, err
	}
	f := &File{
		doc:       doc,
		Run:       RunParams{Name: "run", Seed: 1, Rounds: 100},
		Topology:  TopologyParams{Graph: "ring", Agents: 10},
		Data:      DataParams{Dataset: "glyphs", Partition: "iid"},
		Model:     ModelParams{Name: "mlp"},
		Algorithm: AlgorithmParams{Name: "dsgd"},
		Privacy: PrivacyParams{
			Mechanism:   "gaussian",
			TargetDelta: 1e-5,
			Adjacency:   "zero-out",
			Unit:        "record",
			Accountant:  account.Default,
		},
		Evaluate: EvaluateParams{On: "all"},
		Faults:   sim.DefaultFaults(),
	}
	for _, part := range sections(f) {
		if err := doc.Read(part.name, part.params); err != nil {
			return nil, err
		}
	}
	if err := readTuned(f); err != nil {
		return nil, err
	}
	var err error
	if f.Spec, err = algo.Find(f.Algorithm.Name); err != nil {
		return nil, f.At("algorithm", err)
	}
	if _, given := doc.Given("rounds"); !given && f.Spec.Rounds > 0 {
		f.Run.Rounds = f.Spec.Rounds
	}
	f.Pacing, f.Pace = f.Spec.Pacing, paces[f.Spec.Pacing]
	if err := f.Pace.keys.read(f); err != nil {
		return nil, err
	}
	if err := readPersonal(f); err != nil {
		return nil, err
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	read := *f
	f.settings.read = &read
	return f, nil
}

// Section gives the decode function that a package fills its own parameters with.
func (f *File) Section(name string) func(any) error { return f.doc.Decoder(name) }

// At completes an error about a section's keys with file, line and dotted key; nil stays.
func (f *File) At(section string, err error) error { return f.doc.Locate(section, err) }

var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// validate checks every section by itself, then what they may have together.
func (f *File) validate() error {
	if !runName.MatchString(f.Run.Name) {
		return f.Refuse("name", f.Run.Name,
			"letters, digits, dot, dash and underscore, 1 to 64, a letter or digit first")
	}
	if f.Run.Rounds < 1 || f.Run.Rounds > 1<<32 {
		return f.Refuse("rounds", f.Run.Rounds, "1 to 4294967296")
	}
	if n := f.Topology.Agents; n < 1 || n > 1<<24 {
		return f.Refuse("topology.agents", n, "1 to 16777216")
	}
	if err := complete(f); err != nil {
		return err
	}
	for _, part := range []struct {
		section string
		check   func() error
	}{
		{"algorithm", func() error { return f.Algorithm.validate(f) }},
		{"evaluate", func() error { return f.Evaluate.validate(f.Topology.Agents) }},
		{"evaluate", func() error { return validateFolds(f) }},
		{f.Pace.keys.section, func() error { return f.Pace.keys.check(f) }},
		{"data", func() error { return validateArrival(f) }},
		{"faults", func() error { return f.Adversaries.Complete(f.Topology.Agents) }},
		{"privacy", func() error { return f.Privacy.parse(f) }},
	} {
		if err := f.At(part.section, part.check()); err != nil {
			return err
		}
	}
	if err := cmp.Or(f.Check(features), f.At("faults", sim.CheckFaults(f.Faults, f.Pacing))); err != nil {
		return err
	}
	if err := f.At("replication", f.Replication.Validate(replicated(f))); err != nil {
		return err
	}
	if err := f.At("privacy", validatePrivacy(f)); err != nil {
		return err
	}
	if err := f.At("evaluate", f.Evaluate.validateHeldOut(f.Private())); err != nil {
		return err
	}
	return refuseZeros(f)
}

// complete fills in what follows from other keys.
func complete(f *File) error {
	var ok bool
	if f.mech, ok = mechanisms[f.Privacy.Mechanism]; !ok {
		return f.Refuse("privacy.mechanism", f.Privacy.Mechanism, config.OneOf(mechanisms))
	}
	if f.Steps = f.Pace.length.steps(f); f.Steps > maxWakes {
		return f.Refuse("clock.wakes", f.Steps, "1 to 2^40")
	}
	if f.Has(algo.OwnModels) && f.Topology.Weights == "" {
		f.Topology.Weights = objectiveWeights
	}
	if f.Evaluate.Every == 0 {
		f.Evaluate.Every = max(1, f.Steps/10)
	}
	return nil
}

// replicated is what deviations of publications may depend on.
func replicated(f *File) *replication.Run {
	p, m := &f.Privacy, f.Mechanism()
	return &replication.Run{
		Algorithm:  f.Algorithm.Name,
		Spec:       f.Spec,
		Mechanism:  p.Mechanism,
		Private:    m.Noisy(),
		Adaptive:   p.Adaptive(),
		Pairwise:   m.Pairwise,
		Local:      m.Perturbs,
		Owner:      p.unit == account.Owner(),
		Adjacency:  p.adjacency,
		BatchSize:  p.BatchSize,
		SampleRate: p.SampleRate,
		Accountant: p.Accountant,
	}
}

func (p *EvaluateParams) validate(agents int) error {
	switch {
	case p.On != "all" && p.On != "own" && p.On != "validation":
		return config.Bad("on", p.On, "one of all, own, validation")
	case p.Limit < 0:
		return config.Bad("limit", p.Limit, "at least 0 (0: the whole test set)")
	case p.Agents < 0 || p.Agents > agents:
		return config.Bad("agents", p.Agents, "0 (all) to the number of agents")
	}
	return p.Params.Validate()
}

const pairWake = "pair" // randomised pairwise gossip

// Effective returns the complete configuration in force, sorted and with all defaults. It
// is complete only after Build, when every package has decoded its parameters.
func (f *File) Effective() ([]byte, error) {
	b, err := f.doc.Effective()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.doc.File(), err)
	}
	return b, nil
}

// ReadBytes is Parse on the file at path, with its bytes, which FileDigest takes.
func ReadBytes(path string) (*File, []byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := Parse(path, b, nil)
	return f, b, err
}
