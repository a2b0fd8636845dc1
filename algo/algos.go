// Package algo holds the learning algorithms, one file each. An algorithm is a
// deterministic state machine ([sotto/agent.Algorithm]): it sees public vectors and noisy
// answers, never data, and may import neither data nor models nor anything that does I/O.
package algo

import (
	"fmt"

	"sotto/agent"
	"sotto/config"
)

// Constructor decodes an algorithm's own parameters and returns the factory of its
// agents.
type Constructor func(decode func(params any) error) (agent.Factory, error)

// Spec is an algorithm before any agent of it exists: all that plans, runtimes and the
// refusals of run files need to know of it. Nobody compares names.
type Spec struct {
	New    Constructor
	Pacing agent.Pacing
	Asks   []string // oracles that its queries may name
	Traits Traits
	// Rounds are those of a run that names none, 0: it must. They do for defaults on a
	// complete graph.
	Rounds uint64
}

// Traits are what an algorithm is like, beside its pacing and its queries. A trait states
// a property that some other part of the program depends on; none is named after an
// algorithm.
type Traits uint16

const (
	// Central: one agent has all data.
	Central Traits = 1 << iota
	// Silent: nothing leaves an agent, so that a run without noise is no release.
	Silent
	// OwnModels: every agent's model is its own, and there is an objective of all models
	// together (Objective).
	OwnModels
	// OwnerUnit: an answer may protect all of an owner's data.
	OwnerUnit
	// EqualAnswers: all agents answer as many queries of one clip in the same rounds, so
	// that noise which neighbors share cancels.
	EqualAnswers
	// ClipFromAnswer: the clip of a query may follow from earlier answers.
	ClipFromAnswer
	// Mass: messages carry mass which must be conserved (push-sum).
	Mass
	// FixedGraph: constants follow from the first round's graph, which must hold in every
	// round.
	FixedGraph
	// OneRelease: every agent releases one value at the start, and the network then only
	// averages; its views have an exact account.
	OneRelease
	// SendsModels: messages are models that receivers average, so that rounding errors of
	// messages do not add up.
	SendsModels
	// Recursive: averages by a recursion over two rounds, which has a state to start
	// from.
	Recursive
	// Joinable: what an agent keeps beside its model begins at zero, so that all may
	// begin anew from the models that they have, and a new one with the mean of theirs.
	Joinable
)

// Has reports whether all given traits are there.
func (t Traits) Has(all Traits) bool { return t&all == all }

var (
	gradients = []string{"grad"}
	personal  = []string{"grad-full", "grad-full-l1", "fit"}
)

// Algorithms lists every algorithm by the name used in run files.
var Algorithms = map[string]Spec{
	"dsgd": {New: NewDSGD, Asks: gradients,
		Traits: EqualAnswers | ClipFromAnswer | SendsModels | Joinable},
	"dsgt":  {New: NewDSGT, Asks: gradients, Traits: EqualAnswers | ClipFromAnswer | Joinable},
	"dinno": {New: NewDiNNO, Asks: gradients, Traits: EqualAnswers | ClipFromAnswer},
	"gossip-sgd": {New: NewGossipSGD, Asks: gradients,
		Traits: EqualAnswers | ClipFromAnswer | SendsModels | Recursive},
	"gossip-average": {New: NewGossipAverage, Asks: []string{"value"},
		Traits: EqualAnswers | OwnerUnit | OneRelease | Recursive},
	"query": {New: NewQuery, Asks: []string{"statistic"},
		Traits: EqualAnswers | OneRelease | Recursive},
	"newton": {New: NewNewton, Asks: []string{"moments", "gradient-sum"}, Rounds: 10,
		Traits: EqualAnswers | FixedGraph},
	"boosting": {New: NewBoosting, Asks: []string{"row-sum", "gradient-sum"}, Rounds: 11,
		Traits: EqualAnswers | FixedGraph},
	"sgp":     {New: NewSGP, Asks: gradients, Traits: ClipFromAnswer | Mass},
	"km":      {New: NewKM, Asks: []string{"km", "km-stateful"}, Traits: FixedGraph},
	"central": {New: NewCentral, Asks: gradients, Traits: Central | ClipFromAnswer},
	"local":   {New: NewLocal, Asks: gradients, Traits: Silent | ClipFromAnswer},
	"bcd":     {New: NewBCD, Pacing: agent.PacingWakes, Asks: personal, Traits: OwnModels},
	"gossip-admm": {New: NewGossipADMM, Pacing: agent.PacingPairs, Asks: personal,
		Traits: OwnModels},
	"local-fit": {New: NewLocalFit, Pacing: agent.PacingWakes, Asks: personal,
		Traits: OwnModels | Silent},
	"model-propagation": {New: NewModelPropagation, Pacing: agent.PacingWakes, Asks: personal,
		Traits: OwnModels},
	"walk": {New: NewWalk, Pacing: agent.PacingTokens, Asks: []string{"user-grad", "grad-full"},
		Traits: OwnerUnit},
}

// Find returns the named algorithm; an unknown name is a config.Error on key "name".
func Find(name string) (Spec, error) {
	s, ok := Algorithms[name]
	if !ok {
		return s, config.Bad("name", name, config.OneOf(Algorithms))
	}
	return s, nil
}

// New returns the factory of the named algorithm; an unknown name is a config.Error on
// key "name". decode fills the algorithm's parameters; nil leaves the defaults. The
// factory refuses an Env whose Init is there and not of length Dim.
func New(name string, decode func(params any) error) (agent.Factory, error) {
	s, err := Find(name)
	if err != nil {
		return nil, err
	}
	if decode == nil {
		decode = func(any) error { return nil }
	}
	f, err := s.New(decode)
	if err != nil {
		return nil, err
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		if n := len(env.Init); env.Dim < 0 || env.Init != nil && n != env.Dim {
			return nil, config.Bad("init", fmt.Sprintf("%d values, dimension %d", n, env.Dim),
				"as many values as the dimension, at least 0")
		}
		return f(env)
	}, nil
}

// Setting is what a run says about an algorithm outside its own section: the unit of
// protection, and what a replication admits. Parameters that depend on it implement
// Settable.
type Setting struct {
	PerRecord   bool    // an answer protects one record, where the algorithm could protect an owner
	UnsafeAlpha bool    // of km: α above its bound
	ZeroStart   bool    // of averaging recursions: y^{-1} = 0
	AnswerClip  float64 // > 0: noisy answers are clipped to this norm
}

// Settable is implemented by parameters that a Setting completes, after they are decoded.
type Settable interface{ Set(Setting) }
