// Package privacy is the only door between private data and everything else. A [Gate]
// holds an owner's oracles; it charges the ledger, durably, before it lets an oracle read
// data, adds the mechanism's noise to the value, and answers. What an algorithm holds,
// sends or logs is therefore post-processing of releases that the ledger lists.
//
// A mechanism takes a noise scale over the clip, never an epsilon; the sensitivity, with
// its norm, comes with the release (account.Release), and what a release costs follows
// from both:
//
//	gaussian             L2  normal noise, exact, rounded to a grid
//	discrete-gaussian    L2  integer Gaussian noise on integer values
//	laplace              L1  integer Laplace noise on integer values, pure epsilon
//	k-norm               L2  Gamma radius, uniform direction, pure epsilon
//	truncated-laplace    --  bounded noise on one value
//	truncated-gaussian   --  bounded noise on one value
//	randomized-response  L1  uniform answers among labels
//	proportional         --  in proportion to the value; epsilon is infinite
//	published            --  of DP-dKM as published; epsilon is infinite
//	none, sealed         --  no noise: epsilon is infinite, or nothing leaves
//	released             --  no noise: the data are an earlier release
//
// proportional and published noise are for replication. [Decor], which has no name here,
// is normal noise in double precision of which neighbors share a part.
//
// Mechanisms with integer noise take integers from a [GridOracle], where each record's
// contribution becomes integers before it is added to another's, or round the values of
// other oracles and charge the rounding.
package privacy

import (
	"errors"

	"sotto/agent"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

var (
	// ErrExhausted says that the next release would exceed the budget. Nothing was
	// charged or read.
	ErrExhausted = account.ErrExhausted
	// ErrAbstain says that this answer is not given, because what it would be hidden by
	// may have hidden another one, before a crash or where rounds went back. Nothing was
	// charged or read; answers of later rounds are given.
	ErrAbstain = errors.New("privacy: no answer in the round of a crash")
	// ErrRefused says that a guarantee would be hollow or false, so that nothing was
	// started.
	ErrRefused = errors.New("privacy: refused")
	// ErrQuery says that a query cannot be answered: unknown oracle, wrong length, a
	// point that is not finite. The check reads no data.
	ErrQuery = errors.New("privacy: query cannot be answered")
)

// Oracle is a statistic of the owner's data. One goroutine at a time uses it: gates that
// answer at once have oracles of their own. It keeps nothing of a query.
type Oracle interface {
	// Describe says what Evaluate is going to release: sampler, clip, sensitivity. It is
	// public and reads no data; an error refuses the query before anything is charged.
	Describe(q *agent.Query) (account.Release, error)
	// Evaluate computes the value before noise. It is total: for every point and data
	// set, the empty one included, it succeeds and is finite, because a data-dependent
	// error would be a release. All its random choices, subsampling first of all, come
	// from sample.
	Evaluate(dst *Value, q *agent.Query, sample *rng.Stream)
}

// Value is an un-noised statistic; it never leaves the gate. An oracle fills Float, or
// Wide, or Grid and Step.
type Value struct {
	Float tensor.Vec // in the units of the release's clip, before Release.Scale
	Wide  []float64  // in double precision, see Widen; empty says that it is not in use
	Grid  []int64    // exact integer value; the statistic is Grid times Step
	// > 0 says that Grid is in use: the step of the first part, for the others in
	// proportion to their clips
	Step float64
}

// Widen makes v a value of n coordinates in double precision, zero, and returns them: for
// statistics that lose more by float32 than the release's SumError.
func (v *Value) Widen(n int) []float64 {
	if cap(v.Wide) < n {
		v.Wide = make([]float64, n)
	}
	v.Wide = v.Wide[:n]
	clear(v.Wide)
	return v.Wide
}

// Narrow rounds a value in double precision to float32.
func (v *Value) Narrow() {
	for i, x := range v.Wide {
		v.Float[i] = float32(x)
	}
	clear(v.Wide)
	v.Wide = v.Wide[:0]
}

// Charge names one entry of the ledger and carries the noise stream drawn for it.
type Charge struct {
	Seq, Round uint64
	Live       []agent.Neighbor // neighbors whose messages arrived in this round
	Noise      *rng.Stream
}

// Provenance says why a mechanism's guarantee may be believed.
type Provenance uint8

const (
	// Claimed guarantees are published but unproved or false. They are never printed as
	// an epsilon, and a daemon refuses them.
	Claimed Provenance = iota
	// Proved guarantees have a published proof of the exact statement.
	Proved
)

func (p Provenance) String() string {
	if p == Proved {
		return "proved"
	}
	return "claimed"
}

// Mechanism perturbs a value and describes itself to the accountant. The mechanisms are
// those of this package: the unexported method keeps noise next to the proof of its
// event. It keeps nobody from embedding one and changing its methods, whose figures are
// then proved by nobody.
type Mechanism interface {
	// Event returns what one release costs, with its sampler. It reads no data.
	Event(r account.Release) (account.Event, error)
	// Perturb turns v into a release in place: v.Float holds it afterwards, before
	// Release.Scale. The noise scale depends on r alone.
	Perturb(v *Value, r account.Release, c Charge)
	Provenance() Provenance
	// Assumptions lists what the guarantee rests on beside the event, for statements.
	Assumptions() []string
	sealed()
}
