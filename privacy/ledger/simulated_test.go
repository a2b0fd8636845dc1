package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// runDir writes the two files of a simulated run with two distinct ledgers.
func runDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ledger"), 0o700); err != nil {
		t.Fatal(err)
	}
	type statement struct {
		Agents    string            `json:"agents"`
		Statement account.Statement `json:"statement"`
		Text      string            `json:"text"`
	}
	var lines bytes.Buffer
	var statements []statement
	for agents, n := range []int{3, 5} {
		m := ledger.NewMemory(nil)
		if err := m.Override("delta"); err != nil {
			t.Fatal(err)
		}
		charge(t, m, gaussian(t, 10), n)
		acc, err := account.New("rdp", account.AddRemove, account.Record())
		if err != nil {
			t.Fatal(err)
		}
		if err := acc.Compose(gaussian(t, 10), n); err != nil {
			t.Fatal(err)
		}
		s, err := account.NewStatement(acc, account.AddRemove, account.Record(), 1e-5, "simulated")
		if err != nil {
			t.Fatal(err)
		}
		head := m.Head()
		s.Releases, s.Ledger = n, account.LedgerRange{FirstSeq: 1, LastSeq: head.Seq, Head: head.String()}
		name := []string{"0-3,7", "4-6"}[agents]
		statements = append(statements, statement{name, s, s.String()})
		if err := json.NewEncoder(&lines).Encode(map[string]any{"agents": name, "head": head.String(),
			"records": ledgertest.Records(t, m)}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, ledger.RunLedgerFile, lines.Bytes())
	put(t, dir, ledger.RunPrivacyFile, b)
	return dir
}

func put(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyRun(t *testing.T) {
	dir := runDir(t)
	r, err := ledger.VerifyRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	// RDP of five Gaussians of multiplier 10 at order a is a/40; converted, epsilon lies
	// above the exact one.
	exact := gdp.Epsilon(0.22360679774997896, 1e-5)
	if r.Ledgers != 2 || r.Charges != 8 || r.Epsilon.Upper < exact || r.Epsilon.Upper > 1.2*exact {
		t.Errorf("report %+v, exact epsilon %g", r, exact)
	}
	for name, x := range map[string]struct {
		file, from, to string
		want           error
	}{
		"a charge less": {ledger.RunLedgerFile, `"count":5`, `"count":4`, ledger.ErrCorrupt},
		"less cost": {ledger.RunLedgerFile, `"noise_multiplier":10`, `"noise_multiplier":11`,
			ledger.ErrCorrupt},
		"another head":        {ledger.RunLedgerFile, `"head":"`, `"head":"0`, ledger.ErrCorrupt},
		"other agents":        {ledger.RunLedgerFile, `4-6`, `4-5`, ledger.ErrCorrupt},
		"unknown key":         {ledger.RunLedgerFile, `"agents"`, `"agent":1,"agents"`, ledger.ErrCorrupt},
		"a gap":               {ledger.RunLedgerFile, `"seq":2`, `"seq":3`, ledger.ErrCorrupt},
		"two values":          {ledger.RunLedgerFile, "]}\n", "]}{}\n", ledger.ErrCorrupt},
		"agents stated twice": {ledger.RunPrivacyFile, `4-6`, `0-3,7`, ledger.ErrCorrupt},
		"less stated":         {ledger.RunPrivacyFile, `"upper":`, `"upper":-`, ledger.ErrClaim},
		"fewer releases":      {ledger.RunPrivacyFile, `"releases":5`, `"releases":4`, ledger.ErrCorrupt},
		"another range":       {ledger.RunPrivacyFile, `"last_seq":6`, `"last_seq":5`, ledger.ErrCorrupt},
		"an unknown method":   {ledger.RunPrivacyFile, `"method":"`, `"method":"better `, ledger.ErrClaim},
		"a smaller delta": {ledger.RunPrivacyFile, `"delta":0.00001`, `"delta":0.000001`,
			ledger.ErrClaim},
		"not JSON": {ledger.RunPrivacyFile, `[`, `(`, ledger.ErrCorrupt},
		"another protected unit": {ledger.RunPrivacyFile, `"unit":"record"`, `"unit":"group(2)"`,
			ledger.ErrClaim},
	} {
		b, err := os.ReadFile(filepath.Join(dir, x.file))
		if err != nil {
			t.Fatal(err)
		}
		edited := bytes.Replace(b, []byte(x.from), []byte(x.to), 1)
		if bytes.Equal(edited, b) {
			t.Fatalf("%s: nothing to edit in %s", name, b)
		}
		put(t, dir, x.file, edited)
		if _, err := ledger.VerifyRun(dir); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
		put(t, dir, x.file, b)
	}
	b, _ := os.ReadFile(filepath.Join(dir, ledger.RunPrivacyFile))
	put(t, dir, ledger.RunPrivacyFile,
		bytes.Replace(b, []byte(`"unit":"record"`), []byte(`"unit":"person"`), 1))
	if _, err := ledger.VerifyRun(dir); err == nil {
		t.Error("an unknown unit was accepted")
	}
	put(t, dir, ledger.RunLedgerFile, nil)
	if _, err := ledger.VerifyRun(dir); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("no ledgers: %v", err)
	}
	if _, err := ledger.VerifyRun(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no run: %v", err)
	}
}
