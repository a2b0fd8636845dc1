package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"sotto/agent"
	"sotto/node"
)

// fails is a transport that cannot send.
type fails struct {
	node.Transport
	err error
}

func (f fails) Send(context.Context, agent.ID, []byte) error { return f.err }

// A neighbor that had not started yet was logged in three lines with an id that stands in
// no file of the owner's.
func TestUnreachableIsOneShortLine(t *testing.T) {
	long := func(err error) error {
		return fmt.Errorf(
			"%w: agent 1: failed to dial 12D3KooWxyz: all dials failed\n  * [/ip4/127.0.0.1/tcp/1] %w",
			node.ErrUnreachable, err)
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{node.RefusedRun, node.RefusedRun.Error()},
		{long(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), "cannot be reached: connection refused"},
		{long(&net.DNSError{Name: "b.example", Err: "no such host"}),
			"cannot be reached: b.example: no such host"},
		{long(context.DeadlineExceeded), "cannot be reached: no answer in time"},
		{long(errors.New("another key")),
			"node: peer cannot be reached: agent 1: failed to dial b: all dials failed; " +
				"* [/ip4/127.0.0.1/tcp/1] another key"},
	} {
		err := Brief{
			fails{err: tc.err},
			strings.NewReplacer("12D3KooWxyz", "b"),
		}.Send(context.Background(), 1, nil)
		if fmt.Sprint(err) != fmt.Sprint(tc.err) && err.Error() != tc.want {
			t.Errorf("%q, want %q", err, tc.want)
		}
		was, is := errors.Is(tc.err, node.ErrUnreachable), errors.Is(err, node.ErrUnreachable)
		if !errors.Is(err, tc.err) || is != was {
			t.Errorf("%v has lost what it wraps", err)
		}
	}
}
