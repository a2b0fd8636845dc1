package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/node/wire"
)

// two is a network of two networks in memory.
type two [2]*wire.Memory

func (n two) Open(_ testing.TB, i agent.ID) node.Transport {
	return wire.NewSeveral(n[0].Open(i), n[1].Open(i))
}

func TestSeveralTransports(t *testing.T) {
	nodetest.Transport(t, func(_ testing.TB, members int) nodetest.Network {
		return two{wire.NewMemory(members, nodetest.MaxPayload), wire.NewMemory(members, nodetest.MaxPayload)}
	})
}

// A member that one way does not reach is reached by the next; the error of all names
// each.
func TestTheSecondWayIsTaken(t *testing.T) {
	a, b := wire.NewMemory(2, 1000), wire.NewMemory(2, 1000)
	x := wire.NewSeveral(a.Open(0), b.Open(0))
	defer x.Close()
	x.Serve(func(agent.ID, []byte) error { return nil })
	hello := frame.Append(nil, &frame.Frame{Kind: frame.Hello})
	err := x.Send(context.Background(), 1, hello)
	if !errors.Is(err, node.ErrUnreachable) || strings.Count(err.Error(), "; then ") != 1 {
		t.Errorf("nobody is there: %v", err)
	}
	y := b.Open(1) // on the second network alone
	defer y.Close()
	var got int
	y.Serve(func(agent.ID, []byte) error { got++; return node.RefusedAhead })
	if err := x.Send(context.Background(), 1, hello); !errors.Is(err, node.RefusedAhead) || got != 1 {
		t.Errorf("%v after %d frames, want the second way's refusal", err, got)
	}
}
