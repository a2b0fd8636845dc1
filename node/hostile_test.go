package node_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/nodetest"
)

// Garbage, a 4 GB length, another version, another roster, a flood of old frames: each is
// refused or dropped, its sender named, and the run ends with the simulator's bits.
func TestHostileFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		r := prepare(t, nodetest.Options{Factory: factory(t, "dsgt"), Change: func(i int, c *node.Config) {
			nodetest.Bare(i, c)
			if i == 0 {
				c.Log = logger(&logs)
			}
		}}, openMemory)
		r.start(t, 0)
		bad := r.net.Open(t, 1)
		bad.Serve(func(agent.ID, []byte) error { return nil })
		synctest.Wait()
		ok := &frame.Frame{Kind: frame.Messages, Run: r.w.Run, Sender: 1}
		with := func(change func(f *frame.Frame)) []byte {
			f := *ok
			change(&f)
			return frame.Append(nil, &f)
		}
		big := with(func(*frame.Frame) {})
		copy(big[52:], []byte{255, 255, 255, 255})
		other := r.w.Run
		other[0]++
		version := with(func(*frame.Frame) {})
		version[4] = 3
		for name, tc := range map[string]struct {
			frame []byte
			want  node.Refusal
		}{
			"garbage":    {bytes.Repeat([]byte{7}, 3000), node.RefusedFrame},
			"4 GB":       {big, node.RefusedFrame},
			"version":    {version, node.RefusedVersion},
			"roster":     {with(func(f *frame.Frame) { f.Run = other }), node.RefusedRun},
			"false name": {with(func(f *frame.Frame) { f.Sender = 3 }), node.RefusedSender},
			"round 2":    {with(func(f *frame.Frame) { f.Round = 2 }), node.RefusedAhead},
			"not a number": {with(func(f *frame.Frame) {
				f.Payload = message(1, 0, float32(math.NaN()))
			}), node.RefusedFrame},
			"too many": {with(func(f *frame.Frame) {
				f.Payload = message(1, 0, make([]float32, 4*nodetest.Dim+1)...)
			}), node.RefusedFrame},
			"too short": {with(func(f *frame.Frame) { f.Payload = message(1, 0, 1) }), node.RefusedFrame},
			"twice": {with(func(f *frame.Frame) {
				f.Payload = append(shape(), shape()...)
			}), node.RefusedFrame},
			"for other eyes": {with(func(f *frame.Frame) {
				f.Payload = message(1, 0, 1)
				f.Payload[5] = 3
			}), node.RefusedFrame},
		} {
			if err := bad.Send(context.Background(), 0, tc.frame); !errors.Is(err, tc.want) {
				t.Errorf("%s: %v, want %v", name, err, tc.want)
			}
			fork := r.nodes[0].Status().Peers[0].Fork
			if name == "roster" && fork != fmt.Sprintf("%x", other[:4]) {
				t.Errorf("who follows another roster follows %q", fork)
			}
		}
		if s := r.nodes[0].Status(); s.Counts.Refused != 11 || s.Peers[0].Name != "agent 1" ||
			s.Peers[0].Fault == "" {
			t.Errorf("status %+v", s)
		}
		if !strings.Contains(logs.String(), "agent 1") {
			t.Errorf("the log does not name the sender:\n%s", logs.String())
		}
		if strings.Count(logs.String(), "\n") > 20 {
			t.Errorf("%d lines for 11 frames", strings.Count(logs.String(), "\n"))
		}
		bad.Close()
		for _, i := range []int{1, 2, 3} {
			r.start(t, i)
		}
		r.wait(t)
		r.equalsSimulator(t)
	})
}

// shape is a message like those of the algorithm, whose state has two vectors.
func shape() []byte { return message(1, 0, make([]float32, 2*nodetest.Dim)...) }

func message(from agent.ID, round uint64, body ...float32) []byte {
	return agent.AppendMessage(nil, &agent.Message{From: from, To: agent.Broadcast, Round: round, Body: body})
}

// Old and repeated frames are taken off the wire and change nothing, however many come.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
			if i == 1 {
				c.Transport = flood{c.Transport}
			}
		}}, openMemory)
		r.wait(t)
		r.equalsSimulator(t)
		for _, i := range []int{0, 2} { // the neighbors of 1
			if c := r.nodes[i].Status().Counts; c.Replayed+c.Stale < 12*200 {
				t.Errorf("agent %d: %d repeated and %d old frames, want at least 2400", i, c.Replayed,
					c.Stale)
			}
		}
	})
}

// flood sends every frame of messages 200 times more.
type flood struct{ node.Transport }

func (f flood) Send(ctx context.Context, to agent.ID, raw []byte) error {
	err := f.Transport.Send(ctx, to, raw)
	if err == nil && frame.Kind(raw[5]) == frame.Messages {
		for range 200 {
			f.Transport.Send(ctx, to, raw)
		}
	}
	return err
}

// boasting signs its first frames to member 0 with marks that nobody can make.
type boasting struct {
	node.Transport
	change func(m *mark.Mark)
	left   *int
}

func (b boasting) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if to == 0 && *b.left > 0 {
		*b.left--
		raw = node.Remark(raw, nodetest.Key(1), func(_ *frame.Frame, m *mark.Mark) { b.change(m) })
	}
	return b.Transport.Send(ctx, to, raw)
}

// A member signs that it has completed more rounds than there are, or has more charges
// than a ledger can hold. Nobody believes it: the frames are refused, and when it tells
// the truth the run goes on, and ends with the simulator's bits.
func TestImpossibleMarksAreNotBelieved(t *testing.T) {
	for name, change := range map[string]func(m *mark.Mark){
		"rounds":  func(m *mark.Mark) { m.Round = mark.NoRound },
		"charges": func(m *mark.Mark) { m.Charges, m.Total = mark.NoRound, mark.NoRound },
		"records": func(m *mark.Mark) { m.Head.Seq = mark.NoRound },
	} {
		inBubble(t, name, func(t *testing.T) {
			left := 5
			r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
				c.Missing = node.Wait
				if i == 1 {
					c.Transport = boasting{c.Transport, change, &left}
				}
			}}, openMemory)
			r.wait(t)
			r.equalsSimulator(t)
			if n := r.nodes[0].Status().Counts.Refused; left > 0 || n == 0 {
				t.Errorf("%d frames are left to send, %d were refused", left, n)
			}
		})
	}
}

// chatty repeats its hello, each time with another ledger in its mark.
type chatty struct {
	node.Transport
	left *int
}

func (c chatty) Send(ctx context.Context, to agent.ID, raw []byte) error {
	err := c.Transport.Send(ctx, to, raw)
	for ; to == 0 && frame.Kind(raw[5]) == frame.Hello && *c.left > 0; *c.left-- {
		c.Transport.Send(ctx, to, node.Remark(raw, nodetest.Key(1), func(_ *frame.Frame, m *mark.Mark) {
			rand.Read(m.Ledger[:])
		}))
	}
	return err
}

// A member that shows another ledger with every hello does not fill its neighbor's log.
func TestMarksFillNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		left := 5000
		r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
			c.Linger, c.Missing, c.Deadline = time.Minute, node.Proceed, 10*time.Second
			if i == 0 {
				c.Log = logger(&logs)
			}
			if i == 1 {
				c.Transport = chatty{c.Transport, &left}
			}
		}}, openMemory)
		r.wait(t)
		if n := bytes.Count(logs.Bytes(), []byte("\n")); n > 100 {
			t.Errorf("%d lines in the log of agent 0 after %d frames", n, 5000-left)
		}
	})
}
