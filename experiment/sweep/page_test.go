package sweep

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/live/event"
)

// A sweep leaves the page of its runs. Where somebody has removed the runs of finished
// cells the sweep still ends with its rows, without a page.
func TestSweepLeavesItsPage(t *testing.T) {
	opt := Options{Out: t.TempDir(), Workers: 1}
	first, err := tiny(t).Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(first.Dir, rundir.ReportFile)
	b, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(b), "8 runs in 4 settings") {
		t.Errorf("no page of 8 runs: %v", err)
	}
	for _, path := range []string{page, filepath.Join(first.Dir, "runs")} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	again, err := tiny(t).Run(context.Background(), opt)
	if err != nil || len(again.Rows) != len(first.Rows) {
		t.Fatalf("without its runs: %v", err)
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a page of runs that are not there")
	}
}

// A sweep whose page cannot be made has its rows, and its events say why.
func TestSweepWithoutItsPage(t *testing.T) {
	opt := Options{Out: t.TempDir(), Workers: 1}
	first, err := tiny(t).Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Glob(filepath.Join(first.Dir, "runs", "*", rundir.SummaryFile))
	if err != nil || len(runs) == 0 {
		t.Fatal(runs, err)
	}
	if err := os.WriteFile(runs[0], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := tiny(t).Run(context.Background(), opt)
	if err != nil || len(again.Rows) != len(first.Rows) {
		t.Fatalf("%v", err)
	}
	events, err := os.ReadFile(filepath.Join(first.Dir, event.File))
	if err != nil || !strings.Contains(string(events), "no page of all runs: ") {
		t.Errorf("nothing says that there is no page: %v", err)
	}
}
