package data_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"sotto/data"
	"sotto/data/summary"
)

// Labels disagree with the hidden vector at the flip rate: n·.05 ± 5 sd, false reject
// below 1e-6 for a fresh seed. Points lie on the unit sphere; ‖x‖₁ is 8.0 at p = 100 and
// 3.6 at p = 20 on average (√(2p/π)).
func TestLinearTasks(t *testing.T) {
	for dim, norm1 := range map[int]float64{100: 8.0, 20: 3.6} {
		s := load(t, "linear-tasks", "", fmt.Sprintf("dim = %d", dim))
		if len(s.Train.GroupNames) != 100 || s.GroundTruth.Rows != 100 || s.Test.Len() != 10_000 {
			t.Errorf("%d groups, %d hidden vectors, %d test records", len(s.Train.GroupNames),
				s.GroundTruth.Rows,
				s.Test.Len())
		}
		for g, n := range summary.Of(s.Train).Groups {
			if n < 10 || n > 100 {
				t.Errorf("agent %d has %d records", g, n)
			}
		}
		for _, d := range []*data.Dataset{s.Train, s.Test} {
			wrong, sum := 0., 0.
			for i := range d.Len() {
				x := d.X.Row(i)
				if math.Abs(x.Norm()-1) > 1e-6 {
					t.Fatalf("record %d has norm %v", i, x.Norm())
				}
				for _, v := range x {
					sum += math.Abs(float64(v))
				}
				if (x.Dot(s.GroundTruth.Row(int(d.Groups[i]))) > 0) != (d.Labels[i] == 1) {
					wrong++
				}
			}
			n := float64(d.Len())
			if math.Abs(wrong-.05*n) > 5*math.Sqrt(.05*.95*n) {
				t.Errorf("%v of %v labels are flipped", wrong, n)
			}
			if math.Abs(sum/n-norm1) > .06 {
				t.Errorf("dim %d: mean L1 norm %v, want %v", dim, sum/n, norm1)
			}
		}
		for i := range 100 {
			if h := s.GroundTruth.Row(i); h[0] == 0 || h[1] == 0 || slices.Max(h[2:]) != 0 ||
				slices.Min(h[2:]) != 0 {
				t.Errorf("hidden vector %d: %v", i, h[:4])
			}
		}
	}
}

func TestLeastSquares(t *testing.T) {
	s := load(t, "least-squares", "", "")
	if !slices.Equal(summary.Of(s.Train).Groups, []int{100, 100, 100, 100, 100}) ||
		s.GroundTruth.Cols != 10 {
		t.Errorf("%v, %d columns", summary.Of(s.Train).Groups, s.GroundTruth.Cols)
	}
	if r := residual(s, s.Train); r > 1e-5 {
		t.Errorf("residual %v without noise", r)
	}
	// The residual's mean square over 20,000 records has standard error noise²/100: 5 of
	// them.
	noisy := load(t, "least-squares", "", "noise = 0.5\nagents = 20\nrecords = 1000")
	if r := residual(noisy, noisy.Train); math.Abs(r*r-.25) > 5*.25/100 {
		t.Errorf("residual %v with noise .5", r)
	}
}

func residual(s *data.Split, d *data.Dataset) float64 {
	var sum float64
	for i := range d.Len() {
		e := d.X.Row(i).Dot(s.GroundTruth.Row(0)) - float64(d.Targets[i])
		sum += e * e
	}
	return math.Sqrt(sum / float64(d.Len()))
}

// In the cube coordinates have the variance 1/3 (5 standard errors, those of a uniform
// square: sqrt(4/45 n)), the test part has labels of its own rate, and the digests differ
// from the sphere's.
func TestLinearTasksInTheCube(t *testing.T) {
	s := load(t, "linear-tasks", "", "dim = 20\npoints = \"cube\"\ntest_flip = 0.0")
	sum, n := 0., float64(len(s.Train.X.Data))
	for _, v := range s.Train.X.Data {
		if v < -1 || v > 1 {
			t.Fatalf("coordinate %v outside the cube", v)
		}
		sum += float64(v) * float64(v)
	}
	if math.Abs(sum/n-1./3) > 5*math.Sqrt(4./45/n) {
		t.Errorf("mean square %v, want 1/3", sum/n)
	}
	for i := range s.Test.Len() {
		if (s.Test.X.Row(i).Dot(s.GroundTruth.Row(int(s.Test.Groups[i]))) > 0) != (s.Test.Labels[i] == 1) {
			t.Fatalf("test label %d is wrong", i)
		}
	}
	if s.Train.Digest == load(t, "linear-tasks", "", "dim = 20\ntest_flip = 0.0").Train.Digest {
		t.Error("the digest does not tell the cube from the sphere")
	}
	if load(t, "linear-tasks", "", "dim = 20\npoints = \"sphere\"").Train.Digest !=
		load(t, "linear-tasks", "", "dim = 20").Train.Digest {
		t.Error("the default written out has another digest")
	}
}

// With test_agents some agents have test records, and the training part is that of all.
func TestFewTestAgents(t *testing.T) {
	all := load(t, "linear-tasks", "", "agents = 10\ndim = 3\ntest = 4")
	few := load(t, "linear-tasks", "", "agents = 10\ndim = 3\ntest = 4\ntest_agents = 3")
	if !slices.Equal(all.Train.X.Data, few.Train.X.Data) || all.Train.Digest == few.Train.Digest {
		t.Error("the training part differs, or its digest does not")
	}
	if want := []int32{0, 0, 0, 0, 3, 3, 3, 3, 6, 6, 6, 6}; !slices.Equal(few.Test.Groups, want) {
		t.Errorf("test records of agents %v, want %v", few.Test.Groups, want)
	}
}

func TestGeneratorsRefuse(t *testing.T) {
	for _, c := range []struct{ name, params, key string }{
		{"linear-tasks", "agents = 0", "agents"},
		{"linear-tasks", "dim = 1", "dim"},
		{"linear-tasks", "records_min = 0", "records_min"},
		{"linear-tasks", "records_max = 5", "records_max"},
		{"linear-tasks", "flip = 0.6", "flip"},
		{"linear-tasks", "test = 0", "test"},
		{"linear-tasks", "points = \"ball\"", "points"},
		{"linear-tasks", "test_flip = 0.6", "test_flip"},
		{"linear-tasks", "agents = 100000\ndim = 10000", "agents"},
		{"linear-tasks", "agents = 1000001", "agents"},
		{"linear-tasks", "agents = 5\ntest_agents = 6", "test_agents"},
		{"least-squares", "agents = -1", "agents"},
		{"least-squares", "records = 0", "records"},
		{"least-squares", "dim = 0", "dim"},
		{"least-squares", "noise = -1.0", "noise"},
		{"least-squares", "test = 0", "test"},
		{"least-squares", "agents = 100000\nrecords = 1000000", "agents"},
		{"values", "agents = 0", "agents"},
		{"values", "dim = 10001", "dim"},
		{"values", "records = 0", "records"},
		{"values", "within = nan", "within"},
		{"values", "agents = 1000000\ndim = 10000", "dim"},
		{"quadratics", "agents = 0", "agents"},
		{"quadratics", "dim = 5000", "dim"},
		{"quadratics", "curvature_min = 0.0", "curvature_min"},
		{"quadratics", "curvature_min = nan", "curvature_min"},
		{"quadratics", "curvature_min = 2.0\ncurvature_max = 1.0", "curvature_max"},
		{"quadratics", "spread = -1.0", "spread"},
		{"quadratics", "agents = 1000\ndim = 4096", "dim"},
	} {
		_, err := data.Load(c.name, "", 1, params(c.params))
		wantBad(t, c.name+" "+c.params, err, c.key)
	}
}

// The loss of "quadratics" is Σ h_r/2 (θ_r - b_r)² at every agent, h in geometric
// progression, and on the test records that above the minimum of the mean over agents.
func TestQuadratics(t *testing.T) {
	const agents, dim = 4, 3
	s := load(t, "quadratics", "", "agents = 4\ndim = 3\ncurvature_min = 0.5\ncurvature_max = 8\nspread = 2")
	h := []float64{.5, 2, 8}
	theta := []float64{1.5, -.25, .75}
	loss := func(d *data.Dataset, from, to int, theta []float64) (sum float64) {
		for i := from; i < to; i++ {
			r := -float64(d.Targets[i])
			for c, x := range d.X.Row(i) {
				r += float64(x) * theta[c]
			}
			sum += r * r / float64(to-from)
		}
		return sum
	}
	if s.Train.Len() != agents*dim || s.Test.Len() != dim {
		t.Fatalf("%d and %d records", s.Train.Len(), s.Test.Len())
	}
	centre := make([]float64, dim)
	mean := func(theta []float64) (sum float64) {
		for i := range agents {
			sum += loss(s.Train, i*dim, (i+1)*dim, theta) / agents
		}
		return sum
	}
	for i := range agents {
		want := 0.
		for c := range dim {
			row := i*dim + c
			b := float64(s.Train.Targets[row]) / float64(s.Train.X.Row(row)[c])
			want += h[c] / 2 * (theta[c] - b) * (theta[c] - b)
			centre[c] += b / agents
			if s.Train.Groups[row] != int32(i) {
				t.Errorf("record %d belongs to agent %d", row, s.Train.Groups[row])
			}
		}
		if got := loss(s.Train, i*dim, (i+1)*dim, theta); math.Abs(got-want) > 1e-5*want {
			t.Errorf("agent %d: loss %g, want %g", i, got, want)
		}
	}
	for c, x := range s.GroundTruth.Row(0) {
		if math.Abs(float64(x)-centre[c]) > 1e-6 {
			t.Errorf("the optimum's coordinate %d is %g, want %g", c, x, centre[c])
		}
	}
	if got, want := loss(s.Test, 0, dim, theta), mean(theta)-mean(centre); math.Abs(got-want) > 1e-5*want {
		t.Errorf("the test loss is %g, the training loss above its minimum %g", got, want)
	}
}

// Labels follow the logistic model: over 20,000 records the mean of (label - p) and of
// (label - p)·z, p = 1/(1+e^-z), are 0 within 5 standard errors, at most 1/2 and |z|/2 a
// record (false reject below 1e-6 each for a fresh seed). The last entries of the hidden
// vector are 0 where asked for, under both data sets.
func TestLogisticRegression(t *testing.T) {
	s := load(t, "logistic-regression", "", "agents = 20\nrecords = 1000\nzeros = 4")
	if len(s.Train.GroupNames) != 20 || s.Train.Len() != 20_000 || s.GroundTruth.Cols != 10 {
		t.Errorf("%d groups, %d records, %d columns", len(s.Train.GroupNames), s.Train.Len(),
			s.GroundTruth.Cols)
	}
	sum, along, squares := 0., 0., 0.
	for i, label := range s.Train.Labels {
		z := s.Train.X.Row(i).Dot(s.GroundTruth.Row(0))
		off := float64(label) - 1/(1+math.Exp(-z))
		sum, along, squares = sum+off, along+off*z, squares+z*z/4
	}
	if math.Abs(sum) > 5*math.Sqrt(20_000./4) || math.Abs(along) > 5*math.Sqrt(squares) {
		t.Errorf("labels are %v off in sum, %v along the rule", sum, along)
	}
	for _, name := range []string{"logistic-regression", "least-squares"} {
		h := load(t, name, "", "zeros = 4").GroundTruth.Row(0)
		for c, v := range h {
			if (v == 0) != (c >= 6) {
				t.Errorf("%s: entry %d of the hidden vector is %v", name, c, v)
			}
		}
	}
}

// The values of "values" have norm at most 1 where nothing is spread around them, and
// Hidden is their mean.
func TestValues(t *testing.T) {
	s := load(t, "values", "", "agents = 50\ndim = 4\nrecords = 3\nwithin = 0")
	var mean [4]float64
	for i := range s.Train.Len() {
		row := s.Train.X.Row(i)
		if n := row.Norm(); n > 1 || s.Train.Groups[i] != int32(i/3) ||
			i%3 > 0 && !slices.Equal(row, s.Train.X.Row(i-1)) {
			t.Errorf("record %d of group %d: norm %g", i, s.Train.Groups[i], n)
		}
		for c, x := range row {
			mean[c] += float64(x) / 150
		}
	}
	for c, x := range mean {
		if math.Abs(x-float64(s.GroundTruth.Data[c])) > 1e-7 || s.Test.X.Data[c] != s.GroundTruth.Data[c] {
			t.Errorf("element %d: the mean is %g, GroundTruth has %g", c, x, s.GroundTruth.Data[c])
		}
	}
	// Uniform in a cube of side 1: the mean of 200 centre elements is within 6 standard
	// deviations of 0, false reject 2e-9.
	if all := (mean[0] + mean[1] + mean[2] + mean[3]) / 4; math.Abs(all) > 6*math.Sqrt(1./12/200) {
		t.Errorf("mean element %g", all)
	}
	spread := load(t, "values", "", "agents = 2\ndim = 4\nrecords = 2\nwithin = 0.5")
	if slices.Equal(spread.Train.X.Row(0), spread.Train.X.Row(1)) {
		t.Error("records of one agent are equal")
	}
}
