package audit

import (
	"context"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/rng"
)

// Step attacks single releases: the record is there or not, and scores are what the bytes
// of the first message that follows from an answer, or of number Options.Message, show of
// it. "along" is 0 on average without the record and 1 with it, whatever public steps lie
// between answer and message, as long as they are linear; where they are not the attack
// is weaker, not wrong. "length" is how far the message is from what it would be without
// record and noise: it finds noise that depends on the data. "whitened" and "contrast"
// look for coordinates and messages with less noise than others: see type contrast.
//
// Any release is tested by Clopper-Pearson limits for each score, at a threshold that a
// fifth of the observations choose or, where these have chosen the score, in the middle.
// A release of a Gaussian mechanism is tested as such at one threshold, fixed beforehand;
// the run's epsilon follows from the excluded mu by composition. With Options.Sampled the
// run's epsilon is that of the guesses themselves, one a release, which holds for any
// mechanism.
func (t *Target) Step(ctx context.Context, o Options) (*Report, error) {
	r := t.report("step", o)
	s, err := t.scores(ctx, o)
	if err != nil {
		return nil, err
	}
	r.Observations = len(s.along.In) + len(s.along.Out)
	c := &t.Claim
	claimed := c.Epsilon
	r.Valid = append(r.Valid,
		"the adversary knows all data but the record, all public state, and reads the "+which(o.Message)+
			" message that follows from an answer")
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
			"messages are read from the frames that the owner's node sends, under keys of the operating "+
				"system")
	}
	main := o.Beta * mainShare // of beta
	if c.Mu == 0 {
		main = o.Beta * (1 - 2*learnedShare) / 2
	}
	lower := 0.
	split := Rule{Kind: Split, Part: .2}
	middle := Rule{Kind: Fixed, At: c.middle(o.Sampled, .5)}
	for _, k := range []struct {
		name   string
		scores *Scores
		rule   Rule
		beta   float64
	}{{"along", &s.along, split, main}, {"length", &s.length, split, main},
		{"whitened", &s.whitened, middle, o.Beta * learnedShare},
		{"contrast", &s.contrast, middle, o.Beta * learnedShare}} {
		b := k.scores.ByClopperPearson(k.rule, k.beta, c.Delta)
		b.Score = k.name
		r.Bounds = append(r.Bounds, b)
		lower = max(lower, b.Epsilon)
	}
	r.compare(lower, claimed)
	if lower > claimed {
		r.refute("one release has epsilon at least %s, claimed %.4g", Figure(lower).AtLeast(), claimed)
	}
	r.Valid = append(r.Valid, "epsilon_lower and epsilon_claimed are those of one release")
	if c.Mu == 0 {
		return r, nil
	}
	return r, t.gaussian(r, s, o)
}

func which(message int) string {
	if message <= 1 {
		return "first"
	}
	return fmt.Sprintf("%d.", message)
}

// Each of three bounds has the first part of beta, and each of four by learned scores,
// which find faults that no small number of observations hides, the second. Where no
// mechanism is Gaussian two bounds share what the learned ones leave.
const mainShare, learnedShare = .3, .025

// middle is a threshold for scores that are 0 without the record and 1 with it, times the
// batches that it is drawn into.
func (c *Claim) middle(sampled bool, at float64) float64 {
	if sampled {
		return at
	}
	return at * float64(max(1, c.Draws))
}

// gaussian tests the claim that a release is Gaussian with parameter Claim.Mu where the
// record is drawn: by the projection, and where it is drawn into every batch by both
// learned scores.
func (t *Target) gaussian(r *Report, s *stepScores, o Options) error {
	c := &t.Claim
	rate := 1.
	if o.Sampled {
		rate = c.Rate()
	}
	rule := Rule{Kind: Fixed, At: c.middle(o.Sampled, threshold(c.Mu, rate))}
	b := s.along.ByGDP(rule, o.Beta*mainShare, c.Delta)
	b.Score = "along"
	at := &s.along.tallies([]float64{rule.At})[0]
	if rate < 1 {
		if b.Mu = 0; !t.Replaced { // else both worlds are mixtures
			b.Mu = sampledMu(at, o.Beta*mainShare, rate)
		}
		b.Valid = fmt.Sprintf(
			"a test of the claim \"mu-GDP where the record is drawn, with probability %.4g\"", rate)
		b.Epsilon = 0
	}
	bounds, mu := []Bound{b}, b.Mu
	if !o.Sampled {
		for k, x := range []*Scores{&s.whitened, &s.contrast} {
			b := x.ByGDP(rule, o.Beta*learnedShare, c.Delta)
			b.Score = [...]string{"whitened", "contrast"}[k]
			bounds, mu = append(bounds, b), max(mu, b.Mu)
		}
	}
	if mu > c.Mu {
		r.refute("a release that draws the record is no better than mu = %.4g, claimed %.4g", mu, c.Mu)
	}
	for _, b := range bounds {
		b.Mu = min(b.Mu, math.MaxFloat64)
		r.Bounds = append(r.Bounds, b)
	}
	total, basis := 0., ""
	switch {
	case o.Sampled && c.Releases > 0:
		fnr, fpr := at.limits(o.Beta * mainShare)
		total, basis = guessed(1-fnr, fpr, c.Releases, c.Delta),
			"what guesses at one threshold, one a release, prove of all releases, under any mechanism"
	case !o.Sampled && c.TotalOf != nil && c.Draws <= 1:
		var err error
		if mu > 0 {
			total, err = c.TotalOf(min(mu, 1e6))
		}
		if err != nil {
			return err
		}
		basis = "the excluded mu composed over all releases by the accountant; it holds where noise is " +
			"Gaussian"
	}
	if basis == "" {
		return nil
	}
	if total > c.Total*(1+1e-9) {
		r.refute("the run has epsilon at least %s, claimed %.4g", Figure(total).AtLeast(), c.Total)
	}
	r.compare(total, c.Total)
	r.Valid[len(r.Valid)-1] = "epsilon_lower and epsilon_claimed are those of the whole run: " + basis
	return nil
}

// stepScores are those of all observations; those that were learned are of the last four
// fifths.
type stepScores struct{ along, length, whitened, contrast Scores }

func (s *Scores) add(w Hypothesis, score float64) {
	if w == In {
		s.In = append(s.In, score)
	} else {
		s.Out = append(s.Out, score)
	}
}

// scores makes the trials of both worlds. Every trial is a system of its own, with keys
// that follow from the seed.
func (t *Target) scores(ctx context.Context, o Options) (*stepScores, error) {
	if o.Message > 1 && t.Claim.Releases == 0 {
		return nil, fmt.Errorf("%w: the claim is that of the first message's answer alone", errNotApplicable)
	}
	p, err := t.scout(max(1, o.Message))
	if err != nil {
		return nil, err
	}
	all, learned := new(stepScores), new(contrast)
	learning := o.Observations / 5
	for k := range o.Observations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if k == learning {
			learned.choose()
		}
		for _, w := range []Hypothesis{Out, In} {
			s, err := t.trial(w, &p, trialSeed(o.Seed, w, k), !o.Sampled)
			if err != nil {
				return nil, err
			}
			all.along.add(w, s.along)
			all.length.add(w, s.length)
			switch {
			case k >= learning:
				whitened, apart := s.along, s.along // infinite
				if s.sight != nil {
					whitened, apart = learned.scores(s.sight)
				}
				all.whitened.add(w, whitened)
				all.contrast.add(w, apart)
			case s.sight != nil && w == Out:
				learned.learn(s.sight, 0)
			case s.sight != nil && !o.Sampled:
				learned.learn(s.sight, t.Claim.middle(false, 1))
			}
		}
		o.look(k, &all.along, t.Claim.Epsilon, t.Claim.Delta)
	}
	return all, nil
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
	s := &shadow{target: t, probe: p}
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

// live scores what the owner's node has sent, to all neighbors.
func (t *Target) live(s *shadow, g Gate) error {
	sent, err := t.Live(s, g, func() bool { return s.done })
	if err != nil {
		return err
	}
	if !s.done || s.model || len(sent) == 0 {
		return errNoMessage
	}
	for k := range s.out { // the copies' messages, as each of these neighbors gets them
		s.out[k].Outbox = received(s.out[k].Outbox, sent)
	}
	return s.score(onWire(sent))
}

// received are a step's messages as the receivers of sent get them, in that order.
func received(outbox, sent []agent.Message) []agent.Message {
	var all []agent.Message
	for k := range sent {
		if k > 0 && sent[k].To == sent[k-1].To {
			continue
		}
		for _, m := range outbox {
			if m.To == agent.Broadcast || m.To == sent[k].To {
				all = append(all, m)
			}
		}
	}
	return all
}
