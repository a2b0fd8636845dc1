package node_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/node/roster"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/topology"
)

// clipping is a factory whose queries have clips of a kind.
func clipping(t testing.TB, name, kind string) agent.Factory {
	t.Helper()
	c := algo.Clipping{Kind: kind}
	if kind == "schedule" {
		c.Decay = .8
	}
	if err := c.Complete(nodetest.Clip, 1/nodetest.Scale); err != nil {
		t.Fatal(err)
	}
	f := factory(t, name)
	return func(env agent.Env) (agent.Algorithm, error) {
		a, err := f(env)
		if err != nil {
			return nil, err
		}
		return c.Clipped(a, nodetest.Clip, nodetest.Noise*nodetest.Scale, env.Dim), nil
	}
}

// Under every adaptive clip nodes ask with the simulator's clips, and so get its bits.
func TestAdaptiveClipsEqualTheSimulator(t *testing.T) {
	for _, name := range []string{"dsgd", "dsgt", "sgp"} {
		for _, kind := range []string{"schedule", "quantile", "released"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				nodetest.Equal(t, nodetest.Options{
					Factory: clipping(t, name, kind),
					Count:   kind == "quantile",
					Push:    name == "sgp",
					Limit:   9,
				}, openMemory)
			})
		}
	}
}

// Push-sum, and other algorithms where rows sum to 1 as well, on links of one direction
// that stay or change every round.
func TestDirectedGraphsEqualTheSimulator(t *testing.T) {
	for _, o := range []nodetest.Options{
		{Graph: "directed-ring", Agents: 6},
		{Graph: "exp-directed", Agents: 6},
		{Graph: "exp-directed-2", Agents: 7},
		{Graph: "star", Weights: "column", Agents: 5}, // masses that are not 1
	} {
		for _, name := range []string{"sgp", "dsgd"} {
			if o.Push = name == "sgp"; !o.Push && o.Weights != "" {
				continue // rows do not sum to 1
			}
			o.Factory = factory(t, name)
			t.Run(name+" "+o.Graph, func(t *testing.T) { nodetest.Equal(t, o, openMemory) })
		}
	}
}

// One member of a ring of one direction is slow, links lose, repeat and delay frames, and
// its predecessor, which does not hear it, has to keep what it needs.
func TestNobodyRunsAheadOfItsListeners(t *testing.T) {
	for _, graph := range []string{"directed-ring", "exp-directed"} {
		synctest.Test(t, func(t *testing.T) {
			nodetest.Equal(t, nodetest.Options{
				Factory: factory(t, "sgp"),
				Push:    true,
				Graph:   graph,
				Agents:  6,
				Change: func(i int, c *node.Config) {
					if i == 3 {
						c.Gate = slowGate{c.Gate, 10 * time.Second}
					}
				},
			}, openFaulty(func(f *nodetest.Faulty, _ agent.ID) {
				f.Lose, f.Unsure, f.Repeat, f.Delay = .2, .2, .2, time.Second
			}))
		})
	}
}

// A node refuses to go on without messages where that would lose mass, or where links
// have one direction.
func TestProceedIsRefusedWhereMassWouldBeLost(t *testing.T) {
	for name, o := range map[string]nodetest.Options{
		"mass":      {Factory: factory(t, "sgp"), Push: true},
		"direction": {Factory: factory(t, "dsgd"), Graph: "directed-ring"},
		"changing":  {Factory: factory(t, "dsgd"), Graph: "exp-directed"},
	} {
		o.Change = func(_ int, c *node.Config) { c.Missing = node.Proceed }
		_, _, err := nodetest.NewWorld(t, o).Node(t, 0, openMemory(t, 4).Open(t, 0), ledgertest.NewCrashFS(),
			ledger.NewMemory(nil))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "missing" || !strings.HasPrefix(bad.Allowed, "wait") {
			t.Errorf("%s: %v, want a config.Error on missing", name, err)
		}
	}
}

// Frames that push-sum cannot take are refused: a mass that is not there, a round without
// that link, progress of somebody who does not hear this node. Without push-sum no
// message has a mass.
func TestHostileMass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, push := range []bool{true, false} {
			name := map[bool]string{true: "sgp", false: "dsgd"}[push]
			r := prepare(t, nodetest.Options{Factory: factory(t, name), Push: push, Graph: "exp-directed",
				Change: nodetest.Bare},
				openMemory)
			r.start(t, 0) // hears 3 in round 0 and 2 in round 1; 1 hears it in round 0
			synctest.Wait()
			at := map[agent.ID]node.Transport{}
			for _, i := range []agent.ID{1, 2, 3} {
				at[i] = r.net.Open(t, i)
				at[i].Serve(func(agent.ID, []byte) error { return nil })
			}
			send := func(i agent.ID, kind frame.Kind, round uint64, mass float64) error {
				f := frame.Frame{Kind: kind, Run: r.w.Run, Sender: i, Round: round}
				if kind == frame.Messages {
					f.Payload = agent.AppendMessage(nil, &agent.Message{
						From:  i,
						To:    agent.Broadcast,
						Round: round,
						Mass:  mass,
						Body:  make([]float32, nodetest.Dim),
					})
				}
				return at[i].Send(context.Background(), 0, frame.Append(nil, &f))
			}
			bad := []float64{0, -1, 4.1, math.MaxFloat64, math.NaN(), math.Inf(1)}
			if !push {
				bad = []float64{1, -1, math.SmallestNonzeroFloat64, math.NaN()}
			}
			for _, mass := range bad {
				if err := send(3, frame.Messages, 0, mass); !errors.Is(err, node.RefusedFrame) {
					t.Errorf("%s: mass %v: %v", name, mass, err)
				}
			}
			if err := send(2, frame.Messages, 0, 1); !errors.Is(err, node.RefusedSender) {
				t.Errorf("%s: a round without that link: %v", name, err)
			}
			if err := send(3, frame.Progress, 0, 0); !errors.Is(err, node.RefusedSender) {
				t.Errorf("%s: progress of a member that hears nothing from here: %v", name, err)
			}
			if err := send(1, frame.Progress, 1, 0); err != nil {
				t.Errorf("%s: progress: %v", name, err)
			}
			good := map[bool]float64{true: .75}[push]
			if err := send(3, frame.Messages, 0, good); err != nil {
				t.Errorf("%s: mass %v: %v", name, good, err)
			}
			r.halt(0)
			for _, tr := range at {
				tr.Close()
			}
		}
	})
}

// Frames carry mass exactly: a run whose masses are no binary fractions ends with the
// simulator's, and they sum to the number of agents.
func TestMassIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.NewWorld(t, nodetest.Options{
			Factory: factory(t, "sgp"),
			Push:    true,
			Graph:   "star",
			Weights: "column",
			Agents:  5,
		})
		var algs []interface{ Mass() float64 }
		r := start(t, nodetest.Options{
			Factory: factory(t, "sgp"),
			Push:    true,
			Graph:   "star",
			Weights: "column",
			Agents:  5,
			Change: func(_ int, c *node.Config) {
				algs = append(algs, c.Algorithm.(interface{ Mass() float64 }))
			},
		}, openMemory)
		r.wait(t)
		r.equalsSimulator(t)
		// w^{12} = P^{12} 1 in float64.
		want := make([]float64, 5)
		for i := range want {
			want[i] = 1
		}
		for range 12 {
			next := make([]float64, 5)
			for i := range next {
				for j := range next {
					next[i] += w.Graph.Weight(agent.ID(i), agent.ID(j)) * want[j]
				}
			}
			want = next
		}
		sum := 0.
		for i, a := range algs {
			sum += a.Mass()
			if math.Abs(a.Mass()-want[i]) > 1e-12 {
				t.Errorf("agent %d has mass %v, want %v", i, a.Mass(), want[i])
			}
		}
		if math.Abs(sum-5) > 1e-12 || math.Abs(want[0]-1) < .1 {
			t.Errorf("masses %v sum to %v, want 5 in unequal parts", want, sum)
		}
	})
}

// A roster states the mean of graphs that change, which may have columns alone that sum
// to 1, and is read back.
func TestRosterOfADigraph(t *testing.T) {
	for _, spec := range []topology.Spec{{Graph: "exp-directed", Agents: 5},
		{Graph: "star", Weights: "column", Push: true, Agents: 4}} {
		s, err := topology.Build(spec, func(any) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		g, err := topology.Union(s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := roster.New("run.toml", []byte("x"), spec.Agents, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range spec.Agents {
			if err := r.Add(fmt.Sprint("h", i), strings.Repeat(fmt.Sprint(i+1), 64),
				fmt.Sprintf("10.0.0.%d:4000", i+1)); err != nil {
				t.Fatal(err)
			}
		}
		r.Weigh(g)
		b, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := roster.Parse("roster.toml", b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := back.Topology()
		if err != nil {
			t.Fatalf("%s: %v", spec.Graph, err)
		}
		for i := range agent.ID(spec.Agents) {
			for j := range agent.ID(spec.Agents) {
				if got.Weight(i, j) != g.Weight(i, j) {
					t.Errorf("%s: weight of %d on %d is %v, was %v", spec.Graph, i, j, got.Weight(i, j),
						g.Weight(i, j))
				}
			}
		}
	}
}
