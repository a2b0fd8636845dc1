package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The run files that users begin with keep their claims, at smoke scale: a violation
// fails the build. Each mode of a run has beta 1e-6, so that all of them together raise a
// false alarm with a probability below 1e-4.
func TestAuditOfExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("many observations on one goroutine: the race detector, which asks for short, has nothing " +
			"to find")
	}
	for _, file := range []struct {
		path string
		data bool // needs the data folder
	}{{"", false}, {"average.toml", false}, {"dkm.toml", false}, {"linear-tasks-bcd.toml", false},
		{"a9a-logistic.toml", true}, {"hospitals/heart.toml", true}} {
		t.Run(file.path, func(t *testing.T) {
			if file.data && os.Getenv("SOTTO_DATA") == "" {
				t.Skip("SOTTO_DATA not set: needs the data sets of the examples")
			}
			args := []string{"audit", "all", "--scale", "smoke", "--beta", "4e-6", "--out", ""}
			if file.path != "" {
				args = append(args, "../../examples/"+file.path)
			}
			var out, errs bytes.Buffer
			if code := execute(args, &out, &errs); code != 0 {
				t.Fatalf("exit code %d: %s%s", code, errs.String(), out.String())
			}
			for _, mode := range []string{"step", "noise", "ledger"} {
				if !strings.Contains(out.String(), "  "+mode+" ") {
					t.Errorf("no report of mode %s: %s", mode, out.String())
				}
			}
		})
	}
}
