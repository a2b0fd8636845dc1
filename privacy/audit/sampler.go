package audit

import (
	"context"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/privacy/account"
)

// Sampler tests who falls into a batch: every record with the claimed rate, pairs as the
// sampler has it, batch sizes, and batches of one round that do not follow those of
// another, nor of another run.
func (t *Target) Sampler(ctx context.Context, o Options) (*Report, error) {
	if t.Population == nil {
		return nil, errNotApplicable
	}
	p, err := t.scout(1)
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
		answer := p.query.Room(nil, t.Dim)
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
		r.check(leastLikely(k, o.Beta/float64(len(c))))
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
		Statistic: Figure(0 - math.Log10(max(tail, 1e-300))),
		Limit:     Figure(-math.Log10(level / 2)),
		Text: fmt.Sprintf("-log10 of the probability of %d or further of %d %s, %.4g expected", c.k, c.n,
			c.text, float64(c.n)*c.p),
	}
}

// binomialTail is P[Bin(n, p) >= k].
func binomialTail(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	case float64(k) <= float64(n)*p: // the sum of the shorter side
		return 1 - binomialTail(n-k+1, n, 1-p)
	}
	sum := 0.
	for j := k; j <= n; j++ {
		mass := binomialMass(n, j, p)
		sum += mass
		if mass <= 1e-18*sum { // masses fall from the mean on
			break
		}
	}
	return min(1, sum)
}

// leastLikely checks the least likely of some counts, and pays for all of them.
func leastLikely(of []count, level float64) Check {
	var least Check
	for k, c := range of {
		if now := c.check(level / float64(len(of))); k == 0 || now.Statistic > least.Statistic {
			least = now
		}
	}
	if len(of) > 1 {
		least.Text += fmt.Sprintf(", the least likely of %d", len(of))
	}
	return least
}

// counts are those of inclusions in two runs of batches, by check. Where several batches
// are under one noise draw, a record is there that is in any. Counts of batches of a
// fixed size are hypergeometric and vary less than binomial ones; those of records that
// are treated alike would vary more.
func counts(runs [2][][]int, c *Claim) [][]count {
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
	same := count{"two runs", "a record treated alike in a round of two runs", 0, 0, q*q + (1-q)*(1-q)}
	together := s.Kind == account.FixedSize
	if together {
		same = count{"two runs", "a record in both batches of a round of two runs", 0, 0, q * q}
	}
	empty := count{"empty batches", "a batch without records", 0, 0, 0}
	twice := count{"repeated records", "a record more often in a batch than there are draws", 0, 0, 0}
	later := make([]count, mostApart)
	for k := range later {
		later[k] = count{"successive rounds",
			fmt.Sprintf("a record in two batches %d apart", k+1), 0, 0, q * q}
	}
	var each []count
	for i := range runs[0][0] {
		each = append(each, count{"each record", fmt.Sprintf("record %d in a batch", i), 0, 0, q})
	}
	for run, batches := range runs {
		for t, b := range batches {
			drawn := 0
			for i, x := range b {
				marginal.add(x > 0)
				each[i].add(x > 0)
				twice.add(x < 0 || x > max(1, c.Draws))
				if i%2 == 1 {
					two.add(x > 0 && b[i-1] > 0)
				}
				for k := range later { // of batches in pairs, each in one
					if lag := k + 1; t/lag%2 == 1 {
						later[k].add(x > 0 && batches[t-lag][i] > 0)
					}
				}
				if run == 1 {
					other := runs[0][t][i] > 0
					same.add((x > 0) == other && (x > 0 || !together))
				}
				drawn += x
			}
			empty.add(drawn == 0)
			if s.Kind == account.Poisson {
				empty.p = math.Pow(1-q, float64(len(b)))
			}
		}
	}
	return [][]count{{marginal}, {two}, later, {same}, {empty}, {twice}, each}
}

// mostApart is how far batches are at most that are compared.
const mostApart = 3

func (c *count) add(yes bool) {
	c.n++
	if yes {
		c.k++
	}
}
