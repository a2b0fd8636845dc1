package modeltest_test

import (
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// mean is a model as a user would write one: theta minimises the mean squared distance to
// the samples. Its fault, if any, is what the suite has to find.
type mean struct {
	dim     int
	fault   string
	history *float64
}

func (m mean) Dim() int     { return m.dim }
func (m mean) Outputs() int { return 1 }

func (m mean) Init(dst tensor.Vec, r model.Source) {
	for i := range dst {
		dst[i] = float32(r.Uint64()>>40) / (1 << 24)
		if m.fault == "constant init" {
			dst[i] = 1
		}
	}
}

func (m mean) ClippedGradientSum(dst, theta tensor.Vec, b *model.Batch, clip float64,
	w *model.Workspace) model.Stats {
	stats := model.Stats{Samples: b.Len()}
	g := tensor.Vec(w.Floats(m.dim))
	if m.fault == "allocates" {
		g = append(tensor.Vec(nil), g...)
	}
	if m.fault == "overwrites" {
		dst.Zero()
	}
	for s := range b.Len() {
		for j, x := range b.X.Row(s) {
			g[j] = 2 * (theta[j] - x)
		}
		norm := g.Norm()
		if m.fault != "keeps NaN" && !(norm <= math.MaxFloat32) {
			stats.NonFinite++
			continue
		}
		f, limit := 1.0, 0.0
		if clip > 0 {
			limit = clip * (1 - 1e-5)
		}
		if norm > limit {
			f = limit / norm
			stats.Clipped++
		}
		switch m.fault {
		case "long":
			f *= 1.01
		case "half gradient":
			f /= 2
		case "clips the sum":
			f = min(1, 1/norm)
		case "remembers":
			*m.history++
			f *= 1 - *m.history*1e-7
		}
		dst.AddScaled(f, g)
	}
	if m.fault == "edits the batch" && b.Len() > 0 {
		b.X.Data[0]++
	}
	return stats
}

func (m mean) Predict(dst tensor.Mat, theta tensor.Vec, x tensor.Mat, _ *model.Workspace) {
	for s := range x.Rows {
		dst.Row(s)[0] = float32(theta.Dot(x.Row(s)))
		if m.fault == "batch prediction" {
			dst.Row(s)[0] /= float32(x.Rows)
		}
	}
}

func (m mean) Loss(theta tensor.Vec, b *model.Batch, w *model.Workspace) float64 {
	var sum float64
	for s := range b.Len() {
		for j, x := range b.X.Row(s) {
			d := float64(theta[j]) - float64(x)
			sum += d * d
		}
	}
	return sum / float64(max(b.Len(), 1))
}

func build(fault string) func() (model.Model, *model.Batch) {
	return func() (model.Model, *model.Batch) {
		b := &model.Batch{X: tensor.NewMat(40, 5), Targets: make([]float32, 40)}
		r := modeltest.Source(9)
		for i := range b.X.Data {
			b.X.Data[i] = float32(r.Uint64()>>40)/(1<<23) - 1
		}
		return mean{5, fault, new(float64)}, b
	}
}

func TestModelOfAnotherPackage(t *testing.T) { modeltest.Run(t, build("")) }

// faults lists what a model can do wrong and a check of the suite that must then fail.
var faults = map[string]string{
	"constant init":    "init",
	"allocates":        "no_allocation",
	"overwrites":       "adds_to_destination",
	"keeps NaN":        "not_finite",
	"long":             "clip_bound",
	"half gradient":    "finite_differences",
	"clips the sum":    "clipped_sum",
	"remembers":        "same_bits",
	"edits the batch":  "arguments_unchanged",
	"batch prediction": "rows_are_independent",
}

const faultKey = "MODELTEST_FAULT"

// TestFault fails on purpose when the variable is set: TestSuiteFindsFaults runs it in
// another process.
func TestFault(t *testing.T) {
	fault := os.Getenv(faultKey)
	if fault == "" {
		t.Skip("run by TestSuiteFindsFaults")
	}
	modeltest.Run(t, build(fault))
}

func TestSuiteFindsFaults(t *testing.T) {
	for fault, check := range faults {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFault$")
		cmd.Env = append(slices.Clone(os.Environ()), faultKey+"="+fault)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestFault/"+check) {
			t.Errorf("%s: the suite does not fail in %s:\n%s", fault, check, out)
		}
	}
}
