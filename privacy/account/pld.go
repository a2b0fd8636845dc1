package account

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"sotto/config"
)

// PrivacyLoss is the primary accountant ("pld"): it composes privacy loss distributions
// by Fourier transform, both directions of the pair separately, and returns lower and
// upper bounds (Koskela et al. 2020; Doroshenko et al. 2022; Gopi, Lee, Wutschitz 2021).
// Unsampled Gaussian events are composed exactly beside it.
type PrivacyLoss struct {
	tally
	mesh float64 // fixed grid step; 0: chosen per query
}

// NewPLD returns an empty accountant. With a mesh in [1e-7, 0.1] every query uses that
// grid step; without, the step starts at 1e-4 and shrinks until rounding moves epsilon by
// less than 1e-5 relative and the interval is narrower than 1%.
func NewPLD(a Adjacency, u Unit, mesh ...float64) (*PrivacyLoss, error) {
	d := &PrivacyLoss{}
	if len(mesh) > 0 {
		d.mesh = mesh[0]
		if !(d.mesh >= 1e-7 && d.mesh <= 0.1) {
			return nil, config.Bad("mesh", d.mesh, "1e-7 to 0.1")
		}
	}
	var err error
	d.tally, err = newTally("pld", a, u, func(b *body) error {
		_, _, err := d.pairFor(b)
		return err
	})
	return d, err
}

const pldSupported = "gaussian, gdp, discrete_gaussian (dim 1 or sigma_grid >= 32) and laplace for any " +
	"unit; poisson of Gaussian events " +
	"for any adjacency, unit record or group; for unit record or owner tree, discrete_laplace, " +
	"bounded_noise, eps_delta and randomized_response " +
	"(replace-one, zero-out); for unit record mixture_gaussian, poisson_truncated of Gaussian events " +
	"(add-remove, replace-one) and poisson of any of " +
	"these (add-remove, zero-out)"

// pairFor returns the dominating pair of one event other than an unsampled Gaussian;
// bounded is false where noise is 0, so that there is no pair and epsilon is infinite.
func (d *PrivacyLoss) pairFor(b *body) (p pair, bounded bool, err error) {
	refused := unsupportedBy{b, d}
	k := d.unit.members()
	if mu, ok := gaussianMu(b); ok {
		if b.typ == TypeTree && k > 1 {
			return pair{}, false, refused.err()
		}
		return gaussianPair(mu * float64(k)), !math.IsInf(mu, 1), nil
	}
	switch b.typ {
	case TypeLaplace:
		return laplacePair(float64(k) / b.scale), b.scale > 0, nil
	case TypePoisson:
		return d.poissonFor(b)
	case TypeMixtureGaussian:
		if d.unit.Kind != UnitRecord {
			return pair{}, false, refused.err()
		}
		return d.mixtureFor(b.noise, b.shifts, b.probs), b.noise > 0, nil
	case TypePoissonTruncated:
		return d.truncatedFor(b)
	}
	if k > 1 {
		return pair{}, false, refused.err()
	}
	switch b.typ {
	case TypeDiscreteGaussian:
		if b.dim == 1 && b.l2Grid <= 1<<16 {
			return discreteGaussianPair(b.sigmaGrid, b.l2Grid), true, nil
		}
	case TypeDiscreteLaplace:
		return discreteLaplacePair(b.a, float64(b.l1Grid)), true, nil
	case TypeBoundedNoise:
		return boundedPair(b), true, nil
	case TypeEpsDelta:
		return epsDeltaPair(b.epsilon, b.delta), true, nil
	case TypeRandomizedResponse:
		if d.adjacency != AddRemove {
			return responsePair(b.p, b.k, d.adjacency == ZeroOut), true, nil
		}
	}
	return pair{}, false, refused.err()
}

type unsupportedBy struct {
	b *body
	d *PrivacyLoss
}

func (u unsupportedBy) err() error {
	return unsupported(u.b, "pld", u.d.adjacency, u.d.unit, pldSupported)
}

func (d *PrivacyLoss) poissonFor(b *body) (pair, bool, error) {
	k := d.unit.members()
	if mu, ok := gaussianMu(b.event); ok {
		switch {
		case math.IsInf(mu, 1):
			return pair{}, false, nil
		case k > 1: // the aligned group is the worst one, by the argument of antipodalPair
			var w, c []float64
			for j := 0; j <= k; j++ {
				if p := binomialPMF(k, j, b.rate); p > 0 {
					w, c = append(w, p), append(c, float64(j)*mu)
				}
			}
			return d.mixtureFor(1, c, w), true, nil
		case d.adjacency == ReplaceOne:
			return antipodalPair(b.rate, mu/2), true, nil
		}
		return poissonPair(b.rate, gaussianPair(mu)), true, nil
	}
	if d.adjacency == ReplaceOne || d.unit.Kind != UnitRecord {
		return pair{}, false, unsupportedBy{b, d}.err()
	}
	in, bounded, err := d.pairFor(b.event)
	if err != nil || !bounded {
		return pair{}, false, err
	}
	return poissonPair(b.rate, in), true, nil
}

// mixtureFor is the pair of a random number of hits; under replace-one each contribution
// lies within half the shift.
func (d *PrivacyLoss) mixtureFor(noise float64, shifts, probs []float64) pair {
	if noise == 0 {
		return pair{}
	}
	half := 1.0
	if d.adjacency == ReplaceOne {
		half = 0.5
	}
	var w, c []float64
	for j, p := range probs {
		if p > 0 {
			w, c = append(w, p), append(c, half*shifts[j]/noise)
		}
	}
	return mixturePair(w, c, d.adjacency == ReplaceOne)
}

// truncatedFor is the upper bound for a batch capped at B of n records: with probability
// w = P[Bin(n-1,q) >= B] the cap binds for a sampled record, and then the record also
// displaces another one: the replace-one pair at twice the shift, at rate P[Bin(n,q) > B]
// B/(n w). Otherwise the plain Poisson pair.
func (d *PrivacyLoss) truncatedFor(b *body) (pair, bool, error) {
	mu, ok := gaussianMu(b.event)
	if !ok || d.adjacency == ZeroOut || d.unit.Kind != UnitRecord {
		return pair{}, false, unsupportedBy{b, d}.err()
	}
	if math.IsInf(mu, 1) {
		return pair{}, false, nil
	}
	plain, m := poissonPair(b.rate, gaussianPair(mu)), mu
	if d.adjacency == ReplaceOne {
		plain, m = antipodalPair(b.rate, mu/2), mu/2
	}
	w := binomialTail(b.population-1, b.maxBatch, b.rate)
	rate := 0.0
	if w > 0 {
		rate = math.Min(1, binomialTail(b.population, b.maxBatch+1, b.rate)*float64(b.maxBatch)/
			(float64(b.population)*w))
	}
	if w == 0 || rate == 0 {
		plain.tight = false
		return plain, true, nil
	}
	p := blendPair(w, plain, antipodalPair(rate, 2*m))
	p.tight = false
	return p, true, nil
}

// binomialTail is P[Bin(n,q) >= k].
func binomialTail(n, k int, q float64) float64 {
	if k <= 0 {
		return 1
	}
	if k > n {
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), q)
}

// Epsilon returns an interval that holds epsilon at delta.
func (d *PrivacyLoss) Epsilon(delta float64) (Interval, error) {
	return d.worst(delta, true, bothWays)
}

// UpperEpsilon returns the upper end only, in less time.
func (d *PrivacyLoss) UpperEpsilon(delta float64) (float64, error) {
	i, err := d.worst(delta, false, bothWays)
	return i.Upper, err
}

// Remove returns epsilon of the direction (with the unit, without it), Add that of the
// other one; the guarantee is their maximum, Epsilon. They differ for sampled events.
func (d *PrivacyLoss) Remove(delta float64) (Interval, error) {
	return d.worst(delta, true, []bool{false})
}

// Add is described at Remove.
func (d *PrivacyLoss) Add(delta float64) (Interval, error) { return d.worst(delta, true, []bool{true}) }

var bothWays = []bool{false, true}

func (d *PrivacyLoss) worst(delta float64, lower bool, ways []bool) (Interval, error) {
	if err := checkDelta(delta); err != nil {
		return Interval{}, err
	}
	all, nonPrivate := d.branches()
	if nonPrivate {
		return Interval{math.Inf(1), math.Inf(1)}, nil
	}
	var worst Interval
	for _, l := range all {
		w, err := d.load(l)
		if err != nil {
			return Interval{}, err
		}
		i, err := w.epsilon(delta, lower, ways)
		if err != nil {
			return Interval{}, err
		}
		worst = Interval{math.Max(worst.Lower, i.Lower), math.Max(worst.Upper, i.Upper)}
	}
	return worst, nil
}

// Delta returns an interval that holds delta at epsilon >= 0.
func (d *PrivacyLoss) Delta(epsilon float64) (Interval, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return Interval{}, err
	}
	all, nonPrivate := d.branches()
	if nonPrivate {
		return Interval{1, 1}, nil
	}
	var worst Interval
	for _, l := range all {
		w, err := d.load(l)
		if err != nil {
			return Interval{}, err
		}
		i, err := w.delta(epsilon)
		if err != nil {
			return Interval{}, err
		}
		worst = Interval{math.Max(worst.Lower, i.Lower), math.Max(worst.Upper, i.Upper)}
	}
	return worst, nil
}

// Describe implements Accountant.
func (d *PrivacyLoss) Describe() Description {
	return Description{Method: "pld, connect-the-dots with error terms", Provenance: "proved",
		Citations: []string{"Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, arXiv 2207.04380",
			"Gopi, Lee, Wutschitz 2021, arXiv 2106.02848",
			"Zhu, Dong, Wang 2022, arXiv 2106.08567"},
		Assumptions: []string{"round-off of the Fourier transform is below its estimate"}}
}

// tooSmall is ErrDeltaTooSmall with the figures.
func tooSmall(delta, works float64) error {
	return fmt.Errorf("%w: round-off exceeds a tenth of delta %.3g; about %.1g works", ErrDeltaTooSmall,
		delta, works)
}

func isTooWide(err error) (float64, bool) {
	var w errTooWide
	ok := errors.As(err, &w)
	return w.factor, ok
}
