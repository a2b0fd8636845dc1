package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sotto/data"
	"sotto/experiment/runfile"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The unit did not start a node again once there was room on its disk, and started one
// with two damaged checkpoints again for good.
func TestUnitAgreesWithExitCodes(t *testing.T) {
	unit, doc := readText(t, "../../deploy/sotto-node.service"), readText(t, "../../docs/upkeep.md")
	setting := func(key string) string {
		m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(unit)
		if m == nil {
			t.Errorf("the unit lacks %s", key)
			return ""
		}
		return m[1]
	}
	if got := setting("Restart"); got != "on-failure" {
		t.Errorf("Restart=%s", got)
	}
	if got := setting("StartLimitIntervalSec"); got != "0" {
		t.Errorf("StartLimitIntervalSec=%s: a disk may be full for long", got)
	}
	var prevented []string
	for _, e := range exits {
		if !e.restart && e.code != exitDone { // on-failure leaves that alone
			prevented = append(prevented, fmt.Sprint(e.code))
		}
		again := map[bool]string{true: "yes", false: "no"}[e.restart]
		if row := fmt.Sprintf("| %d | %s | %s |", e.code, e.what, again); !strings.Contains(doc, row) {
			t.Errorf("docs/upkeep.md lacks the row %q", row)
		}
	}
	if got := strings.Fields(setting("RestartPreventExitStatus")); !slices.Equal(got, prevented) {
		t.Errorf("RestartPreventExitStatus=%v, want %v", got, prevented)
	}
}

// What a node prints at its end has figures of the owner's records: the unit kept it in
// the journal. Without a line of its own standard error goes where standard output does.
func TestUnitKeepsFiguresOutOfTheJournal(t *testing.T) {
	unit := readText(t, "../../deploy/sotto-node.service")
	for _, line := range []string{"\nStandardOutput=null\n", "\nStandardError=journal\n"} {
		if !strings.Contains(unit, line) {
			t.Errorf("the unit lacks %q", line)
		}
	}
}

// What the deployment files and the documentation call exists.
func TestDeploymentFlagsExist(t *testing.T) {
	flag := regexp.MustCompile(`--[a-z][a-z-]+`)
	root := newRoot()
	for _, f := range []struct{ path, from, to, command string }{
		{"../../deploy/sotto-node.service", "ExecStart=", "\n#", "node"},
		{"../../deploy/node-statefulset.yaml", "args: [", "]\n", "node"},
		{"../../deploy/node-statefulset.yaml", "livenessProbe:", "readinessProbe:", "status"},
		{"../../deploy/node-statefulset.yaml", "readinessProbe:", "resources:", "status"},
		{"../../deploy/sweep-job.yaml", "command: [", "]\n", "sweep"},
	} {
		text := readText(t, f.path)
		_, text, found := strings.Cut(text, f.from)
		text, _, more := strings.Cut(text, f.to)
		if !found || !more {
			t.Errorf("%s has nothing between %q and %q", f.path, f.from, f.to)
			continue
		}
		c, _, err := root.Find([]string{f.command})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range flag.FindAllString(text, -1) {
			if c.Flags().Lookup(strings.TrimPrefix(name, "--")) == nil {
				t.Errorf("%s: sotto %s has no flag %s", f.path, f.command, name)
			}
		}
	}
}

// The image for owners has no sweep and no studies: what needs these names the build
// that has them, and writes to its volume as the user that it runs as.
func TestSweepJobHasItsImage(t *testing.T) {
	job, image := readText(t, "../../deploy/sweep-job.yaml"), readText(t, "../../deploy/Containerfile")
	for _, want := range []string{"image: sotto-studies:", "--build-arg TAGS=", "fsGroup: 65532",
		"runAsUser: 65532"} {
		if !strings.Contains(job, want) {
			t.Errorf("the job lacks %q", want)
		}
	}
	for _, want := range []string{"--build-arg TAGS= -t sotto-studies", "ARG TAGS=operator",
		`-tags "$TAGS"`} {
		if !strings.Contains(image, want) {
			t.Errorf("the image lacks %q", want)
		}
	}
}

// An owner's CSV file was documented nowhere: its keys stood in the source alone.
func TestOperationsDocumentsEveryKeyOfCSV(t *testing.T) {
	doc := readText(t, "../../docs/operations.md")
	for _, key := range runfile.Keys(&data.CSVParams{}) {
		if row := regexp.MustCompile("(?m)^\\| .*`" + key + "`.* \\| "); key == "" || !row.MatchString(doc) {
			t.Errorf("docs/operations.md has no row for %s", key)
		}
	}
}
