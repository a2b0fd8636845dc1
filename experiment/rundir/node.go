package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sotto/agent"
	"sotto/config"
	"sotto/internal/jsonfloat"
	"sotto/internal/jsontext"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// Files of a node's state directory that a run directory does not have. Its config.toml,
// model.safetensors and privacy.json are called as a run's; the latter is one signed
// statement.
const (
	NodeFile = "node.json"
	OwnFile  = "own.json" // figures of the owner's records, for the owner alone
	// StatusFile is a node's last status, which has a Stand.
	StatusFile = "status.json"
	// PersonalDir is the folder of the owner's own model.
	PersonalDir = "personal"
)

// Node is what a node's state directory says of the run that it takes part in. It holds
// nothing that depends on records.
type Node struct {
	Run     string   `json:"run"` // the experiment's name
	Member  string   `json:"member"`
	Members []string `json:"members"`
	Trained
	Owned
	Limits
	// RosterDigest is that of the run's first roster.
	RosterDigest string `json:"roster"`
	Ledger       string `json:"ledger"`            // folder of the owner's ledger
	Capture      string `json:"capture,omitempty"` // file of all frames, where one is kept
	Engine       string `json:"engine"`
}

// Trained says what is trained, and how.
type Trained struct {
	Algorithm string `json:"algorithm"`
	Dataset   string `json:"dataset"`
	Model     string `json:"model"`
	Steps     uint64 `json:"steps"` // rounds, wakes, or steps of every token
	// Asks says which rounds or wakes ask; nil: models walk, or agents meet in pairs.
	Asks  *agent.Schedule `json:"asks,omitempty"`
	Stand `json:"-"`
}

// Stand is how far a node had come by its last status; zero: it has none.
type Stand struct {
	Round    uint64 `json:"round"`
	Rounds   uint64 `json:"rounds"` // of the run
	Epoch    int    `json:"epoch"`  // how often the members had changed
	Finished bool   `json:"finished"`
}

// Left reports whether a member that has results has left a run that goes on.
func (s *Stand) Left() bool { return !s.Finished && s.Round < s.Rounds }

// Lastly is to follow a number of members: they may have been others before.
func (s *Stand) Lastly() string {
	if s.Epoch > 0 {
		return " in its last roster"
	}
	return ""
}

// Done is how many steps the member has made.
func (t *Trained) Done() string {
	if t.Left() {
		return fmt.Sprintf("%d of %s", t.Round, config.Count(t.Steps, "step"))
	}
	return config.Count(t.Steps, "step")
}

// Limits are what the run file allows this run alone; a Target of 0: it sets none.
type Limits struct {
	Target      jsonfloat.Float `json:"target_epsilon"`
	TargetDelta float64         `json:"target_delta"`
}

// Owned says what the owner's policy says of the records.
type Owned struct {
	Population      string  `json:"population"`
	PolicyDigest    string  `json:"policy"` // SHA-256 of the policy file, hexadecimal
	LifetimeEpsilon float64 `json:"lifetime_epsilon"`
	LifetimeDelta   float64 `json:"lifetime_delta"`
}

// IsNode says that dir is the state directory of a node.
func IsNode(dir string) bool { return Stands(filepath.Join(dir, NodeFile)) }

// ReadNode reads what a node's state directory says of its run.
func ReadNode(dir string) (*Node, error) {
	path := filepath.Join(dir, NodeFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := new(Node)
	if err := json.Unmarshal(b, n); err != nil {
		return nil, jsontext.Error(path, b, err, "what sotto node has written")
	}
	b, err = os.ReadFile(filepath.Join(dir, StatusFile))
	if err != nil || json.Unmarshal(b, &n.Stand) != nil { // whoever hands a model on may leave it out
		n.Stand = Stand{}
	}
	return n, nil
}

// LedgerOf returns the folder of the ledger that path means: that of a node's state
// directory, or path itself, which is a ledger or the directory of a simulated run, or
// the folder ledger in that. What is none of them is a *config.Error.
func LedgerOf(path string) (string, error) {
	if !IsNode(path) {
		for _, name := range []string{"genesis.json", ledger.RunLedgerFile} {
			if exists(filepath.Join(path, filepath.FromSlash(name))) {
				return path, nil
			}
		}
		if run := filepath.Dir(filepath.Clean(path)); exists(filepath.Join(path, "simulated.jsonl")) {
			return run, nil
		}
		return "", &config.Error{File: path, Found: "no ledger",
			Allowed: "the folder of a ledger, of a simulated run, or of a node's state"}
	}
	n, err := ReadNode(path)
	if err != nil {
		return "", err
	}
	return n.Ledger, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// NodeStatement is SignedStatement of a finished node.
func NodeStatement(dir string) (*ledger.SignedStatement, error) {
	s, err := SignedStatement(filepath.Join(dir, PrivacyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &config.Error{File: dir, Found: "a node without a statement",
			Allowed: "one that has finished: sotto status says how far it is"}
	}
	return s, err
}

// SignedStatement reads a statement whose signature is that of the key in it.
func SignedStatement(path string) (*ledger.SignedStatement, error) {
	s, err := ReadStatement(path)
	if err != nil {
		return nil, err
	}
	if err := s.Verify(nil); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ReadStatement is SignedStatement for who verifies the signature.
func ReadStatement(path string) (*ledger.SignedStatement, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := ledger.ReadStatement(b)
	switch {
	case errors.Is(err, ledger.ErrCorrupt):
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return nil, jsontext.Error(path, b, err, "a signed privacy statement")
	}
	return s, nil
}

// nodeStatements, like those of a run, follow from the ledger. They are as of a run with
// one agent.
func nodeStatements(dir string) ([]AgentStatement, error) {
	n, err := ReadNode(dir)
	if err != nil {
		return nil, err
	}
	s, err := NodeStatement(dir)
	if err != nil {
		return nil, err
	}
	r, err := ledger.Verify(n.Ledger, ledger.Options{})
	if err != nil {
		return nil, err
	}
	if r.Genesis.ID != s.LedgerID {
		return nil, fmt.Errorf("%w: a statement of ledger %s, found %s in %s", ledger.ErrDataset, s.LedgerID,
			r.Genesis.ID, n.Ledger)
	}
	return []AgentStatement{{Agents: n.Member, Statement: s.Statement, Text: s.Statement.String()}}, nil
}

// Background says of a node's statement what its figures belong to.
func (n *Node) Background(s *account.Statement) []Clause {
	clauses := []Clause{
		{"Owner", n.Member + ", a member of " + n.Run},
		{"Data set", fmt.Sprintf("population %q, of which all runs are charged to one ledger", n.Population)},
		{"Training", fmt.Sprintf("%s with %s, %s%s", n.Model, n.Algorithm,
			config.Count(len(n.Members), "member"), n.Lastly())},
		{"Owner's policy", fmt.Sprintf("at most epsilon %g at delta %g over the life of the data; SHA-256 "+
			"of the policy file %s", n.LifetimeEpsilon, n.LifetimeDelta, n.PolicyDigest)},
	}
	return append(clauses, Clause{"Two limits", n.limits(s)})
}

// limits says why a run file's figure and a statement's differ.
func (n *Node) limits(s *account.Statement) string {
	if n.Target == 0 {
		return fmt.Sprintf("the run file sets none. The statement counts everything that was charged to the "+
			"ledger, at the policy's delta of %g.", s.Delta)
	}
	return fmt.Sprintf("the run file allows this run epsilon %g at delta %g. The statement counts "+
		"everything that was charged to the ledger, of this run and others, at the policy's delta of %g. A "+
		"larger delta has a smaller epsilon for the same releases.", float64(n.Target), n.TargetDelta,
		s.Delta)
}
