package dpdl2023

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/reproduce"
)

// publishedTable4 is Table 4, by budget, then central and the methods, then overlap t.
// The central row is the same for every t.
var publishedTable4 = map[string][4][5]published{
	"10": {
		{{32.3, .14}, {32.3, .14}, {32.3, .14}, {32.3, .14}, {32.3, .14}},
		{{24.76, .47}, {24.67, .6}, {23.37, .15}, {22.15, .14}, {21.25, .16}},
		{{28.29, .3}, {27.55, .49}, {27.69, .24}, {27.82, .14}, {27.14, .14}},
		{{20.06, .7}, {19.62, .35}, {19.66, .12}, {19.24, .35}, {16.62, .5}},
	},
	"none": {
		{{62.08, .37}, {62.08, .37}, {62.08, .37}, {62.08, .37}, {62.08, .37}},
		{{50.57, 1.61}, {49.9, 1.22}, {49.54, 2.14}, {50.7, .66}, {49.32, .39}},
		{{56.6, .11}, {56.35, 1.26}, {56.9, .77}, {56.71, .86}, {57.92, .08}},
		{{52.01, .7}, {51.76, .67}, {52.16, .75}, {51.54, .48}, {48.73, 2.3}},
	},
}

var (
	cifar100Axes    = []string{"mode", "overlap", "method", "budget", "seed"}
	cifar100Budgets = []string{"none", "10"}
)

// cifar100Base holds what the CIFAR-100 runs share: ten agents on the complete graph,
// DPResNet9, 25,000 rounds as in the paper's code (its text says 20,000).
const cifar100Base = `
name = "seed000-cifar100"
rounds = 25000

[topology]
agents = 10
graph = "complete"

[data]
dataset = "cifar-100"
partition = "a"

[model]
name = "dpresnet9"

[privacy]
target_delta = 1e-5

[evaluate]
every = 2500
`

const (
	cifar100Rounds  = 25_000
	cifar100Draws   = 5 // micro-batches that the paper sums before it adds noise
	cifar100Trials  = 3
	smokeRounds     = 2 // DP-DSGT asks for nothing in its last one
	shortRounds     = 4
	shortTestImages = 50
	smokeTestImages = 4
)

// cifar100Steps are the learning rates of the paper's code, not private and at epsilon
// 10.
var cifar100Steps = map[string][2]step{
	"central": {{.05, .005}, {.05, .01}},
	"dsgd":    {{.5, .05}, {.005, .0005}},
	"dsgt":    {{.0792, .05}, {.174, .05}},
	"dinno":   {{.005, .0005}, {.0075, .0005}},
}

// cifar100Rates are sampling rates: of the batch of a sound private step, and of the
// batches that the paper's code charges for. Its DP-DiNNO takes one batch for each of its
// two primal steps.
var cifar100Rates = map[string]struct{ sound, charged float64 }{
	"central": {.005, .001},
	"dsgd":    {.05, .01},
	"dsgt":    {.05, .01},
	"dinno":   {.01, .01},
}

// imageRun is one run of the CIFAR-100 experiments.
type imageRun struct{ mode, overlap, method, budget string }

// values are those of cifar100Axes, less the seed. Central runs know no overlap.
func (r imageRun) values() []string {
	if r.method == centralRow {
		r.overlap = ""
	}
	return []string{r.mode, r.overlap, r.method, r.budget, ""}
}

// cell writes r as settings of cifar100Base.
func (r imageRun) cell(seed int, scale reproduce.Scale) sweep.Cell {
	c := sweep.Cell{Values: []string{r.mode, r.overlap, r.method, r.budget, fmt.Sprint(seed)}}
	set := reproduce.Setter(&c.Set)
	s := cifar100Steps[r.method][slices.Index(cifar100Budgets, r.budget)]
	set("seed=%d", seed)
	set("algorithm.name=%q", r.method)
	set("algorithm.schedule=\"geometric\"")
	set("algorithm.step_size=%g", s.first)
	set("algorithm.step_size_final=%g", s.final)
	switch r.method {
	case centralRow:
		set("topology.agents=1")
		set("data.partition=\"iid\"")
		set("algorithm.momentum=0.9")
	case "dinno":
		set("algorithm.rho_scale=1.0003")
		set("algorithm.primal_steps=2")
	}
	if r.method != centralRow {
		set("data.t=%s", r.overlap)
	}
	r.setPrivacy(set)
	switch scale {
	case reproduce.Smoke:
		set("rounds=%d", cifar100RoundsAt(reproduce.Smoke))
		set("data.limit=200")
		if r.method != centralRow {
			set("topology.agents=2")
		}
		set("evaluate.limit=%d", smokeTestImages)
	case reproduce.Short:
		set("rounds=%d", shortRounds)
		set("evaluate.every=%d", shortRounds)
		set("evaluate.limit=%d", shortTestImages)
	}
	return c
}

// setPrivacy sets batches and noise. In mode replication five batches share a noise draw
// that is calibrated as if there were one, DP-DiNNO's second step is not charged for, and
// models are mixed as in replicated runs on MNIST.
func (r imageRun) setPrivacy(set func(format string, args ...any)) {
	rate := cifar100Rates[r.method]
	if r.budget == "none" {
		set("privacy.mechanism=\"none\"")
		if r.method == "dinno" {
			rate.sound = .08 // 400 of 5,000 images
		}
		set("privacy.sample_rate=%g", rate.sound)
		return
	}
	clip := 10
	if r.method == centralRow {
		clip = 1
	}
	set("privacy.target_epsilon=%s", r.budget)
	set("privacy.max_grad_norm=%d", clip)
	if r.mode == "sound" {
		set("privacy.sample_rate=%g", rate.sound)
		return
	}
	set("privacy.sample_rate=%g", rate.charged)
	set("replication.claim=true")
	if r.method != "dinno" {
		set("replication.microbatches=%d", cifar100Draws)
	}
	if r.method == "dsgd" || r.method == "dsgt" {
		set("replication.mix=\"gauss-seidel\"")
	}
	if r.method == "dsgd" {
		set("algorithm.order=\"mix-then-grad\"")
	}
}

// table4Cells are sound runs at both budgets and replicated ones at epsilon 10, of every
// method and overlap. The short size has one trial, and of the overlaps the first and
// last; the smallest has private runs alone.
func table4Cells(scale reproduce.Scale) []sweep.Cell {
	seeds := trials(scale != reproduce.Full)
	if scale == reproduce.Full {
		seeds = seeds[:cifar100Trials]
	}
	var cells []sweep.Cell
	add := func(r imageRun) {
		for _, seed := range seeds {
			cells = append(cells, r.cell(seed, scale))
		}
	}
	for _, m := range withCentral {
		for _, kind := range []imageRun{{mode: "sound", budget: "none"}, {mode: "sound", budget: "10"},
			{mode: "replication", budget: "10"}} {
			if scale == reproduce.Smoke && (kind.budget == "none" || kind.mode == "replication" &&
				m != "dsgd") {
				continue
			}
			ts := overlaps
			switch {
			case m == centralRow:
				ts = []string{""}
			case scale == reproduce.Smoke:
				ts = ts[:1]
			case scale == reproduce.Short && kind.budget == "none":
				ts = []string{"0"}
			case scale == reproduce.Short && kind.mode == "replication":
				ts = []string{"1"}
			case scale == reproduce.Short:
				ts = []string{"0", "1"}
			}
			for _, t := range ts {
				add(imageRun{kind.mode, t, m, kind.budget})
			}
		}
	}
	return cells
}

// images finds the rows of runs.
type images struct {
	*reproduce.Groups[imageRun]
	f *reproduce.Results
}

func collectImages(f *reproduce.Results) images {
	return images{reproduce.Group(f, imageRun.values), f}
}

// seconds are those of a round of the runs whose time is known, evaluation apart.
func (g images) seconds(run imageRun) (s reproduce.Sample) {
	rows := g.Of(run)
	for i := range rows {
		if t, ok := g.f.Time(&rows[i]); ok {
			busy := t.Split.Gradients + t.Split.Noise + t.Split.Mixing
			s = append(s, busy/float64(cifar100RoundsAt(g.f.Scale)))
		}
	}
	return s
}

func cifar100RoundsAt(scale reproduce.Scale) int {
	return map[reproduce.Scale]int{reproduce.Smoke: smokeRounds, reproduce.Short: shortRounds,
		reproduce.Full: cifar100Rounds}[scale]
}

// table4 sets sound and replicated runs beside the published figures, with claimed and
// true epsilon.
func table4(f *reproduce.Results) *reproduce.Document {
	g := collectImages(f)
	d := &reproduce.Document{Header: append(append([]string{"overlap t"}, accuracyHeader...),
		"seconds a round, sound"),
		Notes: cifar100Notes(f.Scale)}
	addTable4(d, g, chanceOf(f.Scale))
	if f.Scale != reproduce.Smoke { // which has other data and fewer agents
		d.Notes = append(d.Notes, duration(g)...)
	}
	d.Notes = append(d.Notes, fullAccounting()...)
	return d
}

// chanceOf is the most accuracy, in percent, that guessing among a hundred classes gives
// on the test images of a scale but once in a thousand times.
func chanceOf(scale reproduce.Scale) float64 {
	n := map[reproduce.Scale]float64{reproduce.Smoke: smokeTestImages, reproduce.Short: shortTestImages,
		reproduce.Full: 2000}[scale]
	hits := distuv.Binomial{N: n, P: .01}
	k := 0.
	for hits.CDF(k) < .999 {
		k++
	}
	return 100 * k / n
}

// addTable4 appends a row for everything that has been run.
func addTable4(d *reproduce.Document, g images, chance float64) {
	for _, b := range cifar100Budgets {
		central := g.Accuracy(imageRun{"sound", "", centralRow, b})
		addImages(d, g, imageRun{"sound", "", centralRow, b}, publishedTable4[b][0][0], nil, chance)
		for j, m := range methods {
			for k, t := range overlaps {
				r := imageRun{"sound", t, m, b}
				addImages(d, g, r, publishedTable4[b][j+1][k], central, chance)
			}
		}
	}
}

func addImages(d *reproduce.Document, g images, r imageRun, p published, central reproduce.Sample,
	chance float64) {
	again, seconds := r, ""
	again.mode = "replication"
	row := compared(g.Groups, r, again, r.budget, p, central)
	if row == nil {
		return
	}
	for at, of := range map[int]imageRun{2: r, 6: again} {
		if s := g.Accuracy(of); len(s) > 0 && slices.Max(s) <= chance {
			row[at] = "" // nothing has been learned: there is no difference to speak of
		}
	}
	if s := g.seconds(r); len(s) > 0 {
		seconds = fmt.Sprintf("%.2f", s.Mean())
	}
	d.Rows = append(d.Rows, append(append([]string{r.overlap, r.method, r.budget}, row...), seconds))
}

// claimedAndTrue plans a replicated run at epsilon 10 and returns what the publication
// claims for it, and what it costs.
func claimedAndTrue(method string, rounds int) (claim, truth, noise float64, err error) {
	const delta = 1e-5
	rate := cifar100Rates[method].charged
	plan := account.DPSGD(account.AddRemove, rate, rounds)
	plan.Accountant = "rdp"
	res, err := account.Noise(plan, account.Budget{Epsilon: 10, Delta: delta})
	if err != nil {
		return 0, 0, 0, err
	}
	release := account.Release{
		Oracle:    "grad",
		Adjacency: account.ZeroOut,
		Unit:      account.Record(),
		Scale:     1,
		Draws:     cifar100Draws,
		Sampler:   account.Sampler{Kind: account.Poisson, SampleRate: rate},
		Parts:     []account.Part{{Name: "gradient", Clip: 1, Shift: 1, Norm: account.L2, Dim: 1}},
	}
	if method == "dinno" {
		release.Draws, rounds = 1, 2*rounds
	}
	spent, err := account.Epsilon(account.Plan{
		Adjacency:       account.ZeroOut,
		Unit:            account.Record(),
		SampleRate:      rate,
		NoiseMultiplier: res.NoiseMultiplier,
		Steps:           []account.PlanStep{account.GaussianStep(release, rounds)},
	}, delta)
	return 10, spent.Upper, res.NoiseMultiplier, err
}

// figure2 reads table 4 by method: accuracy over the overlap, and its range, which is
// small where a method is as invariant as claimed.
func figure2(f *reproduce.Results) *reproduce.Document {
	g := collectImages(f)
	d := &reproduce.Document{Header: []string{"method", "epsilon", "t 0", "0.25", "0.5", "0.75", "1", "range",
		"published range"}, Notes: cifar100Notes(f.Scale)}
	for _, b := range cifar100Budgets {
		for j, m := range withCentral[1:] {
			line := []string{m, b}
			var means, was reproduce.Sample
			for k, t := range overlaps {
				s := g.Accuracy(imageRun{"sound", t, m, b})
				line = append(line, s.String())
				if len(s) > 0 {
					means, was = append(means, s.Mean()), append(was, publishedTable4[b][j+1][k].mean)
				}
			}
			if len(means) > 0 {
				d.Rows = append(d.Rows, append(line, extent(means), extent(was)))
			}
		}
	}
	d.Figures = overlapFigures(g)
	return d
}
