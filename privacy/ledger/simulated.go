package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/privacy/account"
)

// Names of the files in a run directory that VerifyRun reads.
const (
	RunLedgerFile  = "ledger/simulated.jsonl"
	RunPrivacyFile = "privacy.json"
)

// RunReport is what VerifyRun found.
type RunReport struct {
	Ledgers int                    `json:"ledgers"` // distinct ones; agents with equal ledgers share one
	Charges uint64                 `json:"charges"` // over the distinct ledgers
	Epsilon account.StatedInterval `json:"epsilon"` // recomputed, of the ledger that spent most
	Stated  account.StatedInterval `json:"stated_epsilon"`
	// Notes are what does not follow, and need not: figures of another version, and what
	// VerifyRun does not recompute.
	Notes []string `json:"notes,omitempty"`
}

// note adds a note about the agents of one ledger.
func (r *RunReport) note(agents, format string, args ...any) {
	r.Notes = append(r.Notes, "agents "+agents+": "+fmt.Sprintf(format, args...))
}

// runLedger is one line of the ledger file: agents whose ledgers are equal.
type runLedger struct {
	Agents  string   `json:"agents"`
	Head    string   `json:"head"`
	Records []Record `json:"records"`
}

// runStatement is one entry of the privacy file.
type runStatement struct {
	Agents    string            `json:"agents"`
	Statement account.Statement `json:"statement"`
	Text      string            `json:"text"`
}

// VerifyRun checks the ledgers of a simulated run against its privacy statements: it
// rebuilds each ledger from its records, compares heads, and recomputes the number of
// releases, the range and the epsilon that privacy.json states for the same agents. What
// it says of single adversaries is not recomputed, and noted. ErrCorrupt: the files
// contradict themselves or each other. ErrClaim: the epsilon does not follow.
// fs.ErrNotExist: dir is no finished run.
func VerifyRun(dir string) (RunReport, error) {
	var r RunReport
	lines, err := readRunLedgers(filepath.Join(dir, RunLedgerFile))
	if err != nil {
		return r, err
	}
	statements, err := readRunStatements(filepath.Join(dir, RunPrivacyFile))
	if err != nil {
		return r, err
	}
	if len(statements) != len(lines) {
		return r, fmt.Errorf("%w: %s states %d ledgers, %s holds %d", ErrCorrupt, RunPrivacyFile,
			len(statements), RunLedgerFile, len(lines))
	}
	for i := range lines {
		s, ok := statements[lines[i].Agents]
		if !ok {
			return r, fmt.Errorf("%w: %s states nothing for agents %s", ErrCorrupt, RunPrivacyFile,
				lines[i].Agents)
		}
		if err := r.verify(&lines[i], &s.Statement); err != nil {
			return r, fmt.Errorf("agents %s: %w", lines[i].Agents, err)
		}
		if s.Text != s.Statement.String() {
			r.note(s.Agents, "the words in %s are not those of its figures: they were altered, or another "+
				"version wrote them", RunPrivacyFile)
		}
		if n := len(s.Statement.PerAdversary); n > 0 {
			r.note(s.Agents, "figures of single adversaries, %d, are stated and not recomputed", n)
		}
	}
	return r, nil
}

// verify rebuilds one ledger and compares it with its statement.
func (r *RunReport) verify(l *runLedger, s *account.Statement) error {
	m := NewMemory(nil)
	if err := m.Restore(l.Records); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	head := m.Head()
	if head.String() != l.Head {
		return fmt.Errorf("%w: the head is %s, the records hash to %v", ErrCorrupt, l.Head, head)
	}
	want := account.LedgerRange{FirstSeq: min(1, head.Seq), LastSeq: head.Seq, Head: l.Head}
	if s.Ledger != want {
		return fmt.Errorf("%w: the statement covers %v, the ledger is %v", ErrCorrupt, s.Ledger, want)
	}
	var charges uint64
	for _, rec := range l.Records {
		if rec.Kind == Charge {
			charges += rec.Count
		}
	}
	if uint64(s.Releases) != charges {
		return fmt.Errorf("%w: the statement counts %d releases, the ledger %d", ErrCorrupt, s.Releases,
			charges)
	}
	now, err := restate(l.Records, s)
	if err != nil {
		return err
	}
	was := Claim{Accountant: s.Method, Delta: s.Delta, Version: s.Accountant}
	for _, e := range []*account.StatedInterval{s.Epsilon, s.WouldBeEpsilon} {
		if e != nil {
			was.Epsilon = *e
		}
	}
	note, err := compareClaims(&was, &now)
	if err != nil {
		return err
	}
	if note != "" {
		r.note(l.Agents, "%s", note)
	}
	r.Ledgers++
	r.Charges += charges
	if now.Epsilon.Upper > r.Epsilon.Upper {
		r.Epsilon = now.Epsilon
	}
	if was.Epsilon.Upper > r.Stated.Upper {
		r.Stated = was.Epsilon
	}
	return nil
}

// restate recomputes the epsilon of s with the accountant whose method s names.
func restate(records []Record, s *account.Statement) (Claim, error) {
	u, err := parseUnit(s.Unit)
	if err != nil {
		return Claim{}, err
	}
	var last error
	for _, name := range account.Names() {
		acc, err := account.New(name, s.Adjacency, u)
		if err != nil {
			return Claim{}, err
		}
		for _, r := range records {
			if r.Kind == Charge && err == nil {
				err = acc.Compose(*r.Event, int(r.Count))
			}
		}
		if err != nil {
			last = err
			continue
		}
		if acc.Describe().Method != s.Method {
			continue
		}
		eps, err := acc.Epsilon(s.Delta)
		return Claim{
			Accountant: name,
			Delta:      s.Delta,
			Epsilon:    account.StatedInterval(eps),
			Version:    account.Version,
		}, err
	}
	return Claim{}, errors.Join(fmt.Errorf("%w: no accountant of %s has method %q", ErrClaim, account.Version,
		s.Method), last)
}

// parseUnit reads what account.Unit.String writes.
func parseUnit(s string) (account.Unit, error) {
	switch s {
	case account.Record().String():
		return account.Record(), nil
	case account.Owner().String():
		return account.Owner(), nil
	}
	k, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(s, "group("), ")"))
	if u := account.Group(k); err == nil && u.String() == s {
		return u, nil
	}
	if column, ok := strings.CutPrefix(s, "person("); ok {
		if u := account.Person(strings.TrimSuffix(column, ")")); u.String() == s {
			return u, nil
		}
	}
	return account.Unit{}, config.Bad("unit", s, "record, group(k), owner or person(column)")
}

func readRunLedgers(name string) ([]runLedger, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var lines []runLedger
	n := 0
	for text := range bytes.Lines(b) {
		n++
		var l runLedger
		if err := strict(text, &l); err != nil {
			return nil, fmt.Errorf("%w: %s:%d: %w", ErrCorrupt, name, n, err)
		}
		lines = append(lines, l)
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: %s is empty", ErrCorrupt, name)
	}
	return lines, nil
}

func readRunStatements(name string) (map[string]*runStatement, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list []runStatement
	if err := strict(b, &list); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	m := map[string]*runStatement{}
	for i := range list {
		if m[list[i].Agents] != nil {
			return nil, fmt.Errorf("%w: %s states agents %s twice", ErrCorrupt, name, list[i].Agents)
		}
		m[list[i].Agents] = &list[i]
	}
	return m, nil
}

// strict decodes one JSON value without unknown keys.
func strict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("text after the value")
	}
	return nil
}
