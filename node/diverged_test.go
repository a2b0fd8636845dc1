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
	"sotto/algo"
	"sotto/node"
	"sotto/node/frame"
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

// extreme puts finite values of the largest size in place of all that its member says.
type extreme struct{ node.Transport }

func (x extreme) Send(ctx context.Context, to agent.ID, raw []byte) error {
	f, err := frame.Decode(raw, node.MaxPayload(nodetest.Dim))
	if err != nil || f.Kind != frame.Messages && f.Kind != frame.Offer && f.Kind != frame.Reply &&
		f.Kind != frame.Token {
		return x.Transport.Send(ctx, to, raw)
	}
	messages, err := frame.DecodeMessages(nil, &f, to, 1<<20)
	if err != nil {
		panic(err)
	}
	f.Payload = []byte{}
	for _, m := range messages {
		for k := range m.Body {
			m.Body[k] = math.MaxFloat32
			if (uint64(k)+m.Round+uint64(to))%3 == 0 {
				m.Body[k] = -math.MaxFloat32
			}
		}
		f.Payload = agent.AppendMessage(f.Payload, &m)
	}
	return x.Transport.Send(ctx, to, frame.Append(nil, &f))
}

// On a complete graph a member that sends values of the largest size stops its neighbors
// where the threat model says so, and nowhere else; they end as what is not to be started
// again. With dsgt and sgp, which it names too, more is needed than that.
func TestExtremeValues(t *testing.T) {
	stops := map[string]bool{"dinno": true, "gossip-admm": true}
	for name, spec := range algo.Algorithms {
		o := nodetest.Options{Graph: "complete", Agents: 4, Rounds: 40}
		switch {
		case spec.Pacing == agent.PacingTokens:
			o.Factory, o.Tokens = walkFactory(t, name, "noise"), 2
		case spec.Pacing == agent.PacingPairs:
			o.Factory, o.Interval = admm(t), time.Second
		case spec.Pacing == agent.PacingWakes && waking[name] != nil:
			o.Factory, o.Interval = factory(t, name), time.Second
		case synchronous[name] != nil:
			o.Factory, o.Push = factory(t, name), name == "sgp"
		default:
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.Change = func(i int, c *node.Config) {
					nodetest.Bare(i, c)
					c.Pairs = spec.Pacing == agent.PacingPairs
					if c.Patience, c.Linger = time.Hour, time.Minute; i == 1 {
						c.Transport = extreme{c.Transport}
					}
				}
				r := start(t, o, openMemory)
				stopped := false
				for i := range r.nodes {
					err := <-r.done[i]
					switch {
					case i == 1:
					case errors.Is(err, node.ErrDiverged):
						stopped = true
					case err != nil && !(stops[name] && errors.Is(err, node.ErrStalled)):
						t.Errorf("agent %d ends with %v", i, err)
					}
				}
				if stopped != stops[name] {
					t.Errorf("a neighbor was stopped: %v, want %v", stopped, stops[name])
				}
			})
		})
	}
}
