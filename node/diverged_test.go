package node_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// overflows sends a number that is not finite, in its rounds or before the first one.
type overflows struct {
	agent.Algorithm
	greets bool
}

func (o overflows) Step(in *agent.Input, out *agent.Output) error {
	err := o.Algorithm.Step(in, out)
	if o.greets && in.Kind == agent.Start {
		out.Outbox = []agent.Message{{To: agent.Broadcast, Body: make(tensor.Vec, 1)}}
	}
	for _, m := range out.Outbox {
		m.Body[0] = float32(math.Inf(1))
	}
	return err
}

// An algorithm that overflows ended a node as what may be tried again does, and each try
// cost a charge.
func TestDivergedAlgorithm(t *testing.T) {
	for name, o := range map[string]nodetest.Options{
		"rounds": {Factory: factory(t, "dsgd")},
		"pairs":  {Factory: admm(t), Interval: time.Hour},
		"greets": {Factory: admm(t), Interval: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			o.Agents, o.Graph, o.Rounds = 2, "path", 3
			o.Change = func(_ int, c *node.Config) {
				c.Algorithm, c.Pairs = overflows{c.Algorithm, name == "greets"}, o.Interval > 0
			}
			w, net := nodetest.NewWorld(t, o), openMemory(t, 2)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var errs [2]error
			var all sync.WaitGroup
			for i := range agent.ID(2) {
				tr := net.Open(t, i)
				n, store, err := w.Node(t, int(i), tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					errs[i] = n.Run(ctx)
					cancel()
					tr.Close()
					store.Close()
				})
			}
			all.Wait()
			if err := errors.Join(errs[:]...); !errors.Is(err, node.ErrDiverged) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
