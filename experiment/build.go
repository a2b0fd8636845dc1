package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment/plan"
	"sotto/model"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// EngineVersion changes whenever the same configuration and seed give other results.
const EngineVersion = "3"

// Experiment is a run file that every package has accepted, with its data loaded: ready
// to run.
type Experiment struct {
	file       *File
	effective  []byte
	setup      plan.Setup // what plans are made from
	split      *data.Split
	parts      [][]int32
	held       [][]int32     // rows of Train that each agent holds out from training; nil: none
	validation *data.Dataset // all of them, by agent
	schedule   topology.Schedule
	neighbors  int // fewest that an agent hears in the first round
	spectrum   topology.Info
	lowest     float64 // a lower bound of the smallest eigenvalue of the first round's mixing matrix
	model      model.Model
	factory    agent.Factory
	plans      []plan.Agent // by agent; of an owner its own alone
	overrides  []string
	warnings   []string       // about settings that weaken or waste privacy
	tests      []*model.Batch // by agent; all the same where every agent is tested on all
	init       tensor.Vec
	whole      *wholeModel // what the trained head belongs to; nil: model is whole
	tested     []int       // the agents that are tested, ascending

	// of an owner: there is one part, which is agent self's; in simulations part i is
	// agent i's
	owned bool
	self  agent.ID // see owned

	arrivals []uint32 // by row of Train: the round before which it comes; nil: all are there from the start

	// Of personal models:
	mostRecords int
	local       localNoise // of records that are perturbed once
	replay      []sim.Wake
	wakesOf     [][]uint64 // by agent, where an algorithm is told beforehand
}

// Build loads the data and lets every package decode its parameters. dataDir is the data
// folder.
func (f *File) Build(dataDir string) (*Experiment, error) { return f.build(dataDir, nil) }

func (f *File) build(dataDir string, cache *data.Cache) (*Experiment, error) {
	e := &Experiment{file: f}
	if err := e.prepare(); err != nil {
		return nil, err
	}
	var err error
	_, similar := topology.Similarities[f.topo.Graph]
	if !similar {
		if err := e.buildGraph(tensor.Mat{}); err != nil {
			return nil, err
		}
	}
	if err = e.newFactory(); err != nil {
		return nil, err
	}
	if _, ok := data.Datasets[f.data.Dataset]; !ok {
		return nil, f.at("data", config.Bad("dataset", f.data.Dataset, config.OneOf(data.Datasets)))
	}
	if e.split, err = f.load(dataDir, cache); err != nil {
		return nil, f.at("data", err)
	}
	if err := e.checkPrior(); err != nil {
		return nil, err
	}
	train := e.split.Train
	if e.parts, err = data.Partition(f.data.Partition, train, f.topo.Agents, f.root.Seed,
		f.section("data")); err != nil {
		return nil, f.at("data", err)
	}
	if err = e.drawArrivals(); err != nil {
		return nil, err
	}
	if err = e.holdOut(); err != nil {
		return nil, f.at("evaluate", err)
	}
	if similar {
		vectors, err := e.vectors()
		if err != nil {
			return nil, err
		}
		if err := e.buildGraph(vectors); err != nil {
			return nil, err
		}
	}
	if e.model, err = model.New(f.mod.Name, e.shape(), f.section("model")); err != nil {
		return nil, f.at("model", err)
	}
	if err := f.data.Augmentation.Validate(train.Shape, e.model); err != nil {
		return nil, f.at("data", err)
	}
	if p := f.mod.Precision; p != "" {
		if e.model, err = model.WithPrecision(e.model, p); err != nil {
			return nil, f.at("model", err)
		}
	}
	if err := f.doc.Finish(); err != nil {
		return nil, err
	}
	if err := e.analyze(); err != nil {
		return nil, f.at("topology", err)
	}
	if err := e.initialise(); err != nil {
		return nil, f.at("model", err)
	}
	if f.mod.TrainLayers != 0 {
		if err := e.trainHead(); err != nil {
			return nil, err
		}
	}
	if err := e.makePlans(); err != nil {
		return nil, f.at("privacy", err)
	}
	if err := e.checkEstimation(); err != nil {
		return nil, err
	}
	if f.hist.Cost == costNotIncluded {
		e.overrides = append(e.overrides, stampNotIncluded)
	}
	if e.effective, err = f.Effective(); err != nil {
		return nil, err
	}
	return e, e.buildTests()
}

func (e *Experiment) buildGraph(vectors tensor.Mat) error {
	f := e.file
	spec, err := f.graphSpec(f.root.Seed), error(nil)
	spec.Vectors, spec.AllowUnbalanced = vectors, e.setup.UnbalancedWeights
	e.schedule, err = topology.Build(spec, f.section("topology"))
	return f.at("topology", err)
}

// shape is what the model is built for.
func (e *Experiment) shape() model.Shape {
	d := e.split.Train
	return model.Shape{Height: d.Shape[0], Width: d.Shape[1], Channels: d.Shape[2], Classes: d.Classes}
}

func (e *Experiment) analyze() error {
	g, err := e.schedule.At(0)
	if err != nil {
		return err
	}
	if e.spectrum, err = topology.Analyze(g); err != nil {
		return err
	}
	e.lowest = lowest(g, &e.spectrum)
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

// countNeighbors finds the fewest neighbors that an agent hears in the first round.
func (e *Experiment) countNeighbors() error {
	g, err := e.schedule.At(0)
	if err != nil {
		return err
	}
	e.neighbors = g.Agents()
	for i := range agent.ID(g.Agents()) {
		e.neighbors = min(e.neighbors, len(g.In(i)))
	}
	return nil
}

// honest lists the agents that are no adversaries, ascending; where tokens walk, which
// carry the models, the tokens.
func (e *Experiment) honest() []int {
	var agents []int
	for k := range e.file.tokn.Count {
		agents = append(agents, k)
	}
	if agents != nil {
		return agents
	}
	for i := range e.file.topo.Agents {
		if !e.file.adv.Has(i) {
			agents = append(agents, i)
		}
	}
	return agents
}

// rho is max(|λ_2|, |λ_n|) of the first round's mixing matrix, 1 where it was not
// computed.
func (e *Experiment) rho() float64 {
	if !e.spectrum.Computed {
		return 1
	}
	return 1 - e.spectrum.AbsoluteGap
}

// second is λ_2 of the first round's mixing matrix, 1 where it was not computed.
func (e *Experiment) second() float64 {
	if !e.spectrum.Computed {
		return 1
	}
	return e.spectrum.Lambda2
}

// buildTests gives every agent its test records.
func (e *Experiment) buildTests() error {
	test, n := e.split.Test, e.file.topo.Agents
	if e.file.eval.On == "validation" {
		test = e.validation
	}
	limit := test.Len()
	if l := e.file.eval.Limit; l > 0 {
		limit = min(limit, l)
	}
	if limit == 0 {
		return e.file.at("data", config.Bad("dataset", e.file.data.Dataset, "a data set with test records"))
	}
	e.tests = make([]*model.Batch, max(n, e.file.tokn.Count))
	e.tested = e.honest()
	all := e.tested
	e.tested = make([]int, 0, len(all))
	for _, k := range evenly(len(all), min(e.file.eval.Agents, len(all))) {
		e.tested = append(e.tested, all[k])
	}
	if e.file.eval.On != "own" {
		all := batchOf(test)
		all.X.Rows = limit
		all.Labels, all.Targets = first(all.Labels, limit), first(all.Targets, limit)
		for i := range e.tests {
			e.tests[i] = all
		}
		return nil
	}
	if test.Groups == nil {
		return e.file.at("evaluate",
			config.Bad("on", "own", "all: this data set does not say whose its test records are"))
	}
	rows := make([][]int32, n)
	for r, g := range test.Groups {
		if i := int(g) % n; e.file.eval.Limit == 0 || len(rows[i]) < e.file.eval.Limit {
			rows[i] = append(rows[i], int32(r))
		}
	}
	for _, i := range e.tested {
		if len(rows[i]) == 0 {
			return e.file.at("evaluate",
				config.Bad("on", "own", fmt.Sprintf("all: agent %d has no test records", i)))
		}
		e.tests[i] = batchOf(test.Select(rows[i]))
	}
	return nil
}

// evenly returns k of 0 .. n-1 with even gaps; all of them for k = 0.
func evenly(n, k int) []int {
	if k == 0 {
		k = n
	}
	at := make([]int, k)
	for j := range at {
		at[j] = j * n / k
	}
	return at
}

func batchOf(d *data.Dataset) *model.Batch {
	return &model.Batch{X: d.X, Labels: d.Labels, Targets: d.Targets}
}

func first[T any](s []T, n int) []T {
	if s == nil {
		return nil
	}
	return s[:n]
}

// Digest identifies the configuration: the SHA-256 of the effective run file.
func (e *Experiment) Digest() string {
	sum := sha256.Sum256(e.effective)
	return hex.EncodeToString(sum[:])
}

// Arithmetic names what the bits of results depend on beside the engine version: kernels
// with and without fused multiply-add round differently.
func (e *Experiment) Arithmetic() string {
	if e.file.mod.Precision == "bf16" && tensor.HasAMX() {
		return "amx"
	}
	if tensor.Kernels() == "portable" {
		return "portable"
	}
	return "fma"
}

// identity is what a run directory is named after: configuration, data, engine and
// arithmetic.
func (e *Experiment) identity() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n%s\n%s\n%s\n", EngineVersion, e.Arithmetic(), e.Digest(), e.split.Train.Digest,
		e.split.Test.Digest)
	return hex.EncodeToString(h.Sum(nil))
}
