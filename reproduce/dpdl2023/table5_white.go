package dpdl2023

import (
	"math"
	"slices"

	"sotto/agent"
	"sotto/experiment"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/report/plot"
	"sotto/reproduce"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// follower sums the log-likelihood ratio of an agent's answers with the blank image
// against those without. The image is drawn with probability q; the others' gradients
// count with their mean over draws, which is what an adversary knows who does not see the
// draws.
type follower struct {
	sim.Gate
	attacked   *attacked
	others     *model.Batch
	ratio      float64
	own, known tensor.Vec
	work       model.Workspace
}

func (a *attacked) follower(g sim.Gate) follower {
	last := 100
	if a.method == "central" {
		last = 300
	}
	dim := a.e.Task.Model.Dim()
	return follower{
		Gate:     g,
		attacked: a,
		others:   &model.Batch{X: a.train.X.Slice(0, last), Labels: a.train.Labels[:last]},
		own:      make(tensor.Vec, dim),
		known:    make(tensor.Vec, dim),
	}
}

// Answer implements sim.Gate.
func (f *follower) Answer(q *agent.Query, dst tensor.Vec) error {
	if err := f.Gate.Answer(q, dst); err != nil || f.attacked.noise == 0 {
		return err
	}
	a := f.attacked
	f.own.Zero()
	f.known.Zero()
	a.e.Task.Model.ClippedGradientSum(f.own, q.At, a.blank(), attackClip, &f.work)
	a.e.Task.Model.ClippedGradientSum(f.known, q.At, f.others, attackClip, &f.work)
	length := math.Sqrt(f.own.Dot(f.own))
	if !(length > 0) {
		return nil
	}
	noise := a.noise * attackClip
	x := (a.batch()*dst.Dot(f.own) - attackRate*f.known.Dot(f.own)) / length / noise
	m := length / noise
	f.ratio += math.Log1p(attackRate * math.Expm1(m*x-m*m/2))
	return nil
}

// canary answers as the oracle does over no records, and adds the clip on one coordinate
// where the record is there: what the worst record would, in every batch.
type canary struct {
	privacy.Oracle
	there bool
}

// Evaluate implements privacy.Oracle.
func (c canary) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	c.Oracle.Evaluate(dst, q, sample)
	dst.Narrow()
	if c.there {
		dst.Float[0] += float32(attackClip * (1 - 1e-5))
	}
}

// whiteBox is the lower bound of the run's epsilon from the answers of the gate alone,
// which every agent's messages are functions of.
func (a *attacked) whiteBox(plan account.Plan, size attackSize) (float64, error) {
	s := &audit.Scores{}
	for k := range 2 * size.releases {
		there := k%2 == 1
		x, err := a.answer(there, rng.Public(attackSeed, "white box "+a.method, uint64(k)).Uint64())
		if err != nil {
			return 0, err
		}
		if there {
			s.In = append(s.In, x)
		} else {
			s.Out = append(s.Out, x)
		}
	}
	b := s.ByGDP(audit.Rule{Kind: audit.Fixed, At: .5}, attackBeta, attackDelta)
	if b.Mu == 0 {
		return 0, nil
	}
	plan.NoiseMultiplier = 1 / b.Mu
	e, err := account.Epsilon(plan, attackDelta)
	return e.Lower, err
}

// answer is one release's score: 0 on average without the canary, 1 with it.
func (a *attacked) answer(there bool, seed uint64) (float64, error) {
	g, _, err := a.e.Gate(&experiment.Seat{
		Records:   oracle.Records{Data: a.train},
		Ledger:    ledger.NewMemory(nil),
		Keys:      privacy.SimulatedKeys(seed),
		Mechanism: a.mechanism,
		Pool:      a.pool,
		Wrap:      func(o privacy.Oracle) privacy.Oracle { return canary{o, there} },
	})
	if err != nil {
		return 0, err
	}
	out := make(tensor.Vec, a.e.Task.Model.Dim())
	err = g.Answer(&agent.Query{Oracle: "grad", At: a.e.Task.Init}, out)
	return float64(out[0]) * a.batch() / attackClip, err
}

// histogramCells is the number of cells of a histogram, over the middle 99 % of both
// worlds' losses.
const histogramCells = 40

// histogram draws the losses of both worlds' models on the blank image as parts of all.
func histogram(name, title string, s *audit.Scores) plot.Figure {
	f := plot.Figure{
		Name:    name,
		Title:   "Loss on the blank image: " + title,
		XLabel:  "loss",
		YLabel:  "models (%)",
		Percent: true,
		Caption: "Losses of final models on the blank image, trained with and without it, over the middle " +
			"99 % of both.",
	}
	all := slices.Concat(s.In, s.Out)
	slices.Sort(all)
	most, least := -all[len(all)/200], -all[len(all)-1-len(all)/200]
	width := (most - least) / histogramCells
	if !(width > 0) || math.IsInf(width, 1) {
		return f
	}
	for _, w := range []struct {
		name   string
		scores []float64
	}{{"with the image", s.In}, {"without it", s.Out}} {
		c := plot.Curve{Name: w.name}
		counts := make([]int, histogramCells)
		for _, x := range w.scores {
			if k := int(math.Floor((-x - least) / width)); k >= 0 && k < histogramCells {
				counts[k]++
			}
		}
		for k, n := range counts {
			y := float64(n) / float64(len(w.scores))
			c.Points = append(c.Points, reproduce.At(least+(float64(k)+.5)*width, y))
		}
		f.Curves = append(f.Curves, c)
	}
	return f
}
