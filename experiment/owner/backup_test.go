package owner_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment/owner"
	"sotto/node/checkpoint"
	"sotto/node/roster"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

const backupPolicy = `version = 1
ledger = "ledger"
algorithms = ["dsgd"]
minimum_batch = 1
[[dataset]]
name = "csv"
lifetime_epsilon = 1.0
lifetime_delta = 1e-5
min_records = 10
`

// What a node has left comes back from a backup, for the owner alone.
func TestBackupHasTheResults(t *testing.T) {
	dir := t.TempDir()
	state, fsys := filepath.Join(dir, "state"), ledger.OS{AllowVolatile: true}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("policy.toml", backupPolicy)
	left := []string{"own.json", "answers.json", "shapes.json", "events.jsonl", "events.local.jsonl",
		"roster-1.toml", "schema.toml", "personal/model.safetensors", "personal/config.toml",
		"personal/schema.toml", "proof-clinic-b.json"}
	for _, name := range left {
		put("state/"+name, "this is "+name)
	}
	put("state/personal/other", "no file of a node's")
	s, err := checkpoint.Open(state, fsys)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(&checkpoint.Checkpoint{Round: 3}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(filepath.Join(dir, "ledger", "of-csv"), ledger.Genesis{
		Adjacency: account.ZeroOut, Unit: account.Record(), Budget: account.Budget{Epsilon: 1, Delta: 1e-5},
		MinRecords: 10}, ledger.Options{Key: ed25519.NewKeyFromSeed(make([]byte, 32)), FS: fsys,
		Accountant: "rdp"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := owner.Backup{Policy: filepath.Join(dir, "policy.toml"), State: state}
	to := filepath.Join(dir, "one.tar")
	if _, err := b.Write(to); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(dir, "new")
	r := owner.Restore{Policy: filepath.Join(there, "policy.toml"), State: filepath.Join(there, "state"),
		FS: fsys}
	if _, err := r.Read(to); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(there, "ledger", "of-csv", checkpoint.RestoredFile)); err != nil {
		t.Errorf("a new state directory loses the note of the restore: %v", err)
	}
	for _, name := range left {
		path := filepath.Join(r.State, name)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != "this is "+name {
			t.Errorf("%s: %q, %v", name, got, err)
			continue
		}
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: mode %v, %v, want %v", p, info.Mode(), err, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(r.State, "personal", "other")); err == nil {
		t.Error("any file of personal/ is in the backup")
	}
}

// What was seen of members' ledgers was in no backup: after a restore to another machine
// nobody named a member that was rolled back between two runs. A restore over another
// such file forgets nothing of either.
func TestBackupHasWhatWasSeenOfMembers(t *testing.T) {
	dir, fsys := t.TempDir(), ledger.OS{AllowVolatile: true}
	l, err := ledger.Create(filepath.Join(dir, "ledger", "of-csv"), ledger.Genesis{
		Adjacency: account.ZeroOut, Unit: account.Record(), Budget: account.Budget{Epsilon: 1, Delta: 1e-5},
		MinRecords: 10}, ledger.Options{Key: ed25519.NewKeyFromSeed(make([]byte, 32)), FS: fsys,
		Accountant: "rdp"})
	if err == nil {
		err = l.Close()
	}
	policy, in := filepath.Join(dir, "policy.toml"), filepath.Join(dir, "ledger", ".members.json")
	if err := errors.Join(err, os.WriteFile(policy, []byte(backupPolicy), 0o600)); err != nil {
		t.Fatal(err)
	}
	const all = `[{"key":"a","ledgers":{"x":5},"last":"x","run":"1"},` +
		`{"key":"b","ledgers":{"x":9,"y":2},"last":"y","run":"2"},{"key":"c","ledgers":{"z":1},"last":"z"}]`
	const further, d = `{"key":"a","ledgers":{"w":1,"x":7},"last":"w","run":"3"},`,
		`{"key":"d","ledgers":{"v":1},"last":"v"}`
	first := strings.Index(all, `{"key":"b"`)
	for i, tc := range []struct{ backup, there, want, aside string }{
		{backup: all, want: all},
		{backup: all, there: all, want: all},
		{all, `[{"key":"b","ledgers":{"x":9},"last":"x","run":"1"}]`, all, ""},
		{all, "[" + further + d + "]",
			"[" + further + strings.TrimSuffix(all[first:], "]") + "," + d + "]", ""},
		{all, "[", all, "["},
		{backup: "[null]", there: all, want: all},
		{there: all, want: all},
	} {
		os.Remove(in)
		if tc.backup != "" {
			if err := os.WriteFile(in, []byte(tc.backup), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		from, there := filepath.Join(dir, fmt.Sprint(i, ".tar")), filepath.Join(dir, fmt.Sprint(i))
		at := filepath.Join(there, "ledger", ".members.json")
		_, err := (&owner.Backup{Policy: policy}).Write(from)
		if tc.there != "" {
			err = errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o700),
				os.WriteFile(at, []byte(tc.there), 0o600))
		}
		if err == nil {
			_, err = (&owner.Restore{Policy: filepath.Join(there, "policy.toml"), FS: fsys}).Read(from)
		}
		var got bytes.Buffer
		b, e := os.ReadFile(at)
		if err = errors.Join(err, e, json.Compact(&got, b)); err != nil || got.String() != tc.want {
			t.Errorf("%d: %v\n%s\nwant\n%s", i, err, &got, tc.want)
		}
		if b, err := os.ReadFile(at + ".damaged"); string(b) != tc.aside || (err == nil) != (tc.aside != "") {
			t.Errorf("%d: put aside %q, %v, want %q", i, b, err, tc.aside)
		}
	}
}

// A backup of a later epoch was taken for one of another run, where one of an earlier
// epoch had been restored before.
func TestBackupsOfTwoEpochs(t *testing.T) {
	members, fsys := stateful(t), ledger.OS{AllowVolatile: true}
	first := members[0].Roster
	next := signedAmendment(t, members[0], 4, owner.Changes{Move: []string{"m1,host:9"}}, members...)
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.toml")
	if err := os.WriteFile(policy, []byte(backupPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(filepath.Join(dir, "ledger", "of-csv"), ledger.Genesis{
		Adjacency: account.ZeroOut, Unit: account.Record(), Budget: account.Budget{Epsilon: 1, Delta: 1e-5},
		MinRecords: 10}, ledger.Options{Key: ed25519.NewKeyFromSeed(make([]byte, 32)), FS: fsys,
		Accountant: "rdp"})
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	// backup is one of a node at a round, under the last of some rosters
	backup := func(state string, round uint64, rosters ...string) (to string) {
		t.Helper()
		s, err := checkpoint.Open(filepath.Join(dir, state), fsys)
		if err != nil {
			t.Fatal(err)
		}
		var run [32]byte
		for i, from := range rosters {
			text, err := os.ReadFile(from)
			r, e := roster.Parse(from, text)
			if err = errors.Join(err, e, os.WriteFile(filepath.Join(dir, state,
				fmt.Sprintf("roster-%d.toml", i)), text, 0o600)); err != nil {
				t.Fatal(err)
			}
			run = r.Digest()
		}
		to = filepath.Join(dir, fmt.Sprint(state, round, ".tar"))
		_, err = s.Load()
		err = errors.Join(err, s.Save(&checkpoint.Checkpoint{Run: run, Round: round}), s.Close())
		if err == nil {
			_, err = (&owner.Backup{Policy: policy, State: filepath.Join(dir, state)}).Write(to)
		}
		if err != nil {
			t.Fatal(err)
		}
		return to
	}
	earlier, later := backup("state", 3, first), backup("state", 5, first, next)
	other := backup("other", 5, stateful(t)[0].Roster)
	there := filepath.Join(dir, "new")
	r := owner.Restore{Policy: filepath.Join(there, "policy.toml"), State: filepath.Join(there, "state"),
		FS: fsys}
	for _, tc := range []struct {
		from, told string
		want       error
	}{{earlier, "", nil}, {later, "", nil}, {earlier, "an earlier one", ledger.ErrRollback},
		{other, "or another --state", checkpoint.ErrState}, {later, "", nil}} {
		_, err := r.Read(tc.from)
		if !errors.Is(err, tc.want) || err != nil && !strings.Contains(err.Error(), tc.told) {
			t.Errorf("%s: %v, want %v", filepath.Base(tc.from), err, tc.want)
		}
	}
	if s, err := checkpoint.Take(r.State); err != nil || s.Round != 5 {
		t.Errorf("restored: %+v, %v", s, err)
	}
}

// A segment that only the place has is newer than the backup, also below a folder whose
// name could be read as a pattern: an older ledger took the place of a newer one.
func TestRestoreFindsSegmentsBelowBrackets(t *testing.T) {
	for _, folder := range []string{"plain", "a [1]"} {
		dir, fsys := filepath.Join(t.TempDir(), folder), ledger.OS{AllowVolatile: true}
		at, policy := filepath.Join(dir, "ledger", "of-csv"), filepath.Join(dir, "policy.toml")
		l, err := ledger.Create(at, ledger.Genesis{Adjacency: account.ZeroOut, Unit: account.Record(),
			Budget: account.Budget{Epsilon: 1, Delta: 1e-5}, MinRecords: 10},
			ledger.Options{Key: ed25519.NewKeyFromSeed(make([]byte, 32)), FS: fsys, Accountant: "rdp"})
		if err == nil {
			err = errors.Join(l.Close(), os.WriteFile(policy, []byte(backupPolicy), 0o600))
		}
		from := filepath.Join(dir, "backup.tar")
		if err == nil {
			_, err = (&owner.Backup{Policy: policy}).Write(from)
		}
		if err = errors.Join(err, os.WriteFile(filepath.Join(at, "99999999.log"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err = (&owner.Restore{Policy: policy, FS: fsys}).Read(from)
		if !errors.Is(err, ledger.ErrRollback) {
			t.Errorf("%s: a newer segment: %v", folder, err)
		}
	}
}
