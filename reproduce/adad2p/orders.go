package adad2p

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/report/plot"
	"sotto/reproduce"
)

// ordersAxes are those of the study of the paper's Table 1. Mode is that of push; agents
// is n, records J.
var ordersAxes = []string{"mode", "agents", "records", "seed"}

// ordersBase is logistic regression in 20 dimensions with normal features, the same law
// at all agents. Single records, as in Algorithm 1.
const ordersBase = `
name = "seed002-orders"

[topology]
graph = "exp-directed"

[data]
dataset = "logistic-regression"
partition = "natural"
dim = 20
test = 100

[model]
name = "logistic"

[algorithm]
name = "sgp"

[privacy]
target_delta = 1e-5
batch_size = 1

[evaluate]
agents = 1
`

const (
	ordersDim     = 20
	ordersEpsilon = 1.
	ordersDelta   = 1e-5
	// ordersSmooth bounds the smoothness of every agent's loss: a quarter of the largest
	// eigenvalue of its features' second moments. A test checks it on all runs' data.
	ordersSmooth = .41
	ordersClip   = 2 // of sound runs, near the mean norm of a record's gradient at the start
	ordersLooks  = 100
)

// ordersRun is one run of Theorem 1's choices with c_2 = 1, without its seed.
type ordersRun struct {
	mode            string
	agents, records int
}

// values are those of ordersAxes.
func (r ordersRun) values() []string {
	return []string{r.mode, strconv.Itoa(r.agents), strconv.Itoa(r.records), ""}
}

// ordersLines are the runs over J at the middle n, and over n at the middle J.
var ordersLines = []struct {
	over string
	at   []ordersRun
	x    func(ordersRun) float64
	want float64 // the exponent of Table 1
}{
	{"J, n = 4", []ordersRun{{agents: 4, records: 500}, {agents: 4, records: 1000},
		{agents: 4, records: 2000}, {agents: 4, records: 4000}},
		func(r ordersRun) float64 { return float64(r.records) }, -1},
	{"n, J = 2000", []ordersRun{{agents: 2, records: 2000}, {agents: 4, records: 2000},
		{agents: 8, records: 2000}, {agents: 16, records: 2000}},
		func(r ordersRun) float64 { return float64(r.agents) }, -.5},
}

// ordersModes are AdaD2P, whose epsilon is claimed, and ClipD2P, whose epsilon is true.
var ordersModes = []string{"replication", "sound"}

// rounds is K of Theorem 1: J²ε²/(d log(1/δ)).
func (r ordersRun) rounds() float64 {
	j := float64(r.records)
	return math.Round(float64(j*j) * ordersEpsilon * ordersEpsilon / (ordersDim * math.Log(1/ordersDelta)))
}

// step is γ of Theorem 1. Its γ̂ stands in the appendix that the text lacks: taken is the
// largest step that Proposition 3 allows.
func (r ordersRun) step(mixing float64) float64 {
	root := math.Sqrt(float64(r.agents) * ordersDim * math.Log(1/ordersDelta))
	return 1 / (float64(r.records)*ordersEpsilon/root + 1/largestStep(ordersSmooth, mixing))
}

// ordersMixing are C and q of the graph by number of agents.
var ordersMixing = sync.OnceValue(func() map[int]contraction {
	all := map[int]contraction{}
	for _, line := range ordersLines {
		for _, r := range line.at {
			m, err := contractionOf("exp-directed", r.agents)
			if err != nil {
				panic(err) // of constants of this package
			}
			all[r.agents] = m
		}
	}
	return all
})

// ordersCells are the runs of both lines; small ones have a hundredth of the rounds.
func ordersCells(small bool) (cells []sweep.Cell) {
	for _, mode := range ordersModes {
		for _, line := range ordersLines {
			list := line.at
			if small {
				list = list[:2]
			}
			for _, r := range list {
				r.mode = mode
				for _, seed := range map[bool][]int{true: {1}, false: {1, 2, 3, 4, 5}}[small] {
					cells = append(cells, r.cell(seed, small))
				}
			}
		}
	}
	return reproduce.Distinct(cells) // both lines have the middle
}

// cell writes r as settings of ordersBase.
func (r ordersRun) cell(seed int, small bool) sweep.Cell {
	c := sweep.Cell{Values: r.values()}
	c.Values[len(c.Values)-1] = strconv.Itoa(seed)
	set := reproduce.Setter(&c.Set)
	rounds, looks := r.rounds(), float64(ordersLooks)
	if small {
		rounds, looks = math.Ceil(rounds/100), 2
	}
	set("seed=%d", seed)
	set("rounds=%.0f", rounds)
	set("topology.agents=%d", r.agents)
	set("data.agents=%d", r.agents)
	set("data.records=%d", r.records)
	set("algorithm.step_size=%s", reproduce.Exactly(r.step(ordersMixing()[r.agents].factor())))
	set("evaluate.every=%.0f", math.Ceil(rounds/looks))
	set("evaluate.gradients=%d", r.agents*r.records)
	if r.mode == "replication" {
		set(`privacy.adjacency="replace-one"`)
		set("privacy.noise_multiplier=%s", reproduce.Exactly(ordersSigma))
		set(`replication.sampling="one"`)
		set(`replication.noise="adad2p"`)
		set("replication.claim=true")
		return c
	}
	set(`privacy.adjacency="add-remove"`)
	set("privacy.sample_rate=%s", reproduce.Exactly(1/float64(r.records)))
	set("privacy.max_grad_norm=%d", ordersClip)
	set("privacy.target_epsilon=%g", ordersEpsilon)
	set(`privacy.accountant="rdp"`)
	return c
}

// ordersSigma is σ of Theorem 1: √(K log(1/δ))/(Jε), which at its K is 1/√d for every n,
// J and ε.
var ordersSigma = 1 / math.Sqrt(ordersDim)

// utility is the mean of ‖∇f(x̄^k)‖² over the rounds of each run.
func utility(rows *reproduce.Groups[ordersRun], r ordersRun) reproduce.Sample {
	return rows.Sample(r, func(row *sweep.Row) float64 {
		return looksOf(func(metric, agent string) ([]uint64, []float64) {
			return rows.Series(row, metric, agent)
		}).meanSquare()
	})
}

// orders tables utility over n and J, and fits the exponents of Table 1.
func orders(f *reproduce.Results) *reproduce.Document {
	rows := reproduce.Group(f, ordersRun.values)
	d := &reproduce.Document{Header: []string{"method", "over", "n", "J", "rounds K", "step γ",
		"noise multiplier", "mean ‖∇f(x̄)‖²", "exponent", "95 % interval", "Table 1",
		"claimed epsilon (add-remove)", "true epsilon (add-remove)"}}
	for _, mode := range ordersModes {
		for _, line := range ordersLines {
			fig := plot.Figure{
				Name:    "orders-" + mode + "-" + line.over[:1],
				Title:   "Utility of " + ordersNames[mode] + " over " + line.over,
				XLabel:  line.over[:1],
				YLabel:  "mean squared gradient norm",
				LogX:    true,
				LogY:    true,
				Caption: "Mean over seeds; band: one standard deviation.",
			}
			var points []plot.Point
			var x, y []float64
			first := len(d.Rows)
			for _, r := range line.at {
				r.mode = mode
				if len(rows.Of(r)) == 0 {
					continue
				}
				u := utility(rows, r)
				for _, v := range u {
					x, y = append(x, math.Log(line.x(r))), append(y, math.Log(v))
				}
				points = append(points, u.LogBand(line.x(r)))
				cells := []any{ordersNames[mode], line.over, r.agents, r.records}
				d.Add(append(cells, r.cells(rows, u)...)...)
			}
			if len(d.Rows) == first {
				continue
			}
			slope, half := reproduce.FitSlope(x, y)
			if last := d.Rows[len(d.Rows)-1]; !math.IsNaN(half) { // enough points
				last[8] = fmt.Sprintf("%.2f", slope)
				last[9] = fmt.Sprintf("%.2f to %.2f", slope-half, slope+half)
				last[10] = fmt.Sprint(line.want)
			}
			fig.Curves = []plot.Curve{{Name: ordersNames[mode], Points: points},
				{Name: fmt.Sprintf("slope %g", line.want), Points: sloped(points, line.want), Dashed: true}}
			d.Figures = append(d.Figures, fig)
		}
	}
	d.Notes = ordersNotes(f.Scale)
	return d
}

var ordersNames = map[string]string{"replication": "AdaD2P", "sound": "ClipD2P, C = 2"}

// cells are a row's figures after n and J.
func (r ordersRun) cells(rows *reproduce.Groups[ordersRun], u reproduce.Sample) []any {
	row := rows.Of(r)[0]
	claimed := ""
	if r.mode == "replication" {
		claimed = reproduce.Epsilon(r.claimed())
	}
	return []any{fmt.Sprintf("%.0f", r.rounds()), r.step(ordersMixing()[r.agents].factor()), row.Noise,
		u.Significant(), "", "", "", claimed, rows.Epsilon(r)}
}

// sloped is the line of a slope through the first of the points.
func sloped(points []plot.Point, slope float64) []plot.Point {
	line := slices.Clone(points)
	for k := range line {
		line[k] = reproduce.At(points[k].X, points[0].Y*math.Pow(points[k].X/points[0].X, slope))
	}
	return line
}

// claimed is what the accountant of Proposition 2's proof gives for noise of σ times the
// sensitivity at rate 1/J over the rounds.
func (r ordersRun) claimed() float64 {
	plan := account.DPSGD(account.AddRemove, 1/float64(r.records), int(r.rounds()))
	plan.Accountant, plan.NoiseMultiplier = "rdp", ordersSigma
	e, err := account.Epsilon(plan, ordersDelta)
	if err != nil {
		panic(err) // of constants of this package
	}
	return e.Upper
}

func ordersNotes(scale reproduce.Scale) []string {
	notes := []string{
		fmt.Sprintf("logistic regression in %d dimensions, normal features, the same law at all agents, "+
			"directed exponential graph; mean ‖∇f(x̄^k)‖² over the rounds, from %d looks at the gradient of "+
			"all records; mean and standard deviation over five seeds", ordersDim, ordersLooks),
		"rounds and step are those of Theorem 1 with c_2 = 1, epsilon 1 and delta 1e-5: K = J²ε²/(d log " +
			"1/δ), 1/γ = Jε/√(nd log 1/δ) + 1/γ̂; γ̂ stands in the appendix that the text lacks, taken is " +
			"(1-q)/(6LC) of Proposition 3. Every n, J has J ≥ n^{3/2} √(d log 1/δ)/ε as the theorem asks",
		"exponent: least squares of the logarithms over all points and seeds, with Student's t; Table 1: " +
			"what √(d log 1/δ)/(√n J ε) says. It is an order, for large J",
		"AdaD2P: Theorem 1's σ is 1/√d at its own K, whatever epsilon is; claimed: of the accountant that " +
			"its proof refers to, true: of the ledger, which has none for noise that follows private " +
			"gradients. ClipD2P: Poisson batches of one expected record, noise for a true epsilon of 1",
	}
	if scale == reproduce.Smoke {
		notes = append(notes, "scale smoke: a hundredth of the rounds, two points of each line, one seed")
	}
	return notes
}
