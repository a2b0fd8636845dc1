package run

import (
	"runtime"
	"sync/atomic"
	"time"

	"sotto/agent"
	"sotto/experiment/rundir"
	"sotto/privacy"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// stopwatch adds up times, in nanoseconds, over workers.
type stopwatch struct {
	oracle, gate       atomic.Int64
	rounds, evaluation atomic.Int64 // of the whole run
}

// lap adds the time since began.
func lap(to *atomic.Int64, began time.Time) { to.Add(int64(time.Since(began))) }

func (w *stopwatch) split(agents, workers int, total time.Duration) rundir.Split {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	n := float64(min(workers, agents))
	s := func(ns int64) float64 { return float64(ns) / 1e9 }
	oracle, gate, rounds, evaluation := s(w.oracle.Load()), s(w.gate.Load()), s(w.rounds.Load()),
		s(w.evaluation.Load())
	return rundir.Split{
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
