package main

import (
	"os/exec"
	"strings"
	"testing"
)

// A node's program had fonts, LaTeX, PDF and plots in it. The one for owners has not.
func TestOperatorLinksNoPlots(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the Go tool")
	}
	list := func(tags string) string {
		b, err := exec.Command("go", "list", "-deps", "-tags", tags, ".").Output()
		if err != nil {
			t.Skipf("no Go tool: %v", err)
		}
		return string(b)
	}
	const plots = "gonum.org/v1/plot"
	if !strings.Contains(list(""), plots) {
		t.Error("the whole program has no plots: the test proves nothing")
	}
	deps := list("operator")
	for _, not := range []string{plots, "go-fonts", "go-latex", "go-pdf", "/reproduce",
		"/report/plot"} {
		if strings.Contains(deps, not) {
			t.Errorf("the program for owners links %s", not)
		}
	}
	if !strings.Contains(deps, "/node/p2p") {
		t.Error("the program for owners has no node")
	}
}
