package node_test

import (
	"io"
	"log/slog"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/nodetest"
)

// synchronous lists every algorithm that runs in rounds: a new one joins here.
var synchronous = map[string]func(p any){
	"dsgd": func(p any) {
		if p, ok := p.(*algo.DSGDParams); ok {
			p.StepSize.StepSize = .3
		}
	},
	"dsgt":       func(any) {},
	"dinno":      func(any) {},
	"gossip-sgd": func(any) {},
	"local":      func(any) {},
}

func factory(t testing.TB, name string) agent.Factory {
	t.Helper()
	f, err := algo.New(name, func(p any) error { synchronous[name](p); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func openMemory(_ testing.TB, members int) nodetest.Network {
	return memory{node.NewMemory(members, node.MaxPayload(nodetest.Dim))}
}

func TestNodesEqualTheSimulator(t *testing.T) {
	for name := range algo.Algorithms {
		if algo.PacingOf(name) != algo.Rounds || name == "central" { // one agent alone
			continue
		}
		if synchronous[name] == nil {
			t.Errorf("algorithm %s is not in the list of this suite", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			nodetest.Equal(t, nodetest.Options{Factory: factory(t, name)}, openMemory)
		})
	}
	t.Run("star", func(t *testing.T) {
		nodetest.Equal(t, nodetest.Options{Factory: factory(t, "dsgd"), Graph: "star", Agents: 5}, openMemory)
	})
	t.Run("budget that ends", func(t *testing.T) {
		nodetest.Equal(t, nodetest.Options{Factory: factory(t, "dsgt"), Limit: 5}, openMemory)
	})
	t.Run("one member", func(t *testing.T) {
		nodetest.Equal(t, nodetest.Options{Factory: factory(t, "dsgd"), Graph: "complete", Agents: 1}, openMemory)
	})
}

func logger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
