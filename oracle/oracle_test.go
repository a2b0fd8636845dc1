package oracle_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// line is a data set for y = x·θ with one feature.
func line(xs ...float32) *data.Dataset {
	d := &data.Dataset{X: tensor.NewMat(len(xs), 1), Shape: [3]int{1, 1, 1},
		Targets: make([]float32, len(xs))}
	for i, x := range xs {
		d.X.Row(i)[0], d.Targets[i] = x, 2*x
	}
	return d
}

func newGradient(d *data.Dataset) *oracle.Gradient {
	m, err := model.New("least-squares", model.Shape{Height: 1, Width: 1, Channels: 1}, func(p any) error {
		p.(*model.LinearParams).Intercept = false
		return nil
	})
	if err != nil {
		panic(err) // a fixed model
	}
	g := &oracle.Gradient{
		Model:             m,
		Records:           oracle.Records{Data: d},
		SampleRate:        1,
		ExpectedBatchSize: 2,
		ClipNorm:          1,
		Adjacency:         account.ZeroOut,
		Unit:              account.Record(),
		Pool:              oracle.NewPool(),
	}
	for i := range d.Len() {
		g.Records.Index = append(g.Records.Index, int32(i))
	}
	return g
}

func evaluate(g *oracle.Gradient, at, clip float64, seq uint64) float64 {
	k := rng.Simulated(1, 0, seq)
	v := privacy.Value{Float: tensor.Vec{0}}
	g.Evaluate(&v, &agent.Query{Oracle: "grad", At: tensor.Vec{float32(at)}, Clip: clip},
		rng.NewStream(&k, rng.Sample))
	v.Narrow()
	return float64(v.Float[0])
}

// At θ the gradient of (xθ - 2x)² is 2x²(θ-2); at θ = 1 it is -2x², clipped to norm 1.
func TestSumOfClippedGradients(t *testing.T) {
	g := newGradient(line(.5, .1, 3))
	for _, tc := range []struct{ clip, want float64 }{
		{0, -(.5 + .02 + 1)}, {.3, -(.3 + .02 + .3)}, {1000, -(.5 + .02 + 18)},
	} {
		if got := evaluate(g, 1, tc.clip, 1); math.Abs(got-tc.want) > 1e-4*math.Abs(tc.want) {
			t.Errorf("clip %g: %g, want %g", tc.clip, got, tc.want)
		}
	}
}

// One record more or less moves the released sum by at most the clip, whatever the
// record.
func TestSensitivity(t *testing.T) {
	base := evaluate(newGradient(line(.5, -1)), 1, 0, 1)
	for _, x := range []float32{0, 1e-20, .7, 1e10, -1e30, float32(math.Inf(1)), float32(math.NaN())} {
		with := evaluate(newGradient(line(.5, -1, x)), 1, 0, 1)
		if d := math.Abs(with - base); !(d <= 1+1e-6) {
			t.Errorf("record %g moves the sum by %g", x, d)
		}
	}
}

// The integer path gives the same sum to within one grid step a record, and every record
// at most 2^20 steps.
func TestExactSum(t *testing.T) {
	g := newGradient(line(.5, .1, 3))
	g.Sums.Exact = true
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, clip := range []float64{0, .3} {
		k := rng.Simulated(1, 0, 1)
		grid := []int64{0}
		g.EvaluateGrid(grid, &agent.Query{Oracle: "grad", At: tensor.Vec{1}, Clip: clip},
			rng.NewStream(&k, rng.Sample))
		c := clip
		if c == 0 {
			c = 1
		}
		want := evaluate(g, 1, clip, 1)
		if got := float64(grid[0]) * privacy.GridStep(c); math.Abs(got-want) > 2e-5*3*c {
			t.Errorf("clip %g: %g on the grid, %g as float", clip, got, want)
		}
	}
	one := newGradient(line(1000))
	k := rng.Simulated(1, 0, 1)
	grid := []int64{0}
	one.EvaluateGrid(grid, &agent.Query{Oracle: "grad", At: tensor.Vec{1}}, rng.NewStream(&k, rng.Sample))
	if grid[0] >= 0 || grid[0] < -1<<20 || grid[0] > -1<<20+3 {
		t.Errorf("a clipped record gives %d grid steps, want just under 2^20", grid[0])
	}
}

func TestEmptyOwnerIsTotal(t *testing.T) {
	if got := evaluate(newGradient(line()), 1, 0, 1); got != 0 {
		t.Errorf("no records give %g", got)
	}
}

// Poisson sampling: every record with the stated rate, two records independently. Each
// bound is 4.9 standard errors, a false-reject rate of 1e-6.
func TestPoissonSampling(t *testing.T) {
	const rate, n = .2, 40_000
	g := newGradient(line(.1, .2)) // gradients -.02 and -.08 at θ = 1
	g.SampleRate = rate
	var a, b, both float64
	for seq := range uint64(n) {
		v := evaluate(g, 1, 0, seq)
		inA, inB := 0., 0.
		if math.Abs(v+.02) < 1e-3 || math.Abs(v+.1) < 1e-3 {
			inA = 1
		}
		if v < -.05 {
			inB = 1
		}
		a, b, both = a+inA, b+inB, both+inA*inB
	}
	se := 4.9 * math.Sqrt(rate*(1-rate)/n)
	if math.Abs(a/n-rate) > se || math.Abs(b/n-rate) > se {
		t.Errorf("inclusion rates %g and %g, want %g within %g", a/n, b/n, rate, se)
	}
	if p := rate * rate; math.Abs(both/n-p) > 4.9*math.Sqrt(p*(1-p)/n) {
		t.Errorf("both records together in %g of batches, want %g", both/n, p)
	}
}

func TestDescribe(t *testing.T) {
	g := newGradient(line(1))
	g.SampleRate = .25
	for a, shift := range map[account.Adjacency]float64{account.AddRemove: 1, account.ZeroOut: 1,
		account.ReplaceOne: 2} {
		g.Adjacency = a
		r, err := g.Describe(&agent.Query{Oracle: "grad", At: tensor.Vec{0}, Clip: 7})
		if err != nil {
			t.Fatal(err)
		}
		p := r.Parts[0]
		if p.Shift != shift || p.Clip != 7 || r.Scale != .5 || r.Sampler.SampleRate != .25 ||
			r.Sampler.Kind != account.Poisson || r.Adjacency != a {
			t.Errorf("%v: %+v", a, r)
		}
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
	}
	if _, err := g.Describe(&agent.Query{Oracle: "grad", At: tensor.Vec{0, 0}}); err == nil {
		t.Error("a point of wrong length was described")
	}
}

func TestValidate(t *testing.T) {
	for key, edit := range map[string]func(*oracle.Gradient){
		"sample_rate":   func(g *oracle.Gradient) { g.SampleRate = 1.01 },
		"batch_size":    func(g *oracle.Gradient) { g.ExpectedBatchSize = 0 },
		"max_grad_norm": func(g *oracle.Gradient) { g.ClipNorm = math.NaN() },
		"unit":          func(g *oracle.Gradient) { g.Unit = account.Owner() },
	} {
		g := newGradient(line(1))
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		edit(g)
		var e *config.Error
		if err := g.Validate(); !errors.As(err, &e) || e.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func ExampleGradient() {
	g := newGradient(line(.5, 3))
	r, _ := g.Describe(&agent.Query{Oracle: "grad", At: tensor.Vec{1}})
	fmt.Println(r.Oracle, r.Sampler, "clip", r.Parts[0].Clip, "shift", r.Parts[0].Shift, "divided by",
		1/r.Scale)
	fmt.Printf("%.3f\n", evaluate(g, 1, 0, 1))
	// Output:
	// grad poisson/1 clip 1 shift 1 divided by 2
	// -1.500
}
