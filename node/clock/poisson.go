// Package clock has the clocks of a node: the one that it wakes by, and what it knows of
// those of other machines.
package clock

import (
	"math"
	"time"

	"sotto/rng"
)

// Poisson is a clock of a public rate: the times between its rings are independent
// and exponentially distributed. They come from the operating system's randomness, so
// that nobody foresees them. A run is not drawn again from a seed: it is replayed from
// what its nodes record.
type Poisson struct {
	mean   time.Duration
	Chance *rng.Stream // of the rings, and of what its owner draws at one
	Next   time.Time   // ring
	drawn  bool        // it has not come yet
}

// NewPoisson is a clock whose rings are so far apart on average, which is above 0.
func NewPoisson(mean time.Duration) *Poisson {
	key := rng.NewKey()
	return &Poisson{mean: mean, Chance: rng.NewStream(&key, rng.Choice), Next: time.Now()}
}

// Wait returns how long it is until the next ring, which it draws after the one before
// has rung. A ring that falls into a step is due at once; the clock goes on from there,
// so that a node that is slower than its clock has no backlog.
func (c *Poisson) Wait() time.Duration {
	now := time.Now()
	if c.drawn {
		return max(0, c.Next.Sub(now))
	}
	c.drawn = true
	c.Next = c.Next.Add(time.Duration(-math.Log1p(-c.Chance.Float64()) * float64(c.mean)))
	if c.Next.Before(now) {
		c.Next = now
	}
	return c.Next.Sub(now)
}

// Rung says that the next ring has come.
func (c *Poisson) Rung() { c.drawn = false }
