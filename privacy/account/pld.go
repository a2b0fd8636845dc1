package account

import (
	"errors"
	"fmt"
	"math"

	"sotto/config"
	"sotto/privacy/account/loss"
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
// less than 2e-5 relative and the interval is narrower than 1%, or is the finest that
// fits; see the package for what follows then.
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
		_, err := d.pairOf(b)
		return err
	})
	return d, err
}

const pldSupported = "gaussian, gdp, discrete_gaussian (dim 1 or sigma_grid >= 32) and laplace for any " +
	"unit; poisson of Gaussian events " +
	"for any adjacency, unit record or group; for unit record or owner tree, discrete_laplace, " +
	"bounded_noise, eps_delta and randomized_response " +
	"(replace-one, zero-out); for unit record mixture_gaussian, poisson_truncated of Gaussian events " +
	"(replace-one); of any of these fixed_size (replace-one) and poisson (add-remove, zero-out)"

// noPair is that of an event without noise, whose epsilon is infinite.
var noPair pair

// pairOf returns the dominating pair of one event.
func (r relation) pairOf(b *body) (pair, error) {
	p, err := r.dominating(b)
	p.tight = p.tight && !b.coarse()
	return p, err
}

func (r relation) dominating(b *body) (pair, error) {
	p, err := noPair, errNoProof
	if mu, ok := r.mu(b); ok {
		if math.IsInf(mu, 1) {
			return noPair, nil
		}
		return gaussianPair(mu), nil
	}
	if b.kind.pair != nil {
		p, err = b.kind.pair(b, r)
	}
	if err == errNoProof {
		err = r.unsupported(b, "pld", pldSupported)
	}
	return p, err
}

// Epsilon returns an interval that holds epsilon at delta.
func (d *PrivacyLoss) Epsilon(delta float64) (Interval, error) {
	return d.epsilon(delta, true, bothWays)
}

// UpperEpsilon returns the upper end only, in less time.
func (d *PrivacyLoss) UpperEpsilon(delta float64) (float64, error) {
	i, err := d.epsilon(delta, false, bothWays)
	return i.Upper, err
}

// Remove returns epsilon of the direction (with the unit, without it), Add that of the
// other one; the guarantee is their maximum, Epsilon. They differ for sampled events.
func (d *PrivacyLoss) Remove(delta float64) (Interval, error) {
	return d.epsilon(delta, true, []bool{false})
}

// Add is described at Remove.
func (d *PrivacyLoss) Add(delta float64) (Interval, error) {
	return d.epsilon(delta, true, []bool{true})
}

var bothWays = []bool{false, true}

func (d *PrivacyLoss) epsilon(delta float64, lower bool, ways []bool) (Interval, error) {
	if err := checkDelta(delta); err != nil {
		return Interval{}, err
	}
	return d.worst(ask("epsilon", delta, d.mesh, lower, ways), anyEpsilon, func(l []entry) (Interval, error) {
		w, err := d.load(l)
		if err != nil {
			return Interval{}, err
		}
		i, err := w.epsilon(delta, lower, ways)
		if err == nil && lower {
			w.raise(&i, func(a *workload) (Interval, error) { return a.epsilon(delta, true, bothWays) })
		}
		return i, err
	})
}

// Delta returns an interval that holds delta at epsilon >= 0.
func (d *PrivacyLoss) Delta(epsilon float64) (Interval, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return Interval{}, err
	}
	return d.worst(ask("delta", epsilon, d.mesh), anyDelta, func(l []entry) (Interval, error) {
		w, err := d.load(l)
		if err != nil {
			return Interval{}, err
		}
		i, err := w.delta(epsilon)
		if err == nil {
			w.raise(&i, func(a *workload) (Interval, error) { return a.delta(epsilon) })
		}
		return d.visible(i, l, epsilon), err
	})
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
	var w loss.TooWide
	ok := errors.As(err, &w)
	return w.Factor, ok
}
