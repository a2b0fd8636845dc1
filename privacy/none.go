package privacy

import "sotto/privacy/account"

var (
	_ Mechanism = None{}
	_ Mechanism = Sealed{}
)

// None adds no noise: every release costs an infinite epsilon. It is for runs that are declared not
// private, and for the non-private side of a comparison.
type None struct{}

// Event is non-private whatever the release.
func (None) Event(account.Release) (account.Event, error) {
	return account.NonPrivate("mechanism none adds no noise"), nil
}

// Perturb leaves the value as it is.
func (None) Perturb(v *Value, _ account.Release, _ Charge) { exact(v) }

// Provenance is Proved: nothing is claimed.
func (None) Provenance() Provenance { return Proved }

func (None) sealed() {}

// Sealed adds no noise and charges nothing, because nothing leaves: it is for agents whose runtime treats
// every message as an error (sim.Agent.Silent). Towards other agents such a run is perfectly private. Its
// model holds un-noised data: who publishes it needs another mechanism.
type Sealed struct{}

// Event is the no-op event.
func (Sealed) Event(account.Release) (account.Event, error) { return account.NoOp(), nil }

// Perturb leaves the value as it is.
func (Sealed) Perturb(v *Value, _ account.Release, _ Charge) { exact(v) }

// Provenance is Proved: an empty transcript depends on nothing.
func (Sealed) Provenance() Provenance { return Proved }

func (Sealed) sealed() {}

func exact(v *Value) {
	if v.Step > 0 {
		for i, g := range v.Grid {
			v.Float[i] = float32(float64(g) * v.Step)
		}
	}
}
