package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/privacy/account"
	"sotto/tensor"
)

// maxValues is how many values of noise a test looks at.
const maxValues = 1 << 20

// errNotApplicable says that a mode has nothing to test.
var errNotApplicable = errors.New("audit: the mode does not apply")

// NotApplicable reports whether an error says that the target lacks what a mode needs.
func NotApplicable(err error) bool {
	return errors.Is(err, errNotApplicable) || errors.Is(err, errNoMessage)
}

// Noise tests what is left of answers when the known statistic is taken off, in both
// worlds: it has the declared law, whatever the data; answers lie on the declared grid;
// no two charges share noise, not even with a crash in between. Observations is the
// number of charges in each world, half of them after the crash.
func (t *Target) Noise(ctx context.Context, o Options) (*Report, error) {
	r := t.report("noise", o)
	p, err := t.scout()
	if err != nil {
		return nil, err
	}
	charges := min(o.Observations, max(10, maxValues/max(1, t.Dim)))
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
		t.law(r, w, answers, value, level)
		if !t.Discrete {
			r.check(repeats(w, answers, reopened))
		}
	}
	r.Valid = append(r.Valid, "the auditor has made the data and knows the statistic without noise")
	if t.Discrete {
		r.Valid = append(r.Valid, "answers take few values: whether two share their noise was not tested")
	}
	if t.Claim.Noise == nil {
		r.Valid = append(r.Valid, "no law of single values is declared: the law was not tested")
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
		a := make(tensor.Vec, t.Dim)
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

// law tests every declared part: its distribution by the inequality of Dvoretzky, Kiefer,
// Wolfowitz and Massart, which holds for any number of values and any law, and its grid.
func (t *Target) law(r *Report, w Hypothesis, answers []tensor.Vec, value tensor.Vec, level float64) {
	at := 0
	for k, n := range t.Claim.Noise {
		var x []float64
		off, close := 0, 0
		for _, a := range answers {
			for i := at; i < at+n.Dim; i++ {
				if n.Scale > 0 {
					x = append(x, (float64(a[i])-float64(value[i]))/n.Scale)
				}
				if g := float64(a[i]) / n.Grid; n.Grid > 0 && math.Abs(g) < 1<<18 {
					close++
					if math.Abs(g-math.Round(g)) > .1 {
						off++
					}
				}
			}
		}
		where := fmt.Sprintf("part %d, world %v", k, w)
		if n.CDF != nil && len(x) > 0 {
			slices.Sort(x)
			r.check(Check{Name: "law", Statistic: Figure(distance(x, n.CDF)),
				Limit: Figure(math.Sqrt(math.Log(2*float64(len(t.Claim.Noise))/level) /
					(2 * float64(len(x))))),
				Text: fmt.Sprintf("distance of %d values of noise from the declared distribution, %s",
					len(x), where)})
		}
		if n.Grid > 0 {
			r.check(Check{Name: "grid", Statistic: Figure(off),
				Text: fmt.Sprintf("values off the declared grid, of %d that are small enough to tell, %s",
					close, where)})
		}
		at += n.Dim
	}
}

// distance is the largest difference between the empirical distribution function of the
// sorted x and cdf. NaN where a value is none.
func distance(x []float64, cdf func(float64) float64) float64 {
	d, n := 0., float64(len(x))
	for i, v := range x {
		if v != v {
			return v
		}
		c := cdf(v)
		d = max(d, c-float64(i)/n, float64(i+1)/n-c)
	}
	return d
}

// repeats counts pairs of charges with the same answer to the last bit, in an answer's
// first values. The same noise on the same data is the same answer; independent noise
// repeats a value of a grid of a million steps now and then, three of them together
// never.
func repeats(w Hypothesis, answers []tensor.Vec, reopened int) Check {
	c := Check{Name: "fresh noise", Text: fmt.Sprintf("pairs of %d charges with one noise, world %v",
		len(answers), w)}
	if reopened < len(answers) {
		c.Text += fmt.Sprintf("; the system crashed after charge %d", reopened)
	}
	seen := map[[8]float32]int{}
	for _, a := range answers {
		var key [8]float32
		copy(key[:], a)
		c.Statistic += Figure(seen[key])
		seen[key]++
	}
	if len(answers) > 0 && len(answers[0]) < 3 {
		// By the birthday bound: the expected number of pairs on 2^20 values a standard
		// deviation, far exceeded by one key for two charges.
		c.Limit = Figure(math.Floor(2 + float64(len(answers)*len(answers))/(1<<20)))
	}
	return c
}

// Sampler tests who falls into a batch: every record with the claimed rate, pairs as the
// sampler has it, batch sizes, and batches of one round that do not follow those of
// another, nor of another run.
func (t *Target) Sampler(ctx context.Context, o Options) (*Report, error) {
	if t.Population == nil {
		return nil, errNotApplicable
	}
	p, err := t.scout()
	if err != nil {
		return nil, err
	}
	r := t.report("sampler", o)
	var runs [2][][]int
	for k := range runs {
		gate, members, err := t.Population(trialSeed(o.Seed, In, k), &p.query)
		if err != nil {
			return nil, err
		}
		d, err := newDecoder(members)
		if err != nil {
			return nil, err
		}
		answer := make(tensor.Vec, t.Dim)
		for round := range o.Observations {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			gate.Begin(uint64(round), []agent.Neighbor{})
			if err := gate.Answer(&p.query, answer); err != nil {
				return nil, err
			}
			batch, residual := d.decode(answer)
			if residual > .01 {
				return nil, fmt.Errorf("%w: an answer is no sum of the records' contributions (off by %.2g)",
					errNotApplicable, residual)
			}
			runs[k] = append(runs[k], batch)
		}
		r.Observations += o.Observations
	}
	c := counts(runs, &t.Claim)
	for _, k := range c {
		r.check(k.check(o.Beta / float64(len(c))))
	}
	r.Valid = append(r.Valid,
		"batches are read from answers without noise, with the system's own oracle and sampler")
	return r, nil
}

// count is a number of events that is binomial under the claim.
type count struct {
	name, text string
	k, n       int
	p          float64
}

// check compares with exact limits, two-sided at the level: the statistic is how
// improbable the count is, as -log10 of its tail.
func (c count) check(level float64) Check {
	tail := min(binomialTail(c.k, c.n, c.p), binomialTail(c.n-c.k, c.n, 1-c.p))
	return Check{
		Name:      c.name,
		Statistic: Figure(-math.Log10(max(tail, 1e-300))),
		Limit:     Figure(-math.Log10(level / 2)),
		Text: fmt.Sprintf("-log10 of the probability of %d or further of %d %s, %.4g expected", c.k, c.n,
			c.text, float64(c.n)*c.p),
	}
}

// binomialTail is P[Bin(n, p) >= k].
func binomialTail(k, n int, p float64) float64 {
	if k <= 0 {
		return 1
	}
	sum := 0.
	for j := k; j <= n; j++ {
		mass := binomialMass(n, j, p)
		sum += mass
		if float64(j) > float64(n)*p && mass < 1e-18*sum {
			break
		}
	}
	return min(1, sum)
}

// counts are those of inclusions in two runs of batches. Where several batches are under
// one noise draw, a record is there that is in any.
func counts(runs [2][][]int, c *Claim) []count {
	q, pair, s := 1., 1., &c.Sampler
	switch s.Kind {
	case account.Poisson:
		q = 1 - math.Pow(1-s.SampleRate, float64(max(1, c.Draws)))
		pair = q * q
	case account.FixedSize:
		n, b := float64(s.Population), float64(s.BatchSize)
		q, pair = b/n, b*(b-1)/(n*max(1, n-1))
	}
	marginal := count{"inclusion", "a record in a batch", 0, 0, q}
	two := count{"pairs", "two records in one batch", 0, 0, pair}
	next := count{"successive rounds", "a record in two batches in a row", 0, 0, q * q}
	same := count{"two runs", "a record treated alike in a round of two runs", 0, 0, q*q + (1-q)*(1-q)}
	empty := count{"empty batches", "a batch without records", 0, 0, 0}
	for run, batches := range runs {
		for t, b := range batches {
			drawn := 0
			for i, x := range b {
				marginal.add(x > 0)
				if i%2 == 1 {
					two.add(x > 0 && b[i-1] > 0)
				}
				if t%2 == 1 {
					next.add(x > 0 && batches[t-1][i] > 0)
				}
				if run == 1 {
					same.add((x > 0) == (runs[0][t][i] > 0))
				}
				drawn += x
			}
			empty.add(drawn == 0)
			if s.Kind == account.Poisson {
				empty.p = math.Pow(1-q, float64(len(b)))
			}
		}
	}
	return []count{marginal, two, next, same, empty}
}

func (c *count) add(yes bool) {
	c.n++
	if yes {
		c.k++
	}
}
