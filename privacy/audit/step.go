package audit

import (
	"context"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/rng"
	"sotto/tensor"
)

// Step attacks single releases: the record is there or not, and the score is what the bytes of the first message that follows from an
// answer show of it. The score is 0 on average without the record and 1 with it, whatever public steps lie between answer and message,
// as long as they are linear; where they are not the attack is weaker, not wrong.
//
// A release of a Gaussian mechanism is tested as such at the threshold 1/2, which is fixed beforehand; the run's epsilon follows from
// the mu that is excluded by composition. Any other release is tested by Clopper-Pearson limits at a threshold that a fifth of the
// observations choose.
func (t *Target) Step(ctx context.Context, o Options) (*Report, error) {
	r := t.report("step", o)
	s, err := t.scores(ctx, o)
	if err != nil {
		return nil, err
	}
	r.Observations = len(s.In) + len(s.Out)
	c := &t.Claim
	claimed, rate := c.Epsilon, 1.
	r.Valid = append(r.Valid, "the adversary knows all data but the record, all public state, and reads the first message that follows from an answer")
	if o.Sampled {
		claimed, rate = c.Sampled, c.Rate()
		r.Valid = append(r.Valid, "the record is drawn by the system's own sampler")
	} else {
		r.Valid = append(r.Valid, "the record is drawn into every batch; audit sampler tests the sampler, whose claim the composition uses")
	}
	parts := 1.
	if c.Mu > 0 {
		parts = 2
	}
	any := s.ByClopperPearson(Rule{Kind: Split, Part: .2}, o.Beta/parts, c.Delta)
	r.Bounds = append(r.Bounds, any)
	r.compare(any.Epsilon, claimed)
	if any.Epsilon > claimed {
		r.refute("one release has epsilon at least %.4g, claimed %.4g", any.Epsilon, claimed)
	}
	if c.Mu == 0 {
		r.Valid = append(r.Valid, "epsilon is that of one release")
		return r, nil
	}
	return r, t.gaussian(r, s, o, rate)
}

// gaussian tests the claim that a release is Gaussian with parameter Claim.Mu where the record is drawn, which has the given rate.
func (t *Target) gaussian(r *Report, s *Scores, o Options, rate float64) error {
	c := &t.Claim
	b := s.ByGDP(Rule{Kind: Fixed, At: .5}, o.Beta/2, c.Delta)
	if rate < 1 {
		b.Mu = sampledMu(&s.tallies([]float64{.5})[0], o.Beta/2, rate)
		b.Valid = fmt.Sprintf("a test of the claim \"mu-GDP on a record that is drawn with probability %.4g\"", rate)
		b.Epsilon = 0 // of a release with the sampler it is the run's accountant's business
	}
	if b.Mu > c.Mu {
		r.refute("a release that draws the record is no better than mu = %.4g, claimed %.4g", b.Mu, c.Mu)
	}
	b.Mu = min(b.Mu, math.MaxFloat64)
	r.Bounds = append(r.Bounds, b)
	if c.TotalOf == nil {
		return nil
	}
	total := 0.
	if b.Mu > 0 {
		var err error
		if total, err = c.TotalOf(b.Mu); err != nil {
			return err
		}
	}
	if total > c.Total*(1+1e-9) && b.Mu <= c.Mu {
		r.refute("releases with mu at least %.4g compose to epsilon %.4g, claimed %.4g", b.Mu, total, c.Total)
	}
	r.compare(total, c.Total)
	r.Valid = append(r.Valid, "epsilon is that of the whole run: the excluded mu composed over all releases by the accountant")
	return nil
}

// sampledMu is the largest mu excluded where P = (1-q) N(0,1) + q N(mu,1) stands against N(0,1): at most q (Phi(PhiInv(FPR) + mu) - FPR)
// more is guessed rightly than wrongly. +Inf: more than any mu allows.
func sampledMu(t *tally, level, rate float64) float64 {
	fnr, fpr := t.limits(level)
	gain := 1 - fnr - fpr
	if fpr >= 1 || gain <= 0 {
		return 0
	}
	hit := gain/rate + fpr
	if hit >= 1 {
		return math.Inf(1)
	}
	return quantile(hit) - quantile(fpr)
}

// scores makes the trials of both worlds. Every trial is a system of its own, with keys that follow from the seed.
func (t *Target) scores(ctx context.Context, o Options) (*Scores, error) {
	p, err := t.scout()
	if err != nil {
		return nil, err
	}
	s := &Scores{}
	for k := range o.Observations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, w := range []World{Out, In} {
			x, err := t.trial(w, &p, trialSeed(o.Seed, w, k), !o.Sampled)
			if err != nil {
				return nil, err
			}
			if w == In {
				s.In = append(s.In, x)
			} else {
				s.Out = append(s.Out, x)
			}
		}
	}
	return s, nil
}

func trialSeed(seed uint64, w World, k int) uint64 {
	return rng.Public(seed, "audit", uint64(w), uint64(k)).Uint64()
}

// trial is one observation.
func (t *Target) trial(w World, p *probe, seed uint64, drawn bool) (float64, error) {
	party, err := t.Open(w, seed, drawn)
	if err != nil {
		return 0, err
	}
	s := &shadow{target: t, ordinal: p.ordinal, model: p.model}
	for _, a := range []*agent.Algorithm{&s.Algorithm, &s.still, &s.moved} {
		if *a, err = t.Algorithm(); err != nil {
			return 0, err
		}
	}
	if err := t.Drive(s, party.Gate, seed, func() bool { return s.done }); err != nil {
		return 0, err
	}
	if !s.done {
		return 0, errNoMessage
	}
	return s.score, nil
}

// shadow runs an algorithm together with two copies of it. All get the same input, but for the attacked answer: one copy gets zero, the
// other what the record alone would answer. What the three then send says how much of the record is in the real message.
type shadow struct {
	agent.Algorithm
	still, moved agent.Algorithm
	target       *Target
	ordinal      int
	model        bool // the model is what is seen

	asked     int
	direction tensor.Vec
	out       [2]agent.Output
	done      bool
	score     float64
}

// Step is the algorithm's.
func (s *shadow) Step(in *agent.Input, out *agent.Output) error {
	attacked := !s.done && in.Kind == agent.Answer && s.asked == s.ordinal
	if err := s.Algorithm.Step(in, out); err != nil || s.done {
		return err
	}
	copies := [2]agent.Algorithm{s.still, s.moved}
	for k, a := range copies {
		with := *in
		if attacked {
			with.Answer = make(tensor.Vec, len(in.Answer))
			if k == 1 {
				copy(with.Answer, s.direction)
			}
		}
		s.out[k].Reset()
		if err := a.Step(&with, &s.out[k]); err != nil {
			return err
		}
	}
	if attacked {
		return s.compare(out)
	}
	if out.Query == nil {
		return nil
	}
	if s.asked++; s.asked == s.ordinal {
		return s.aim(out.Query)
	}
	return nil
}

// aim finds what the record changes in the answer to q.
func (s *shadow) aim(q *agent.Query) error {
	in, err := s.target.Value(In, q)
	if err != nil {
		return err
	}
	out, err := s.target.Value(Out, q)
	if err != nil {
		return err
	}
	s.direction = make(tensor.Vec, len(in))
	for i := range in {
		s.direction[i] = in[i] - out[i]
	}
	// The message with the data of world out is where scores are 0.
	s.offset(out)
	return nil
}

// offset is taken off the real answer's score: what the known data answer in world out.
func (s *shadow) offset(out tensor.Vec) {
	n := s.direction.Dot(s.direction)
	if n > 0 {
		s.score = -out.Dot(s.direction) / n
	}
}

// compare scores the real message.
func (s *shadow) compare(out *agent.Output) error {
	s.done = true
	sent, err := s.seen(s.Algorithm, out)
	if err != nil { // no receiver takes such a message: whoever sees it knows
		s.score = math.Inf(1)
		return nil
	}
	still, err := s.seen(s.still, &s.out[0])
	if err != nil {
		return err
	}
	moved, err := s.seen(s.moved, &s.out[1])
	if err != nil {
		return err
	}
	if len(sent) != len(still) || len(sent) != len(moved) {
		return fmt.Errorf("audit: a message has %d values, with another answer it has %d or %d", len(sent), len(still), len(moved))
	}
	along, length := 0., 0.
	for i := range sent {
		d := float64(moved[i]) - float64(still[i])
		along += d * (float64(sent[i]) - float64(still[i]))
		length += d * d
	}
	if length == 0 {
		return errNoMessage
	}
	s.score += along / length
	return nil
}

// seen is what the adversary sees of a step.
func (s *shadow) seen(a agent.Algorithm, out *agent.Output) (tensor.Vec, error) {
	if !s.model {
		return onWire(out.Outbox)
	}
	return onWire([]agent.Message{{Body: a.Params()}})
}

// onWire is what a receiver reads from the bytes of messages.
func onWire(outbox []agent.Message) (tensor.Vec, error) {
	var all tensor.Vec
	var b []byte
	for k := range outbox {
		b = agent.AppendMessage(b[:0], &outbox[k])
		var m agent.Message
		if _, err := agent.DecodeMessage(b, len(outbox[k].Body), &m); err != nil {
			return nil, err
		}
		all = append(all, m.Body...)
	}
	return all, nil
}
