// Package algo holds the learning algorithms, one file each. An algorithm is a
// deterministic state machine ([sotto/agent.Algorithm]): it sees public vectors and noisy
// answers, never data, and may import neither data nor models nor anything that does I/O.
package algo

import (
	"sotto/agent"
	"sotto/config"
)

// Constructor decodes an algorithm's own parameters and returns the factory of its
// agents.
type Constructor func(decode func(params any) error) (agent.Factory, error)

// Algorithms lists every algorithm by the name used in run files.
var Algorithms = map[string]Constructor{
	"dsgd":           NewDSGD,
	"dsgt":           NewDSGT,
	"dinno":          NewDiNNO,
	"gossip-sgd":     NewGossipSGD,
	"gossip-average": NewGossipAverage,
	"sgp":            NewSGP,
	"km":             NewKM,
	"central":        NewCentral,
	"local":          NewLocal,

	"bcd":               NewBCD,
	"gossip-admm":       NewGossipADMM,
	"local-fit":         NewLocalFit,
	"model-propagation": NewModelPropagation,

	"walk": NewWalk,
}

// Pacing says how a runtime drives an algorithm.
type Pacing uint8

const (
	Rounds Pacing = iota // synchronous rounds
	Wakes                // agents wake by their own clocks and broadcast
	Pairs                // agents wake with one neighbor and exchange one message
	Tokens               // tokens go from agent to agent; who holds one is stepped
)

// Clocked says that agents wake by their own clocks.
func (p Pacing) Clocked() bool { return p == Wakes || p == Pairs }

// asynchronous lists the algorithms that have no rounds.
var asynchronous = map[string]Pacing{
	"bcd":               Wakes,
	"gossip-admm":       Pairs,
	"local-fit":         Wakes,
	"model-propagation": Wakes,
	"walk":              Tokens,
}

// PacingOf returns how the named algorithm is driven.
func PacingOf(name string) Pacing { return asynchronous[name] }

// New returns the factory of the named algorithm; an unknown name is a config.Error on
// key "name".
func New(name string, decode func(params any) error) (agent.Factory, error) {
	c, ok := Algorithms[name]
	if !ok {
		return nil, config.Bad("name", name, config.OneOf(Algorithms))
	}
	return c(decode)
}
