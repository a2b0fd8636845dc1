package experiment

import (
	"errors"
	"fmt"
	"math"

	"sotto/algo"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
)

// DP-dKM as published, a replication: agents go on with an iterate of their own that has
// no noise, of which every round releases a noisy copy and the last round the iterate
// itself. Noise is fitted to Theorem 1 once for the whole run.

// kmNoises are the families of published noise.
var kmNoises = map[string]bool{"laplace": true, "gaussian": true, "truncated-laplace": true,
	"truncated-gaussian": true}

// noiseFreeMetric is estimationMetric of the mean of all agents' iterates without noise,
// which the published form puts out.
const noiseFreeMetric = "estimation_rmse_noise_free"

// published says that the run is such a replication.
func (e *Experiment) published() bool {
	return e.ownState && (e.file.repl.OneRecord || e.file.repl.Noise != "")
}

// validatePublished refuses switches of the published form where it is not run.
func (e *Experiment) validatePublished(a *algo.KM) error {
	f := e.file
	switch {
	case f.repl.OneRecord && !e.ownState:
		return f.at("replication", config.Bad("one_record", true, "false without [algorithm] own_state"))
	case f.repl.Noise != "" && !e.ownState:
		return f.at("replication", config.Bad("noise", f.repl.Noise, "nothing without [algorithm] own_state"))
	case f.repl.OneRecord && f.repl.Noise == "" && e.private():
		return f.at("replication", config.Bad("one_record", true,
			"false with noise that is charged: the draw of one record has no event here"))
	case f.repl.Noise != "" && a.At(0) != a.At(f.steps-1):
		return f.at("algorithm", config.Bad("alpha_schedule", "inverse",
			"const with published noise, which is fitted to one alpha"))
	case f.repl.Noise != "" && (f.priv.TargetEpsilon == 0 || f.priv.NoiseMultiplier != 0):
		return f.at("privacy", config.Bad("target_epsilon", f.priv.TargetEpsilon,
			"above 0, without noise_multiplier, with published noise"))
	case f.repl.Noise != "" && f.priv.adjacency == account.AddRemove:
		return f.at("privacy", config.Bad("adjacency", f.priv.Adjacency,
			"replace-one or zero-out with published noise, which is made from record counts"))
	}
	e.alpha = a.At(0)
	return nil
}

// Theorem1 is the published bound of the expected sensitivity after K rounds with
// constant α, residuals of norm at most B, M agents of N records and a mixing matrix with
// λ = max(|λ_2|, |λ_M|):
//
//	2B Σ_k α/(NM) + 4B Σ_k (1+2α) Σ_{j<k} α λ^{k-1-j}
func Theorem1(b, alpha float64, rounds uint64, lambda float64, records, agents int) float64 {
	sum, inner := 0., 0.
	for range rounds {
		sum += 2*alpha/(float64(records)*float64(agents)) + 4*(1+2*alpha)*inner
		inner = lambda*inner + alpha
	}
	return b * sum
}

// planPublished sets the noise of Theorem 1. An answer's noise is 1/α times that of the
// iterate.
func (e *Experiment) planPublished() error {
	records := math.MaxInt
	for i := range e.plans {
		records = min(records, max(1, e.plans[i].records))
	}
	r, err := e.kmRelease(&e.plans[0])
	if err != nil {
		return err
	}
	b := r.Parts[0].Clip
	e.publishedShift = Theorem1(b, e.alpha, e.file.steps, e.rho(), records, len(e.plans)) / (e.alpha * b)
	m, err := e.mechanism(1)
	if err != nil {
		return err
	}
	ev, err := m.Event(r)
	if err != nil {
		return err
	}
	for i := range e.plans {
		pl := &e.plans[i]
		pl.noiseMultiplier, pl.claim, pl.event = m.(privacy.Published).Std(), e.file.priv.TargetEpsilon,
			account.Shared(ev)
	}
	return nil
}

// publishedNoise is the run's mechanism.
func (e *Experiment) publishedNoise() (privacy.Mechanism, error) {
	p := &e.file.priv
	return privacy.New("published", func(params any) error {
		m := params.(*privacy.Published)
		m.Family, m.Epsilon, m.Delta, m.Sensitivity = e.file.repl.Noise, p.TargetEpsilon, p.TargetDelta,
			e.publishedShift
		return nil
	})
}

// noiseFree is estimationMetric of what the published form puts out; false where nothing
// is.
func (e *Experiment) noiseFree(w *world) (float64, bool) {
	if !e.published() {
		return 0, false
	}
	truth := widened(e.split.Hidden.Row(0))
	mean := make([]float64, len(truth))
	for _, o := range w.own {
		x := o.oracle.Iterate()
		if x == nil { // nothing was asked so far
			x = widened(e.init)
		}
		for c, v := range x {
			mean[c] += o.agent.ReadOut(v) / float64(len(w.own))
		}
	}
	sum := 0.
	for c, v := range mean {
		sum += (v - truth[c]) * (v - truth[c])
	}
	return math.Sqrt(sum / float64(len(truth))), true
}

// errDrawn says that a run cannot be resumed.
var errDrawn = errors.New(
	"a run with one_record cannot be resumed: its private iterates do not follow from the queries")

// recover brings the private iterates of a resumed run to where its queries had taken
// them.
func (w *world) recover() error {
	for _, o := range w.own {
		if o.oracle.OneRecord {
			return fmt.Errorf("%w: %w", ErrCheckpoint, errDrawn)
		}
		o.agent.Asked(o.oracle.Replay)
	}
	return nil
}

// erase clears the private iterates.
func (w *world) erase() {
	for _, o := range w.own {
		o.oracle.Erase()
	}
}
