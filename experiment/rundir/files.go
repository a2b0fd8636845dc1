// Package rundir is the files of a finished run: what they are called, what is in them,
// how they are written so that a run is whole or not there, and how they are read. It
// knows nothing of how a run comes about.
package rundir

import (
	"encoding/json"
	"os"

	"sotto/privacy/ledger"
)

// Names of the files in a run directory.
const (
	ConfigFile     = "config.toml"
	ManifestFile   = "manifest.json"
	MetricsFile    = "metrics.csv"
	SummaryFile    = "summary.json"
	PrivacyFile    = ledger.RunPrivacyFile
	LedgerFile     = ledger.RunLedgerFile
	TopologyFile   = "topology.json"
	ModelFile      = "model.safetensors"
	ReportFile     = "report.html"
	CheckpointFile = "checkpoint.bin"
	WakesFile      = "wakes.csv"
	AnswersFile    = "answers.json" // of a run that asks questions
	ShapesFile     = "shapes.json"  // of an additive model

	// PartialSuffix ends the name of a run that is not finished.
	PartialSuffix = ".partial"
)

// SummaryThreshold is the number of agents above which files hold summaries instead of
// one line for each agent.
const SummaryThreshold = 1000

// LedgerLine is one line of the simulator's ledger file: agents whose ledgers are equal.
type LedgerLine struct {
	Agents  string          `json:"agents"`
	Head    string          `json:"head"`
	Records []ledger.Record `json:"records"`
}

// Indent is the JSON of a file of a run.
func Indent(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}

// Stands reports whether a file of a run is there.
func Stands(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
