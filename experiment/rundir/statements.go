package rundir

import (
	"encoding/json"
	"os"
	"path/filepath"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// AgentStatement is the privacy statement of the agents with one and the same ledger.
type AgentStatement struct {
	Agents    string            `json:"agents"`
	Statement account.Statement `json:"statement"`
	Text      string            `json:"text"` // the same for a person
}

// Statements returns a finished run's privacy statements after ledger.VerifyRun has
// recomputed them; a difference is its error. That of a node is signed, and its ledger is
// verified.
func Statements(dir string) ([]AgentStatement, error) {
	if IsNode(dir) {
		return nodeStatements(dir)
	}
	if _, err := ledger.VerifyRun(dir); err != nil {
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
