package audit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/rng"
	"sotto/tensor"
)

// Step attacks single releases: the record is there or not, and two scores are what the
// bytes of the first message that follows from an answer show of it. "along" is 0 on
// average without the record and 1 with it, whatever public steps lie between answer and
// message, as long as they are linear; where they are not the attack is weaker, not
// wrong. "length" is how far the message is from what it would be without record and
// noise: it finds noise that depends on the data.
//
// Any release is tested by Clopper-Pearson limits at a threshold that a fifth of the
// observations choose, for each score. A release of a Gaussian mechanism is tested as
// such at one threshold, fixed beforehand; the run's epsilon follows from the excluded mu
// by composition. With Options.Sampled the run's epsilon is that of the guesses
// themselves, one a release, which holds for any mechanism.
func (t *Target) Step(ctx context.Context, o Options) (*Report, error) {
	r := t.report("step", o)
	along, length, err := t.scores(ctx, o)
	if err != nil {
		return nil, err
	}
	r.Observations = len(along.In) + len(along.Out)
	c := &t.Claim
	claimed := c.Epsilon
	r.Valid = append(r.Valid,
		"the adversary knows all data but the record, all public state, and reads the first message that "+
			"follows from an answer")
	if o.Sampled {
		claimed = c.Sampled
		r.Valid = append(r.Valid, "the record is drawn by the system's own sampler")
	} else {
		r.Valid = append(r.Valid,
			"the record is drawn into every batch; audit sampler tests the sampler, whose claim the "+
				"composition uses")
	}
	if t.Live != nil {
		r.Valid = append(r.Valid,
			"the message is read from the frame that the owner's node sends, under keys of the operating "+
				"system")
	}
	parts, lower := 2., 0.
	if c.Mu > 0 {
		parts = 3
	}
	for k, s := range []*Scores{along, length} {
		b := s.ByClopperPearson(Rule{Kind: Split, Part: .2}, o.Beta/parts, c.Delta)
		b.Score = [...]string{"along", "length"}[k]
		r.Bounds = append(r.Bounds, b)
		lower = max(lower, b.Epsilon)
	}
	r.compare(lower, claimed)
	if lower > claimed {
		r.refute("one release has epsilon at least %.4g, claimed %.4g", lower, claimed)
	}
	r.Valid = append(r.Valid, "epsilon_lower and epsilon_claimed are those of one release")
	if c.Mu == 0 {
		return r, nil
	}
	return r, t.gaussian(r, along, o.Beta/parts, o.Sampled)
}

// gaussian tests the claim that a release is Gaussian with parameter Claim.Mu where the
// record is drawn.
func (t *Target) gaussian(r *Report, s *Scores, beta float64, sampled bool) error {
	c := &t.Claim
	rate := 1.
	if sampled {
		rate = c.Rate()
	}
	rule := Rule{Kind: Fixed, At: threshold(c.Mu, rate)}
	if !sampled {
		rule.At *= float64(max(1, c.Draws))
	}
	b := s.ByGDP(rule, beta, c.Delta)
	b.Score = "along"
	at := &s.tallies([]float64{rule.At})[0]
	if rate < 1 {
		b.Mu = sampledMu(at, beta, rate)
		b.Valid = fmt.Sprintf(
			"a test of the claim \"mu-GDP where the record is drawn, with probability %.4g\"", rate)
		b.Epsilon = 0
	}
	if b.Mu > c.Mu {
		r.refute("a release that draws the record is no better than mu = %.4g, claimed %.4g", b.Mu, c.Mu)
	}
	total, basis := 0., ""
	switch {
	case sampled && c.Releases > 0:
		fnr, fpr := at.limits(beta)
		total, basis = guessed(1-fnr, fpr, c.Releases, c.Delta),
			"what guesses at one threshold, one a release, prove of all releases, under any mechanism"
	case !sampled && c.TotalOf != nil && c.Draws <= 1:
		var err error
		if b.Mu > 0 {
			total, err = c.TotalOf(min(b.Mu, 1e6))
		}
		if err != nil {
			return err
		}
		basis = "the excluded mu composed over all releases by the accountant; it holds where noise is " +
			"Gaussian"
	}
	b.Mu = min(b.Mu, math.MaxFloat64)
	r.Bounds = append(r.Bounds, b)
	if basis == "" {
		return nil
	}
	if total > c.Total*(1+1e-9) {
		r.refute("the run has epsilon at least %.4g, claimed %.4g", total, c.Total)
	}
	r.compare(total, c.Total)
	r.Valid[len(r.Valid)-1] = "epsilon_lower and epsilon_claimed are those of the whole run: " + basis
	return nil
}

// threshold is where guesses about a Gaussian release tell the most, before any
// observation: the middle of both means for a record that is always there, and for one
// that is rarely drawn where the difference of the rates is largest against the root of
// the variance.
func threshold(mu, rate float64) float64 {
	best, at := 0., .5
	for x := .5; rate < 1 && x < 8; x += .01 {
		fpr := normal(-x * mu)
		if gain := (normal((1-x)*mu) - fpr) / math.Sqrt(fpr*(1-fpr)); gain > best && fpr > 1e-3 {
			best, at = gain, x
		}
	}
	return at
}

// guessed is epsilon at delta of n independent guesses, each "there" with probability hit
// with the record and at most false without it: the number of guesses is binomial in both
// worlds, and epsilon is where sum max(0, P[k] - e^eps Q[k]) falls to delta. It is a
// lower bound for any run of n releases from which such guesses can be made, since they
// are post-processing.
func guessed(hit, wrong float64, n int, delta float64) float64 {
	if hit <= wrong {
		return 0
	}
	p, q := make([]float64, n+1), make([]float64, n+1)
	for k := range p {
		p[k], q[k] = binomialMass(n, k, hit), binomialMass(n, k, wrong)
	}
	above := func(eps float64) bool {
		d := 0.
		for k := range p {
			d += max(0, p[k]-math.Exp(eps)*q[k])
		}
		return d > delta
	}
	lo, hi := 0., 1.
	if !above(0) {
		return 0
	}
	for above(hi) && hi < 700 {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-6 {
		if mid := (lo + hi) / 2; above(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// sampledMu is the largest mu excluded where P = (1-q) N(0,1) + q N(mu,1) stands against
// N(0,1): at most q (Phi(PhiInv(FPR) + mu) - FPR) more is guessed rightly than wrongly.
// +Inf: more than any mu allows.
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

// scores makes the trials of both worlds. Every trial is a system of its own, with keys
// that follow from the seed.
func (t *Target) scores(ctx context.Context, o Options) (along, length *Scores, err error) {
	p, err := t.scout()
	if err != nil {
		return nil, nil, err
	}
	along, length = new(Scores), new(Scores)
	for k := range o.Observations {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		for _, w := range []Hypothesis{Out, In} {
			s, err := t.trial(w, &p, trialSeed(o.Seed, w, k), !o.Sampled)
			if err != nil {
				return nil, nil, err
			}
			if w == In {
				along.In, length.In = append(along.In, s.along), append(length.In, s.length)
			} else {
				along.Out, length.Out = append(along.Out, s.along), append(length.Out, s.length)
			}
		}
	}
	return along, length, nil
}

func trialSeed(seed uint64, w Hypothesis, k int) uint64 {
	return rng.Public(seed, "audit", uint64(w), uint64(k)).Uint64()
}

// trial is one observation.
func (t *Target) trial(w Hypothesis, p *probe, seed uint64, drawn bool) (*shadow, error) {
	party, err := t.Open(w, seed, drawn)
	if err != nil {
		return nil, err
	}
	s := &shadow{target: t, ordinal: p.ordinal, model: p.model}
	for _, a := range []*agent.Algorithm{&s.Algorithm, &s.still, &s.moved} {
		if *a, err = t.Algorithm(); err != nil {
			return nil, err
		}
	}
	if t.Live != nil {
		return s, t.live(s, party.Gate)
	}
	if err := t.Drive(s, party.Gate, seed, func() bool { return s.done }); err != nil {
		return nil, err
	}
	if !s.done {
		return nil, errNoMessage
	}
	return s, nil
}

// live scores what the owner's node has sent.
func (t *Target) live(s *shadow, g Gate) error {
	sent, err := t.Live(s, g, func() bool { return s.done })
	if err != nil {
		return err
	}
	if !s.done || s.model || len(sent) == 0 {
		return errNoMessage
	}
	to := sent[0].To
	for k := range s.out { // of the copies' messages those that this neighbor gets
		s.out[k].Outbox = slices.DeleteFunc(s.out[k].Outbox, func(m agent.Message) bool {
			return m.To != agent.Broadcast && m.To != to
		})
	}
	return s.score(onWire(sent))
}

// shadow runs an algorithm together with two copies of it. All get the same input, but
// for the attacked answer: the copies get what the data answer without noise, one in each
// world. What the three then send says how much of the record is in the real message.
type shadow struct {
	agent.Algorithm
	twins
	target  *Target
	ordinal int
	model   bool // the model is what is seen

	asked  int
	values [2]tensor.Vec // answers without noise, by world
	out    [2]agent.Output
	done   bool
	seenShift
}

// twins are the copies: still gets what the world without the record answers, moved what
// the other one does.
type twins struct{ still, moved agent.Algorithm }

// seenShift says where the real message lies, from still's and in units of the difference
// of both copies': its part along that difference, and its distance.
type seenShift struct{ along, length float64 }

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
			with.Answer = s.values[k]
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

// aim finds what both worlds answer to q.
func (s *shadow) aim(q *agent.Query) (err error) {
	for w := range s.values {
		if s.values[w], err = s.target.Value(Hypothesis(w), q); err != nil {
			return err
		}
	}
	return nil
}

// compare scores the real message, unless a node has yet to send it.
func (s *shadow) compare(out *agent.Output) error {
	s.done = true
	if s.target.Live != nil {
		return nil
	}
	return s.score(s.seen(s.Algorithm, out))
}

// score compares what was sent with what the copies send.
func (s *shadow) score(sent tensor.Vec, err error) error {
	if err != nil { // no receiver takes such a message: whoever sees it knows
		s.along, s.length = math.Inf(1), math.Inf(1)
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
		return fmt.Errorf("audit: a message has %d values, with another answer it has %d or %d", len(sent),
			len(still), len(moved))
	}
	along, length, unit := 0., 0., 0.
	for i := range sent {
		d, x := float64(moved[i])-float64(still[i]), float64(sent[i])-float64(still[i])
		along, length, unit = along+float64(d*x), length+float64(x*x), unit+float64(d*d)
	}
	if unit == 0 {
		return errNoMessage
	}
	s.along, s.length = along/unit, math.Sqrt(length/unit)
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
