package adad2p

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/internal/long"
	"sotto/report/plot"
	"sotto/reproduce"
)

const torchRuns = "../../docs/results/seed002-resnet18"

var updateTorch = flag.Bool("update-torch", false, "draw the plots of "+torchRuns+" again")

// torchRow is a line that testdata/resnet18.py writes.
type torchRow struct {
	Program       string
	Batch         int
	Run           string
	Round         uint64
	Accuracy      float64   `json:"mean_accuracy"`
	AgentAccuracy []float64 `json:"agent_accuracy"` // of agents 0 and 10
	AgentLoss     []float64 `json:"agent_loss"`
	TrainLoss     float64   `json:"train_loss"`
	Gradient      float64   `json:"gradient_norm"`
	NormRMS       float64   `json:"norm_rms"` // of drawn records since the line before
	NormMax       float64   `json:"norm_max"`
}

// torchRows reads what the program wrote; the first line says what it ran.
func torchRows(t *testing.T, path string) (head torchRow, rows []torchRow) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for k, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var r torchRow
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s:%d: %v", path, k+1, err)
		}
		if k == 0 {
			head = r
		} else {
			rows = append(rows, r)
		}
	}
	return head, rows
}

// The paper's ResNet-18 and its push-sum without noise go as in PyTorch, by a program
// that draws initial model, parts and records itself: losses of two agents on 60 test
// images, before and after each of two rounds. Both have float32, whose rounding those
// gradients of length 63 carry on: 2e-5 of a loss are allowed, 5e-6 were seen.
func TestResNet18GoesAsInPyTorch(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	switch {
	case !long.Tests:
		t.Skip("go test -tags long")
	case dir == "":
		t.Skip("SOTTO_DATA not set: needs cifar-10")
	}
	_, want := torchRows(t, "testdata/resnet18.jsonl")
	cell := push{mode: "replication", data: "cifar-10", method: "sgp", noise: "none",
		step: step{first: .05}, seed: 1}.cell(reproduce.Full)
	set := append(cell.Set, "rounds=2", "evaluate.every=1", "evaluate.limit=60",
		"evaluate.gradients=1")
	f, err := experiment.Parse("resnet18.toml", []byte(pushBase), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Run(context.Background(), e, run.Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rundir.ReadMetrics(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range rows {
		got[fmt.Sprint(m.Round, m.Agent, m.Metric)] = m.Value
	}
	for _, w := range want {
		for k, agent := range []string{"0", "10"} {
			loss := got[fmt.Sprint(w.Round, agent, "loss")]
			accuracy := got[fmt.Sprint(w.Round, agent, "accuracy")]
			if math.Abs(loss-w.AgentLoss[k]) > 2e-5*w.AgentLoss[k] ||
				math.Abs(accuracy-w.AgentAccuracy[k]) > 1e-6 {
				t.Errorf("round %d, agent %s: loss %.9g, accuracy %.4g, PyTorch has %.9g and %.4g", w.Round,
					agent, loss, accuracy, w.AgentLoss[k], w.AgentAccuracy[k])
			}
		}
	}
	if len(want) != 3 {
		t.Errorf("%d lines of PyTorch, want those of rounds 0 to 2", len(want))
	}
}

// torchFigures are figure 2(c) and (f), and (f) with batches, of the program's rows.
func torchFigures(t *testing.T) (all []plot.Figure) {
	program, err := os.ReadFile("testdata/resnet18.py")
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(program))
	curves := map[string]*plot.Curve{}
	figure := func(name, title string, runs ...string) {
		f := plot.Figure{Name: name, Title: title, XLabel: "round", YLabel: "accuracy of the mean model (%)",
			Percent: true, Caption: "One run each, in PyTorch."}
		for _, r := range runs {
			if curves[r] == nil {
				t.Fatalf("no rows of %s", r)
			}
			f.Curves = append(f.Curves, *curves[r])
		}
		all = append(all, f)
	}
	paths, err := filepath.Glob(filepath.Join(torchRuns, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		head, rows := torchRows(t, path)
		if head.Program != digest {
			t.Errorf("%s is of program %s, testdata has %s", path, head.Program, digest)
		}
		for _, r := range rows {
			key := fmt.Sprint(head.Batch, " ", r.Run)
			if curves[key] == nil {
				curves[key] = &plot.Curve{Name: torchName(r.Run)}
			}
			curves[key].Points = append(curves[key].Points, reproduce.At(float64(r.Round), r.Accuracy))
		}
	}
	methods := func(batch int, sigma string, kinds ...string) []string {
		list := []string{fmt.Sprint(batch, " sgp:0:0:1")}
		for _, k := range kinds {
			name, bound, _ := strings.Cut(k, " ")
			list = append(list, fmt.Sprintf("%d %s:%s:%s:1", batch, name, sigma, bound))
		}
		return list
	}
	whole := []string{"adad2p 0", "constd2p 8.5", "clipd2p 2", "clipd2p 3", "clipd2p 5"}
	figure("resnet18-0.002", "ResNet-18, noise scale 0.002, one record a round",
		methods(1, ".002", whole...)...)
	figure("resnet18-0.04", "ResNet-18, noise scale 0.04, one record a round", methods(1, ".04", whole...)...)
	figure("resnet18-0.04-batch", "ResNet-18, noise scale 0.04, batches of 64",
		methods(64, ".04", whole[:2]...)...)
	return all
}

// torchName is a run of the program in words.
func torchName(text string) string {
	parts := strings.Split(text, ":")
	return push{method: parts[0], clip: reproduce.Number(parts[2])}.name()
}

// The plots of docs/results are of the rows beside them, and those of the program that is
// here.
func TestTorchPlots(t *testing.T) {
	for _, f := range torchFigures(t) {
		var b bytes.Buffer
		if err := plot.WriteSVG(&b, f); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(torchRuns, f.Name+".svg")
		if *updateTorch {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, b.Bytes()) {
			t.Errorf("%s is not of its rows (%v): go test ./reproduce/adad2p -run Torch -update-torch",
				path, err)
		}
	}
}

// The two tables of docs/results/seed002.md with ResNet-18 say what the program wrote.
func TestTorchTables(t *testing.T) {
	page, err := os.ReadFile("../../docs/results/seed002.md")
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string][]torchRow{}
	for _, name := range []string{"single", "batch-sgp", "batch-adad2p", "batch-constd2p"} {
		head, rows := torchRows(t, filepath.Join(torchRuns, name+".jsonl"))
		for _, r := range rows {
			key := fmt.Sprint(head.Batch, " ", r.Run)
			runs[key] = append(runs[key], r)
		}
	}
	if len(runs) != 14 {
		t.Errorf("%d runs, want 11 with single records and 3 with batches", len(runs))
	}
	for key, rows := range runs {
		line := torchLine(key, rows)
		if !strings.Contains(string(page), "\n"+line+"\n") {
			t.Errorf("docs/results/seed002.md lacks the line of %s:\n%s", key, line)
		}
	}
}

// torchLine is a run's line in the page.
func torchLine(key string, rows []torchRow) string {
	batch, text, _ := strings.Cut(key, " ")
	parts := strings.Split(text, ":")
	name := torchName(text)
	switch parts[0] {
	case "sgp":
		name = "SGP"
	case "constd2p":
		name = "ConstD2P, G = " + parts[2]
	case "clipd2p":
		name = "ClipD2P, C = " + parts[2]
	}
	at := func(round uint64) string {
		for _, r := range rows {
			if r.Round == round {
				return fmt.Sprintf("%.1f", 100*r.Accuracy)
			}
		}
		return ""
	}
	last := rows[len(rows)-1]
	agents := fmt.Sprintf("%.1f, %.1f", 100*last.AgentAccuracy[0], 100*last.AgentAccuracy[1])
	if batch == "64" {
		n := fmt.Sprint(last.Round)
		if last.Round > 1000 {
			n = n[:1] + "," + n[1:]
		}
		return fmt.Sprintf("| %s | %s | %s | %s | %.1f (round %s) | %s |", name, at(250), at(500), at(750),
			100*last.Accuracy, n, agents)
	}
	noise := parts[1]
	if noise == "0" {
		noise = "none"
	}
	squares, largest, before := 0., 0., uint64(0)
	for _, r := range rows {
		squares += float64(r.Round-before) * r.NormRMS * r.NormRMS
		largest, before = math.Max(largest, r.NormMax), r.Round
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %.2f | %.2f | %.1f, %.0f |", noise, name, at(1000),
		at(2000), at(3001), agents, last.TrainLoss, last.Gradient, math.Sqrt(squares/float64(last.Round)),
		largest)
}
