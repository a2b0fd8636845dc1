package meter

import (
	"math"
	"time"
)

// leastSteps is how many steps a node completes before it says how long they take.
const leastSteps = 16

// Steps is how long the steps of a process take. How long one takes depends on the
// batch that was drawn for it, which is private: what is told is the mean of many, to two
// digits, and it stays until there are twice as many.
type Steps struct {
	spent time.Duration
	steps uint64
	Told  time.Duration // the mean of one; 0: not known
	next  uint64        // number of steps at which Told is found again
}

// Add counts steps that took so long together.
func (p *Steps) Add(took time.Duration, steps uint64) {
	p.spent += took
	p.steps += steps
	if p.steps >= max(p.next, leastSteps) {
		mean := float64(p.spent) / float64(p.steps)
		digit := math.Pow(10, math.Floor(math.Log10(max(mean, 1)))-1)
		p.Told, p.next = time.Duration(math.Round(mean/digit)*digit), 2*p.steps
	}
}

// Left is how long so many steps are going to take, to a second; 0: not known.
func (p *Steps) Left(steps uint64) time.Duration {
	return (p.Told * time.Duration(steps)).Round(time.Second)
}
