package node_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/privacy"
	"sotto/tensor"
)

// batches is a gate whose answers take different times, as those of Poisson batches do.
type batches struct {
	node.Gate
	takes []time.Duration
	err   error
}

func (b *batches) Answer(*agent.Query, tensor.Vec) error {
	time.Sleep(b.takes[0])
	b.takes = b.takes[1:]
	return b.err
}

// Every answer takes the pad, or where it is too short a multiple of it; the owner alone
// learns how many did.
func TestPaddedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			takes, want time.Duration
			over        uint64
		}{{0, time.Second, 0}, {time.Second, time.Second, 0}, {300 * time.Millisecond, time.Second, 0},
			{999 * time.Millisecond, time.Second, 0}, {1001 * time.Millisecond, 2 * time.Second, 1},
			{5500 * time.Millisecond, 6 * time.Second, 1}} {
			for _, err := range []error{nil, privacy.ErrExhausted} {
				p := &node.ConstantTimeGate{Gate: &batches{takes: []time.Duration{tc.takes}, err: err},
					MinAnswerTime: time.Second}
				began := time.Now()
				if got := p.Answer(nil, nil); !errors.Is(got, err) {
					t.Errorf("%v, want %v", got, err)
				}
				if took := time.Since(began); took != tc.want || p.Over() != tc.over {
					t.Errorf("%v of work: an answer after %v with %d longer than the pad, want %v and %d",
						tc.takes, took, p.Over(), tc.want, tc.over)
				}
			}
		}
		p := &node.ConstantTimeGate{Gate: &batches{takes: []time.Duration{time.Millisecond}}}
		began := time.Now()
		if p.Answer(nil, nil); time.Since(began) != time.Millisecond || p.Over() != 0 {
			t.Error("a gate without a pad was padded")
		}
	})
}

// ear notes when a member's frames of messages to member 0 leave that arrive.
type ear struct {
	node.Transport
	at *[]time.Time
}

func (e ear) Send(ctx context.Context, to agent.ID, frame []byte) error {
	leaves := time.Now()
	err := e.Transport.Send(ctx, to, frame)
	if err == nil && node.FrameKind(frame[5]) == node.Messages && to == 0 {
		*e.at = append(*e.at, leaves)
	}
	return err
}

// What an observer of the network sees of a member with padded answers is the same for
// whatever batches it draws: in rounds its frames leave one pad apart.
func TestPadHidesTheBatch(t *testing.T) {
	times := func(most time.Duration) (after []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Time
			r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: func(i int, c *node.Config) {
				if i == 1 {
					c.Gate = &node.ConstantTimeGate{Gate: slowGate{c.Gate, most}, MinAnswerTime: time.Second}
					c.Transport = ear{c.Transport, &at}
				}
			}}, openMemory)
			r.wait(t)
			r.equalsSimulator(t)
			var first time.Time
			for _, x := range at {
				if x.Sub(at[0]) < time.Second/2 {
					// what is sent at the start meets members that are still starting,
					// and may be sent again
					continue
				}
				if first.IsZero() {
					first = x
				}
				after = append(after, x.Sub(first))
			}
		})
		return after
	}
	short, long := times(time.Millisecond), times(900*time.Millisecond)
	if len(short) != 11 || len(long) != 11 {
		t.Fatalf("%d and %d frames, want 11", len(short), len(long))
	}
	for k := range short {
		if want := time.Duration(k) * time.Second; short[k] != want || long[k] != want {
			t.Errorf("frame %d leaves after %v and %v, want %v", k, short[k], long[k], want)
		}
	}
}
