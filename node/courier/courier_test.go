package courier_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node/courier"
)

// Each frame gets one attempt of ten seconds; those that find 64 others waiting are given
// up, and the sender never waits.
func TestOneAttemptEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := courier.New()
		for i := range 100 {
			c.Send(agent.ID(i), []byte{byte(i)})
		}
		var got []agent.ID
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		began := time.Now()
		c.Run(ctx, func(ctx context.Context, to agent.ID, frame []byte) error {
			if got = append(got, to); len(frame) != 1 || frame[0] != byte(to) {
				t.Errorf("%x goes to %d", frame, to)
			}
			if to == 0 {
				<-ctx.Done() // nobody is there
				if after := time.Since(began); after != 10*time.Second {
					t.Errorf("given up after %v", after)
				}
			}
			return errors.New("refused")
		})
		if len(got) != 64 || got[63] != 63 {
			t.Errorf("%d attempts: %v", len(got), got)
		}
	})
}
