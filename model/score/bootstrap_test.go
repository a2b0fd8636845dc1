package score_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"sotto/model/score"
	"sotto/rng"
)

func judge(t testing.TB, b score.Bootstrap, models ...[]score.Scored) []score.Judgement {
	t.Helper()
	all, err := b.Judge(models...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The interval of an accuracy of k in n is that of a binomial share. Of 100 records, 70
// right: quantiles 2.5 % and 97.5 % of a binomial law of 100 and .7 are 61 and 79 (R:
// qbinom). With 20,000 resamples the quantiles may be one off.
func TestIntervalOfAccuracy(t *testing.T) {
	p, labels := make([]float64, 100), make([]int32, 100)
	for i := range p {
		p[i] = .9
		if i < 70 {
			labels[i] = 1
		}
	}
	b := score.Usual()
	b.Resamples = 20000
	f := judge(t, b, []score.Scored{binary(t, p, labels...)})[0].Figures["accuracy"]
	if f.Value == nil || *f.Value != .7 || f.Interval == nil || math.Abs(f.Interval[0]-.61) > .0101 ||
		math.Abs(f.Interval[1]-.79) > .0101 || f.Without != 0 {
		t.Errorf("%+v", f)
	}
}

// Equal seeds give equal intervals, others other ones; a wider level holds a narrower.
func TestSeedAndLevel(t *testing.T) {
	_, _, s := chance(t, 3, 60, 3)
	at := func(seed uint64, level float64) [2]float64 {
		b := score.Bootstrap{Seed: seed, Resamples: 400, Level: level}
		return *judge(t, b, []score.Scored{s})[0].Figures["auroc"].Interval
	}
	a, wide := at(1, .9), at(1, .99)
	if a != at(1, .9) || a == at(2, .9) || wide[0] > a[0] || wide[1] < a[1] || a[0] >= a[1] {
		t.Errorf("intervals %v, %v, of another seed %v", a, wide, at(2, .9))
	}
}

// A model that is right on 60 of 100 records and one that is right on the same and 4 more
// have intervals that overlap widely. The difference is above 0 in nearly every resample:
// it is 0 with probability .96^100 = .017, less than 2.5 %.
func TestDifferenceIsPaired(t *testing.T) {
	labels := make([]int32, 100)
	p, q := make([]float64, 100), make([]float64, 100)
	for i := range labels {
		labels[i], p[i], q[i] = 1, .2, .2
		if i < 60 {
			p[i] = .8
		}
		if i < 64 {
			q[i] = .8
		}
	}
	b := score.Usual()
	b.Resamples = 20000
	all := judge(t, b, []score.Scored{binary(t, p, labels...)}, []score.Scored{binary(t, q, labels...)})
	d := all[1].Less(&all[0], "accuracy")
	x, y := all[0].Figures["accuracy"].Interval, all[1].Figures["accuracy"].Interval
	if d.Value == nil || !near(*d.Value, .04) || d.Interval[0] <= 0 || x[1] < y[0] {
		t.Errorf("difference %+v of %v and %v", d, x, y)
	}
	if same := all[0].Less(&all[0], "accuracy"); *same.Value != 0 || *same.Interval != [2]float64{} {
		t.Errorf("less itself: %+v", same)
	}
	if f := all[0].Less(&all[1], "auroc"); f.Value != nil || f.Undefined == "" {
		t.Errorf("difference of areas of one class: %+v", f)
	}
}

// With one record of class 1 in ten, .9^10 = 35 % of resamples have no area. With two
// records of which one is of class 1, half of them have none, or nearly: the interval
// goes at half.
func TestResamplesWithoutValue(t *testing.T) {
	b := score.Usual()
	p, labels := make([]float64, 10), make([]int32, 10)
	p[3], labels[3] = .9, 1
	f := judge(t, b, []score.Scored{binary(t, p, labels...)})[0].Figures["auroc"]
	if f.Interval == nil || f.Without < 250 || f.Without > 450 || *f.Value != 1 {
		t.Errorf("%+v", f)
	}
	one := binary(t, []float64{.1, .2}, 0, 1)
	if f = judge(t, b, []score.Scored{one})[0].Figures["auroc"]; (f.Interval == nil) != (f.Without >= 500) {
		t.Errorf("%+v", f)
	}
}

// A model of several sets of predictions has the means of their figures.
func TestMeanOfSeveral(t *testing.T) {
	_, _, a := chance(t, 5, 40, 3)
	z, labels, _ := chance(t, 5, 40, 3)
	for i := range z {
		z[i] = -z[i]
	}
	c, err := score.Logits(z, 3, 3, labels)
	if err != nil {
		t.Fatal(err)
	}
	b := score.Usual()
	b.Resamples = 100
	both := judge(t, b, []score.Scored{a, c})[0].Figures
	for _, name := range score.Names(a) {
		x, _ := score.Of(a, name)
		y, _ := score.Of(c, name)
		if f := both[name]; f.Value == nil || !near(*f.Value, (x+y)/2) || f.Interval == nil {
			t.Errorf("%s of both: %+v; want the mean of %v and %v", name, f, x, y)
		}
	}
}

// Areas of more than 20 classes have no interval. JSON holds numbers or reasons.
func TestManyClassesAndJSON(t *testing.T) {
	_, _, s := chance(t, 1, 30, 21)
	broken, err := score.Logits(append(make([]float64, 29), math.Inf(1)), 1, 2, make([]int32, 30))
	if err != nil {
		t.Fatal(err)
	}
	b := score.Usual()
	b.Resamples = 100
	all := judge(t, b, []score.Scored{s}, []score.Scored{broken})
	if f := all[0].Figures["auroc"]; f.Value == nil || f.Interval != nil {
		t.Errorf("auroc %+v", f)
	}
	if all[0].Figures["accuracy"].Interval == nil {
		t.Error("no interval of an accuracy")
	}
	for _, j := range all {
		text, err := json.Marshal(j.Figures)
		var back map[string]score.Figure
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, j.Figures) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

func TestBootstrapRefusals(t *testing.T) {
	s, other := binary(t, []float64{.1}, 0), binary(t, []float64{.1, .2}, 0, 1)
	for _, tc := range []struct {
		b      score.Bootstrap
		models [][]score.Scored
	}{
		{score.Bootstrap{Resamples: 99, Level: .9}, [][]score.Scored{{s}}},
		{score.Bootstrap{Resamples: 100001, Level: .9}, [][]score.Scored{{s}}},
		{score.Bootstrap{Resamples: 100, Level: 1}, [][]score.Scored{{s}}},
		{score.Bootstrap{Resamples: 100, Level: math.NaN()}, [][]score.Scored{{s}}},
		{score.Usual(), [][]score.Scored{{s}, {other}}},
		{score.Usual(), [][]score.Scored{{s}, {}}},
	} {
		if _, err := tc.b.Judge(tc.models...); err == nil {
			t.Errorf("%+v: not refused", tc)
		}
	}
	if all, err := score.Usual().Judge(); err != nil || all != nil {
		t.Errorf("no models: %v, %v", all, err)
	}
}

// Nothing panics, and no figure is NaN or infinite, whatever the outputs are.
func FuzzFigures(f *testing.F) {
	f.Add([]byte{1, 2, 3, 250, 251, 252}, uint8(2))
	f.Add([]byte{}, uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, classes uint8) {
		outputs := max(1, int(classes%5))
		special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 0}
		var z, targets []float64
		var labels []int32
		for i := range len(b) / outputs {
			labels = append(labels, int32(b[i])%int32(max(2, outputs)))
			targets = append(targets, (float64(b[i])-128)*1e306)
			for _, v := range b[i*outputs : (i+1)*outputs] {
				x := float64(v) - 128
				if int(v) >= 256-len(special) {
					x = special[255-v]
				}
				z = append(z, x)
			}
		}
		var all []score.Scored
		p, err := score.Logits(z, outputs, max(2, outputs), labels)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		if outputs == 1 {
			v, err := score.Regression(z, targets)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		for _, s := range all {
			j := judge(t, score.Bootstrap{Resamples: 100, Level: .9}, []score.Scored{s})
			if _, err := json.Marshal(j[0].Figures); err != nil {
				t.Error(err)
			}
		}
		p.Confusion()
		if bins, err := p.Calibration(); err == nil {
			if _, err := json.Marshal(bins); err != nil {
				t.Error(err)
			}
		}
	})
}

// Two models that are equally good: that the whole interval of their difference lies on
// one side of 0 is to come by chance in one sample of 20, and where records are not many
// in twice as many. Of 200 samples more than 30 have a probability of 1 % then. Without
// intervals for a few records it was more than a third of samples of 1 or 3.
func TestEqualModels(t *testing.T) {
	b := score.Usual()
	b.Resamples = 200
	for _, n := range []int{1, 3, 7, 40} {
		r, clear := rng.Public(3, "equal models", uint64(n)), map[string]int{}
		for range 200 {
			y, noise := make([]float64, n), make([]float64, 2*n)
			r.Normals(y)
			r.Normals(noise)
			labels := make([]int32, n)
			for i := range y {
				noise[i], noise[n+i] = y[i]+noise[i], y[i]+noise[n+i]
				if y[i] > 0 {
					labels[i] = 1
				}
			}
			for _, name := range []string{"accuracy", "r2"} {
				var two [2]score.Scored
				for k := range two {
					z, err := noise[k*n:(k+1)*n], error(nil)
					if two[k], err = score.Logits(z, 1, 2, labels); name == "r2" {
						two[k], err = score.Regression(z, y)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				all := judge(t, b, two[:1], two[1:])
				if in := all[0].Less(&all[1], name).Interval; in != nil && (in[0] > 0 || in[1] < 0) {
					clear[name]++
				}
			}
		}
		if max(clear["accuracy"], clear["r2"]) > 30 {
			t.Errorf("%d records: of 200 differences of equal models %v lie on one side of 0", n, clear)
		}
	}
}
