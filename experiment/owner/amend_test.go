package owner_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/keyfile"
	"sotto/node/roster"
)

// A policy that was read again before an amendment came, as operations.md says, is the
// one that the next roster is held against: the former one made an error of a right
// order.
func TestAmendmentByThePolicyReadLast(t *testing.T) {
	files := team(t)[0]
	key, err := keyfile.New(filepath.Join(t.TempDir(), "new.key"))
	if err != nil {
		t.Fatal(err)
	}
	peer := roster.PeerID(key.Public().(ed25519.PublicKey))
	next, err := owner.AmendRoster(files, 3, owner.Changes{Add: []string{"new," + peer + ",host:9"}},
		filepath.Join(t.TempDir(), "next.toml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := next.Encode()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile(files.Policy)
	if err != nil {
		t.Fatal(err)
	}
	allows := strings.Replace(string(policy), "peers = [", `peers = ["`+peer+`", `, 1)
	for _, now := range []string{string(policy), allows} {
		var log bytes.Buffer
		chosen := chosen()
		chosen.Log = slog.New(slog.NewTextHandler(&log, nil))
		files.State = t.TempDir()
		m, err := owner.Join(files, chosen)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := ownBooks(t, m.Owner)
		err = errors.Join(os.WriteFile(files.Policy, []byte(now), 0o600), owner.ReadAgain(m, l),
			owner.KeepAmendment(m, &node.Amendment{Round: 3, Text: text}))
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(log.String(), "does not allow the next roster")
		if told != (now != allows) {
			t.Errorf("the policy lists the new member: %t; log: %s", now == allows, &log)
		}
	}
}
