package reproduce

import (
	"fmt"
	"math"
	"slices"
	"sotto/experiment/sweep"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// seed002Axes are the axes of every sweep of "Sensitivity-Aware Differentially Private
// Decentralized Learning with Adaptive Noise". noise is "sigma" with the paper's noise
// scale, "epsilon" with a budget, or "none"; form says how clips change.
var seed002Axes = []string{"mode", "data", "method", "noise", "step", "clip", "form", "seed"}

// seed002Base holds what all its runs share: twenty agents that hold even parts of
// shuffled records, and the directed exponential graph that changes from round to round.
const seed002Base = `
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
// Algorithm 1, or in form batch002 Poisson batches, and σ is in units of the mean
// gradient's norm, G or C; mode sound takes Poisson batches.
type push struct {
	mode   string
	data   string // setups002
	method string // methods002; in mode sound an algorithm
	noise  string
	step   step
	clip   float64 // C; of constd2p G
	form   string  // forms002
	seed   int
}

// setup002 is a data set and a network with the paper's constants.
type setup002 struct {
	set     []string
	records float64 // J, of each agent
	rounds  int
	step    step
	bound   float64 // G, the largest gradient norm that the authors saw
	seen    float64 // the largest of one record in our runs without noise
	dim     float64
	sigmas  []string
	clips   []float64
}

// setups002: the paper's two-layer network has no stated width or activation; ours is
// 784-100-10 with rectifiers. Of CIFAR-10 the first file of five is used, 10,000 images:
// 500 an agent in place of 2,500.
var setups002 = map[string]setup002{
	"mnist": {set: []string{`data.dataset="mnist"`, `model.name="mlp"`, "model.hidden=[100]",
		`model.activation="relu"`}, records: 3000, rounds: 2200, step: step{first: .03},
		bound: 3.5, seen: 72.4, dim: 79510, sigmas: []string{"0.02", "0.05"}, clips: []float64{1}},
	"fashion-mnist": {set: []string{`data.dataset="fashion-mnist"`, `model.name="mlp"`, "model.hidden=[100]",
		`model.activation="relu"`}, records: 3000, rounds: 2200},
	"cifar-10": {set: []string{`data.dataset="cifar-10"`, "data.batches=1", `model.name="resnet18"`},
		records: 500, rounds: 3500, step: step{first: .05},
		bound: 8.5, dim: 11173962, sigmas: []string{"0.001", "0.002", "0.005", "0.01", "0.02", "0.03",
			"0.04"}, clips: []float64{2, 3, 5}},
}

// methods002 are the published methods by name.
var methods002 = map[string]string{"sgp": "SGP without noise", "adad2p": "AdaD2P", "constd2p": "ConstD2P",
	"clipd2p": "ClipD2P"}

// soundBatch002 is the expected size of sound runs' Poisson batches.
const soundBatch002 = 128

// batch002 is the form of replicated runs with Poisson batches of 64 records. The paper's
// Algorithm 1 draws one record and its experiments name no batch size, but its G of 3.5
// is that of means: single records have gradients of up to 72 on our network, and 14 in
// root mean square.
const (
	batch002     = "batch 64"
	batchSize002 = 64
)

// sizes002 say how a size of a study shortens runs: rounds, records of the test set and
// of gradients, agents whose models are tested.
type size002 struct{ rounds, every, limit, gradients, agents int }

func (p setup002) size(scale Scale, data string) size002 {
	switch {
	case scale == Smoke && data == "cifar-10":
		return size002{2, 2, 4, 2, 1}
	case scale == Smoke:
		return size002{10, 5, 200, 20, 2}
	case data == "cifar-10" && scale == Short:
		return size002{60, 6, 60, 20, 2}
	case data == "cifar-10":
		return size002{p.rounds, 175, 0, 100, 4}
	}
	return size002{p.rounds, 110, 0, 500, 0}
}

// forms002 are the settings behind the axis "form" of sound runs; "schedule" and
// "falling" have a number behind them: the factor of the clip, or of the step size, over
// the whole run.
var forms002 = map[string][]string{
	"":         nil,
	"quantile": {`privacy.clipping="quantile"`},
	"released": {`privacy.clipping="released"`},
}

// cell writes p as settings of seed002Base.
func (p push) cell(scale Scale) sweep.Cell {
	c := sweep.Cell{Values: []string{p.mode, p.data, p.method, p.noise, exactly(p.step.first),
		exactly(p.clip), p.form, fmt.Sprint(p.seed)}}
	set := func(format string, args ...any) { c.Set = append(c.Set, fmt.Sprintf(format, args...)) }
	pr := setups002[p.data]
	size := pr.size(scale, p.data)
	set("seed=%d", p.seed)
	set("rounds=%d", size.rounds)
	set("evaluate.every=%d", size.every)
	set("evaluate.gradients=%d", size.gradients)
	set("evaluate.limit=%d", size.limit)
	set("evaluate.agents=%d", size.agents)
	if scale == Smoke && p.data == "cifar-10" {
		set("topology.agents=4")
	}
	c.Set = append(c.Set, pr.set...)
	set("algorithm.step_size=%s", exactly(p.step.first))
	if p.step.final > 0 {
		set(`algorithm.schedule="geometric"`)
		set("algorithm.step_size_final=%s", exactly(p.step.final))
	}
	if clip := p.clip; clip > 0 {
		if p.form == batch002 && p.method == "constd2p" { // noise of the sum, for means within G
			clip *= batchSize002
		}
		set("privacy.max_grad_norm=%s", exactly(clip))
	}
	kind, amount, _ := strings.Cut(p.noise, " ")
	switch kind {
	case "none":
		set(`privacy.mechanism="none"`)
	case "sigma":
		if p.form == batch002 && p.method == "clipd2p" { // of the sum of clipped gradients
			amount = exactly(batchSize002 * number(amount))
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
		c.Set = append(c.Set, forms002[p.form]...)
	}
	return c
}

// published writes what the paper's methods share: no clip but ClipD2P's.
func (p push) published(set func(format string, args ...any)) {
	if p.form == batch002 {
		set(`privacy.adjacency="add-remove"`)
		set("privacy.batch_size=%d", batchSize002)
		set("privacy.sample_rate=%s", exactly(batchSize002/setups002[p.data].records))
	} else {
		set(`privacy.adjacency="replace-one"`)
		set("privacy.batch_size=1")
		set(`replication.sampling="one"`)
	}
	switch {
	case p.method == "sgp":
	case p.method == "clipd2p" && p.form == batch002: // nothing is unsound about it
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
func (p push) sound(size size002, set func(format string, args ...any)) {
	set("algorithm.name=%q", p.method)
	if p.method != "sgp" {
		set(`topology.graph="regular"`)
		set("topology.degree=4")
	}
	set(`privacy.adjacency="add-remove"`)
	set("privacy.batch_size=%d", soundBatch002)
	set("privacy.sample_rate=%s", exactly(soundBatch002/setups002[p.data].records))
	if form, amount, ok := strings.Cut(p.form, " "); ok && form == "schedule" {
		// the clip falls by this factor over the whole run
		set(`privacy.clipping="schedule"`)
		set("privacy.clip_decay=%s", exactly(math.Pow(number(amount), 1/float64(size.rounds))))
	}
}

// rows002 finds the rows of runs, over seeds.
type rows002 struct {
	rows   map[string][]sweep.Row
	curves curves
}

func collectPush(f *found) rows002 {
	r := rows002{map[string][]sweep.Row{}, f.curves}
	for _, row := range f.rows {
		k := taskKey(row.Values)
		r.rows[k] = append(r.rows[k], row)
	}
	for _, rows := range r.rows { // seeds in order, so that runs of two methods are pairs
		slices.SortFunc(rows, func(a, b sweep.Row) int { return a.Cell - b.Cell })
	}
	return r
}

// of returns the rows of p with any seed.
func (r rows002) of(p push) []sweep.Row { return r.rows[taskKey(p.cell(Full).Values)] }

// accuracy is that of p's runs, in percent.
func (r rows002) accuracy(p push) sample {
	var s sample
	for _, row := range r.of(p) {
		s = append(s, 100*row.Accuracy.Mean)
	}
	return s
}

// epsilon is the largest of p's runs.
func (r rows002) epsilon(p push) string {
	worst := math.Inf(-1)
	for _, row := range r.of(p) {
		worst = max(worst, row.EpsilonUpper)
	}
	if math.IsInf(worst, -1) {
		return ""
	}
	return epsilon(worst)
}

// seeds002 are the trials of a size.
func seeds002(scale Scale, data string) []int {
	if scale != Full || data == "cifar-10" {
		return []int{1}
	}
	return []int{1, 2, 3, 4, 5}
}

// overTrials are the cells of runs with every seed.
func overTrials(scale Scale, runs []push) []sweep.Cell {
	var cells []sweep.Cell
	for _, p := range runs {
		for _, seed := range seeds002(scale, p.data) {
			p.seed = seed
			cells = append(cells, p.cell(scale))
		}
	}
	return cells
}

// paired compares two methods run with the same seeds: the mean difference, its standard
// deviation and the two-sided p-value of Student's t test. ok is false for fewer than two
// pairs.
func paired(a, b sample) (difference sample, p float64, ok bool) {
	if len(a) != len(b) || len(a) < 2 {
		return nil, 0, false
	}
	for i := range a {
		difference = append(difference, a[i]-b[i])
	}
	n := float64(len(a))
	t := difference.mean() / (difference.sd() / math.Sqrt(n))
	return difference, 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Survival(math.Abs(t)), true
}
