package attack_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/experiment/attack"
	"sotto/node/frame"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// chargedFor is a ledger with one charge of a run in each of the rounds.
func chargedFor(t *testing.T, run [32]byte, rounds ...uint64) string {
	t.Helper()
	_, key, _ := ed25519.GenerateKey(nil)
	dir := filepath.Join(t.TempDir(), "ledger")
	l, err := ledger.Create(dir, ledger.Genesis{
		Adjacency:  account.ZeroOut,
		Unit:       account.Owner(),
		Budget:     account.Budget{Epsilon: 100, Delta: 1e-3},
		MinRecords: 1,
	},
		ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}, Run: hex.EncodeToString(run[:16]),
			Accountant: "rdp"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ev, err := account.Gaussian(9, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range rounds {
		l.SetRound(k)
		if _, err := l.Charge(ev); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// framed is one of member 0's in a capture, with a message that says what.
func framed(run [32]byte, kind frame.Kind, to agent.ID, round uint64, what float32) []byte {
	m := agent.Message{To: agent.Broadcast, Round: round, Body: tensor.Vec{what, 2}}
	if kind != frame.Messages {
		m.To = to
	}
	f := frame.Frame{Kind: kind, Run: run, Round: round, Payload: agent.AppendMessage(nil, &m)}
	return frame.Append(binary.LittleEndian.AppendUint32(nil, uint32(to)), &f)
}

// What has left a node is held against its ledger: one content for all receivers of a
// round, and charges for the rounds that ask. Tokens are held against the whole run.
func TestWire(t *testing.T) {
	run, third := [32]byte{1}, &agent.Schedule{Answers: []int{1, 0, 0}, Until: 8}
	for name, c := range map[string]struct {
		ledger  string
		content func(k uint64, to agent.ID) float32
		kind    frame.Kind
		bad     bool
		says    string
	}{
		"honest":         {chargedFor(t, run, 0, 3, 6), nil, frame.Messages, false, "charges 0"},
		"a round free":   {chargedFor(t, run, 0, 6), nil, frame.Messages, true, "charges 1"},
		"of another run": {chargedFor(t, [32]byte{2}, 0, 3, 6), nil, frame.Messages, true, "charges 3"},
		"two contents": {chargedFor(t, run, 0, 3, 6), func(k uint64, to agent.ID) float32 {
			return float32(k) + float32(to)/8
		}, frame.Messages, true, "versions 9"},
		"tokens":            {chargedFor(t, run, 4), nil, frame.Token, false, "not compared 1"},
		"tokens of another": {chargedFor(t, [32]byte{2}, 4), nil, frame.Token, true, "charges 18"},
	} {
		content := c.content
		if content == nil {
			content = func(k uint64, _ agent.ID) float32 { return float32(k) }
		}
		var b []byte
		for k := range uint64(9) {
			for to := agent.ID(1); to < 3; to++ {
				b = append(b, framed(run, c.kind, to, k, content(k, to))...)
			}
		}
		path := filepath.Join(t.TempDir(), "wire")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := attack.Wire(path, c.ledger, third)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if r.Violated != c.bad || !strings.Contains(text.String(), c.says) {
			t.Errorf("%s: violated %v, want %v and %q:\n%s", name, r.Violated, c.bad, c.says, &text)
		}
	}
}
