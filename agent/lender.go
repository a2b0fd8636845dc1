package agent

import "sotto/tensor"

// Lender is an algorithm of synchronous rounds whose messages a runtime need not copy: a
// body that leaves at Start, or with the outbox of round k, keeps its values until the
// step Round of round k+2. By then all agents of a simulation have read it in round k+1.
// (Two vectors that take turns do that.)
type Lender interface {
	Algorithm
	// Lend fills out, which the caller has Reset, with the outbox of the last step that
	// had one, from what AppendState keeps: a checkpoint then needs no copy of what is on
	// its way. The same promise holds for these bodies. False: this algorithm does not
	// lend, for instance since what it wraps does not; the answer never changes.
	Lend(out *Output) bool
}

// Mixer is a Lender whose rounds begin with Σ_j w_ij x_j over its own last body x_i and
// those of its Inbox, and which reads no message otherwise. A runtime that has the bodies
// of all agents at hand forms that sum for many of them at once, as the algorithm does:
// tensor.WeightedSum in ascending order of agents, with x_i in its place.
type Mixer interface {
	Lender
	// Mixed returns where the runtime may leave the sum before a step Round with
	// Input.Mixed set, of the length of a body. It is read by no other agent then. Nil:
	// this algorithm sums itself.
	Mixed() tensor.Vec
}
