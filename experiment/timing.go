package experiment

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"sotto/agent"
	"sotto/privacy"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// Split says where the time of a run went, in seconds; what ran on several workers is
// divided by their number. It is for display: no result depends on it.
type Split struct {
	Gradients float64 `json:"gradients"` // drawing batches, per-sample gradients, clipping
	Noise     float64 `json:"noise"`     // noise and charges
	// algorithms, messages, and workers waiting for the last of a round
	Mixing     float64 `json:"mixing"`
	Evaluation float64 `json:"evaluation"` // all agents' models on the test records
	Rest       float64 `json:"rest"`       // checkpoints, accounting
}

func (s Split) text() string {
	total := s.Gradients + s.Noise + s.Mixing + s.Evaluation + s.Rest
	share := func(x float64) float64 { return 100 * x / max(total, 1e-9) }
	return fmt.Sprintf("gradients %.0f %%, noise %.0f %%, mixing %.0f %%, evaluation %.0f %%, rest %.0f %%",
		share(s.Gradients), share(s.Noise), share(s.Mixing), share(s.Evaluation), share(s.Rest))
}

// stopwatch adds up times, in nanoseconds, over workers.
type stopwatch struct {
	oracle, gate       atomic.Int64
	rounds, evaluation atomic.Int64 // of the whole run
}

// lap adds the time since began.
func lap(to *atomic.Int64, began time.Time) { to.Add(int64(time.Since(began))) }

func (w *stopwatch) split(agents, workers int, total time.Duration) Split {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	n := float64(min(workers, agents))
	s := func(ns int64) float64 { return float64(ns) / 1e9 }
	oracle, gate, rounds, evaluation := s(w.oracle.Load()), s(w.gate.Load()), s(w.rounds.Load()),
		s(w.evaluation.Load())
	return Split{
		Gradients:  oracle / n,
		Noise:      (gate - oracle) / n,
		Mixing:     max(rounds-gate/n, 0),
		Evaluation: evaluation,
		Rest:       max(total.Seconds()-rounds-evaluation, 0),
	}
}

// timedGate measures the answers of a gate.
type timedGate struct {
	sim.Gate
	watch *stopwatch
}

func (g timedGate) Answer(q *agent.Query, dst tensor.Vec) error {
	defer lap(&g.watch.gate, time.Now())
	return g.Gate.Answer(q, dst)
}

// oracles measures the evaluations of an oracle over a model; others are left alone.
func (w *stopwatch) oracles(o privacy.Oracle) privacy.Oracle {
	if g, ok := o.(privacy.GridOracle); ok {
		return timedOracle{g, w}
	}
	return o
}

// timedOracle measures the evaluations of an oracle.
type timedOracle struct {
	privacy.GridOracle
	watch *stopwatch
}

func (o timedOracle) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	defer lap(&o.watch.oracle, time.Now())
	o.GridOracle.Evaluate(dst, q, sample)
}

func (o timedOracle) EvaluateGrid(dst []int64, q *agent.Query, sample *rng.Stream) {
	defer lap(&o.watch.oracle, time.Now())
	o.GridOracle.EvaluateGrid(dst, q, sample)
}

// Begin tells an oracle whose records change with the round which one it is.
func (o timedOracle) Begin(round uint64) {
	if b, ok := o.GridOracle.(interface{ Begin(round uint64) }); ok {
		b.Begin(round)
	}
}
