package attack

import (
	"math"
	"slices"

	"sotto/agent"
	"sotto/experiment"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// What a fault is planted in: the run's own mechanism, oracle, ledger, gate or algorithm,
// as package experiment makes them, with something of a test around them.

type (
	plant   = func(*experiment.Experiment, *experiment.Seat)
	perturb = func(v *privacy.Value, r account.Release, c privacy.Charge)
	change  = func(k int, z []float64, value tensor.Vec)
	charge  = func(l ledger.Ledger, ev account.Event) (uint64, error)
)

// perturbing is the run's mechanism, with its event, that makes other noise.
type perturbing struct {
	privacy.Mechanism
	perturb func(v *privacy.Value, r account.Release, c privacy.Charge)
}

func (p perturbing) Perturb(v *privacy.Value, r account.Release, c privacy.Charge) {
	p.perturb(v, r, c)
}

// mechanism plants a mechanism; make gets the right one, once for every gate.
func mechanism(make func(right privacy.Mechanism) perturb) plant {
	return func(e *experiment.Experiment, s *experiment.Seat) {
		if s.Mechanism != nil { // the one without noise by which a sampler is tested
			return
		}
		m, err := e.Setup.Scheme.Mechanism(s.Self, e.Plans[s.Self].Noise, s.Secret)
		if err != nil {
			panic(err)
		}
		s.Mechanism = perturbing{m, make(m)}
	}
}

// noise plants what a function makes of the noise of each charge, in standard deviations,
// of which there have been k. value is what the data answer.
func noise(make func() change) plant {
	return mechanism(func(right privacy.Mechanism) perturb {
		k, change := 0, make()
		return func(v *privacy.Value, r account.Release, c privacy.Charge) {
			value := slices.Clone(v.Float)
			right.Perturb(v, r, c)
			z := make64(len(value))
			sigma := right.(privacy.Gaussian).NoiseMultiplier * r.Parts[0].Clip
			for i := range z {
				z[i] = (float64(v.Float[i]) - float64(value[i])) / sigma
			}
			change(k, z, value)
			k++
			step := privacy.ReleaseStep(right, r.Parts[0])
			for i := range z {
				v.Float[i] = float32(math.Round((float64(value[i])+sigma*z[i])/step) * step)
			}
		}
	})
}

func make64(n int) []float64 { return make([]float64, n) }

// each plants noise without a memory.
func each(alter func(z []float64)) plant {
	return noise(func() change {
		return func(_ int, z []float64, _ tensor.Vec) { alter(z) }
	})
}

// scaled plants noise of another size.
func scaled(by float64) plant {
	return each(func(z []float64) {
		for i := range z {
			z[i] *= by
		}
	})
}

// changed is an oracle that says what it said and does something else.
type changed struct {
	privacy.Oracle
	describe func(r *account.Release)
	evaluate func(dst *privacy.Value, q *agent.Query, sample *rng.Stream)
}

func (c *changed) Describe(q *agent.Query) (account.Release, error) {
	r, err := c.Oracle.Describe(q)
	if c.describe != nil {
		c.describe(&r)
	}
	return r, err
}

func (c *changed) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	if c.evaluate == nil {
		c.Oracle.Evaluate(dst, q, sample)
		dst.Narrow()
		return
	}
	c.evaluate(dst, q, sample)
}

// gradients plants another oracle of gradients.
func gradients(make func(g *oracle.Gradient) *changed) plant {
	return func(_ *experiment.Experiment, s *experiment.Seat) {
		s.Wrap = func(o privacy.Oracle) privacy.Oracle {
			g := o.(*oracle.Gradient)
			c := make(g)
			c.Oracle = g
			return c
		}
	}
}

// ask is what an oracle of gradients is asked for.
type ask struct {
	g   *oracle.Gradient
	dst *privacy.Value
	q   *agent.Query
	s   *rng.Stream
}

// of adds what another oracle would.
func (a ask) of(g *oracle.Gradient) { g.Evaluate(a.dst, a.q, a.s) }

// evaluates plants what an oracle does.
func evaluates(do func(ask)) plant {
	return gradients(func(g *oracle.Gradient) *changed {
		return &changed{evaluate: func(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
			do(ask{g, dst, q, sample})
		}}
	})
}

// rated is the oracle with other records or another rate.
func rated(g *oracle.Gradient, rate float64, index []int32) *oracle.Gradient {
	other := *g
	other.SampleRate, other.Records.Index = rate, index
	return &other
}

func unclipped(g *oracle.Gradient) *oracle.Gradient {
	free := *g
	free.ClipNorm = math.Inf(1)
	return &free
}

// charging is a ledger whose charges go through f.
type charging struct {
	ledger.Ledger
	charge func(l ledger.Ledger, ev account.Event) (uint64, error)
}

func (c *charging) Charge(ev account.Event) (uint64, error) { return c.charge(c.Ledger, ev) }

// charges plants a ledger in front of the one that is watched.
func charges(make func() charge) plant {
	return func(_ *experiment.Experiment, s *experiment.Seat) {
		if s.Ledger != nil {
			s.Ledger = &charging{s.Ledger, make()}
		}
	}
}

// lateGate lets what a gate has charged reach the real ledger in the next round.
type lateGate struct {
	audit.Gate
	flush func()
}

func (g *lateGate) Begin(round uint64, live []agent.Neighbor) {
	g.flush()
	g.Gate.Begin(round, live)
}

// chargedLate plants a ledger that is written after the message has left.
func chargedLate() fault {
	var waiting []func()
	flush := func() {
		for _, f := range waiting {
			f()
		}
		waiting = nil
	}
	return fault{
		seat: func(_ *experiment.Experiment, s *experiment.Seat) {
			if s.Ledger == nil {
				return
			}
			s.Ledger = &charging{s.Ledger, func(l ledger.Ledger, ev account.Event) (uint64, error) {
				waiting = append(waiting, func() { _, _ = l.Charge(ev) })
				return uint64(len(waiting)), nil
			}}
		},
		target: func(t *audit.Target) {
			open := t.Open
			t.Open = func(w audit.Hypothesis, seed uint64, drawn bool) (*audit.Party, error) {
				waiting = nil
				p, err := open(w, seed, drawn)
				if err == nil {
					p.Gate = &lateGate{p.Gate, flush}
				}
				return p, err
			}
		},
	}
}

// forgets plants an owner whose ledger a crash loses.
func forgets(t *audit.Target) {
	open := t.Open
	t.Open = func(w audit.Hypothesis, seed uint64, drawn bool) (*audit.Party, error) {
		p, err := open(w, seed, drawn)
		if err == nil {
			p.Reopen = func() (*audit.Party, error) { return open(w, seed, drawn) }
		}
		return p, err
	}
}

// passing lets every so many-th answer pass the gate.
type passing struct {
	audit.Gate
	value func(q *agent.Query) (tensor.Vec, error)
	every int
	asked int
}

func (g *passing) Answer(q *agent.Query, dst tensor.Vec) error {
	if g.asked++; g.asked%g.every != 0 {
		return g.Gate.Answer(q, dst)
	}
	v, err := g.value(q)
	copy(dst, v)
	return err
}

// uncharged plants a gate of which every so many-th answer passes it by: neither charged
// nor noisy.
func uncharged(every int) func(t *audit.Target) {
	return func(t *audit.Target) {
		open := t.Open
		t.Open = func(w audit.Hypothesis, seed uint64, drawn bool) (*audit.Party, error) {
			p, err := open(w, seed, drawn)
			if err == nil {
				value := func(q *agent.Query) (tensor.Vec, error) { return t.Value(w, q) }
				p.Gate = &passing{Gate: p.Gate, every: every, value: value}
			}
			return p, err
		}
	}
}

// toNeighbors plants a node that sends its messages to two neighbors one by one, and to
// the second, from the answer of a number on, what change makes of the message and of the
// one without noise.
func toNeighbors(one, other agent.ID, from int,
	change func(noisy, bare tensor.Vec) tensor.Vec) func(*audit.Target) {
	return func(t *audit.Target) {
		machine, open := t.Algorithm, t.Open
		world := audit.Out
		t.Open = func(w audit.Hypothesis, seed uint64, drawn bool) (*audit.Party, error) {
			world = w
			return open(w, seed, drawn)
		}
		made := 0 // one by the scout, and three a trial, of which the first is the real one
		t.Algorithm = func() (agent.Algorithm, error) {
			a, err := machine()
			if err != nil {
				return nil, err
			}
			twin, err := machine()
			made++
			return &telling{Algorithm: a, twin: twin, to: [2]agent.ID{one, other}, from: from, change: change,
				real:  made%3 == 2,
				value: func(q *agent.Query) (tensor.Vec, error) { return t.Value(world, q) }}, err
		}
	}
}

// telling is the algorithm of such a node.
type telling struct {
	agent.Algorithm
	twin   agent.Algorithm
	to     [2]agent.ID
	from   int
	change func(noisy, bare tensor.Vec) tensor.Vec
	real   bool
	value  func(q *agent.Query) (tensor.Vec, error)
	bare   tensor.Vec
	out    agent.Output
}

func (a *telling) Step(in *agent.Input, out *agent.Output) (err error) {
	if err := a.Algorithm.Step(in, out); err != nil {
		return err
	}
	with := *in
	if a.real && in.Kind == agent.Answer {
		with.Answer = a.bare
	}
	a.out.Reset()
	if err := a.twin.Step(&with, &a.out); err != nil {
		return err
	}
	if out.Query != nil && a.real {
		a.bare, err = a.value(out.Query)
		return err
	}
	if len(out.Outbox) != 1 || in.Kind != agent.Answer {
		return nil
	}
	first, second := out.Outbox[0], out.Outbox[0]
	if a.from--; a.from <= 0 {
		second.Body = a.change(first.Body, a.out.Outbox[0].Body)
	}
	first.To, second.To = a.to[0], a.to[1]
	out.Outbox = append(out.Outbox[:0], first, second)
	return nil
}
