package audit

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"sotto/config"
	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
	"sotto/rng"
)

// PairwiseOptions say who attacks whom.
type PairwiseOptions struct {
	Options
	Adversary network.Adversary
	// Everywhere: the members hear the messages on all links, and have the secrets of
	// their own.
	Everywhere bool
	Target     int
	Delta      float64
	Claim      Claimed
}

// Claimed is a figure that somebody states for the pair: its GDP parameter.
type Claimed struct {
	Name string
	Mu   float64
}

// Measured is the GDP parameter of a view as scores show it: the distance of their means
// over their common standard deviation.
type Measured struct {
	Mu Figure `json:"mu"`
	// of an interval that misses the true mu with probability beta, for normal scores
	Lower Figure `json:"mu_lower"`
	Upper Figure `json:"mu_upper"`
	Exact Figure `json:"mu_exact"` // of the view by linear algebra of the auditor's own, in double precision
}

// PairwiseReport is what the attack on one pair found.
type PairwiseReport struct {
	Report
	Observer string   `json:"observer"`
	Attacked int      `json:"target_agent"`
	Messages int      `json:"messages"` // of one run
	Measured Measured `json:"measured"`
	ClaimMu  Figure   `json:"mu_claimed"`
	ClaimOf  string   `json:"claim"`
	LocalMu  Figure   `json:"mu_local"` // against who sees the noised value itself
}

// AttackPair plays an adversary who tells two values of one agent apart by the messages
// that it really receives. Its score is the best linear one, B⁺e_u for equal noise: with
// M the column of the attacked value in its view and N the map of the noise that it does
// not know, w = (N Nᵀ)⁺ M, which is the likelihood ratio of two normal laws. It knows all
// other values. Rounding of messages to float32 counts as noise, so that no direction
// that drowns in it spoils the score.
//
// A claim is refuted by the GDP bound at the threshold halfway, which is fixed
// beforehand. The interval of the measured mu takes the scores for normal.
func (a *AveragingTarget) AttackPair(ctx context.Context, o PairwiseOptions) (*PairwiseReport, error) {
	if err := a.CheckPair(&o); err != nil {
		return nil, err
	}
	members, listens := o.Adversary.Members(), a.listeners(o.Adversary, o.Everywhere)
	known := a.publicValues(o.Seed)
	first, _, err := a.run(ctx, known, listens, members, trialSeedOf(o.Seed, 0, 0))
	if err != nil {
		return nil, err
	}
	v, err := a.view(first, members, o.Target)
	if err != nil {
		return nil, err
	}
	r := &PairwiseReport{
		Observer: o.Adversary.String(),
		Attacked: o.Target,
		Messages: len(first),
		ClaimMu:  Figure(o.Claim.Mu),
		ClaimOf:  o.Claim.Name,
	}
	none := Figure(math.NaN())
	r.Report = Report{
		Mode:         "pairwise",
		Target:       a.Name,
		EpsilonLower: none,
		Claimed:      none,
		Ratio:        none,
		Delta:        o.Delta,
		Confidence:   1 - o.Beta,
	}
	r.LocalMu = Figure(a.Shift * a.Clip[o.Target] / a.Noise[o.Target])
	r.Measured.Exact = Figure(v.mu * a.distance(o.Target))
	s := &Scores{}
	if v.mu > 0 {
		if s, err = a.pairScores(ctx, &o, v, known, listens, members); err != nil {
			return nil, err
		}
	}
	return r, r.judge(s, &o)
}

// CheckPair names the first option that cannot be used.
func (a *AveragingTarget) CheckPair(o *PairwiseOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	n := a.Gossip.Agents
	for _, m := range o.Adversary.Members() {
		if m < 0 || m >= n {
			return config.Bad("observer", m, fmt.Sprintf("agents 0 to %d", n-1))
		}
	}
	switch {
	case len(o.Adversary.Members()) == 0 && !o.Everywhere:
		return config.Bad("observer", o.Adversary.String(), "an agent or a coalition")
	case o.Target < 0 || o.Target >= n || slices.Contains(o.Adversary.Members(), o.Target):
		return config.Bad("target", o.Target, fmt.Sprintf("agents 0 to %d that are no observers", n-1))
	case !(a.Noise[o.Target] > 0):
		return config.Bad("noise_multiplier", a.Noise[o.Target],
			"above 0: without noise see audit reconstruct")
	case !(o.Delta > 0 && o.Delta < 1):
		return config.Bad("delta", o.Delta, "above 0 and below 1")
	case len(a.Gossip.Rounds) == 0:
		return config.Bad("rounds", 0, "at least one round of averaging")
	}
	return nil
}

// distance is how far apart the two values of an agent are.
func (a *AveragingTarget) distance(u int) float64 { return a.Shift * a.Clip[u] * (1 - 1e-5) }

// linearView is an adversary's view of one agent's value.
type linearView struct {
	rows   []heard     // round and sender of each message
	weight [][]float64 // of each message on every y^0
	score  []float64   // w: scores are wᵀ(messages less what is known), over wᵀM
	mu     float64     // for values one unit apart
}

// view finds the best score against messages like those of first.
func (a *AveragingTarget) view(first []heard, members []int, target int) (*linearView, error) {
	powers, err := a.products()
	if err != nil {
		return nil, err
	}
	v := &linearView{rows: first}
	signal := make([]float64, len(first))
	for i, h := range first {
		row := powers[h.round][h.from]
		v.weight = append(v.weight, row)
		signal[i] = row[target]
	}
	noise := a.unknownNoise(v.weight, members)
	rounding := largest(first) * 0x1p-24
	v.score = make([]float64, len(first))
	var svd mat.SVD
	if len(first) == 0 || !svd.Factorize(noise, mat.SVDThin) {
		return v, nil
	}
	var u mat.Dense
	svd.UTo(&u)
	inner := 0.
	for k, s := range svd.Values(nil) {
		along := 0.
		for i := range signal {
			along += u.At(i, k) * signal[i]
		}
		along /= s*s + rounding*rounding
		for i := range v.score {
			v.score[i] += along * u.At(i, k)
		}
	}
	for i := range signal {
		inner += v.score[i] * signal[i]
	}
	if inner > 0 {
		v.mu = math.Sqrt(inner)
		for i := range v.score {
			v.score[i] /= inner
		}
	}
	return v, nil
}

// unknownNoise is N: one row a message, one column for each independent draw that the
// adversary does not know, in absolute units.
func (a *AveragingTarget) unknownNoise(weight [][]float64, members []int) *mat.Dense {
	var columns [][]float64
	column := func(f func(row []float64) float64) {
		c := make([]float64, len(weight))
		for i, row := range weight {
			c[i] = f(row)
		}
		columns = append(columns, c)
	}
	for j, s := range a.Noise {
		if !slices.Contains(members, j) {
			column(func(row []float64) float64 { return s * row[j] })
		}
	}
	for _, p := range a.Pairs {
		if !slices.Contains(members, p.A) && !slices.Contains(members, p.B) {
			column(func(row []float64) float64 { return p.Std * (row[p.A] - row[p.B]) })
		}
	}
	m := mat.NewDense(max(1, len(weight)), max(1, len(columns)), nil)
	for k, c := range columns {
		for i, x := range c {
			m.Set(i, k, x)
		}
	}
	return m
}

// pairScores makes the trials of both worlds: in world out the target's value is clip
// times 1 less the shift, in world in the clip.
func (a *AveragingTarget) pairScores(ctx context.Context, o *PairwiseOptions, v *linearView, known []float64,
	listens []bool, members []int) (*Scores, error) {
	s := &Scores{In: make([]float64, o.Observations), Out: make([]float64, o.Observations)}
	values := slices.Clone(known)
	worlds := [2][]float64{s.Out, s.In}
	far := a.distance(o.Target)
	base := a.Clip[o.Target]*(1-1e-5) - far
	for k := range o.Observations {
		for w, at := range [2]float64{base, base + far} {
			values[o.Target] = at
			seed := trialSeedOf(o.Seed, uint64(w), uint64(k)+1)
			all, own, err := a.run(ctx, values, listens, members, seed)
			if err != nil {
				return nil, err
			}
			worlds[w][k] = a.scoreOf(v, all, own, values, base, o.Target, members, seed) / far
		}
	}
	return s, nil
}

// scoreOf is the score of one run: an estimate of the target's value less its value in
// world out.
func (a *AveragingTarget) scoreOf(v *linearView, all []heard, own map[int]float64, values []float64,
	base float64,
	target int, members []int, seed uint64) float64 {
	known := slices.Clone(values) // of y^0, what the adversary knows
	known[target] = base
	for m, x := range own {
		known[m] = x
	}
	for _, p := range a.Pairs {
		insideA, insideB := slices.Contains(members, p.A), slices.Contains(members, p.B)
		if insideA && !insideB {
			known[p.B] -= p.Std * p.Draw(seed)
		}
		if insideB && !insideA {
			known[p.A] += p.Std * p.Draw(seed)
		}
	}
	sum := 0.
	for i, h := range all {
		x := h.value
		for j, w := range v.weight[i] {
			x -= w * known[j]
		}
		sum += v.score[i] * x
	}
	return sum
}

// judge fills in the figures of the report.
func (r *PairwiseReport) judge(s *Scores, o *PairwiseOptions) error {
	r.Observations = len(s.In) + len(s.Out)
	r.Valid = []string{"the adversary knows all values but the target's two, the weights and its own " +
		"members' secrets, and reads messages as their bytes say",
		"the interval of mu takes scores for normal; the bound does not"}
	if r.Observations == 0 {
		r.Measured.Mu, r.Measured.Lower, r.Measured.Upper = 0, 0, 0
		r.Valid = append(r.Valid, "no message depends on the target's value")
		r.compare(0, gdp.Epsilon(o.Claim.Mu, o.Delta))
		return nil
	}
	r.Measured.measure(s, o.Beta)
	b := s.ByGDP(Rule{Kind: Fixed, At: .5}, o.Beta, o.Delta)
	r.Bounds = append(r.Bounds, b)
	r.compare(b.Epsilon, gdp.Epsilon(o.Claim.Mu, o.Delta))
	if b.Mu > o.Claim.Mu {
		r.refute("%s gives agent %d at most mu = %.4g against observer %s, the messages show at least %s",
			o.Claim.Name, r.Attacked, o.Claim.Mu, r.Observer, Figure(b.Mu).AtLeast())
	}
	return nil
}

// measure estimates mu of normal scores with equal variances, and its interval by the
// asymptotic law of the estimate: variance 2/n + mu²/(4(n-1)) for n scores in each world.
func (m *Measured) measure(s *Scores, beta float64) {
	n := float64(len(s.In))
	meanIn, varianceIn := stat.MeanVariance(s.In, nil)
	meanOut, varianceOut := stat.MeanVariance(s.Out, nil)
	mu := (meanIn - meanOut) / math.Sqrt((varianceIn+varianceOut)/2)
	half := distuv.UnitNormal.Quantile(1-beta/2) * math.Sqrt(2/n+mu*mu/(4*(n-1)))
	m.Mu, m.Lower, m.Upper = Figure(mu), Figure(mu-half), Figure(mu+half)
}

// trialSeedOf is the seed of one run of a mode that has worlds or parts.
func trialSeedOf(seed uint64, part, trial uint64) uint64 {
	return rng.Public(seed, "audit pair", part, trial).Uint64()
}

// WriteText writes the report for a person.
func (r *PairwiseReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "pair\tagent %d seen by observer %s, %d messages a run\n", r.Attacked, r.Observer,
		r.Messages)
	fmt.Fprintf(t, "mu\tmeasured %s, in [%s, %s] with confidence %g; %s by the auditor's algebra; local %s\n",
		r.Measured.Mu, r.Measured.Lower, r.Measured.Upper, r.Confidence, r.Measured.Exact, r.LocalMu)
	fmt.Fprintf(t, "claim\tmu at most %s (%s)\n", r.ClaimMu, r.ClaimOf)
	if err := t.Flush(); err != nil {
		return err
	}
	return r.Report.WriteText(w)
}
