package node

import (
	"math"
	"time"
)

// leastSteps is how many steps a node completes before it says how long they take.
const leastSteps = 16

// progress is how long the steps of this process take. How long one takes depends on the
// batch that was drawn for it, which is private: what is told is the mean of many, to two
// digits, and it stays until there are twice as many.
type progress struct {
	spent time.Duration
	steps uint64
	told  time.Duration // 0: not known
	next  uint64        // number of steps at which told is found again
}

// add counts steps that took so long together.
func (p *progress) add(took time.Duration, steps uint64) {
	p.spent += took
	p.steps += steps
	if p.steps >= max(p.next, leastSteps) {
		mean := float64(p.spent) / float64(p.steps)
		digit := math.Pow(10, math.Floor(math.Log10(max(mean, 1)))-1)
		p.told, p.next = time.Duration(math.Round(mean/digit)*digit), 2*p.steps
	}
}

// left is how long so many steps are going to take, in whole seconds; 0: not known.
func (p *progress) left(steps uint64) Seconds {
	return Seconds((p.told * time.Duration(steps)).Round(time.Second).Seconds())
}
