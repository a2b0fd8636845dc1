package audit

import (
	"fmt"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// Hypothesis says which of two neighboring data sets the attacked owner has.
type Hypothesis int

// The two worlds.
const (
	Out Hypothesis = iota // without the attacked record, or with its replacement
	In                    // with it
)

func (w Hypothesis) String() string { return [...]string{"out", "in"}[w] }

// Gate answers an owner's queries; *privacy.Gate is one.
type Gate interface {
	Begin(round uint64, live []agent.Neighbor)
	Answer(q *agent.Query, dst tensor.Vec) error
}

// Party is the private side of the attacked owner: what answers for it and where that is
// charged.
type Party struct {
	Gate   Gate
	Ledger ledger.Ledger
	// Reopen is the same owner after a crash, from what it has stored; nil where nothing
	// is.
	Reopen func() (*Party, error)
}

// Target is a system under audit: one owner among others, in either of two worlds. All
// functions are deterministic. A function that is nil makes the modes that need it not
// apply.
type Target struct {
	Name  string
	Claim Claim
	Answers
	Machine
	Training
	Keyring

	// Open gives the owner of a world fresh keys, which follow from the seed, and a
	// ledger without a limit. With drawn the attacked record falls into every batch;
	// otherwise the system's own sampler decides.
	Open func(w Hypothesis, seed uint64, drawn bool) (*Party, error)
	// Value is what the data of a world answer to q before noise, in units of the answer,
	// with the attacked record drawn once. An auditor knows it, because it has made both
	// data sets.
	Value func(w Hypothesis, q *agent.Query) (tensor.Vec, error)
	// Population is a gate without noise over several records, with the system's own
	// sampler and keys from the seed, and what each record adds to its answer to q.
	Population func(seed uint64, q *agent.Query) (Gate, []tensor.Vec, error)
	// Account is the epsilon, upper end, of a ledger's charges at Claim.Delta.
	Account func(l ledger.Ledger) (float64, error)
}

// Answers is what is public about a target's answers.
type Answers struct {
	Dim int // length of answers
	// Discrete says that answers take few values, so that two equal ones say nothing
	// about their noise.
	Discrete bool
	// Replaced says that where the attacked record is not there another one is, which the
	// sampler draws in its place.
	Replaced bool
	// Free are queries that read no data, which are answered without a charge.
	Free map[string]bool
}

// Machine is how the owner's algorithm is made and run.
type Machine struct {
	// Algorithm makes the owner's state machine.
	Algorithm func() (agent.Algorithm, error)
	// Drive runs a as the owner's, with g's answers, among others who ask nothing of any
	// data, until done says so or the run ends.
	Drive func(a agent.Algorithm, g Gate, seed uint64, done func() bool) error
	// Live, when not nil, takes Drive's place in Step: the owner is a real node among
	// others, and what is returned are the messages that its node has sent with the step
	// after which done is true, neighbor after neighbor, whom To names.
	Live func(a agent.Algorithm, g Gate, done func() bool) ([]agent.Message, error)
}

// Training is whole runs of the target.
type Training struct {
	// Train makes one whole run in a world and scores the attacked record; larger speaks
	// for its presence.
	Train func(w Hypothesis, seed uint64) (float64, error)
	// Canaries makes one whole run with the canaries whose coin is true and returns every
	// canary's score.
	Canaries func(coins []bool, seed uint64) ([]float64, error)
}

// Claim is what the system says of itself.
type Claim struct {
	Delta   float64
	Sampler account.Sampler
	// Mu is the GDP parameter of one release with the record drawn once; 0 where the
	// noise is not Gaussian.
	Mu float64
	// Epsilon is that of one such release, and Sampled that of one release with the
	// sampler, both at Delta.
	Epsilon, Sampled float64
	// batches under one noise draw, into each of which the record may fall; 0 and 1 mean
	// one
	Draws    int
	Releases int // of the whole run; 0: not all are alike
	// Total is the epsilon of the whole run; TotalOf what it were if a release with the
	// record drawn were mu-GDP, nil without Mu.
	Total   float64
	TotalOf func(mu float64) (float64, error)
	Noise   []Noise // by part of the answer; nil where no law of single values is declared
}

// Rate is the probability with which one record is drawn.
func (c *Claim) Rate() float64 {
	switch s := c.Sampler; s.Kind {
	case account.Poisson:
		return s.SampleRate
	case account.FixedSize:
		return float64(s.BatchSize) / float64(s.Population)
	}
	return 1
}

// probe asks what a message depends on that follows from an answer.
type probe struct {
	ordinal int // the number, from 1, of the answer that it follows
	query   agent.Query
	later   bool // it is not the first one
	// nothing is ever sent, and the model is what is published: after the first step with
	// an answer
	model bool
}

// Query is what the system asks of data before the first message that follows from an
// answer, with zero answers before it.
func (t *Target) Query() (*agent.Query, error) {
	p, err := t.scout(1)
	return &p.query, err
}

// scout runs the system with zero answers to find the answer that leads to the message of
// a number, counted from 1, that follows from one. A system that never sends publishes
// its model.
func (t *Target) scout(message int) (probe, error) {
	a, err := t.Algorithm()
	if err != nil {
		return probe{}, err
	}
	s := &scouting{Algorithm: a, message: message}
	if err := t.Drive(s, silent{}, 0, func() bool { return s.sent }); err != nil {
		return probe{}, err
	}
	if sent := message - s.message; !s.sent && message > 1 && sent > 0 {
		return probe{}, config.Bad("message", message,
			fmt.Sprintf("1 to %d, the messages that follow from an answer", sent))
	}
	if !s.sent && (s.first.ordinal == 0 || message > 1) {
		return probe{}, errNoMessage
	}
	if !s.sent {
		s.first.model = true
		return s.first, nil
	}
	s.later = message > 1
	return s.probe, nil
}

type scouting struct {
	agent.Algorithm
	probe
	message int // how many are still to come
	sent    bool
	first   probe // of the first step that ends with an answer, with or without a message
}

func (s *scouting) Step(in *agent.Input, out *agent.Output) error {
	if err := s.Algorithm.Step(in, out); err != nil || s.sent {
		return err
	}
	if out.Query != nil {
		s.ordinal++
		s.query = *out.Query
		s.query.At = slices.Clone(out.Query.At)
		return nil
	}
	if in.Kind == agent.Answer && s.first.ordinal == 0 {
		s.first = s.probe
	}
	if in.Kind == agent.Answer && len(out.Outbox) > 0 {
		s.message--
	}
	s.sent = s.message == 0
	return nil
}

// silent answers zero and reads nothing.
type silent struct{}

func (silent) Begin(uint64, []agent.Neighbor) {}

func (silent) Answer(_ *agent.Query, dst tensor.Vec) error {
	dst.Zero()
	return nil
}

// Silent is the gate of the other agents of a run under audit: their data are known to
// the adversary.
func Silent() Gate { return silent{} }
