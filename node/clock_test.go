package node_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/node/wire"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// exact is a gate that answers with the gradient of |θ - center|²/2 and, if spread is
// above 0, noise that is uniform in -spread .. spread: a problem whose minimiser is
// known.
type exact struct {
	center float32
	spread float32
	chance interface{ Float64() float64 }
}

func (exact) Begin(uint64, []agent.Neighbor) {}

func (g exact) Answer(q *agent.Query, dst tensor.Vec) error {
	for i, x := range q.At {
		dst[i] = x - g.center*float32(i+1)
		if g.spread > 0 {
			dst[i] += g.spread * float32(2*g.chance.Float64()-1)
		}
	}
	return nil
}

const pullMu, pullLambda = .3, .1

// pull is block coordinate descent on these problems, with constants that make every
// update a contraction.
func pull(t testing.TB) agent.Factory {
	t.Helper()
	f, err := algo.New("bcd", func(p any) error {
		b := p.(*algo.BCDParams)
		b.Mu, b.Lambda, b.Confidence, b.Smoothness = pullMu, pullLambda, 1, 1
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// minimiser solves the stationarity of Q in coordinate 0 by Gauss-Seidel in float64, to
// convergence: for every agent
//
//	Σ_j W_ij (θ_i - θ_j) + μ D_i (θ_i - b_i + 2 λ θ_i) = 0
func minimiser(w *nodetest.World, center func(i int) float64) []float64 {
	x := make([]float64, w.Graph.Agents())
	for range 10000 {
		for i := range x {
			degree, sum := 0., 0.
			for _, nb := range w.Graph.In(agent.ID(i)) {
				degree += nb.Weight
				sum += nb.Weight * x[nb.ID]
			}
			x[i] = (sum + pullMu*degree*center(i)) / (degree * (1 + pullMu*(1+2*pullLambda)))
		}
	}
	return x
}

// Nodes that wake by their clocks reach the minimiser of the objective, whatever links do
// and though one of them is away for a while: block coordinate descent has one limit for
// all orders of wakes.
func TestClocksReachTheMinimiser(t *testing.T) {
	for name, change := range map[string]func(f *nodetest.Faulty, i agent.ID){
		"good links": func(*nodetest.Faulty, agent.ID) {},
		"bad links": func(f *nodetest.Faulty, _ agent.ID) {
			f.Lose, f.Unsure, f.Repeat, f.Delay = .3, .3, .3, 2*time.Second
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				center := func(i int) float64 { return float64(i * i) }
				r := start(t, nodetest.Options{
					Factory:  pull(t),
					Agents:   5,
					Rounds:   300,
					Interval: time.Second,
					Change: func(i int, c *node.Config) {
						c.Gate = exact{center: float32(center(i))}
					},
				}, openFaulty(change))
				time.Sleep(time.Minute)
				r.halt(3)
				before := r.nodes[2].Status().Round
				time.Sleep(time.Minute)
				if s := r.nodes[2].Status(); s.Round < before+20 || s.Pace != node.InWakes ||
					s.Peers[1].State == node.Here {
					t.Errorf("without a neighbor: %+v after wake %d", s, before)
				}
				r.start(t, 3)
				r.wait(t)
				want := minimiser(r.w, center)
				for i, n := range r.nodes {
					if got := float64(n.Params()[0]); math.Abs(got-want[i]) > 1e-4*(1+math.Abs(want[i])) {
						t.Errorf("agent %d ends at %g, the minimiser is %g", i, got, want[i])
					}
					if s := n.Status(); s.Round != 300 || !s.Finished || s.Counts.Missing != 0 {
						t.Errorf("agent %d: %+v", i, s)
					}
				}
			})
		})
	}
}

// objective is Q for centers i, in all coordinates.
func objective(w *nodetest.World, params func(i int) tensor.Vec) float64 {
	sum := 0.
	for i := range w.Graph.Agents() {
		degree := 0.
		for _, nb := range w.Graph.In(agent.ID(i)) {
			degree += nb.Weight
			for k, x := range params(i) {
				d := float64(x - params(int(nb.ID))[k])
				sum += nb.Weight * d * d / 4
			}
		}
		for k, x := range params(i) {
			d := float64(x) - float64(i*(k+1))
			sum += degree * pullMu * (d*d/2 + pullLambda*float64(x)*float64(x))
		}
	}
	return sum
}

// Noisy runs by clocks end at the objective of the simulator's noisy runs. The middle of
// 5 runs of nodes may not lie above, nor below, all of 199 simulated ones: where both
// have one distribution that happens with probability 2 · C(5,3)/C(204,3) < 2e-5.
func TestClocksEqualTheSimulatorInDistribution(t *testing.T) {
	const agents, rounds, runs, simulated = 4, 25, 5, 199
	gate := func(i int, seed uint64) exact {
		return exact{center: float32(i), spread: 2, chance: rng.Public(seed, "noise", uint64(i))}
	}
	w := nodetest.NewWorld(t, nodetest.Options{Factory: pull(t), Agents: agents, Rounds: rounds,
		Interval: time.Second})
	low, high := math.Inf(1), math.Inf(-1)
	for k := range uint64(simulated) {
		var all []sim.Agent
		for i := range agents {
			all = append(all, sim.Agent{Algorithm: w.Algorithm(t, i), Gate: gate(i, k)})
		}
		// Every agent wakes as often as a node does, in an order that is drawn.
		left, order := slices.Repeat([]int{rounds}, agents), []sim.Wake{}
		for clock := sim.NewClock(k, agents, nil); len(order) < agents*rounds; {
			if wake, _ := clock.Next(); left[wake.Agent] > 0 {
				left[wake.Agent]--
				order = append(order, wake)
			}
		}
		s, err := sim.New(sim.Config{
			Agents:   all,
			Schedule: topology.Static(w.Graph),
			Dim:      nodetest.Dim,
			Pacing:   agent.PacingWakes,
			Steps:    agents * rounds,
			Workers:  1,
			Replay:   order,
		})
		if err == nil {
			err = s.Run(context.Background(), agents*rounds)
		}
		if err != nil {
			t.Fatal(err)
		}
		q := objective(w, s.Model)
		low, high = min(low, q), max(high, q)
	}
	var got []float64
	for k := range uint64(runs) {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, nodetest.Options{
				Factory:  pull(t),
				Agents:   agents,
				Rounds:   rounds,
				Interval: time.Second,
				Change: func(i int, c *node.Config) {
					c.Gate = gate(i, 1000+k)
				},
			}, openMemory)
			r.wait(t)
			got = append(got, objective(w, func(i int) tensor.Vec { return r.nodes[i].Params() }))
		})
	}
	slices.Sort(got)
	if q := got[runs/2]; q < low || q > high {
		t.Errorf("nodes end at objectives %v, the simulator between %g and %g", got, low, high)
	}
}

// Budgets end, the run goes on; an algorithm that needs no further wakes ends at once; no
// budget is exceeded.
func TestClocksAndBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, limit := range map[string]int{"bcd": 3, "model-propagation": 1, "local-fit": 1} {
			began := time.Now()
			r := start(t, nodetest.Options{
				Factory:  factory(t, name),
				Rounds:   30,
				Interval: time.Minute,
				Limit:    limit,
			}, openMemory)
			r.wait(t)
			for i, n := range r.nodes {
				s := n.Status()
				if !s.Finished || r.led[i].Head().Seq != uint64(limit) || s.Exhausted != (name == "bcd") {
					t.Errorf("%s: agent %d ends with %+v and %d charges", name, i, s, r.led[i].Head().Seq)
				}
			}
			if took := time.Since(began); name == "local-fit" != (took < time.Minute/2) {
				t.Errorf("%s took %v", name, took)
			}
		}
	})
}

// What a wake took in is in its report: with the answers that is all a replay needs.
func TestClocksRecordWhatTheyHear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make([][]node.RoundReport, 4)
		steps := &crashing{steps: make([][]step, 4)}
		r := start(t, nodetest.Options{Factory: factory(t, "bcd"), Interval: time.Second,
			Change: func(i int, c *node.Config) {
				c.OnRound = func(r node.RoundReport) { reports[i] = append(reports[i], r) }
				c.Algorithm = recorder{c.Algorithm, &steps.mu, &steps.steps[i]}
			}}, openMemory)
		r.wait(t)
		for i := range reports {
			var heard [][]node.Heard
			for _, s := range steps.steps[i] {
				if s.in.Kind == agent.Wake {
					var of []node.Heard
					for _, m := range s.in.Inbox {
						of = append(of, node.Heard{From: m.From, Round: m.Round})
					}
					heard = append(heard, of)
				}
			}
			if len(heard) != 12 || len(reports[i]) != 12 {
				t.Fatalf("agent %d: %d wakes, %d reports, want 12", i, len(heard), len(reports[i]))
			}
			for k, rep := range reports[i] {
				if !slices.Equal(rep.Heard, heard[k]) || rep.Round != uint64(k) ||
					k > 0 && !rep.Woke.After(reports[i][k-1].Woke) {
					t.Errorf("agent %d, wake %d: report %+v, it heard %v", i, k, rep, heard[k])
				}
			}
		}
	})
}

func TestClocksRefuseOtherPaces(t *testing.T) {
	for name, change := range map[string]func(c *node.Config){
		"negative":       func(c *node.Config) { c.Interval = -1 },
		"too long":       func(c *node.Config) { c.Interval = 25 * time.Hour },
		"recorded wakes": func(c *node.Config) { c.Wakes = []agent.ID{0} },
		"proceed":        func(c *node.Config) { c.Missing = node.Proceed },
	} {
		w := nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, "bcd"), Interval: time.Second,
			Change: func(_ int, c *node.Config) { change(c) }})
		_, _, err := w.Node(t, 0, wire.NewMemory(4, 1000).Open(0), ledgertest.NewCrashFS(),
			ledger.NewMemory(nil))
		var bad *config.Error
		key := "interval"
		if name == "proceed" {
			key = "missing"
		}
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", name, err)
		}
	}
}
