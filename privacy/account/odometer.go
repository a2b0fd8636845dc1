package account

import "math/bits"

// Odometer states a running epsilon that is valid at every time at once, whatever the
// reason for looking or stopping: levels double (1, 2, 4, ... copies), level j has delta
// (6/pi^2)/(j+1)^2 of the whole, and the statement after t copies is that of the level at
// or above t. It is larger than the figure for exactly t copies, which is valid only if
// stopping did not depend on private data other than through releases.
type Odometer struct {
	plan  Plan
	delta float64
	cache [64]*Interval
}

// NewOdometer counts periods of the plan.
func NewOdometer(p Plan, delta float64) (*Odometer, error) {
	if err := bad(delta > 0 && delta < 1, "delta", delta, "above 0 and below 1"); err != nil {
		return nil, err
	}
	_, err := p.compose(1)
	return &Odometer{plan: p, delta: delta}, err
}

// Epsilon is the running statement after periods >= 0 of the plan, at the odometer's
// delta. It is not safe for concurrent use.
func (o *Odometer) Epsilon(periods int) (Interval, error) {
	if err := checkTimes(periods); err != nil || periods == 0 {
		return Interval{}, err
	}
	level := bits.Len(uint(periods - 1)) // 2^level >= periods
	if o.cache[level] == nil {
		const share = 0.6079271018540267 // 6/pi^2, so that the levels sum to delta
		j := float64(level + 1)
		i, err := o.plan.epsilonAfter(1<<level, o.delta*share/(j*j))
		if err != nil {
			return Interval{}, err
		}
		o.cache[level] = &Interval{0, i.Upper}
	}
	return *o.cache[level], nil
}
