// Package replication holds what publications did where it is not sound, one deviation a
// switch of the run file's section [replication]. A deviation edits what is about to be
// planned, once (plan.Setup), and says what it did: nobody else reads a switch. Runs with
// any of them print the epsilon of their ledgers beside what the publication claims.
package replication

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sotto/algo"
	"sotto/config"
	"sotto/experiment/plan"
	"sotto/oracle"
	"sotto/privacy/account"
)

// Params is the section [replication].
type Params struct {
	// Claim makes target_epsilon what the publication would claim, not a budget: noise is
	// calibrated, and the claim computed, by RDP under add-remove adjacency for one
	// release a round at the sampling rate, whatever the run's own adjacency,
	// micro-batches and queries a round. With noise_multiplier the claim alone is
	// computed; both together are refused.
	Claim bool `toml:"claim,omitempty"`
	// Mix "gauss-seidel" steps agents one after the other, each mixing what those before
	// it have just sent; a round is then no simultaneous exchange and the mean of all
	// models is not preserved.
	Mix string `toml:"mix,omitempty"`
	// UnbalancedWeights admits mixing weights whose columns do not sum to 1, such as
	// uniform ones on irregular graphs.
	UnbalancedWeights bool `toml:"unbalanced_weights,omitempty"`
	// MicroBatches is the number of Poisson batches that are summed before noise is drawn
	// once. The ledger charges their sum.
	MicroBatches int `toml:"microbatches,omitempty"`
	// Uncharged lets a run with noise use what was made from training records before the
	// run: a graph with vectors = "data", or features and means of the data set. The
	// noise is calibrated, and epsilon claimed, as if these were public. Every ledger is
	// charged an answer without noise for them, which makes the true epsilon infinite.
	Uncharged bool `toml:"uncharged,omitempty"`
	PublishedNoise
	// Sampling "one" makes every answer the gradient of one record, drawn uniformly, in
	// place of a Poisson batch. Under replace-one the ledger charges sampling without
	// replacement.
	Sampling string `toml:"sampling,omitempty"`
	// UnsafeAlpha admits an [algorithm] alpha of km above (1+λ_n)/2, where the iteration
	// may diverge.
	UnsafeAlpha bool `toml:"unsafe_alpha,omitempty"`
	// Clip "after-noise" has algorithm walk clip noisy answers to max_grad_norm, in place
	// of the mean gradient before the noise. Epsilon is claimed for a gradient of that
	// norm; the ledger charges the norm that the bounds on model and rows imply.
	Clip string `toml:"clip,omitempty"`
	// OneRecord has the operator of km with own_state see one uniformly drawn record in
	// every round, as in the published Definition 2.
	OneRecord bool `toml:"one_record,omitempty"`
	// ZeroStart begins accelerated averaging of gossip-average and gossip-sgd, chebyshev
	// or paper, with y^{-1} = 0 as the authors' code does, which multiplies every mean by
	// about 1/(2-ω).
	ZeroStart bool `toml:"zero_start,omitempty"`
}

// PublishedNoise are the keys of noise.
type PublishedNoise struct {
	// Noise "adad2p" adds noise of noise_multiplier times the norm of the private sum of
	// gradients, "constd2p" of noise_multiplier times max_grad_norm, the published G;
	// neither clips. Epsilon is infinite. Under algorithm km with own_state it is the
	// family of the noise that is published for DP-dKM (expected), for target_epsilon and
	// target_delta and the sensitivity of Theorem 1; gradients are not clipped, residuals
	// are, and the iterate without noise is put out beside the other. Epsilon is
	// infinite.
	Noise string `toml:"noise,omitempty"`
	// Shape is b of noise "truncated-generalized", .25 to 16.
	Shape float64 `toml:"shape,omitempty"`
}

// Run is what a deviation may depend on, all of it in the run file.
type Run struct {
	Algorithm string // its name, for texts
	Spec      algo.Spec
	Mechanism string
	Private   bool // it has noise
	Adaptive  bool // clips change
	Pairwise  bool // noise is shared among agents
	Local     bool // records are perturbed once
	Owner     bool // an answer protects all of an owner's data

	Adjacency             account.Adjacency
	BatchSize, SampleRate float64
	Accountant            string
}

// asks reports whether the algorithm asks an oracle with the property.
func (r *Run) asks(property func(oracle.Kind) bool) bool {
	return slices.ContainsFunc(r.Spec.Asks, func(name string) bool { return property(oracle.Kinds[name]) })
}

// residuals reports whether an iterate of its own may stand behind the algorithm's gate.
func (r *Run) residuals() bool { return r.asks(func(k oracle.Kind) bool { return k.Private }) }

// a Deviation is one switch.
type deviation struct {
	key string
	on  func(p *Params) bool
	// text names it in notes.
	text func(p *Params) string
	// fits is "", or what the key must hold in this run instead.
	fits func(p *Params, r *Run) string
	// value is the key's, for errors.
	value func(p *Params) any
	// apply edits what is planned; nil: whoever reads Setup.Planned does.
	apply func(p *Params, s *plan.Setup) error
	// planned edits it again when the agents' queries are known; nil: there is nothing.
	planned func(p *Params, s *plan.Setup, agents []plan.Agent) error
}

// deviations lists all switches in the order of notes.
var deviations = []deviation{claim, mix, unbalanced, microbatches, uncharged, gradientNoise, expected,
	clipAfter, oneRecord, single, zeroStart, unsafeAlpha}

func (p *Params) each(f func(d *deviation) error) error {
	for k := range deviations {
		if d := &deviations[k]; d.on(p) {
			if err := f(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// On reports whether any switch is on.
func (p *Params) On() bool { return p.String() != "" }

// String names what is on, for notes; "" where nothing is.
func (p *Params) String() string {
	var on []string
	p.each(func(d *deviation) error {
		on = append(on, d.text(p))
		return nil
	})
	return strings.Join(on, ", ")
}

// Stated reports whether the section says anything, be it what holds without it.
func (p *Params) Stated() bool { return *p != (Params{}) }

// Validate checks the values, then what the run may have. Errors are config.Errors on
// keys of the section.
func (p *Params) Validate(r *Run) error {
	switch {
	case p.Mix != "" && p.Mix != "snapshot" && p.Mix != gaussSeidel:
		return config.Bad("mix", p.Mix, "one of gauss-seidel, snapshot")
	case p.MicroBatches < 0 || p.MicroBatches > 1000:
		return config.Bad("microbatches", p.MicroBatches, "0 to 1000 (0 and 1: one batch)")
	case p.Noise != "" && !unclipped[p.Noise] && !families[p.Noise]:
		return config.Bad("noise", p.Noise, "one of adad2p, constd2p, and with algorithm km "+
			config.OneOf(families)[len("one of "):])
	case p.Noise == generalized && !(p.Shape >= .25 && p.Shape <= 16):
		return config.Bad("shape", p.Shape, "0.25 to 16 with noise "+generalized)
	case p.Noise != generalized && p.Shape != 0:
		return config.Bad("shape", p.Shape, "nothing without noise "+generalized)
	case p.Clip != "" && p.Clip != "after-noise":
		return config.Bad("clip", p.Clip, "after-noise, or nothing")
	case p.Sampling != "" && p.Sampling != "one" && p.Sampling != "poisson":
		return config.Bad("sampling", p.Sampling, "one of one, poisson")
	}
	return p.each(func(d *deviation) error {
		if allowed := d.fits(p, r); allowed != "" {
			return config.Bad(d.key, d.value(p), allowed)
		}
		return nil
	})
}

// Apply edits what is about to be planned.
func (p *Params) Apply(s *plan.Setup) error {
	return p.each(func(d *deviation) error {
		if d.apply == nil {
			return nil
		}
		return d.apply(p, s)
	})
}

// Planned edits it once more, with the agents' queries known and no noise set.
func (p *Params) Planned(s *plan.Setup, agents []plan.Agent) error {
	return p.each(func(d *deviation) error {
		if d.planned == nil {
			return nil
		}
		return d.planned(p, s, agents)
	})
}

func count(n int) string { return fmt.Sprintf("%d micro-batches a noise draw", n) }

// Noises lists the values of the key noise.
func Noises() []string {
	return slices.AppendSeq(slices.Sorted(maps.Keys(unclipped)),
		slices.Values(slices.Sorted(maps.Keys(families))))
}
