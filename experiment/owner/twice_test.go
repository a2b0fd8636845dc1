package owner_test

import (
	"crypto/ed25519"
	"errors"
	"os"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/wire"
	"sotto/privacy"
)

// A run that states its noise has no limit of its own: with another state directory it
// was made a second time, and charged a second time, though operations.md said that a
// roster whose run was made is refused.
func TestARunWithStatedNoiseIsMadeOnce(t *testing.T) {
	stated := strings.Replace(ownerRun, "target_epsilon = 2.0", "noise_multiplier = 3.0", 1)
	f := finishing{t, teamOf(t, stated), t.TempDir()}
	f.run(false, func(int, func()) func() { return func() {} })
	if err := os.RemoveAll(f.state(0)); err != nil {
		t.Fatal(err)
	}
	m, err := owner.Join(f.members[0], chosen())
	if err != nil {
		t.Fatal(err)
	}
	left, _, _, err := m.Left(false)
	if err != nil || left.Quota >= 0 || left.Past != 6 {
		t.Errorf("left %+v, %v; want 6 charges of a run without a quota", left, err)
	}
	d := owner.Daemon{Membership: m, State: f.state(0), Overrides: owner.Overrides{Volatile: true},
		Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
			t.Error("it takes part again")
			return wire.NewMemory(3, node.MaxPayload(m.Node.Dim)).Open(agent.ID(0)), nil
		}}
	if _, err := d.Run(t.Context()); !errors.Is(err, privacy.ErrRefused) ||
		!strings.Contains(err.Error(), "all 6 answers") {
		t.Errorf("a second time: %v", err)
	}
}
