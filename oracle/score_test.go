package oracle

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// scoreOf evaluates a score at fixed parameters.
func scoreOf(t *testing.T, d *data.Dataset, loss bool, clip float64) float64 {
	t.Helper()
	m := imageOracle(t, images(1), Augmentation{}, 1).Model
	o := &Score{
		Model:     m,
		Records:   Records{Data: d},
		Loss:      loss,
		ClipNorm:  clip,
		Adjacency: account.ReplaceOne,
		Pool:      NewPool(),
	}
	for i := range d.Len() {
		o.Records.Index = append(o.Records.Index, int32(i))
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	theta := make(tensor.Vec, m.Dim())
	m.Init(theta, rng.Public(1, "score test"))
	q := &agent.Query{Oracle: "score", At: theta}
	if r, err := o.Describe(q); err != nil || r.Parts[0].Clip != clip || r.Parts[0].Shift != 1 ||
		r.Sampler.Kind != account.FullBatch {
		t.Fatalf("release %+v, %v", r, err)
	}
	v := privacy.Value{Float: make(tensor.Vec, 1)}
	o.Evaluate(&v, q, nil)
	if v.Step != privacy.GridStep(clip) || len(v.Grid) != 1 {
		t.Fatalf("a score of %d integers, step %g", len(v.Grid), v.Step)
	}
	return float64(v.Grid[0]) * v.Step
}

// A score counts right answers, or sums losses cut at the clip, one record at a time.
func TestScoreCounts(t *testing.T) {
	d := images(700) // more than one gathering
	m := imageOracle(t, d, Augmentation{}, 1).Model
	theta := make(tensor.Vec, m.Dim())
	m.Init(theta, rng.Public(1, "score test"))
	var w model.Workspace
	right, cut := 0., 0.
	for i := range d.Len() {
		b := &model.Batch{X: tensor.NewMat(1, 60), Labels: d.Labels[i : i+1]}
		copy(b.X.Row(0), d.X.Row(i))
		e := model.Evaluate(m, theta, b, &w)
		right += float64(e.Correct)
		cut += math.Min(e.Loss, 1.1)
	}
	if got := scoreOf(t, d, false, 1); got != right || right == 0 || right == 700 {
		t.Errorf("%g right answers, want %g", got, right)
	}
	if got := scoreOf(t, d, true, 1.1); math.Abs(got-cut) > 1e-5*cut || cut > 700*1.1-1 {
		t.Errorf("losses sum to %g, want %g", got, cut)
	}
	if got := scoreOf(t, images(0), false, 1); got != 0 {
		t.Errorf("an owner without records scores %g", got)
	}
}

// Whatever a record holds, putting it in, blanking it or exchanging it moves the score by
// at most the clip.
func TestScoreSensitivity(t *testing.T) {
	for _, loss := range []bool{false, true} {
		clip := 1.
		if loss {
			clip = .25
		}
		base := scoreOf(t, images(9), loss, clip)
		var with []float64
		for _, scale := range []float32{0, 1, 1e4, 1e30, float32(math.Inf(1)), float32(math.NaN())} {
			d := images(10)
			d.X.Row(9).Scale(float64(scale), d.X.Row(9))
			s := scoreOf(t, d, loss, clip)
			if !(s >= base && s <= base+clip) {
				t.Errorf("loss %v: a record times %g moves the score from %g to %g", loss, scale, base, s)
			}
			with = append(with, s)
		}
		if loss && math.Abs(with[5]-base-clip) > 1e-6 {
			t.Errorf("a loss that is no number counts %g, want the clip %g", with[5]-base, clip)
		}
	}
}

// A sum over thousands of records moves by no more than one of them adds: in float32 half
// of these moved by up to .04 % of the clip more.
func TestScoreOfManyRecords(t *testing.T) {
	for k := range 6 {
		clip := 5 + float64(k)/7
		without, with := images(9_000), images(9_001)
		for _, d := range []*data.Dataset{without, with} {
			for i := range d.Len() {
				d.X.Row(i).Scale(1e4, d.X.Row(i)) // most losses are cut
			}
		}
		for c := range with.X.Row(9_000) {
			with.X.Row(9_000)[c] = float32(math.NaN())
		}
		a, b := scoreOf(t, without, true, clip), scoreOf(t, with, true, clip)
		step := privacy.GridStep(clip)
		if moved := math.Round(b/step) - math.Round(a/step); moved != 1<<20 {
			t.Errorf("clip %g: the score moves by %g steps of its grid, want %d", clip, moved, 1<<20)
		}
	}
}

func TestScoreRefuses(t *testing.T) {
	for _, o := range []Score{{ClipNorm: 0, Loss: true}, {ClipNorm: math.Inf(1), Loss: true},
		{ClipNorm: math.NaN()},
		{ClipNorm: 1e-31, Loss: true}, {ClipNorm: 2}} {
		var bad *config.Error
		if err := o.Validate(); !errors.As(err, &bad) || bad.Key != "score_clip" {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
