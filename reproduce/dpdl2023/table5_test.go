package dpdl2023

import (
	"context"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/data"
	"sotto/model"
	"sotto/privacy/account"
	"sotto/reproduce"
	"sotto/rng"
	"sotto/tensor"
)

// handSettings are those of handImages in a run file.
var handSettings = []string{`data.dataset="glyphs"`, "data.train=1500", "data.test=10",
	"data.normalize=true", "data.resize=8"}

// handImages are 120 drawn images of each of ten digits.
func handImages(t *testing.T) *data.Dataset {
	t.Helper()
	split, err := data.Load("glyphs", "", 3, func(p any) error {
		*p.(*data.GlyphParams) = data.GlyphParams{Train: 1500, Test: 10, Normalize: true, Resize: 8}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := attackData(split.Train, false)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The attacked data are 300 images in order of their digits and one without content,
// which counts as a 0.
func TestAttackData(t *testing.T) {
	d := handImages(t)
	if d.Len() != 301 {
		t.Fatalf("%d records", d.Len())
	}
	for r := range 300 {
		if d.Labels[r] != int32(r/100) {
			t.Fatalf("record %d has label %d", r, d.Labels[r])
		}
	}
	for _, x := range d.X.Row(300) {
		if x != d.X.Row(300)[0] {
			t.Fatal("the blank image has content")
		}
	}
	for _, x := range d.X.Row(0) {
		if x > d.X.Row(300)[0] {
			t.Fatal("the blank image is darker than a stroke")
		}
	}
	if d.Labels[300] != 0 {
		t.Errorf("the blank image has label %d", d.Labels[300])
	}
}

// fixedGate answers with a vector.
type fixedGate tensor.Vec

func (fixedGate) Begin(uint64, []agent.Neighbor) {}

func (g fixedGate) Answer(_ *agent.Query, dst tensor.Vec) error {
	copy(dst, g)
	return nil
}

// Of all starts that were looked at, none has a longer gradient of the blank image than
// the one that is taken.
func TestStart(t *testing.T) {
	a, err := newAttacked("dsgd", attack{step: step{first: .1}}, handSettings, "")
	if err != nil {
		t.Fatal(err)
	}
	var w model.Workspace
	length := func(at tensor.Vec) float64 {
		g := make(tensor.Vec, len(at))
		a.e.Task.Model.ClippedGradientSum(g, at, a.blank(), math.Inf(1), &w)
		return math.Sqrt(g.Dot(g))
	}
	taken, other, shorter := length(a.e.Task.Init), make(tensor.Vec, len(a.e.Task.Init)), 0
	for k := range uint64(attackStarts) {
		a.e.Task.Model.Init(other, rng.Public(attackSeed, "init", k))
		switch l := length(other); {
		case l > taken:
			t.Errorf("start %d has %g, the one taken %g", k, l, taken)
		case l < taken:
			shorter++
		}
	}
	if shorter != attackStarts-1 {
		t.Errorf("%d of %d starts have a shorter one", shorter, attackStarts)
	}
}

// An answer that is the others' mean moves the likelihood ratio by ln(1 + q(e^{-m²/2} -
// 1)), one that has the blank image's gradient more by ln(1 + q(e^{m²/2} - 1)), m being
// its length over the noise.
func TestFollower(t *testing.T) {
	a, err := newAttacked("dsgd", attack{step: step{first: .1}}, handSettings, "")
	if err != nil {
		t.Fatal(err)
	}
	a.noise = .05
	dim := a.e.Task.Model.Dim()
	own, others := make(tensor.Vec, dim), make(tensor.Vec, dim)
	var w model.Workspace
	a.e.Task.Model.ClippedGradientSum(own, a.e.Task.Init, a.blank(), attackClip, &w)
	a.e.Task.Model.ClippedGradientSum(others, a.e.Task.Init,
		&model.Batch{X: a.train.X.Slice(0, 100), Labels: a.train.Labels[:100]}, attackClip, &w)
	m := math.Sqrt(own.Dot(own)) / (.05 * attackClip)
	for there, want := range map[float32]float64{0: math.Log1p(.25 * math.Expm1(-m*m/2)),
		1: math.Log1p(.25 * math.Expm1(m*m/2))} {
		answer := make(tensor.Vec, dim)
		for i := range answer {
			answer[i] = (.25*others[i] + there*own[i]) / 25
		}
		f := a.follower(fixedGate(answer))
		if err := f.Answer(&agent.Query{Oracle: "grad", At: a.e.Task.Init}, make(tensor.Vec, dim)); err !=
			nil {
			t.Fatal(err)
		}
		if math.Abs(f.ratio-want) > 1e-4*math.Abs(want) {
			t.Errorf("with %v of the image's gradient: ratio %v, want %v", there, f.ratio, want)
		}
	}
}

// Scores are functions of seeds, whatever the number of goroutines; the noise of every
// algorithm gives the nominal epsilon, and the white-box bound stays below it (false
// alarm: 5 % by the bound's own level; seeds are fixed).
func TestTable5(t *testing.T) {
	for _, m := range withCentral {
		a, err := newAttacked(m, attack{step: step{first: .02}}, handSettings, "")
		if err != nil {
			t.Fatal(err)
		}
		a.e.File.Steps = 4
		if err := a.calibrate(context.Background()); err != nil {
			t.Fatal(err)
		}
		if want := map[string]int{"central": 4, "dsgd": 4, "dsgt": 3, "dinno": 4}[m]; a.answers != want {
			t.Errorf("%s: %d answers in 4 rounds, want %d", m, a.answers, want)
		}
		plan := account.DPSGD(account.AddRemove, attackRate, a.answers)
		plan.NoiseMultiplier = a.noise
		e, err := account.Epsilon(plan, attackDelta)
		if err != nil || e.Upper > attackEpsilon || e.Lower < .99*attackEpsilon {
			t.Errorf("%s: epsilon %v, %v, want 1", m, e, err)
		}
		s, err := a.scores(context.Background(), 3, 2, "test ")
		if err != nil {
			t.Fatal(err)
		}
		one, err := a.run(context.Background(), true, true, 5)
		if err != nil {
			t.Fatal(err)
		}
		two, err := a.run(context.Background(), true, true, 5)
		if err != nil || one.loss != two.loss || one.likelihood != two.likelihood {
			t.Errorf("%s: two runs of one seed differ: %+v, %+v, %v", m, one, two, err)
		}
		if len(s.loss.In) != 3 || len(s.answers.In) != 2 || len(s.answers.Out) != 2 ||
			s.loss.In[0] == s.loss.In[1] {
			t.Errorf("%s: scores %v", m, s.loss)
		}
		white, err := a.whiteBox(plan, attackSize{releases: 400})
		if err != nil || white <= 0 || white > e.Upper {
			t.Errorf("%s: the white-box bound is %v, %v; epsilon is %v", m, white, err, e)
		}
	}
}

// The hash that is checked is that of the first models alone, however many follow, and
// training them again gives it; a last bit changes it.
func TestFirstModels(t *testing.T) {
	a, err := newAttacked("central", attack{step: step{first: .02}}, handSettings, "")
	if err != nil {
		t.Fatal(err)
	}
	a.e.File.Steps = 2
	if err := a.calibrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	d := &reproduce.Document{}
	if err := a.row(context.Background(), d,
		attackSize{models: checkedModels + 1, followed: checkedModels + 1, releases: 400}); err != nil {
		t.Fatal(err)
	}
	again, err := newAttacked("central", attack{step: step{first: .02}}, handSettings, "")
	if err != nil {
		t.Fatal(err)
	}
	again.e.File.Steps = 2
	digest, hash, err := again.firstModels(context.Background())
	if r := d.Rows[0]; err != nil || digest != r[15] || hash != r[17] || hash == r[16] {
		t.Errorf("digest %s and hash %s (%v), the row is %q", digest, hash, err, r)
	}
	s := &attacks{}
	for k := range checkedModels + 1 {
		s.loss.In, s.loss.Out = append(s.loss.In, float64(k)), append(s.loss.Out, -float64(k))
	}
	before := hashScores(s, checkedModels)
	if s.loss.In[checkedModels] = 1; hashScores(s, checkedModels) != before {
		t.Error("a later model changes the hash")
	}
	if s.loss.In[0] = math.SmallestNonzeroFloat64; hashScores(s, checkedModels) == before {
		t.Error("a last bit does not")
	}
}

// Trained as the paper's text implies: a black page, the first of all starts, steps that
// fall, and primal steps of DP-DiNNO by Adam, which are as long as the step size in every
// coordinate; other settings have another digest.
func TestTable5Published(t *testing.T) {
	for _, m := range withCentral {
		a, err := newAttacked(m, publishedAttack(m), handSettings, "")
		if err != nil {
			t.Fatal(err)
		}
		tight, err := newAttacked(m, attack{step: a.step}, handSettings, "")
		if err != nil {
			t.Fatal(err)
		}
		if a.settings() == tight.settings() || a.e.Digest() == tight.e.Digest() && m == "dinno" {
			t.Errorf("%s: other settings, the same digest", m)
		}
		page := a.train.X.Row(300)
		if slices.Max(page) != slices.Min(a.train.X.Data) {
			t.Errorf("%s: the page is not black", m)
		}
		first := make(tensor.Vec, len(a.e.Task.Init))
		a.e.Task.Model.Init(first, rng.Public(attackSeed, "init", 0))
		if !slices.Equal(first, a.e.Task.Init) {
			t.Errorf("%s: not the first start", m)
		}
		a.e.File.Steps = 2
		if err := a.calibrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		d := &reproduce.Document{}
		if err := a.publishedRow(t.Context(), d, checkedModels); err != nil {
			t.Fatal(err)
		}
		again, err := newAttacked(m, publishedAttack(m), handSettings, "")
		if err != nil {
			t.Fatal(err)
		}
		again.e.File.Steps = 2
		digest, hash, err := again.firstModels(t.Context())
		if r := d.Rows[0]; err != nil || r[13] != digest || r[15] != hash || r[14] != hash {
			t.Errorf("%s: %q, again %s and %s, %v", m, r, digest, hash, err)
		}
	}
	if got := publishedAttack("dinno").step; got != (step{.01, .0005}) {
		t.Errorf("DP-DiNNO's steps are %v", got)
	}
}
