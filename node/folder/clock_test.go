package folder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A transport in whose folder nothing happens looks once a second, also when the clock
// was set back meanwhile; just after something has happened it looks often.
func TestAClockThatIsSetBack(t *testing.T) {
	for active, want := range map[time.Duration]time.Duration{
		-time.Hour: mostPoll, 0: leastPoll, time.Hour: mostPoll,
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := &Transport{ctx: t.Context()}
			tr.active.Store(time.Now().Add(active).UnixNano())
			began := time.Now()
			if tr.pause(context.Background()); time.Since(began) != want {
				t.Errorf("active at %v: it looks after %v, want %v", active, time.Since(began), want)
			}
		})
	}
}
