package oracle_test

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
)

func user(t *testing.T, d *data.Dataset, index []int32, clip float64,
	a account.Adjacency) *oracle.OwnerGradient {
	t.Helper()
	u := &oracle.OwnerGradient{
		Model:     logisticModel(t, d.X.Cols),
		Records:   oracle.Records{Data: d, Index: index},
		ClipNorm:  clip,
		Adjacency: a,
		Pool:      oracle.NewPool(),
	}
	if err := u.Validate(); err != nil {
		t.Fatal(err)
	}
	return u
}

func userAnswer(u *oracle.OwnerGradient, theta tensor.Vec) (tensor.Vec, []int64) {
	v := privacy.Value{Float: make(tensor.Vec, len(theta))}
	u.Evaluate(&v, &agent.Query{At: theta}, nil)
	grid := make([]int64, len(theta))
	if !math.IsInf(u.ClipNorm, 1) {
		u.EvaluateGrid(grid, &agent.Query{At: theta}, nil)
	}
	return v.Float, grid
}

// The answer is the mean of all gradients, clipped as a whole, beside a double-precision
// reference; in integers it is that, truncated.
func TestOwnerGradient(t *testing.T) {
	const n, dim = 400, 13
	d := points(n, dim)
	theta := make(tensor.Vec, dim)
	for k := range theta {
		theta[k] = float32(k)/5 - 1
	}
	for name, index := range map[string][]int32{"in a row": rows(n)[7:393], "apart": {3, 8, 90, 91, 399},
		"one": {5}, "none": nil} {
		for _, clip := range []float64{.05, 1e6, math.Inf(1)} {
			mean, size := reference(d, index, theta, account.L2, math.Inf(1)), 0.
			for k := range mean {
				mean[k] /= max(1, float64(len(index)))
				size += mean[k] * mean[k]
			}
			factor := 1.
			if size > 0 {
				factor = min(1, clip/math.Sqrt(size))
			}
			got, grid := userAnswer(user(t, d, index, clip, account.ReplaceOne), theta)
			for k, x := range got {
				if math.Abs(float64(x)-factor*mean[k]) > 2e-6 {
					t.Errorf("%s, clip %g: coordinate %d is %g, want %g", name, clip, k, x, factor*mean[k])
				}
				if math.IsInf(clip, 1) {
					continue
				}
				step := privacy.GridStep(clip)
				if exact := float64(grid[k]) * step; math.Abs(exact-factor*mean[k]) > 2e-6+step {
					t.Errorf("%s, clip %g: coordinate %d is %g in integers, want %g", name, clip, k, exact,
						factor*mean[k])
				}
			}
		}
	}
}

// Whatever the records hold, the answer is no longer than the clip, in either form: also
// where gradients are not finite or overflow.
func TestOwnerGradientIsBounded(t *testing.T) {
	const dim = 50
	d := points(6, dim)
	for k := range dim {
		d.X.Row(0)[k] = math.MaxFloat32 / 2
		d.X.Row(1)[k] = float32(math.NaN())
		d.X.Row(2)[k] = float32(math.Inf(1))
		d.X.Row(3)[k] = math.MaxFloat32 / 2
		d.X.Row(4)[k] = 1e-30
	}
	for _, index := range [][]int32{{0}, {0, 3}, {1, 2}, {0, 1, 2, 3, 4, 5}, {4}, {5}} {
		for _, clip := range []float64{1e-6, 1, 1e4} {
			got, grid := userAnswer(user(t, d, index, clip, account.ReplaceOne), make(tensor.Vec, dim))
			exact := 0.
			for _, g := range grid {
				exact += float64(g) * float64(g)
			}
			if n := got.Norm(); !(n <= clip) {
				t.Errorf("records %v, clip %g: norm %g", index, clip, n)
			}
			if n := math.Sqrt(exact) * privacy.GridStep(clip); !(n <= clip) {
				t.Errorf("records %v, clip %g: norm %g in integers", index, clip, n)
			}
		}
	}
}

// The release protects an owner, with all records each time, and states 2 clips under
// replace-one and one elsewhere.
func TestUserDescribe(t *testing.T) {
	d := points(6, 4)
	for a, shift := range map[account.Adjacency]float64{account.ReplaceOne: 2, account.ZeroOut: 1,
		account.AddRemove: 1} {
		u := user(t, d, rows(6), .4, a)
		r, err := u.Describe(&agent.Query{At: make(tensor.Vec, 4)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(); err != nil || r.Unit != account.Owner() ||
			r.Sampler.Kind != account.FullBatch || r.Parts[0].Clip != .4 || r.Parts[0].Shift != shift ||
			r.Scale != 1 {
			t.Errorf("%v: %+v, %v", a, r, err)
		}
	}
	u := user(t, d, rows(6), .4, account.ZeroOut)
	var bad *config.Error
	if _, err := u.Describe(&agent.Query{At: make(tensor.Vec, 5)}); !errors.As(err, &bad) {
		t.Errorf("a point of another length: %v", err)
	}
	u.ClipNorm = 0
	if err := u.Validate(); !errors.As(err, &bad) || bad.Key != "max_grad_norm" {
		t.Errorf("clip 0: %v", err)
	}
}
