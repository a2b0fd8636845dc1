// Package account composes privacy losses and reads off epsilon. It is used through three notions.
//
// An [Event] describes one release: the mechanism, its noise relative to the clip, its sensitivity relative to the clip
// and its sampler. Events are values with canonical JSON.
//
// An [Accountant] composes events under one [Adjacency] and one [Unit] and answers with an [Interval] that holds
// the true epsilon; what it has no proof for it refuses with [ErrUnsupported].
//
// A [Plan] is a run to be: [Epsilon], [Noise], [Steps] and [Rate] answer what it costs and what it may use.
package account
