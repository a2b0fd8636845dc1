package attack

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/run"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// AveragingFile is the run file of a private average on a graph of the given family, for
// audits that name no file: clip 1, noise multiplier 1, owners' values replaced. rounds
// counts the rounds of averaging.
func AveragingFile(graph string, agents, rounds int) []byte {
	return fmt.Appendf(nil, `name = %q
rounds = %d

[topology]
graph = %q
agents = %d

[data]
dataset = "values"
partition = "natural"
agents = %d
dim = 1

[model]
name = "mean"

[algorithm]
name = "gossip-average"

[privacy]
mechanism = "gaussian"
unit = "owner"
adjacency = "replace-one"
noise_multiplier = 1.0
target_delta = 1e-3
max_grad_norm = 1.0
`, graph+"-"+fmt.Sprint(agents), rounds+1, graph, agents, agents)
}

// averagingOf is the file's private average for an auditor, who brings values of its own.
// Everything else is the run's: graph, algorithm, mechanism, noise, gate and oracle.
func averagingOf(e *experiment.Experiment) (*audit.AveragingTarget, error) {
	f := e.File
	if err := f.Check(experiment.Inexact); err != nil {
		return nil, err
	}
	g, err := forecast.Gossip(e)
	if err != nil {
		return nil, err
	}
	a := &audit.AveragingTarget{
		Name:     f.Run.Name,
		Schedule: e.Graphs.Schedule,
		Gossip:   *g,
	}
	for i := range e.Plans {
		pl := &e.Plans[i]
		m, err := pl.Movement()
		if err != nil {
			return nil, err
		}
		a.Shift = max(a.Shift, m)
		clip := f.Privacy.MaxGradNorm / pl.Public.ExpectedBatchSize
		if !(clip > 0) || math.IsInf(clip, 1) {
			clip = 1 // of a run without noise
		}
		own := 0.
		if f.Private() {
			own = pl.Noise / e.Setup.Scheme.Counts(agent.ID(i))
		}
		a.Clip, a.Noise = append(a.Clip, clip), append(a.Noise, own*clip)
	}
	if f.Mechanism().Pairwise {
		sharedNoise(e, a)
	}
	a.Algorithm = func(i int) (agent.Algorithm, error) {
		env := e.Env(i)
		env.Dim, env.Init = 1, make(tensor.Vec, 1)
		return e.Factory(env)
	}
	a.Gate = func(i int, x float64, seed uint64) (sim.Gate, error) {
		return valueGate(e, i, x, a.Clip[i], seed)
	}
	return a, nil
}

// Pairwise measures what observer, as in [network.ParseAdversary], learns of one agent's
// value in the run's private average, beside a claim: exact, local, printed or laplacian.
func Pairwise(ctx context.Context, e *experiment.Experiment, observer, claim string,
	o audit.PairwiseOptions) (*audit.PairwiseReport, error) {
	var err error
	if o.Adversary, err = network.ParseAdversary(observer); err != nil {
		return nil, err
	}
	a, err := averagingOf(e)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(checkShared(e, a), a.CheckPair(&o)); err != nil {
		return nil, err
	}
	if o.Claim, err = pairClaim(e, claim, a, o.Adversary, o.Everywhere, o.Target); err != nil {
		return nil, err
	}
	return a.AttackPair(ctx, o)
}

// Reconstruct solves for the values that observer gets exactly where nothing is noised.
func Reconstruct(ctx context.Context, e *experiment.Experiment, observer string,
	seed uint64) (*audit.ReconstructReport, error) {
	who, err := network.ParseAdversary(observer)
	if err != nil {
		return nil, err
	}
	a, err := noiseless(e)
	if err != nil {
		return nil, err
	}
	return a.Reconstruct(ctx, who, seed)
}

// noiseless is the average with gates that add nothing.
func noiseless(e *experiment.Experiment) (*audit.AveragingTarget, error) {
	a, err := averagingOf(e)
	if err != nil {
		return nil, err
	}
	a.Pairs = nil
	a.Gate = func(i int, x float64, seed uint64) (sim.Gate, error) {
		return recordGate(privacy.None{}, e.Setup.Target.Adjacency, i, x, a.Clip[i], seed)
	}
	return a, nil
}

// checkShared refuses noise that neighbors share where each scales it by a clip of its
// own: sharedNoise has it of one size at both ends.
func checkShared(e *experiment.Experiment, a *audit.AveragingTarget) error {
	for _, p := range a.Pairs {
		if a.Clip[p.A] != a.Clip[p.B] {
			return e.File.Refuse("privacy.mechanism", e.File.Privacy.Mechanism,
				"gaussian, or agents with as many records each, or unit owner: an audit knows shared "+
					"noise of one size alone")
		}
	}
	return nil
}

// sharedNoise lists what neighbors share.
func sharedNoise(e *experiment.Experiment, a *audit.AveragingTarget) {
	for i := range e.Plans {
		for _, j := range e.Setup.Scheme.Neighbors(agent.ID(i)) {
			if agent.ID(i) < j {
				a.Pairs = append(a.Pairs, audit.PairNoise{
					A:   i,
					B:   int(j),
					Std: e.File.Privacy.PairRatio * a.Noise[i],
					Draw: func(seed uint64) float64 {
						return audit.SharedNormal(rng.SimulatedPair(seed, uint32(i), uint32(j)))
					},
				})
			}
		}
	}
}

// valueGate answers for an owner whose value is x, with the run's mechanism and keys of
// the seed.
func valueGate(e *experiment.Experiment, i int, x, clip float64, seed uint64) (sim.Gate, error) {
	id := agent.ID(i)
	m, err := e.Setup.Scheme.Mechanism(id, e.Plans[i].Noise, run.SimulatedSecret(seed, id))
	if err != nil {
		return nil, err
	}
	return recordGate(m, e.Setup.Target.Adjacency, i, x, clip, seed)
}

// recordGate holds one record with one feature.
func recordGate(m privacy.Mechanism, a account.Adjacency, i int, x, clip float64, seed uint64) (sim.Gate,
	error) {
	if a == account.AddRemove {
		a = account.ReplaceOne
	}
	record := &data.Dataset{X: tensor.Mat{Rows: 1, Cols: 1, Stride: 1, Data: tensor.Vec{float32(x)}},
		Shape: [3]int{1, 1, 1}, Targets: []float32{0}}
	v := &oracle.Value{
		Records:    oracle.Records{Data: record, Index: []int32{0}},
		ClipNorm:   clip,
		Normaliser: 1,
		Adjacency:  a,
		Unit:       account.Owner(),
		Dim:        1,
	}
	return privacy.NewSimulatedGate(ledger.NewMemory(nil), m, map[string]privacy.Oracle{oracle.ValueName: v},
		seed, agent.ID(i)), v.Validate()
}

// Claims of a pair's mu that an audit of averaging can be held against.
const (
	ExactClaim     = "exact"     // sqrt(leak) D/s of the network accountant, or DECOR's own bound
	PrintedClaim   = "printed"   // the published per-message formula (Cyffers, Even, Bellet, Massoulié 2022)
	LocalClaim     = "local"     // D/s, against who sees the noised value itself
	LaplacianClaim = "laplacian" // DECOR with the Laplacian of the whole graph, curious nodes included
)

// pairClaim is what is claimed of agent target against who. everywhere: it hears all
// links.
func pairClaim(e *experiment.Experiment, name string, a *audit.AveragingTarget, who network.Adversary,
	everywhere bool,
	target int) (audit.Claimed, error) {
	if target < 0 || target >= len(a.Clip) {
		return audit.Claimed{}, config.Bad("target", target, fmt.Sprintf("agents 0 to %d", len(a.Clip)-1))
	}
	local := a.Shift * a.Clip[target] / a.Noise[target]
	shared := len(a.Pairs) > 0
	switch {
	case name == LocalClaim:
		return audit.Claimed{Name: "the local loss", Mu: local}, nil
	case name == ExactClaim && shared:
		return decorClaim(e, a, who.Members(), target, "correlated noise without the curious nodes' links")
	case name == LaplacianClaim && shared:
		return decorClaim(e, a, nil, target, "correlated noise with the Laplacian of the whole graph")
	case name == ExactClaim && everywhere:
		return audit.Claimed{Name: "the local loss, as all messages are heard", Mu: local}, nil
	case name == ExactClaim:
		v, err := a.Gossip.View(who)
		if err != nil {
			return audit.Claimed{}, err
		}
		return audit.Claimed{Name: "the exact leak", Mu: local * math.Sqrt(v.Leak[target])}, nil
	case name == PrintedClaim && len(who.Members()) == 1 && !shared:
		f, err := a.Gossip.MuffliatoPrinted(who.Members()[0])
		if err != nil {
			return audit.Claimed{}, err
		}
		return audit.Claimed{Name: "the printed per-message formula", Mu: local * math.Sqrt(f[target])}, nil
	}
	return audit.Claimed{}, config.Bad("claim", name,
		"exact, local, with one observer and gaussian noise printed, with mechanism decor laplacian")
}

// decorClaim is shift over the effective multiplier.
func decorClaim(e *experiment.Experiment, a *audit.AveragingTarget, curious []int, target int,
	name string) (audit.Claimed,
	error) {
	d := network.Decor{Agents: len(a.Clip), Own: a.Noise[target] / a.Clip[target],
		Pair: a.Pairs[0].Std / a.Clip[target]}
	for _, p := range a.Pairs {
		d.Links = append(d.Links, [2]int{p.A, p.B})
	}
	m, err := d.Multipliers(curious)
	if err != nil {
		return audit.Claimed{}, err
	}
	return audit.Claimed{Name: name, Mu: a.Shift / m[target]}, nil
}
