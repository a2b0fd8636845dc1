package adad2p

import (
	"fmt"
	"math"
	"strings"

	"sotto/experiment/sweep"
	"sotto/internal/sample"
	"sotto/reproduce"
)

// pushAxes are the axes of every sweep of "Sensitivity-Aware Differentially Private
// Decentralized Learning with Adaptive Noise". noise is "sigma" with the paper's noise
// scale, "epsilon" with a budget, or "none"; form says how clips change.
var pushAxes = []string{"mode", "data", "method", "noise", "step", "clip", "form", "seed"}

// pushBase holds what all its runs share: twenty agents that hold even parts of
// shuffled records, and the directed exponential graph that changes from round to round.
const pushBase = `
name = "seed002"

[topology]
agents = 20
graph = "exp-directed"

[data]
partition = "iid"

[algorithm]
name = "sgp"

[privacy]
target_delta = 1e-5
`

// push is one run. Mode replication takes one uniform record a round, as the paper's
// Algorithm 1, or in form batched Poisson batches, and σ is in units of the mean
// gradient's norm, G or C; mode sound takes Poisson batches.
type push struct {
	mode   string
	data   string // setups
	method string // methodNames; in mode sound an algorithm
	noise  string
	step   step
	clip   float64 // C; of constd2p G
	form   string  // forms
	seed   int
}

// step is a step size at the first round and, where it falls geometrically, at the
// last.
type step struct{ first, final float64 }

// setup is a data set and a network with the paper's constants.
type setup struct {
	set     []string
	network string
	records float64 // J, of each agent
	rounds  int
	step    step
	bound   float64 // G, the largest gradient norm that the authors saw
	seen    float64 // the largest of one record in our runs without noise
	dim     float64
	sigmas  []string
	clips   []float64
}

// setups: the paper's two-layer network has no stated width or activation; ours is
// 784-100-10 with rectifiers. Of CIFAR-10 the first file of five is used, 10,000 images:
// 500 an agent in place of 2,500.
var setups = map[string]setup{
	"mnist": {network: "two-layer network", set: []string{`data.dataset="mnist"`, `model.name="mlp"`,
		"model.hidden=[100]", `model.activation="relu"`}, records: 3000, rounds: 2200, step: step{first: .03},
		bound: 3.5, seen: 72.4, dim: 79510, sigmas: []string{"0.02", "0.05"}, clips: []float64{1}},
	"fashion-mnist": {set: []string{`data.dataset="fashion-mnist"`, `model.name="mlp"`, "model.hidden=[100]",
		`model.activation="relu"`}, records: 3000, rounds: 2200},
	"cifar-10": {set: []string{`data.dataset="cifar-10"`, "data.batches=1", `model.name="resnet18"`},
		records: 500, rounds: 3500, step: step{first: .05},
		bound: 8.5, dim: 11173962, sigmas: []string{"0.001", "0.002", "0.005", "0.01", "0.02", "0.03",
			"0.04"}, clips: []float64{2, 3, 5}},
	"cifar-10-cnn": {network: "cnn", set: []string{`data.dataset="cifar-10"`, "data.batches=1",
		`model.name="cnn"`},
		records: 500, rounds: 3500, step: step{first: .05},
		bound: 8.5, dim: 37274, sigmas: []string{"0.001", "0.002", "0.005", "0.01", "0.02", "0.03",
			"0.04"}, clips: []float64{2, 3, 5}},
}

// methodNames are the published methods by name.
var methodNames = map[string]string{"sgp": "SGP without noise", "adad2p": "AdaD2P", "constd2p": "ConstD2P",
	"clipd2p": "ClipD2P"}

// soundBatch is the expected size of sound runs' Poisson batches.
const soundBatch = 128

// batched is the form of replicated runs with Poisson batches of 64 records. The paper's
// Algorithm 1 draws one record and its experiments name no batch size, but its G of 3.5
// is that of means: single records have gradients of up to 72 on our network, and 14 in
// root mean square.
const (
	batched   = "batch 64"
	batchSize = 64
)

// runSize says how a size of a study shortens runs: rounds, records of the test set and
// of gradients, agents whose models are tested.
type runSize struct{ rounds, every, limit, gradients, agents int }

func (p setup) size(scale reproduce.Scale, data string) runSize {
	switch {
	case scale == reproduce.Smoke && strings.HasPrefix(data, "cifar-10"):
		return runSize{2, 2, 4, 2, 1}
	case scale == reproduce.Smoke:
		return runSize{10, 5, 200, 20, 2}
	case data == "cifar-10" && scale == reproduce.Short:
		return runSize{60, 6, 60, 20, 2}
	case data == "cifar-10":
		return runSize{p.rounds, 175, 1000, 100, 2} // all 10,000 would take longer than training
	case data == "cifar-10-cnn":
		return runSize{p.rounds, 175, 2000, 100, 4}
	}
	return runSize{p.rounds, 110, 0, 500, 0}
}

const pushAgents = 20 // of pushBase

// smokeAgents are the agents of the smallest size.
func smokeAgents(data string) int {
	switch {
	case data == "cifar-10": // ResNet-18
		return 2
	case strings.HasPrefix(data, "cifar-10"):
		return 4
	}
	return pushAgents
}

// smokeNotes say how little the smallest size runs, whatever other notes say.
func smokeNotes(scale reproduce.Scale, data string) []string {
	if scale != reproduce.Smoke {
		return nil
	}
	size := setups[data].size(scale, data)
	return []string{fmt.Sprintf("scale smoke: %d rounds, %d agents, %d test records, one seed; the figures "+
		"show only that everything runs", size.rounds, smokeAgents(data), size.limit)}
}

// forms are the settings behind the axis "form" of sound runs; "schedule" and
// "falling" have a number behind them: the factor of the clip, or of the step size, over
// the whole run.
var forms = map[string][]string{
	"":         nil,
	"quantile": {`privacy.clipping="quantile"`},
	"released": {`privacy.clipping="released"`},
}

// values are those of pushAxes.
func (p push) values() []string {
	return []string{p.mode, p.data, p.method, p.noise, reproduce.Exactly(p.step.first),
		reproduce.Exactly(p.clip), p.form, fmt.Sprint(p.seed)}
}

// cell writes p as settings of pushBase.
func (p push) cell(scale reproduce.Scale) sweep.Cell {
	c := sweep.Cell{Values: p.values()}
	set := reproduce.Setter(&c.Set)
	pr := setups[p.data]
	size := pr.size(scale, p.data)
	set("seed=%d", p.seed)
	set("rounds=%d", size.rounds)
	set("evaluate.every=%d", size.every)
	set("evaluate.gradients=%d", size.gradients)
	set("evaluate.limit=%d", size.limit)
	set("evaluate.agents=%d", size.agents)
	if n := smokeAgents(p.data); scale == reproduce.Smoke && n < pushAgents {
		set("topology.agents=%d", n)
	}
	c.Set = append(c.Set, pr.set...)
	set("algorithm.step_size=%s", reproduce.Exactly(p.step.first))
	if p.step.final > 0 {
		set(`algorithm.schedule="geometric"`)
		set("algorithm.step_size_final=%s", reproduce.Exactly(p.step.final))
	}
	if clip := p.clip; clip > 0 {
		if p.form == batched && p.method == "constd2p" { // noise of the sum, for means within G
			clip *= batchSize
		}
		set("privacy.max_grad_norm=%s", reproduce.Exactly(clip))
	}
	kind, amount, _ := strings.Cut(p.noise, " ")
	switch kind {
	case "none":
		set(`privacy.mechanism="none"`)
	case "sigma":
		if p.form == batched && p.method == "clipd2p" { // of the sum of clipped gradients
			amount = reproduce.Exactly(batchSize * reproduce.Number(amount))
		}
		set("privacy.noise_multiplier=%s", amount)
	case "epsilon":
		set("privacy.target_epsilon=%s", amount)
	default:
		panic("noise " + p.noise) // written in this package
	}
	if p.mode == "replication" {
		p.published(set)
	} else {
		p.sound(size, set)
		c.Set = append(c.Set, forms[p.form]...)
	}
	return c
}

// published writes what the paper's methods share: no clip but ClipD2P's.
func (p push) published(set func(format string, args ...any)) {
	if p.form == batched {
		set(`privacy.adjacency="add-remove"`)
		set("privacy.batch_size=%d", batchSize)
		set("privacy.sample_rate=%s", reproduce.Exactly(batchSize/setups[p.data].records))
	} else {
		set(`privacy.adjacency="replace-one"`)
		set("privacy.batch_size=1")
		set(`replication.sampling="one"`)
	}
	switch {
	case p.method == "sgp":
	case p.method == "clipd2p" && p.form == batched: // nothing is unsound about it
	case p.method == "clipd2p":
		set("replication.claim=true")
		set(`privacy.accountant="rdp"`)
	default:
		set("replication.claim=true")
		set("replication.noise=%q", p.method)
	}
}

// sound writes Poisson batches under add-remove, on an undirected graph for algorithms
// that need one.
func (p push) sound(size runSize, set func(format string, args ...any)) {
	set("algorithm.name=%q", p.method)
	if p.method != "sgp" {
		set(`topology.graph="regular"`)
		set("topology.degree=4")
	}
	set(`privacy.adjacency="add-remove"`)
	set("privacy.batch_size=%d", soundBatch)
	set("privacy.sample_rate=%s", reproduce.Exactly(soundBatch/setups[p.data].records))
	if form, amount, ok := strings.Cut(p.form, " "); ok && form == "schedule" {
		// the clip falls by this factor over the whole run
		set(`privacy.clipping="schedule"`)
		set("privacy.clip_decay=%s",
			reproduce.Exactly(math.Pow(reproduce.Number(amount), 1/float64(size.rounds))))
	}
}

// pushRows finds the rows of runs, over seeds.
type pushRows struct{ *reproduce.Groups[push] }

func collectPush(f *reproduce.Results) pushRows { return pushRows{reproduce.Group(f, push.values)} }

// trialSeeds are the trials of a size.
func trialSeeds(scale reproduce.Scale, data string) []int {
	if scale != reproduce.Full || data == "cifar-10" {
		return []int{1}
	}
	return []int{1, 2, 3, 4, 5}
}

// overTrials are the cells of runs with every seed.
func overTrials(scale reproduce.Scale, runs []push) []sweep.Cell {
	var cells []sweep.Cell
	for _, p := range runs {
		for _, seed := range trialSeeds(scale, p.data) {
			p.seed = seed
			cells = append(cells, p.cell(scale))
		}
	}
	return cells
}

// twoSided is the p-value of Student's t test of differences of pairs, two-sided, as
// text. ok is false for fewer than two pairs.
func twoSided(difference reproduce.Sample) (p string, ok bool) {
	if len(difference) < 2 {
		return "", false
	}
	_, _, x := sample.Sample(difference).Interval()
	if math.IsNaN(x) { // no spread that a law could be of
		return "undefined", true
	}
	return fmt.Sprintf("%.2g", x), true
}
