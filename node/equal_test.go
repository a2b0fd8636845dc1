package node_test

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/node/wire"
)

// synchronous lists every algorithm that runs in rounds: a new one joins here.
var synchronous = map[string]func(p any){
	"dsgd": func(p any) {
		if p, ok := p.(*algo.DSGDParams); ok {
			p.StepSize.StepSize = .3
		}
	},
	"dsgt":           func(any) {},
	"dinno":          func(any) {},
	"gossip-sgd":     func(any) {},
	"gossip-average": func(any) {},
	"query":          func(any) {},
	"newton": func(p any) {
		if p, ok := p.(*algo.NewtonParams); ok {
			p.Steps, p.MomentsNoise = 2, 1.5
		}
	},
	"boosting": func(p any) {
		if p, ok := p.(*algo.BoostingParams); ok {
			p.Steps = 2
		}
	},
	"local": func(any) {},
	"km":    func(any) {},
	"sgp":   func(any) {},
}

// waking lists the algorithms whose agents wake by their own clocks and broadcast; here
// by a recorded list.
var waking = map[string]func(p any){
	"bcd":               func(any) {},
	"model-propagation": func(any) {},
	"local-fit":         func(any) {},
}

func factory(t testing.TB, name string) agent.Factory {
	t.Helper()
	set := synchronous[name]
	if set == nil {
		set = waking[name]
	}
	f, err := algo.New(name, func(p any) error { set(p); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ownState is algorithm km whose agents have a private iterate behind the gate.
func ownState(t testing.TB) agent.Factory {
	t.Helper()
	f, err := algo.New("km", func(p any) error {
		k := p.(*algo.KMParams)
		k.PrivateIterate, k.Alpha, k.Schedule, k.AlphaTau = true, .4, "inverse", 5
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func openMemory(_ testing.TB, members int) nodetest.Network {
	return memory{wire.NewMemory(members, node.MaxPayload(nodetest.Dim))}
}

func TestNodesEqualTheSimulator(t *testing.T) {
	for name := range algo.Algorithms {
		if algo.Algorithms[name].Pacing != agent.PacingRounds || name == "central" { // one agent alone
			continue
		}
		if synchronous[name] == nil {
			t.Errorf("algorithm %s is not in the list of this suite", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			nodetest.Equal(t, nodetest.Options{Factory: factory(t, name), Push: name == "sgp"}, openMemory)
		})
	}
	for _, name := range []string{"dsgd", "dsgt", "dinno", "gossip-sgd", "gossip-average", "newton",
		"boosting"} {
		t.Run(name+" with shared noise", func(t *testing.T) {
			nodetest.Equal(t, nodetest.Options{Factory: factory(t, name), Shared: true}, openMemory)
		})
	}
	t.Run("km with own state", func(t *testing.T) {
		nodetest.Equal(t, nodetest.Options{Factory: ownState(t)}, openMemory)
	})
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("bias-corrected adam and a tail, shared noise ", shared), func(t *testing.T) {
			f, err := algo.New("dsgd", func(p any) error {
				o := &p.(*algo.DSGDParams).Optimizer
				o.Optimizer, o.Tail = "adam-bc", .5
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			nodetest.Equal(t, nodetest.Options{Factory: f, Shared: shared}, openMemory)
		})
	}
	t.Run("star", func(t *testing.T) {
		nodetest.Equal(t, nodetest.Options{Factory: factory(t, "dsgd"), Graph: "star", Agents: 5}, openMemory)
	})
	t.Run("budget that ends", func(t *testing.T) {
		nodetest.Equal(t, nodetest.Options{Factory: factory(t, "dsgt"), Limit: 5}, openMemory)
	})
	t.Run("one member", func(t *testing.T) {
		nodetest.Equal(t, nodetest.Options{Factory: factory(t, "dsgd"), Graph: "complete", Agents: 1},
			openMemory)
	})
}

func logger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// Nodes that wake by a recorded list take in what the simulator's agents take in,
// whatever links do.
func TestRecordedWakesEqualTheSimulator(t *testing.T) {
	for name := range algo.Algorithms {
		if algo.Algorithms[name].Pacing != agent.PacingWakes {
			continue
		}
		if waking[name] == nil {
			t.Errorf("algorithm %s is not in the list of this suite", name)
			continue
		}
		for _, o := range []nodetest.Options{
			{Graph: "ring", Agents: 5, Wakes: 60},
			{Graph: "star", Agents: 4, Wakes: 50, Limit: 3},
			{Graph: "complete", Agents: 3, Wakes: 4}, // somebody may never wake
		} {
			o.Factory = factory(t, name)
			t.Run(name+" "+o.Graph, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					nodetest.Equal(t, o, openFaulty(func(f *nodetest.Faulty, _ agent.ID) {
						f.Lose, f.Unsure, f.Repeat, f.Delay = .2, .2, .2, time.Second
					}))
				})
			})
		}
	}
}
