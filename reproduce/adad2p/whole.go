package adad2p

import (
	"fmt"
	"math"
	"slices"

	"sotto/reproduce"
)

// wholeBound are the constants of the paper's bounds on the mean of ‖∇f(x̄^k)‖² over K
// rounds. Both grow with each but steps and rounds, so that constants which are too small
// give less than the bounds say.
type wholeBound struct {
	step, rounds, agents float64 // γ, K, n
	smooth               float64 // L
	gap                  float64 // f(x̄^0) - f*
	within, between      float64 // ζ², b²
	mixing               float64 // C/(1-q)
}

// standard is Ξ of (11) for models that begin at 0, or less where they do not.
func (b wholeBound) standard() float64 {
	return 4*b.gap/(b.step*b.rounds) + 2*b.step*b.smooth/b.agents*b.within +
		b.consensus()*(b.within+3*b.between)
}

// consensus is 12γ²L²C²/(1-q)².
func (b wholeBound) consensus() float64 {
	x := b.step * b.smooth * b.mixing
	return 12 * x * x
}

// noise is what noise of the given variance adds, dσ² times the mean of ‖∇f_i(z; ξ)‖² in
// (11), dσ² G² in (13): β is dσ²/K, and the sum over rounds has K terms.
func (b wholeBound) noise(variance float64) float64 {
	return (b.consensus() + 2*b.step*b.smooth/b.agents) * variance
}

// admissible is the largest step that Proposition 3 allows.
func (b wholeBound) admissible() float64 { return largestStep(b.smooth, b.mixing) }

// largestStep is min((1-q)/(6LC), 1/L).
func largestStep(smooth, mixing float64) float64 { return min(1/(6*mixing), 1) / smooth }

// theorem1 is what Theorem 1 asks for and sets at ε = c2 = 1 and delta 1e-5: at least
// n^1.5 c2 √(d ln(1/δ))/ε records an agent, and J²ε²/(d c2² ln(1/δ)) rounds.
func theorem1(agents, dim, records float64) (need, rounds float64) {
	root := dim * math.Log(1e5)
	return math.Pow(agents, 1.5) * math.Sqrt(root), records * records / root
}

// looks are a run's metrics at its evaluations, at the mean of the models.
type looks struct {
	rounds           []uint64
	losses           []float64 // f(x̄)
	norms            []float64 // ‖∇f(x̄)‖
	squares, largest []float64 // mean ‖∇f_i(x̄; ξ)‖², largest ‖∇f_i(x̄; ξ)‖
}

// looksOf reads them from the kept metrics of a row's run.
func looksOf(series func(metric, agent string) ([]uint64, []float64)) looks {
	var l looks
	_, l.losses = series("train_loss", "all")
	l.rounds, l.norms = series("gradient_norm", "all")
	_, l.largest = series("gradient_max", "all")
	_, roots := series("gradient_rms", "all")
	for _, x := range roots {
		l.squares = append(l.squares, x*x)
	}
	return l
}

// spread is the largest mean square distance of a record's gradient from the mean one:
// ζ² + b² of Assumption 5, at these points and on average over agents.
func (l looks) spread() float64 {
	worst := 0.
	for k, x := range l.squares {
		worst = max(worst, x-float64(l.norms[k]*l.norms[k]))
	}
	return worst
}

// leastSmooth is below every L of the loss: f* >= 0 and smoothness give f(x) >=
// ‖∇f(x)‖²/(2L).
func (l looks) leastSmooth() float64 {
	worst := 0.
	for k, x := range l.norms {
		worst = max(worst, x*x/(2*l.losses[k]))
	}
	return worst
}

// meanSquare is the mean of ‖∇f(x̄^k)‖² over rounds, by the trapezoid rule between looks.
func (l looks) meanSquare() float64 {
	return trapezoid(l.rounds, l.norms, func(x float64) float64 { return x * x })
}

// meanRecord is that of the mean ‖∇f_i(x̄^k; ξ)‖².
func (l looks) meanRecord() float64 {
	return trapezoid(l.rounds, l.squares, func(x float64) float64 { return x })
}

// trapezoid is the mean of f over the rounds between the first and the last look.
func trapezoid(rounds []uint64, values []float64, f func(float64) float64) float64 {
	sum := 0.
	for k := 1; k < len(values); k++ {
		sum += float64(float64(rounds[k]-rounds[k-1]) * (f(values[k]) + f(values[k-1])) / 2)
	}
	return sum / float64(rounds[len(rounds)-1]-rounds[0])
}

// ordersWhole sets the whole right-hand sides of (11) and (13) beside the measured mean
// of ‖∇f(x̄)‖², for the runs of AdaD2P whose loss has a proved L.
func ordersWhole(f *reproduce.Results) *reproduce.Document {
	rows := reproduce.Group(f, ordersRun.values)
	d := &reproduce.Document{Header: []string{"n", "J", "C", "q", "step γ", "largest step allowed",
		"ζ² + b² seen", "G seen", "measured mean ‖∇f(x̄)‖²", "at the start", "Ξ", "noise of (11)",
		"noise of (13)", "whole (11)", "whole (13)", "whole (11) over measured"}}
	for _, r := range ordersAll() {
		if len(rows.Of(r)) == 0 {
			continue
		}
		m := ordersMixing()[r.agents]
		b := wholeBound{step: r.step(m.factor()), rounds: r.rounds(), agents: float64(r.agents),
			smooth: ordersSmooth, gap: math.Ln2, mixing: m.factor()}
		figures := make([]reproduce.Sample, 9)
		for _, row := range rows.Of(r) {
			l := looksOf(func(metric, agent string) ([]uint64, []float64) {
				return rows.Series(&row, metric, agent)
			})
			b.within = l.spread()
			g := slices.Max(l.largest)
			adaptive, fixed := b.noise(l.meanRecord()), b.noise(g*g) // dσ² = 1
			for k, x := range []float64{l.spread(), g, l.meanSquare(), l.norms[0] * l.norms[0],
				b.standard(), adaptive, fixed, b.standard() + adaptive, b.standard() + fixed} {
				figures[k] = append(figures[k], x)
			}
		}
		cells := []any{r.agents, r.records, m.c, m.q, b.step, b.admissible()}
		for _, s := range figures {
			cells = append(cells, s.Significant())
		}
		d.Add(append(cells, fmt.Sprintf("%.1f", figures[7].Mean()/figures[2].Mean()))...)
	}
	d.Notes = wholeNotes()
	if f.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: a hundredth of the rounds, two points of each line, one seed")
	}
	return d
}

// ordersAll are AdaD2P's runs of both lines.
func ordersAll() []ordersRun {
	var all []ordersRun
	for _, line := range ordersLines {
		for _, r := range line.at {
			if r.mode = "replication"; !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

func wholeNotes() []string {
	return []string{
		"AdaD2P's runs of seed002-orders, for which dσ² = 1; mean and standard deviation over five seeds",
		"C, q: ‖diag(w)^{-1} P^{s+m-1} ... P^s - 11ᵀ/n‖ <= C q^m in spectral norm for every start and " +
			"length, of all such pairs the one with the least C/(1-q); that of the paper's Lemma 4 stands " +
			"in the appendix that the text lacks",
		fmt.Sprintf("L = %g, above a quarter of the largest eigenvalue of every agent's second moments "+
			"(checked on all data); f(x̄^0) - f* <= ln 2; models begin at 0", ordersSmooth),
		"ζ² + b² is the largest mean square distance of a record's gradient from the mean one at 100 looks " +
			"at the mean model, over all records, and all of it is taken as ζ²: the least that the bound " +
			"can say. G is the largest norm of a record's gradient at these looks",
	}
}
