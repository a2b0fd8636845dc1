package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"sotto/tensor"
)

// maxValues is how many values of noise a test looks at, and fewestCharges how many
// charges it looks at whatever their length: a coordinate without noise shows in as many.
const (
	maxValues     = 1 << 20
	fewestCharges = 20
)

// errNotApplicable says that a mode has nothing to test.
var errNotApplicable = errors.New("audit: the mode does not apply")

// NotApplicable reports whether an error says that the target lacks what a mode needs.
func NotApplicable(err error) bool {
	return errors.Is(err, errNotApplicable) || errors.Is(err, errNoMessage)
}

// Noise tests what is left of answers when the known statistic is taken off, in both
// worlds: it has the declared law, whatever the data, in every coordinate and every
// charge; coordinates and charges are independent; answers lie on the declared grid; no
// noise comes twice, not even with a crash in between. Observations is the number of
// charges in each world, half of them after the crash.
//
// Each check has a null law that is exact, or a bound of it, and pays by Bonferroni for
// all that it looks at; see spread, coins and again.
func (t *Target) Noise(ctx context.Context, o Options) (*Report, error) {
	r := t.report("noise", o)
	p, err := t.scout(1)
	if err != nil {
		return nil, err
	}
	charges := min(o.Observations, max(fewestCharges, maxValues/max(1, t.Dim)))
	level := o.Beta / 2 // by world
	for _, w := range []Hypothesis{Out, In} {
		answers, reopened, err := t.answers(ctx, w, &p, o.Seed, charges)
		if err != nil {
			return nil, err
		}
		value, err := t.Value(w, &p.query)
		if err != nil {
			return nil, err
		}
		value = slices.Clone(value)
		value.Scale(float64(max(1, t.Claim.Draws)), value)
		r.Observations += len(answers)
		r.check(finiteCheck(w, answers))
		t.laws(r, w, answers, value, reopened, level)
		if len(t.Claim.Noise) == 0 && !t.Discrete {
			r.check(repeats(w, answers, reopened, level))
		}
	}
	r.Valid = append(r.Valid, "the auditor has made the data and knows the statistic without noise")
	if t.Discrete {
		r.Valid = append(r.Valid, "answers take few values: whether two share their noise was not tested")
	}
	if t.Claim.Noise == nil {
		r.Valid = append(r.Valid, "no law of single values is declared: neither the law nor its single "+
			"coordinates were tested")
	}
	return r, nil
}

// answers asks the same query again and again; from the returned place on after a crash.
func (t *Target) answers(ctx context.Context, w Hypothesis, p *probe, seed uint64,
	charges int) (all []tensor.Vec,
	reopened int, err error) {
	party, err := t.Open(w, trialSeed(seed, w, 0), true)
	if err != nil {
		return nil, 0, err
	}
	reopened = charges
	for k := range charges {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if k == charges/2 && party.Reopen != nil {
			if party, err = party.Reopen(); err != nil {
				return nil, 0, err
			}
			reopened = k
		}
		party.Gate.Begin(uint64(k), nil)
		a := p.query.Room(nil, t.Dim)
		if err := party.Gate.Answer(&p.query, a); err != nil {
			return nil, 0, err
		}
		all = append(all, a)
	}
	return all, reopened, nil
}

func finiteCheck(w Hypothesis, answers []tensor.Vec) Check {
	c := Check{Name: "finite", Text: fmt.Sprintf("answers with a value that is not finite, world %v", w)}
	for _, a := range answers {
		if !a.Finite() {
			c.Statistic++
		}
	}
	return c
}

// repeats counts charges whose answer came before to the last bit, in an answer's first
// values, where no law is declared. The same noise on the same data is the same answer;
// independent noise repeats a value of a grid of a million steps now and then, three of
// them together never. As for part.again, the number is at most binomial.
func repeats(w Hypothesis, answers []tensor.Vec, reopened int, level float64) Check {
	c := Check{Name: "fresh noise", Text: fmt.Sprintf("charges of %d whose noise came before, world %v",
		len(answers), w) + crashed(reopened, len(answers))}
	if len(answers) == 0 {
		return c
	}
	seen, n := map[[8]float32]bool{}, len(answers)
	for _, a := range answers {
		var key [8]float32
		copy(key[:], a)
		if seen[key] {
			c.Statistic++
		}
		seen[key] = true
	}
	hit := min(1, float64(n)*math.Pow(0x1p-20, float64(min(len(answers[0]), 8))))
	for int(c.Limit) < n && binomialTail(int(c.Limit)+1, n, hit) > level {
		c.Limit++
	}
	return c
}

func crashed(reopened, charges int) string {
	if reopened >= charges {
		return ""
	}
	return fmt.Sprintf("; the system crashed after charge %d", reopened)
}
