package owner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/experiment/shapes"
	"sotto/report"
)

// Nodes that fit an additive model leave its shapes: the same ones to the digits that
// averaging keeps, where the class rises with x and falls with y, and on the page. Either
// is more than ten standard deviations of the noise: by chance it fails never.
func TestNodesLeaveShapes(t *testing.T) {
	text := strings.NewReplacer(`name = "logistic"`, `name = "additive"`, `name = "dsgd"`,
		`name = "boosting"`, "step_size = 2.0\n", "", "batch_size = 20\n", "", "rounds = 6\n", "",
		`"ring"`, `"complete"`, "target_epsilon = 2.0", "target_epsilon = 5.0").Replace(ownerRun)
	states := trained(t, teamOf(t, text))
	var first []shapes.Shape
	for _, name := range []string{"m0", "m1", "m2"} {
		b, err := os.ReadFile(filepath.Join(states, name, rundir.ShapesFile))
		if err != nil {
			t.Fatal(err)
		}
		var all []shapes.Shape
		if err := json.Unmarshal(b, &all); err != nil {
			t.Fatal(err)
		}
		if len(all) != 2 || all[0].Variable != "x" || all[1].Variable != "y" {
			t.Fatalf("%s: %+v", name, all)
		}
		for k, rises := range []float64{1, -1} {
			p := all[k].Points
			if (p[len(p)-1].Adds-p[0].Adds)*rises <= 0 || p[0].Noise <= 0 {
				t.Errorf("%s: %s adds %+v", name, all[k].Variable, p)
			}
		}
		if first == nil {
			first = all
		}
		for k := range all {
			if !slices.EqualFunc(first[k].Points, all[k].Points, func(a, b shapes.Point) bool {
				d := a.Adds - b.Adds
				return d*d < 1e-6 && a.At == b.At
			}) {
				t.Errorf("%s has other shapes than m0: %+v, %+v", name, all[k], first[k])
			}
		}
	}
	page, err := report.Node(experiment.EngineVersion, filepath.Join(states, "m1"))
	if err != nil || !strings.Contains(string(page), "What the model has learned") {
		t.Errorf("the page has no shapes: %v", err)
	}
}
