package privacy

import "sotto/privacy/account"

var (
	_ Mechanism = None{}
	_ Mechanism = Withheld{}
	_ Mechanism = PostProcessed{}
)

// None adds no noise: every release costs an infinite epsilon. It is for runs that are
// declared not private, and for the non-private side of a comparison.
type None struct{}

// Event is non-private whatever the release.
func (None) Event(account.Release) (account.Event, error) {
	return account.NonPrivate("mechanism none adds no noise"), nil
}

// Perturb leaves the value as it is.
func (None) Perturb(v *Value, r account.Release, _ Charge) { v.Exact(r) }

// Provenance is Proved: nothing is claimed.
func (None) Provenance() Provenance { return Proved }

// Assumptions is empty.
func (None) Assumptions() []string { return nil }

func (None) sealed() {}

// Withheld adds no noise and charges nothing, because nothing leaves: it is for agents
// whose runtime treats every message as an error (sim.Agent.Silent). Towards other agents
// such a run is perfectly private. Its model holds un-noised data: who publishes it needs
// another mechanism.
type Withheld struct{}

// Event is the no-op event.
func (Withheld) Event(account.Release) (account.Event, error) { return account.NoOp(), nil }

// Perturb leaves the value as it is.
func (Withheld) Perturb(v *Value, r account.Release, _ Charge) { v.Exact(r) }

// Provenance is Proved: an empty transcript depends on nothing.
func (Withheld) Provenance() Provenance { return Proved }

// Assumptions names what the charge of nothing rests on.
func (Withheld) Assumptions() []string {
	return []string{account.NothingLeaves}
}

func (Withheld) sealed() {}

// Exact converts a value of release r to its float form: what a mechanism without a proof
// adds to, or nothing at all.
func (v *Value) Exact(r account.Release) {
	v.Narrow()
	if v.Step <= 0 {
		return
	}
	at := 0
	for _, p := range r.Parts {
		step := v.Step
		if p.Clip != r.Parts[0].Clip {
			step *= p.Clip / r.Parts[0].Clip
		}
		for i := at; i < at+p.Dim; i++ {
			v.Float[i] = float32(float64(v.Grid[i]) * step)
		}
		at += p.Dim
	}
}

// PostProcessed adds no noise and charges nothing, because the oracle's data are an
// earlier release of the same ledger: what is computed from them is post-processing.
type PostProcessed struct{}

// Event is the no-op event.
func (PostProcessed) Event(account.Release) (account.Event, error) { return account.NoOp(), nil }

// Perturb leaves the value as it is.
func (PostProcessed) Perturb(v *Value, r account.Release, _ Charge) { v.Exact(r) }

// Provenance is Proved: differential privacy is closed under post-processing.
func (PostProcessed) Provenance() Provenance { return Proved }

// Assumptions names what the charge of nothing rests on.
func (PostProcessed) Assumptions() []string {
	return []string{
		"training reads nothing but the perturbed records that the first charges of this ledger released"}
}

func (PostProcessed) sealed() {}
