// Package experiment makes agents from a run file.
//
// A [File] is a run file whose sections are decoded and fit together: the table features
// says what does not. Build loads the data and lets every package decode its parameters;
// an [Experiment] is what comes of it. Its Setup and Plans are public: what every agent
// is going to ask, and at which noise (package plan). Its Task holds the records.
//
// [Experiment.Party] makes one agent of it, for a [Seat]: in a simulation, as a daemon
// (package owner), under audit (package attack). There is no other way to an agent, so
// that what is planned is what is asked, charged and answered.
//
// The package runs nothing. Simulations stand in experiment/run, sweeps and searches
// above it, and a daemon's seat in experiment/owner.
package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/data/memory"
	"sotto/experiment/metric"
	"sotto/experiment/plan"
	"sotto/model"
	"sotto/privacy"
	"sotto/tensor"
	"sotto/topology"
)

// EngineVersion changes whenever the same configuration and seed give other results.
const EngineVersion = "4"

// Experiment is a run file that every package has accepted, with its data loaded.
type Experiment struct {
	File    *File         // is not to be changed: see Unchanged
	Factory agent.Factory // of the run's algorithm
	Graphs  Graphs
	Task    Task // the only field with records
	// Setup is what plans are made from, and holds the scheme of noise that answers.
	Setup plan.Setup
	Plans []plan.Agent // by agent; of an owner its own alone
	Clock Activations
	Notes Notes
	Seats Seats

	// Effective is the complete configuration in force, a run file.
	Effective []byte
}

// Seats are the agents that this process plans and seats: all, or one for an owner.
type Seats struct {
	Self  agent.ID        // number of the first
	Owned bool            // there is one, which does not know the others' records
	noise privacy.Planned // that its plans are priced by
}

// ID is the number of the agent at a place among those of this process.
func (s Seats) ID(place int) agent.ID { return s.Self + agent.ID(place) }

// place is where an agent stands among them.
func (s Seats) place(id agent.ID) int { return int(id - s.Self) }

// Graphs are those of the run, and constants of the first round's.
type Graphs struct {
	Schedule     topology.Schedule
	Spectrum     topology.Info // of the first round
	LambdaMin    float64       // a lower bound of the smallest eigenvalue of the mixing matrix
	MinNeighbors int           // fewest that an agent hears
}

// Task is what is learned, and from what.
type Task struct {
	Model model.Model
	Init  tensor.Vec // common initial parameters, length Model.Dim()
	// Backbone is what the trained head belongs to; nil: Model is whole.
	Backbone *backbone

	Split      *data.Split   // what is trained on, and tested with
	Parts      [][]int32     // rows of Split.Train, by agent
	Arrivals   []uint32      // by row: the round before which it comes; nil: all are there from the start
	HeldOut    [][]int32     // rows that each agent holds out from training; nil: none
	Validation *data.Dataset // all of them, by agent

	Tests  []*model.Batch // by agent; all the same where every agent is tested on all
	Tested []int          // the agents that are tested, ascending
	Local  localNoise     // of records that are perturbed once
}

// Classifies says that the model's outputs stand for classes, so that it has an accuracy.
func (t *Task) Classifies() bool {
	return t.Split.Train.Classes > 0 && !model.Reconstructs(t.Model)
}

// Notes are what a reader must know of a run before it has begun.
type Notes struct {
	Overrides []string // of refusals; they stand in every ledger
	Warnings  []string // about settings that weaken or waste privacy
}

// builder makes an Experiment, step by step.
type builder struct{ *Experiment }

func (e builder) planner() planner { return planner(e) }

// Build loads the data and lets every package decode its parameters. dataDir is the data
// folder. Bad input is a *config.Error, or wraps one.
func (f *File) Build(dataDir string) (*Experiment, error) { return f.BuildWith(dataDir, nil) }

// BuildWith is Build with data sets that other runs may have loaded.
func (f *File) BuildWith(dataDir string, cache *data.Cache) (*Experiment, error) {
	e := builder{&Experiment{File: f}}
	if err := Unchanged(f); err != nil {
		return nil, err
	}
	if err := e.planner().prepare(); err != nil {
		return nil, err
	}
	var err error
	_, similar := topology.Similarities[f.Topology.Graph]
	if !similar {
		if err := e.buildGraph(tensor.Mat{}); err != nil {
			return nil, err
		}
	}
	if err = e.planner().newFactory(); err != nil {
		return nil, err
	}
	if _, ok := data.Datasets[f.Data.Dataset]; !ok && f.Data.Dataset != memory.Name {
		return nil, f.At("data", config.Bad("dataset", f.Data.Dataset, config.OneOf(data.Datasets)))
	}
	if e.Task.Split, err = load(f, dataDir, cache); err != nil {
		return nil, f.At("data", err)
	}
	if err := f.At("evaluate", e.takeFold()); err != nil {
		return nil, err
	}
	e.Notes.Warnings = append(e.Notes.Warnings, tableRemarks(e.Task.Split.Train)...)
	if err := e.ask(); err != nil {
		return nil, err
	}
	if name := e.Task.Split.Features; name != "" && f.Data.augmented() {
		return nil, f.At("data", config.Bad("augmentations", f.Data.Augmentation.Views,
			"no augmentation with features = \""+name+"\", which are computed once for each record"))
	}
	if err := e.checkPrior(); err != nil {
		return nil, err
	}
	if err := e.buildTask(similar); err != nil {
		return nil, err
	}
	if err := e.ready(); err != nil {
		return nil, err
	}
	if err := e.planner().makePlans(); err != nil {
		return nil, f.At("privacy", err)
	}
	if err := f.At("evaluate", f.Evaluate.CheckHidden(e.Task.Split.GroundTruth, e.Task.Model.Dim())); err !=
		nil {
		return nil, err
	}
	if f.Tuned.Cost == CostNotIncluded {
		e.Notes.Overrides = append(e.Notes.Overrides, StampNotIncluded)
	}
	if e.Effective, err = f.Effective(); err != nil {
		return nil, err
	}
	return e.Experiment, e.buildTests()
}

// buildTask deals the records to the agents, and makes the model and, where it compares
// records, the graph. All sections of the run file are then read.
func (e builder) buildTask(similar bool) error {
	f, err := e.File, e.checkUnits()
	if err != nil {
		return err
	}
	train := e.Task.Split.Train
	if e.Task.Parts, err = data.Partition(f.Data.Partition, train, f.Topology.Agents, f.Run.Seed,
		f.Section("data")); err != nil {
		return f.At("data", err)
	}
	if err = e.drawArrivals(); err != nil {
		return err
	}
	if err = e.holdOut(); err != nil {
		return f.At("evaluate", err)
	}
	if similar {
		vectors, err := e.vectors()
		if err != nil {
			return err
		}
		if err := e.buildGraph(vectors); err != nil {
			return err
		}
	}
	if err := e.newModel(); err != nil {
		return err
	}
	if err := checkPersonal(e.Experiment); err != nil {
		return err
	}
	return f.doc.Finish()
}

// newModel makes the model for the records.
func (e builder) newModel() error {
	f, err := e.File, error(nil)
	if e.Task.Model, err = model.New(f.Model.Name, e.Task.shape(), f.Section("model")); err != nil {
		return f.At("model", err)
	}
	if err := f.Data.Augmentation.Validate(e.Task.Split.Train.Shape, e.Task.Model); err != nil {
		return f.At("data", err)
	}
	if p := f.Model.Precision; p != "" {
		e.Task.Model, err = model.WithPrecision(e.Task.Model, p)
	}
	return f.At("model", err)
}

// ready looks at the graph and sets the parameters that all agents start from.
func (e builder) ready() error {
	f := e.File
	if err := e.analyze(); err != nil {
		return f.At("topology", err)
	}
	if err := e.initialise(); err != nil {
		return f.At("model", err)
	}
	if f.Model.TrainLayers != 0 {
		return e.trainHead()
	}
	return nil
}

func (e builder) buildGraph(vectors tensor.Mat) error {
	f := e.File
	spec, err := graphSpec(f, f.Run.Seed), error(nil)
	spec.Vectors, spec.AllowUnbalanced = vectors, e.Setup.UnbalancedWeights
	e.Graphs.Schedule, err = topology.Build(spec, f.Section("topology"))
	return f.At("topology", err)
}

// shape is what the model is built for.
func (t *Task) shape() model.Shape {
	d := t.Split.Train
	return model.Shape{Height: d.Shape[0], Width: d.Shape[1], Channels: d.Shape[2], Classes: d.Classes,
		Numbers: model.FormatNumbers(numbersOf(d))}
}

func (e builder) analyze() error {
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return err
	}
	if e.Graphs.Spectrum, err = topology.Analyze(g); err != nil {
		return err
	}
	e.Graphs.LambdaMin = lowest(g, &e.Graphs.Spectrum)
	return nil
}

// lowest is a lower bound of the smallest eigenvalue of a mixing matrix: the eigenvalue
// itself where it was computed, and by Gershgorin's circles 2 min w_ii - 1 elsewhere.
func lowest(g *topology.Graph, info *topology.Info) float64 {
	if info.Computed {
		return info.LambdaN
	}
	least := 1.
	for i := range g.Agents() {
		least = min(least, g.SelfWeight(agent.ID(i)))
	}
	return max(-1, 2*least-1)
}

// Honest lists the agents that are no adversaries, ascending; where tokens walk, which
// carry the models, the tokens.
func (e *Experiment) Honest() []int {
	if e.File.Pace.Walking {
		return metric.Evenly(e.File.Token.Count, 0)
	}
	var agents []int
	for i := range e.File.Topology.Agents {
		if !e.File.Adversaries.Has(i) {
			agents = append(agents, i)
		}
	}
	return agents
}

// known is what agents know of the first round's graph.
func (g *Graphs) known() agent.Graph {
	k := agent.Graph{SLEM: 1, Lambda2: 1, LambdaMin: g.LambdaMin, MinNeighbors: g.MinNeighbors}
	if g.Spectrum.Computed {
		k.SLEM, k.Lambda2 = 1-g.Spectrum.AbsoluteGap, g.Spectrum.Lambda2
	}
	return k
}

// Digest identifies the configuration: the SHA-256 of the effective run file.
func (e *Experiment) Digest() string {
	sum := sha256.Sum256(e.Effective)
	return hex.EncodeToString(sum[:])
}

// Identity is what a run directory is named after: configuration, data, engine and
// arithmetic.
func (e *Experiment) Identity() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n%s\n%s\n%s\n", EngineVersion, e.Arithmetic(), e.Digest(),
		e.Task.Split.Train.Digest,
		e.Task.Split.Test.Digest)
	return hex.EncodeToString(h.Sum(nil))
}

// load returns the data set that the run file names, which other cells may have loaded.
func load(f *File, dataDir string, cache *data.Cache) (*data.Split, error) {
	if f.Data.Dataset == memory.Name {
		return inMemory(f)
	}
	section, err := f.doc.Section("data")
	if err != nil {
		return nil, err
	}
	params, err := section.Encode()
	if err != nil {
		return nil, err
	}
	s, err := SchemaOf(f)
	if err != nil {
		return nil, err
	}
	return cache.Load(f.Data.Dataset, sourceOf(f, dataDir, f.Run.Seed), string(params)+f.Data.SchemaDigest,
		data.WithSchema(section.Decode, s))
}
