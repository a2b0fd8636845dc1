package attack

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"sotto/experiment/rundir"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
)

// RunDir recomputes what a finished run's directory states: heads, numbers of
// releases and epsilon of every ledger, from its records alone. A contradiction is a
// violation, what cannot be read an error.
func RunDir(dir string) (*audit.Report, error) {
	none := audit.Figure(math.NaN())
	r := &audit.Report{
		Mode:         "ledger",
		Target:       dir,
		EpsilonLower: none,
		Claimed:      none,
		Ratio:        none,
		Confidence:   1,
		Valid: []string{"messages of a finished run are not kept: audit ledger on its config.toml watches " +
			"them in a new one"},
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(ledger.RunLedgerFile))); err != nil {
		return nil, err
	}
	found, err := rundir.VerifyRun(dir)
	switch {
	case errors.Is(err, ledger.ErrClaim), errors.Is(err, ledger.ErrCorrupt):
		r.Violated, r.Findings = true, []string{err.Error()}
		return r, nil
	case err != nil:
		return nil, err
	}
	statements, err := rundir.Statements(dir)
	if err != nil {
		return nil, err
	}
	stated := 0.
	for _, s := range statements {
		r.Delta = s.Statement.Delta
		if e := s.Statement.Epsilon; e != nil {
			stated = max(stated, e.Upper)
		}
		if e := s.Statement.WouldBeEpsilon; e != nil {
			stated = max(stated, e.Upper)
		}
	}
	r.Observations = int(found.Charges)
	r.Checks = []audit.Check{{Name: "epsilon", Statistic: audit.Figure(found.Epsilon.Upper),
		Limit: audit.Figure(stated * (1 + 1e-6)),
		Text:  "what the accountant makes of the charges, against what is stated"}}
	if c := &r.Checks[0]; c.Violated() {
		r.Violated, r.Findings = true, []string{c.Text}
	}
	r.Valid = append(r.Valid,
		fmt.Sprintf("%d distinct ledgers, whose heads and statements follow from their records",
			found.Ledgers))
	return r, nil
}
