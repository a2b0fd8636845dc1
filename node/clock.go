package node

import (
	"fmt"
	"math"
	"time"

	"sotto/config"
	"sotto/rng"
)

// maxInterval bounds the mean time between two wakes.
const maxInterval = 24 * time.Hour

// clock is a Poisson clock of a public rate: the times between its rings are independent
// and exponentially distributed. They come from the operating system's randomness, so
// that nobody foresees them. A run is not drawn again from a seed: it is replayed from
// what its nodes record.
type clock struct {
	mean   time.Duration
	chance *rng.Stream
	next   time.Time // ring
	drawn  bool      // it has not come yet
}

func newClock(mean time.Duration) *clock {
	key := rng.NewKey()
	return &clock{mean: mean, chance: rng.NewStream(&key, rng.Choice), next: time.Now()}
}

// wait returns how long it is until the next ring, which it draws after the one before
// has rung. A ring that falls into a step is due at once; the clock goes on from there,
// so that a node that is slower than its clock has no backlog.
func (c *clock) wait() time.Duration {
	now := time.Now()
	if c.drawn {
		return max(0, c.next.Sub(now))
	}
	c.drawn = true
	c.next = c.next.Add(time.Duration(-math.Log1p(-c.chance.Float64()) * float64(c.mean)))
	if c.next.Before(now) {
		c.next = now
	}
	return c.next.Sub(now)
}

// rung says that the next ring has come.
func (c *clock) rung() { c.drawn = false }

// checkClock refuses intervals beside another pace, and what only rounds have.
func (c *Config) checkClock() error {
	switch {
	case c.Interval < 0 || c.Interval > maxInterval:
		return config.Bad("interval", c.Interval, fmt.Sprintf("0 to %v", maxInterval))
	case c.Interval > 0 && (c.Wakes != nil || c.Missing != Wait):
		return config.Bad("interval", c.Interval,
			"0 with recorded wakes and with missing proceed: a node that wakes by its clock waits for nobody")
	case c.BF16 && c.byWakes():
		return config.Bad("bf16", c.BF16, "false, where agents wake by a clock or a list")
	}
	return nil
}
