package experiment

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// ErrMismatch says that a run directory's statements are not what its ledger gives.
var ErrMismatch = errors.New("experiment: the run's statements do not follow from its ledger")

// AgentStatement is the privacy statement of the agents with one and the same ledger.
type AgentStatement struct {
	Agents    string            `json:"agents"`
	Statement account.Statement `json:"statement"`
	Text      string            `json:"text"` // the same for a person
}

// Statements reads a run directory's privacy.json and recomputes it from the run's ledger: the chain of heads
// and every epsilon, to 1e-6 relative. A difference is ErrMismatch.
func Statements(dir string) ([]AgentStatement, error) {
	b, err := os.ReadFile(filepath.Join(dir, privacyFile))
	if err != nil {
		return nil, err
	}
	var stated []AgentStatement
	if err := json.Unmarshal(b, &stated); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMismatch, filepath.Join(dir, privacyFile), err)
	}
	lines, err := readLedgers(filepath.Join(dir, ledgerFile))
	if err != nil {
		return nil, err
	}
	if len(lines) != len(stated) {
		return nil, fmt.Errorf("%w: %s holds %d statements, its ledger file %d ledgers", ErrMismatch, dir, len(stated), len(lines))
	}
	f, err := Read(filepath.Join(dir, configFile), nil)
	if err != nil {
		return nil, err
	}
	for i, line := range lines {
		if err := confirm(stated[i], line, f.priv.Accountant); err != nil {
			return nil, fmt.Errorf("%w: %s, agents %s: %w", ErrMismatch, dir, line.Agents, err)
		}
	}
	return stated, nil
}

func readLedgers(path string) ([]ledgerLine, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []ledgerLine
	scan := bufio.NewScanner(bytes.NewReader(b))
	scan.Buffer(nil, len(b)+1)
	for n := 1; scan.Scan(); n++ {
		var l ledgerLine
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%w: %s:%d: %w", ErrMismatch, path, n, err)
		}
		lines = append(lines, l)
	}
	return lines, scan.Err()
}

// confirm recomputes one statement.
func confirm(s AgentStatement, line ledgerLine, accountant string) error {
	m := ledger.NewMemory(nil)
	if err := m.Restore(line.Records); err != nil {
		return err
	}
	if head := m.Head().String(); head != line.Head || head != s.Statement.Ledger.Head || s.Agents != line.Agents {
		return fmt.Errorf("ledger head %s, recorded %s, stated %s for agents %s", head, line.Head, s.Statement.Ledger.Head, s.Agents)
	}
	h, err := historyOf(m)
	if err != nil {
		return err
	}
	a := &accounts{accountant: accountant, adjacency: s.Statement.Adjacency, delta: s.Statement.Delta}
	got, err := a.figure(h, false)
	if err != nil {
		return err
	}
	want := s.Statement.WouldBeEpsilon
	if want == nil {
		return errors.New("a simulation states an epsilon as a guarantee")
	}
	if !close6(got.Upper, want.Upper) || !close6(got.Lower, want.Lower) || s.Statement.Releases != int(h.count) {
		return fmt.Errorf("epsilon %g to %g after %d releases, stated %g to %g after %d", got.Lower, got.Upper, h.count, want.Lower, want.Upper, s.Statement.Releases)
	}
	return nil
}

func close6(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*math.Abs(b) }
