package owner_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/keyfile"
	"sotto/node/roster"
	"sotto/node/wire"
	"sotto/privacy/ledger"
)

// successor is a member whose key changes twice.
type successor struct {
	*testing.T
	owner.Files
	ids []string // of its keys, hexadecimal
}

func (s *successor) key(n int) string { return fmt.Sprint(s.Files.Key, n) }

// holds starts the node in an epoch with a key and the one before it, stops it at once,
// and returns the keys of its ledger, and what the records say of their change.
func (s *successor) holds(epoch, key int) (keys []int, notes []string) {
	s.Helper()
	f := s.Files
	f.Key, f.FormerKey, f.Epoch = s.key(key), s.key(key-1), epoch
	m, err := owner.Join(f, chosen())
	if err != nil {
		s.Fatal(err)
	}
	d := owner.Daemon{Membership: m, State: f.State, Overrides: owner.Overrides{Volatile: true},
		Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
			return wire.NewMemory(3, node.MaxPayload(m.Node.Dim)).Open(m.Self), nil
		}}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := d.Run(ctx); err != nil {
		s.Errorf("epoch %d with key %d: %v", epoch, key, err)
	}
	dirs, _ := filepath.Glob(filepath.Join(m.Policy.Ledger, "*", ledger.GenesisFile))
	if len(dirs) != 1 {
		s.Fatal(dirs)
	}
	b, err := ledger.Read(filepath.Dir(dirs[0]), ledger.Options{})
	if err != nil {
		s.Fatal(err)
	}
	for _, k := range b.Keys() {
		keys, notes = append(keys, slices.Index(s.ids, k.PublicKey)), append(notes, k.Note)
	}
	return keys, notes
}

// A node that was started early with the keys of an epoch to come handed its ledger over
// at once, whether or not that epoch ever came, and said of the key that it was lost
// where the one before it had been.
func TestALedgerGoesToTheKeyOfTheRosterThatHolds(t *testing.T) {
	for name, lost := range map[string]bool{"both sign": false, "lost": true} {
		members := stateful(t)
		s := successor{t, members[2], nil}
		peers := make([]string, 3)
		who := members[:2:2]
		b, err := os.ReadFile(s.Files.Key)
		if err = errors.Join(err, os.WriteFile(s.key(0), b, 0o600)); err != nil {
			t.Fatal(err)
		}
		for n := range peers {
			if n > 0 {
				_, err = keyfile.New(s.key(n))
			}
			key, e := keyfile.ReadWith(s.key(n), nil)
			if err = errors.Join(err, e); err != nil {
				t.Fatal(err)
			}
			public := key.Public().(ed25519.PublicKey)
			peers[n], s.ids = roster.PeerID(public), append(s.ids, hex.EncodeToString(public))
			who = append(who, owner.Files{Key: s.key(n)})
		}
		change, note := owner.Changes{Rekey: []string{"m2," + peers[1]}}, ""
		if lost {
			change, note = owner.Changes{Lost: change.Rekey}, "key replaced without the old key: lost"
		}
		after := members[0]
		next := func(number int, c owner.Changes, who ...owner.Files) {
			after.Roster = signedAmendment(t, after, uint64(2*number), c, who...)
			text, err := os.ReadFile(after.Roster)
			path := filepath.Join(s.State, fmt.Sprintf("roster-%d.toml", number))
			if err = errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(epoch, key int, want ...int) {
			t.Helper()
			keys, notes := s.holds(epoch, key)
			all := []string{"", note, ""}[:len(want)]
			if !slices.Equal(keys, want) || !slices.Equal(notes, all) {
				t.Errorf("%s: epoch %d with key %d: keys %v %q, want %v %q", name, epoch, key, keys, notes,
					want, all)
			}
		}
		signers := who[:4]
		if lost {
			signers = []owner.Files{who[0], who[1], who[3]}
		}
		next(1, change, signers...)
		expect(0, 1, 0)
		expect(1, 1, 0, 1)
		expect(1, 2, 0, 1)
		next(2, owner.Changes{Rekey: []string{"m2," + peers[2]}}, who[0], who[1], who[3], who[4])
		expect(1, 2, 0, 1)
		expect(2, 2, 0, 1, 2)
		expect(1, 2, 0, 1, 2) // it was killed before its state was of epoch 2
	}
}

// Who had started the node with both keys was told to start it with both.
func TestWhoHasTheNextKeyIsNotAskedForIt(t *testing.T) {
	members := stateful(t)
	f := members[2]
	var ids [2]string
	for i := range ids {
		key, err := keyfile.New(fmt.Sprint(f.Key, i))
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = roster.PeerID(key.Public().(ed25519.PublicKey))
	}
	next := signedAmendment(t, f, 4, owner.Changes{Rekey: []string{"m2," + ids[0]}}, members...)
	text, err := os.ReadFile(next)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		key, former string
		told        bool
	}{"the former": {f.Key, "", true}, "both": {f.Key + "0", f.Key, false},
		"another": {f.Key + "1", f.Key, true}} {
		var log bytes.Buffer
		base := chosen()
		base.Log = slog.New(slog.NewTextHandler(&log, nil))
		from := f
		from.State, from.Key, from.FormerKey = t.TempDir(), tc.key, tc.former
		m, err := owner.Join(from, base)
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.KeepAmendment(m, &node.Amendment{Round: 4, Text: text}); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(log.String(), "another key in the next roster"); told != tc.told {
			t.Errorf("with %s: told %t, want %t: %s", name, told, tc.told, &log)
		}
	}
}
