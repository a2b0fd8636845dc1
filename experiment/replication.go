package experiment

import (
	"fmt"
	"strings"

	"sotto/config"
	"sotto/privacy/account"
)

// replicationParams is the [replication] section: switches that do what a publication did
// where that is not sound. A run with any of them says so, and prints the epsilon of its
// ledgers beside a claimed one.
type replicationParams struct {
	// Claim makes target_epsilon what the publication would claim, not a budget: noise is
	// calibrated, and the claim computed, by RDP under add-remove adjacency for one
	// release a round at the sampling rate, whatever the run's own adjacency,
	// micro-batches and queries a round.
	Claim bool `toml:"claim,omitempty"`
	// Mix "gauss-seidel" steps agents one after the other, each mixing what those before
	// it have just sent; a round is then no simultaneous exchange and the mean of all
	// models is not preserved.
	Mix string `toml:"mix,omitempty"`
	// UnbalancedWeights admits mixing weights whose columns do not sum to 1, such as
	// uniform ones on irregular graphs.
	UnbalancedWeights bool `toml:"unbalanced_weights,omitempty"`
	// MicroBatches sums as many Poisson batches before one noise draw. The ledger charges
	// their sum.
	MicroBatches int `toml:"microbatches,omitempty"`
	// Uncharged admits, with noise, what was made from training records before the run: a
	// graph with vectors = "data", or features and means of the data set. Noise is
	// calibrated, and epsilon claimed, as if it were public; every ledger is charged an
	// answer without noise for it, which makes the true epsilon infinite.
	Uncharged bool `toml:"uncharged,omitempty"`
	// Noise "adad2p" adds noise of noise_multiplier times the norm of the private sum of
	// gradients, "constd2p" of noise_multiplier times max_grad_norm, the published G;
	// neither clips. Epsilon is infinite. Under algorithm km with own_state it is the
	// family of the noise that is published for DP-dKM (kmNoises), for target_epsilon and
	// target_delta and the sensitivity of Theorem 1; gradients are not clipped, residuals
	// are, and the iterate without noise is put out beside the other. Epsilon is
	// infinite.
	Noise string `toml:"noise,omitempty"`
	// Sampling "one" makes every answer the gradient of one record, drawn uniformly, in
	// place of a Poisson batch. Under replace-one the ledger charges sampling without
	// replacement.
	Sampling string `toml:"sampling,omitempty"`
	// UnsafeAlpha admits an [algorithm] alpha of km above (1+λ_n)/2, where the iteration
	// may diverge.
	UnsafeAlpha bool `toml:"unsafe_alpha,omitempty"`
	// Clip "after-noise" has algorithm walk clip noisy answers to max_grad_norm, in place
	// of the mean gradient before the noise. Epsilon is claimed for a gradient of that
	// norm; the ledger charges the norm that the model and the rows bound.
	Clip string `toml:"clip,omitempty"`
	// OneRecord has the operator of km with own_state see one uniformly drawn record in
	// every round, as in the published Definition 2.
	OneRecord bool `toml:"one_record,omitempty"`
	// ZeroStart begins accelerated averaging of gossip-average and gossip-sgd, chebyshev
	// or paper, with y^{-1} = 0 as the authors' code does, which multiplies every mean by
	// about 1/(2-ω).
	ZeroStart bool `toml:"zero_start,omitempty"`
}

func (p *replicationParams) validate(priv *privacyParams) error {
	private := priv.Mechanism != "none"
	switch {
	case p.Mix != "" && p.Mix != "snapshot" && p.Mix != "gauss-seidel":
		return config.Bad("mix", p.Mix, "one of gauss-seidel, snapshot")
	case p.MicroBatches < 0 || p.MicroBatches > 1000:
		return config.Bad("microbatches", p.MicroBatches, "0 to 1000 (0 and 1: one batch)")
	case p.Noise != "" && p.Noise != "adad2p" && p.Noise != "constd2p" && !kmNoises[p.Noise]:
		return config.Bad("noise", p.Noise, "one of adad2p, constd2p, and with algorithm km "+
			config.OneOf(kmNoises)[len("one of "):])
	case p.Clip != "" && p.Clip != "after-noise":
		return config.Bad("clip", p.Clip, "after-noise, or nothing")
	case p.Noise != "" && (priv.Mechanism != "gaussian" || priv.Noise == "exact" || priv.Adaptive()):
		return config.Bad("noise", p.Noise,
			"nothing beside another mechanism than gaussian, exact noise or clipping")
	case p.Noise != "" && !p.Claim:
		return config.Bad("noise", p.Noise,
			"nothing without claim = true and a mechanism: the noise has no epsilon, only what is claimed "+
				"for it")
	case p.Sampling != "" && p.Sampling != "one" && p.Sampling != "poisson":
		return config.Bad("sampling", p.Sampling, "one of one, poisson")
	case p.one() && (priv.adjacency != account.ReplaceOne || priv.BatchSize != 1 || priv.SampleRate != 0):
		return config.Bad("sampling", p.Sampling,
			"poisson without adjacency replace-one, where the number of records is public, batch_size 1 "+
				"and no sample_rate")
	case p.one() && private && !p.Claim:
		return config.Bad("sampling", p.Sampling,
			"poisson without claim = true: noise is calibrated for Poisson samples")
	case p.one() && private && p.Noise == "" && priv.Accountant != "rdp":
		return config.Bad("sampling", p.Sampling, "poisson with accountant "+priv.Accountant+
			": rdp accounts for batches of fixed size")
	case p.one() && p.MicroBatches > 1:
		return config.Bad("microbatches", p.MicroBatches, "1 with sampling one")
	case p.Claim && !private:
		return config.Bad("claim", p.Claim, "false with mechanism none: there is nothing to claim")
	case p.Uncharged && !private:
		return config.Bad("uncharged", p.Uncharged, "false with mechanism none: nothing is charged for")
	}
	return nil
}

// switches names what is on, for notes.
func (p *replicationParams) switches() string {
	var on []string
	if p.Claim {
		on = append(on, "claim")
	}
	if p.Mix == "gauss-seidel" {
		on = append(on, "gauss-seidel mixing")
	}
	if p.UnbalancedWeights {
		on = append(on, "unbalanced weights")
	}
	if p.MicroBatches > 1 {
		on = append(on, fmt.Sprintf("%d micro-batches a noise draw", p.MicroBatches))
	}
	if p.Uncharged {
		on = append(on, "uncharged use of training records before the run")
	}
	if p.Noise != "" {
		on = append(on, "noise of "+p.Noise+" on gradients that are not clipped")
		if kmNoises[p.Noise] {
			on[len(on)-1] = p.Noise +
				" noise for the expectation of a sensitivity, and an output without noise"
		}
	}
	if p.Clip != "" {
		on = append(on, "a clip after the noise")
	}
	if p.OneRecord {
		on = append(on, "one record a round")
	}
	if p.one() {
		on = append(on, "one uniform record an answer")
	}
	if p.ZeroStart {
		on = append(on, "averaging from zero")
	}
	if p.UnsafeAlpha {
		on = append(on, "alpha above its bound")
	}
	return strings.Join(on, ", ")
}

// one says that batches are single records.
func (p *replicationParams) one() bool { return p.Sampling == "one" }

// draws is the number of batches under one noise draw.
func (p *replicationParams) draws() int { return max(1, p.MicroBatches) }

// claimed is the plan as the publication accounts for it.
func (e *Experiment) claimed(pl *plan) account.Plan {
	run := account.DPSGD(account.AddRemove, pl.rate, int(e.file.steps))
	run.Accountant, run.NoiseMultiplier = "rdp", e.file.priv.NoiseMultiplier
	return run
}

// searchClaimed finds the noise of a claimed target, unless it is given, and what is then
// claimed.
func (e *Experiment) searchClaimed(pl *plan) (calibration, error) {
	p, run := &e.file.priv, e.claimed(pl)
	if p.NoiseMultiplier == 0 {
		res, err := account.Noise(run, account.Budget{Epsilon: p.TargetEpsilon, Delta: p.TargetDelta})
		if err != nil {
			return calibration{}, err
		}
		run.NoiseMultiplier = res.NoiseMultiplier
	}
	claim, err := account.Epsilon(run, p.TargetDelta)
	return calibration{noise: run.NoiseMultiplier, limit: pl.queries, claim: claim.Upper}, err
}
