package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sotto/config"
	"sotto/internal/jsontext"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// AgentStatement is the privacy statement of the agents with one and the same ledger.
type AgentStatement struct {
	Agents    string            `json:"agents"`
	Statement account.Statement `json:"statement"`
	Text      string            `json:"text"` // the same for a person
}

// VerifyRun is ledger.VerifyRun. It holds the summary, where there is one, against what
// is stated: ledger.ErrClaim.
func VerifyRun(dir string) (ledger.RunReport, error) {
	r, err := ledger.VerifyRun(dir)
	if err != nil {
		return r, err
	}
	path := filepath.Join(dir, SummaryFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	var s Summary
	if err == nil {
		err = jsontext.Error(path, b, json.Unmarshal(b, &s), "the summary of a run")
	}
	if err != nil {
		return r, fmt.Errorf("%w: %w", ledger.ErrCorrupt, err)
	}
	if _, up := s.Worst(); up != float64(r.Stated.Upper) {
		return r, fmt.Errorf("%w: %s has epsilon %g, %s %g", ledger.ErrClaim, path, up, PrivacyFile,
			float64(r.Stated.Upper))
	}
	return r, nil
}

// Statements returns a finished run's privacy statements after VerifyRun has
// recomputed them; a difference is its error. That of a node is signed, and its ledger is
// verified.
func Statements(dir string) ([]AgentStatement, error) {
	if IsNode(dir) {
		return nodeStatements(dir)
	}
	if exists(filepath.Join(dir, "genesis.json")) {
		return nil, &config.Error{File: dir, Found: "the folder of a ledger",
			Allowed: "a run's directory, or a node's state directory, which has the statement; " +
				"sotto ledger verify reads a ledger"}
	}
	if _, err := VerifyRun(dir); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, PrivacyFile))
	if err != nil {
		return nil, err
	}
	var stated []AgentStatement
	if err := json.Unmarshal(b, &stated); err != nil {
		return nil, err
	}
	for i := range stated { // the words follow from the figures, whatever the file says
		stated[i].Text = stated[i].Statement.String()
	}
	return stated, nil
}
