package pad_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/pad"
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
				p := &pad.Gate{Gate: &batches{takes: []time.Duration{tc.takes}, err: err},
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
		p := &pad.Gate{Gate: &batches{takes: []time.Duration{time.Millisecond}}}
		began := time.Now()
		if p.Answer(nil, nil); time.Since(began) != time.Millisecond || p.Over() != 0 {
			t.Error("a gate without a pad was padded")
		}
	})
}
