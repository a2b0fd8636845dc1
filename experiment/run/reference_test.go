package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/tensor"
)

// reference is what testdata/reference has computed, apart from any code of sotto.
type reference struct {
	Files map[string]string
	Init  map[string]tensor.Vec // by file name
	Cases []referenceCase
}

type referenceCase struct {
	Name   string
	Set    []string
	Data   string  // in place of referenceData
	Within float64 // in place of 1e-5
	Models [][]float64
	Each   int // of large models every so many parameters are there,
	Norms  []float64
	Own    [][]float64 // by owner: the own model's weights, then figures by model
	referenceFigures
}

type referenceFigures struct {
	Loss, Accuracy, Consensus *float64
	Objective, Score          *float64
	Trace                     []float64          // mean loss after each round
	Figures                   map[string]float64 // of the summary, in the mean over agents
	Metrics                   map[string]float64 // of the last round, by name and agent
}

// referenceFile is what all cases have in common.
const referenceFile = `name = "reference"
seed = 1
rounds = 12
[topology]
graph = "ring"
agents = 4
[model]
name = "logistic"
[algorithm]
name = "dsgd"
[privacy]
mechanism = "none"
[data]
`

const referenceData = `dataset = "csv"
path = "DIR/train.csv"
test_path = "DIR/test.csv"
group = "g"
groups = ["o0", "o1", "o2", "o3"]
partition = "natural"
`

// Runs end where an implementation of the papers in float64 ends that shares nothing with
// this one: on full batches without noise, or with noise of 1e-7 of the clip; and with
// batches, noise, graphs, faults and wakes that it draws itself, as docs/draws.md says.
// Messages and models are float32 here, so that each of some ten rounds adds a relative
// error of 2^-24 or a few of them. The tolerance of 1e-5 of the longest model is above
// all that, and far below what another order of steps, another weight or draw or a clip
// left out makes. It is 1e-4 for boosting that clips, which divides sums on a grid of
// 2^-20 of the clip by a hundredth of the curvature where a knot has no records; for
// newton with noise; for Laplace noise, whose least scale is 2^-20; for local-dp, whose
// noise is calibrated on a grid; for clips that follow answers; and for convolutions,
// whose norms are bounds.
func TestReference(t *testing.T) {
	var ref reference
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.Cases) < 311 {
		t.Fatalf("%d runs in the file", len(ref.Cases))
	}
	dir := t.TempDir()
	ref.write(t, dir)
	for _, c := range ref.Cases {
		t.Run(c.Name, func(t *testing.T) { c.hold(t, dir) })
	}
}

// write puts the problem's files into dir.
func (ref *reference) write(t *testing.T, dir string) {
	t.Helper()
	files := maps.Clone(ref.Files)
	for name, start := range ref.Init {
		b, err := model.EncodeSafetensors(nil, []model.NamedVec{{Name: "start", Vec: start}})
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	if err := os.Mkdir(filepath.Join(dir, "mnist"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *referenceCase) hold(t *testing.T, dir string) {
	put := strings.NewReplacer("DIR/", filepath.ToSlash(dir)+"/")
	var set []string
	for _, s := range c.Set {
		set = append(set, put.Replace(s))
	}
	text := referenceFile + cmp.Or(c.Data, referenceData)
	f, err := experiment.Parse("reference.toml", []byte(put.Replace(text)), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith(dir, drawn)
	if err != nil {
		t.Fatal(err)
	}
	r := train(t, e, Options{})
	_, tensors, err := model.DecodeSafetensors(read(t, r.Dir, rundir.ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	within := cmp.Or(c.Within, 1e-5)
	c.holdModels(t, tensors, within)
	check := func(what string, got float64, want *float64) {
		if want != nil {
			near(t, what, got, *want, within*max(1, math.Abs(*want)))
		}
	}
	if got := lines(r); len(got) != len(c.Figures) {
		t.Errorf("%d figures, want %d", len(got), len(c.Figures))
	}
	for _, l := range lines(r) {
		want := c.Figures[l.Name]
		check(l.Name, l.Over.Mean, &want)
	}
	for k, want := range c.Trace {
		round := strconv.Itoa(k + 1)
		check("loss after round "+round, metricIn(t, r.Dir, "loss", round)["mean"], &want)
	}
	for name, want := range c.Metrics {
		metric, who, _ := strings.Cut(name, " ")
		check(name, metricIn(t, r.Dir, metric, strconv.FormatUint(f.Steps, 10))[who], &want)
	}
	check("loss", float64(r.Summary.Loss), c.Loss)
	if s := r.Summary.Score; (s == nil) != (c.Score == nil) {
		t.Errorf("score %v, want %v", s, c.Score)
	} else if s != nil {
		check("score", float64(*s), c.Score)
	}
	check("consensus distance", float64(r.Summary.ConsensusDistance), c.Consensus)
	if c.Objective != nil {
		last := metricIn(t, r.Dir, "objective", strconv.FormatUint(f.Steps, 10))
		check("objective", last["all"], c.Objective)
	}
	c.holdOwn(t, r, check)
	if a := r.Summary.Accuracy; a != nil {
		check("accuracy", a.Mean, c.Accuracy)
	}
}

func (c *referenceCase) holdModels(t *testing.T, tensors []model.NamedVec, within float64) {
	t.Helper()
	if len(tensors) != len(c.Models) {
		t.Fatalf("%d models, want %d", len(tensors), len(c.Models))
	}
	longest := 0.
	for _, m := range c.Models {
		longest = max(longest, norm64(m))
	}
	for i, want := range c.Models {
		v := tensors[i].Vec
		if c.Each > 0 {
			near(t, "norm of agent "+strconv.Itoa(i), v.Norm(), c.Norms[i], within*c.Norms[i])
			some := tensor.Vec{}
			for k := 0; k < len(v); k += c.Each {
				some = append(some, v[k])
			}
			v = some
		}
		if apart := distance64(v, want); !(apart <= within*longest) {
			t.Errorf("agent %d: %v, want %v: %g of the longest model apart", i, v, want, apart/longest)
		}
	}
}

func (c *referenceCase) holdOwn(t *testing.T, r *Result, check func(string, float64, *float64)) {
	t.Helper()
	if c.Own == nil {
		return
	}
	if p := r.Summary.Personal; p == nil || len(p.Lines) != len(c.Own) {
		t.Fatalf("own models %+v, want those of %d owners", p, len(c.Own))
	}
	for i, l := range r.Summary.Personal.Lines {
		all := slices.Clone(l.Weights[:])
		for _, values := range l.Values {
			for _, v := range values {
				all = append(all, *v)
			}
		}
		if len(all) != len(c.Own[i]) {
			t.Fatalf("owner %d: %d numbers, want %d", i, len(all), len(c.Own[i]))
		}
		for k, v := range all {
			check(fmt.Sprintf("owner %d, number %d", i, k), v, &c.Own[i][k])
		}
	}
}

func lines(r *Result) []rundir.FigureLine {
	if r.Summary.Figures == nil {
		return nil
	}
	return r.Summary.Figures.Lines
}

func norm64(v []float64) float64 {
	sum := 0.
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

func distance64(got tensor.Vec, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	d := make([]float64, len(want))
	for i := range d {
		d[i] = float64(got[i]) - want[i]
	}
	return norm64(d)
}
