package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/experiment"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
	"sotto/privacy/audit"
)

// publishedClaims are the claims in the order of the ledger of claims. Sources: [000]
// Bayrooti, Gao, Prorok 2023; [001] Bellet, Guerraoui, Taziki, Tommasi 2018; [002]
// "Sensitivity-Aware Differentially Private Decentralized Learning with Adaptive Noise";
// [003] "A General Differentially Private Learning Framework for Decentralized Data";
// [004] Cyffers, Even, Bellet, Massoulié 2022 and the code beside it.
func publishedClaims() []publishedClaim {
	return append([]publishedClaim{
		{id: "C1", keys: []string{"claim", "microbatches"},
			what: "[000] five Poisson batches at rate .01 under one noise draw, 25,000 rounds: " +
				"messages on a record that all five have drawn, composed",
			epsilon: 10, delta: 1e-5, truth: microBatchTruth, attack: microBatches},
		{id: "C2", keys: []string{"claim"},
			what: "[000] DiNNO with two noisy gradients a round, one charged, rate .01, 25,000 rounds: " +
				"both answers, composed",
			epsilon: 10, delta: 1e-5, truth: gaussianRun(account.AddRemove, .01, 50_000, 1.0724, 1e-5),
			attack: composedBound(twoAnswers(1.0724), account.AddRemove, .01, 25_000, 1e-5)},
		{id: "C4", keys: []string{"claim"},
			what: "[000] replaced records under an accountant for added ones, rate 1/24, 2,000 rounds: " +
				"answers, composed",
			epsilon: 1, delta: 1e-5, truth: gaussianRun(account.ReplaceOne, 1./24, 2000, 7.656, 1e-5),
			attack: composedBound(replaced(7.656), account.AddRemove, 1./24, 2000, 1e-5)},
		{id: "C15",
			what: "[001] Laplace noise for a bound of the L2 norm, p = 100: one release claimed as " +
				"epsilon 1",
			epsilon: 1, delta: 0, truth: always(10), attack: l1l2},
		{id: "C22", keys: []string{"noise=adad2p"}, family: "proportional",
			what: "[002] noise in proportion to the private gradient: one release, a gradient of 0 " +
				"against another; any epsilon is claimed for some noise",
			epsilon: 1, delta: 1e-5, truth: always(math.Inf(1)), attack: proportional(0),
			verdict: everyFinite},
		{id: "C26", keys: []string{"noise=constd2p"}, family: "proportional",
			what: "[002] noise for a norm that was measured, .05 of it: one release, a gradient of ten " +
				"times that norm",
			epsilon: 1, delta: 1e-5, truth: always(math.Inf(1)), attack: proportional(1)},
		{id: "C25", keys: []string{"sampling=one"},
			what: "[002] one record a round, noise 1 of its clip, charged as a record that is added: " +
				"one release in which the record is drawn",
			epsilon: gdp.Epsilon(1, 1e-5), delta: 1e-5,
			truth: always(gdp.Epsilon(2, 1e-5)), attack: replacedOnce(1)},
	}, append(iterationClaims(), otherClaims()...)...)
}

// iterationClaims are those of [003] at its (.5, 1e-3).
func iterationClaims() []publishedClaim {
	const eps, delta = .5, 1e-3
	noise := func(family string, shape float64) privacy.PaperNoise {
		return privacy.PaperNoise{Family: family, Shape: shape, Epsilon: eps, Delta: delta, Sensitivity: 1}
	}
	unit := gdp.Epsilon(5*eps/math.Sqrt(2*math.Log(1.25/delta)), delta)
	all := []publishedClaim{
		{id: "C29", keys: []string{"noise=truncated-gaussian"}, family: "published",
			what:    "[003] truncated normal noise with s² = Δ²/ε: one value that moves by Δ",
			epsilon: eps, delta: delta, truth: boundedTruth(noise("truncated-gaussian", 0)),
			attack: iteration(noise("truncated-gaussian", 0), 1, 1)},
		{id: "EQ3", keys: []string{"noise=truncated-generalized", "shape"}, family: "published",
			what:    "[003] truncated noise of density exp(-ε(|z|/Δ)^b), b = 4: one value that moves by Δ",
			epsilon: eps, delta: delta, truth: boundedTruth(noise("truncated-generalized", 4)),
			attack: iteration(noise("truncated-generalized", 4), 1, 1)},
		{id: "C30", keys: []string{"noise=truncated-laplace"}, family: "published",
			what: "[003] truncated Laplace noise on each of 100 coordinates for an L2 sensitivity: one " +
				"release; true: at delta 0 beside the cut",
			epsilon: eps, delta: delta, truth: always(5),
			attack: iteration(noise("truncated-laplace", 0), .1, 100)},
		{id: "C31", keys: []string{"noise=laplace"}, family: "published",
			what: "[003] the sensitivity is an expectation over the drawn record, one of five: one " +
				"value where the record is drawn",
			epsilon: eps, delta: delta, truth: always(5 * eps),
			attack: iteration(noise("laplace", 0), 5, 1)},
		{id: "C31", keys: []string{"noise=gaussian"}, family: "published",
			what:    "[003] the same with normal noise",
			epsilon: eps, delta: delta, truth: always(unit), attack: iteration(noise("gaussian", 0), 5, 1)},
		{id: "C50", keys: []string{"one_record", "noise=gaussian"},
			what:    "[003] the last iterate is put out without noise: two of them",
			epsilon: eps, delta: delta, truth: always(math.Inf(1)), attack: exposed, verdict: everyFinite},
	}
	return all
}

// otherClaims are those of [004], and switches that change no release.
func otherClaims() []publishedClaim {
	const delta = 1e-5
	harmless := func(key, what string) publishedClaim {
		nan := math.NaN()
		return publishedClaim{
			id:      "-",
			keys:    []string{key},
			what:    what,
			epsilon: nan,
			truth:   always(nan),
			delta:   0,
			verdict: unaffected,
		}
	}
	return []publishedClaim{
		{id: "C37",
			what: "[004] the printed per-message loss of averaging, ring of eight, two rounds, agents " +
				"two apart, local mu 2: the observer's messages",
			epsilon: gdp.Epsilon(2/math.Sqrt(3), delta), delta: delta,
			truth: always(gdp.Epsilon(2, delta)), attack: printedLoss},
		{id: "C39", keys: []string{"clip=after-noise"},
			what: "[004] gradients of a walk clipped after noise 5.871 for sensitivity .4, nine " +
				"dimensions: one released direction; true: before the clip",
			epsilon: .3917, delta: 1e-6 / 12,
			truth: always(gdp.Epsilon(2*math.Sqrt2/5.871, 1e-6/12)), attack: clippedAfterNoise},
		{id: "DECOR",
			what: "shared noise charged by the Laplacian of all nodes with one of them curious, ring " +
				"of 16: all messages and one node's secrets",
			epsilon: gdp.Epsilon(math.Sqrt(2*4.1188), delta), delta: delta,
			truth: always(gdp.Epsilon(math.Sqrt(2*7.0714), delta)), attack: fullLaplacian},
		{id: "C20", keys: []string{"uncharged"},
			what: "[001] a graph and features made from training records before the run, uncharged: " +
				"one such value",
			epsilon: 1, delta: delta, truth: always(math.Inf(1)), attack: exposed, verdict: everyFinite},
		harmless("mix=gauss-seidel",
			"mixing in place: post-processing, though the mean of all models is lost (C6)"),
		harmless("unbalanced_weights",
			"weights whose columns do not sum to 1: post-processing, though the limit is biased (C5)"),
		harmless("unsafe_alpha", "an iteration that may diverge: every round is charged as it is"),
		harmless("zero_start", "averaging from zero: post-processing, though every mean is multiplied (C40)"),
	}
}

// boundedTruth is epsilon at delta of one value under published truncated noise, normal
// or generalized with a shape of at least 1, by the accountant's exact profile.
func boundedTruth(n privacy.PaperNoise) func() (float64, error) {
	return func() (float64, error) {
		m, err := publishedMechanism(n)
		if err != nil {
			return 0, err
		}
		scale, bound := m.Law()
		family, beta := account.BoundedGeneralized, n.Shape
		if n.Family == "truncated-gaussian" {
			family, scale = account.BoundedGaussian, scale/math.Sqrt2
		}
		ev, err := account.BoundedNoise(family, scale, bound, beta)
		if err != nil {
			return 0, err
		}
		// what the cut leaves out has probability delta, to round-off
		i, err := account.Epsilon(account.Plan{Adjacency: account.ReplaceOne, Unit: account.Record(),
			Steps: []account.PlanStep{account.Fixed(ev, 1)}}, n.Delta*(1+1e-12))
		return i.Upper, err
	}
}

func publishedMechanism(n privacy.PaperNoise) (privacy.PaperNoise, error) {
	m, err := privacy.New("published", func(p any) error {
		*p.(*privacy.PaperNoise) = n
		return nil
	})
	if err != nil {
		return privacy.PaperNoise{}, err
	}
	return m.(privacy.PaperNoise), nil
}

// microBatchRun is the run of C1 on generated records.
const microBatchRun = `
name = "micro-batches"
rounds = 25000

[topology]
graph = "path"
agents = 2

[data]
dataset = "glyphs"
train = 400
test = 20
resize = 8
partition = "iid"

[model]
name = "mlp"
hidden = [1]

[algorithm]
name = "dsgd"
step_size = 0.1

[privacy]
adjacency = "zero-out"
max_grad_norm = 10.0
target_delta = 1e-5
sample_rate = 0.01
batch_size = 2
noise_multiplier = 1.0724
i_understand = ["delta"]

[replication]
claim = true
microbatches = 5

[evaluate]
every = 25000
`

func microBatchTruth() (float64, error) {
	i, err := microBatchEpsilon(1.0724)
	return i.Upper, err
}

// microBatchEpsilon is that of C1's rounds at a noise multiplier.
func microBatchEpsilon(noise float64) (account.Interval, error) {
	g, err := account.Gaussian(noise, 1)
	if err != nil {
		return account.Interval{}, err
	}
	r := account.Release{
		Oracle:    "grad",
		Adjacency: account.ZeroOut,
		Unit:      account.Record(),
		Sampler:   account.Sampler{Kind: account.Poisson, SampleRate: .01},
		Draws:     5,
		Parts:     []account.Part{{Name: "grad", Clip: 1, Shift: 1, Norm: account.L2, Dim: 1}},
		Scale:     1,
	}
	ev, err := r.Sampled(g)
	if err != nil {
		return account.Interval{}, err
	}
	return account.Epsilon(account.Plan{Adjacency: account.ZeroOut, Unit: account.Record(),
		Steps: []account.PlanStep{account.Fixed(ev, 25_000)}}, 1e-5)
}

// microBatches attacks C1 in messages of the run itself, on a record that is drawn into
// all five batches. The mu that is excluded is five times that of one copy, and composes
// over the run by the law of the copies.
func microBatches(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
	f, err := experiment.Parse("micro-batches", []byte(microBatchRun), nil)
	if err != nil {
		return audit.Bound{}, err
	}
	e, err := f.Build("")
	if err != nil {
		return audit.Bound{}, err
	}
	t, err := Target(e, Options{})
	if err != nil {
		return audit.Bound{}, err
	}
	r, err := t.Step(ctx, audit.Options{Observations: n / 4, Beta: beta, Seed: seed})
	if err != nil {
		return audit.Bound{}, err
	}
	k := slices.IndexFunc(r.Bounds, func(b audit.Bound) bool { return b.Name == audit.GDP })
	if k < 0 || r.Bounds[k].Mu == 0 {
		return audit.Bound{}, fmt.Errorf("no bound of mu in %v", r.Bounds)
	}
	b := r.Bounds[k]
	i, err := microBatchEpsilon(5 / b.Mu)
	b.Epsilon = i.Lower
	b.Valid = "normal noise; the excluded mu of a record that all five batches have drawn, composed over " +
		"the run by PLD with Binomial(5, .01) copies"
	return b, err
}

// printedLoss and fullLaplacian attack pairs under averaging.
func printedLoss(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
	return pairAttack(ctx, AveragingFile("ring", 8, 2), nil,
		audit.PairwiseOptions{Options: audit.Options{Observations: n / 4, Beta: beta, Seed: seed}, Target: 2,
			Delta: 1e-5}, PrintedClaim)
}

func fullLaplacian(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error) {
	set := []string{`privacy.mechanism="decor"`, `privacy.curious="one"`, "privacy.pair_noise_ratio=4",
		"privacy.noise_multiplier=0.25"}
	return pairAttack(ctx, AveragingFile("ring", 16, 1), set, audit.PairwiseOptions{
		Options:    audit.Options{Observations: n / 4, Beta: beta, Seed: seed},
		Everywhere: true,
		Target:     1,
		Delta:      1e-5,
	}, LaplacianClaim)
}

func pairAttack(ctx context.Context, text []byte, set []string, o audit.PairwiseOptions,
	claim string) (audit.Bound, error) {
	f, err := experiment.Parse("average", text, set)
	if err != nil {
		return audit.Bound{}, err
	}
	e, err := f.Build("")
	if err != nil {
		return audit.Bound{}, err
	}
	a, err := averagingOf(e)
	if err != nil {
		return audit.Bound{}, err
	}
	o.Adversary = network.Observer(0)
	if o.Claim, err = pairClaim(e, claim, a, o.Adversary, o.Everywhere, o.Target); err != nil {
		return audit.Bound{}, err
	}
	r, err := a.AttackPair(ctx, o)
	if err != nil {
		return audit.Bound{}, err
	}
	return r.Bounds[0], nil
}
