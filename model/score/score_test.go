package score_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"sotto/config"
	"sotto/model/score"
	"sotto/rng"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(b)) }

// binary is predictions of class 1 with probabilities p.
func binary(t testing.TB, p []float64, labels ...int32) *score.Predictions {
	t.Helper()
	var both []float64
	for _, v := range p {
		both = append(both, 1-v, v)
	}
	s, err := score.Probabilities(both, 2, labels)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check compares figures; NaN stands for one that is undefined.
func check(t *testing.T, s score.Scored, want map[string]float64) {
	t.Helper()
	for name, w := range want {
		got, err := score.Of(s, name)
		var why score.Undefined
		switch {
		case math.IsNaN(w) && (!errors.As(err, &why) || why == "" || got != 0):
			t.Errorf("%s is %v, %v; want none", name, got, err)
		case !math.IsNaN(w) && (err != nil || !near(got, w)):
			t.Errorf("%s is %v, %v; want %v", name, got, err, w)
		}
	}
}

// Eight records, by falling probability, with labels:
//
//	.9 1 | .8 1 | .7 0 | .6 1 | .6 0 | .4 1 | .3 0 | .1 0
//
// Predicted as 1 are the first five: TP 3, FP 2, FN 1, TN 2. So accuracy is 5/8,
// sensitivity 3/4, specificity 2/4, precision 3/5, F1 6/9.
//
// AUROC: of the 4 x 4 pairs, .9 and .8 win 4 each; .6 loses to .7, ties .6, beats two:
// 2.5; .4 beats two. (4+4+2.5+2)/16 = 12.5/16.
//
// Average precision: .9: 1/4 x 1. .8: 1/4 x 1. .7: nothing. .6, two records at once:
// 1/4 x 3/5. .4: 1/4 x 4/6. Sum 1/4 (1 + 1 + 3/5 + 2/3).
//
// Brier: (.01+.04+.49+.16+.36+.36+.09+.01)/8 = 1.52/8.
//
// Calibration: bins of width .1. [.1,.2): |.1-0|, [.3,.4): .3, [.4,.5): |.4-1| = .6,
// [.6,.7): two records, sum of p 1.2 less one hit: .2, [.7,.8): .7, [.8,.9): .2,
// [.9,1]: .1. Sum (.1+.3+.6+.2+.7+.2+.1)/8 = 2.2/8.
func TestBinaryByHand(t *testing.T) {
	s := binary(t, []float64{.9, .8, .7, .6, .6, .4, .3, .1}, 1, 1, 0, 1, 0, 1, 0, 0)
	check(t, s, map[string]float64{
		"accuracy": 5. / 8, "sensitivity": 3. / 4, "specificity": 2. / 4, "precision": 3. / 5, "f1": 6. / 9,
		"auroc": 12.5 / 16, "auprc": (1 + 1 + 3./5 + 2./3) / 4, "brier": 1.52 / 8,
		"calibration_error": 2.2 / 8,
		"log_loss":          -math.Log(.9*.8*.3*.6*.4*.4*.7*.9) / 8,
	})
	if m := s.Confusion(); !slices.Equal(m[0], []int{2, 2}) || !slices.Equal(m[1], []int{1, 3}) {
		t.Errorf("confusion %v", m)
	}
	bins, err := s.Calibration()
	if err != nil || len(bins) != 7 || bins[3].Records != 2 || bins[3].Share != .5 ||
		!near(bins[3].Mean, .6) || bins[3].Low != .6 || bins[3].High != .7 || bins[6].High != 1 {
		t.Errorf("bins %+v, %v", bins, err)
	}
}

// The example of scikit-learn's documentation of roc_auc_score and of
// average_precision_score: labels 0 0 1 1, scores .1 .4 .35 .8 give .75 and .8333.
func TestPublishedExample(t *testing.T) {
	scores, positive := []float64{.1, .4, .35, .8}, []bool{false, false, true, true}
	if v, err := score.AUROC(scores, positive); err != nil || v != .75 {
		t.Errorf("auroc %v, %v", v, err)
	}
	if v, err := score.AveragePrecision(scores, positive); err != nil || !near(v, 5./6) {
		t.Errorf("average precision %v, %v", v, err)
	}
}

// Four records of three classes, of four that there may be:
//
//	label 0: .7 .2 .1 0 -> 0    label 1: .5 .3 .2 0 -> 0
//	label 1: .1 .8 .1 0 -> 1    label 2: .3 .4 .3 0 -> 1
//
// Class 3 does not occur and counts nowhere. AUROC: class 0: .7 beats .5 .1 .3: 1. Class
// 1: .3 beats .2, loses to .4; .8 beats both: 3/4. Class 2: .3 beats .1 .2 .1: 1. Mean
// 11/12. Average precision: 1; class 1 by falling score .8 yes, .4 no, .3 yes:
// (1 + 2/3)/2; 1. Sensitivity: 1, 1/2, 0. Specificity: 2/3, 1/2, 1. Precision: 1/2, 1/2,
// and 0 for class 2, which is never predicted. F1: 2/3, 1/2, 0. Brier: (.09+.04+.01) +
// (.25+.49+.04) + (.01+.04+.01) + (.09+.16+.49) = 1.72, over 4. Calibration: the
// predicted class has .7 right, .5 wrong, .8 right, .4 wrong: (.3+.5+.2+.4)/4.
func TestClassesByHand(t *testing.T) {
	s, err := score.Probabilities([]float64{.7, .2, .1, 0, .5, .3, .2, 0, .1, .8, .1, 0, .3, .4, .3, 0}, 4,
		[]int32{0, 1, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, map[string]float64{
		"accuracy": 2. / 4, "auroc": 11. / 12, "auprc": (1 + 5./6 + 1) / 3, "sensitivity": 1.5 / 3,
		"specificity": (2./3 + 1./2 + 1) / 3, "precision": 1. / 3, "f1": (2./3 + 1./2) / 3,
		"brier": 1.72 / 4, "calibration_error": 1.4 / 4, "log_loss": -math.Log(.7*.3*.8*.3) / 4,
	})
	m := s.Confusion()
	for k, row := range [][]int{{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}} {
		if !slices.Equal(m[k], row) {
			t.Errorf("confusion of %d: %v", k, m[k])
		}
	}
}

// Targets 1 2 3 6 with mean 3, predicted as 1 3 3 4: residuals 0 -1 0 2. Squares sum to
// 5 of 14; absolute ones to 3.
func TestRegressionByHand(t *testing.T) {
	s, err := score.Regression([]float64{1, 3, 3, 4}, []float64{1, 2, 3, 6})
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, map[string]float64{"r2": 1 - 5./14, "mae": 3. / 4, "rmse": math.Sqrt(5. / 4)})
	// the mean of 1 and 5 is that of the targets too: R2 is 0
	mean, err := score.Mean([]float64{1, 5}, []float64{1, 2, 3, 6})
	if err != nil {
		t.Fatal(err)
	}
	check(t, mean, map[string]float64{"r2": 0, "mae": 6. / 4, "rmse": math.Sqrt(14. / 4)})
}

// Counts 0 1 2 5, predicted as 1 1 1 5: unit deviances 2, 0, 2 (2 ln 2 - 1) and 0. The
// predictions have the mean of the targets.
func TestCountsByHand(t *testing.T) {
	s, err := score.Counts([]float64{1, 1, 1, 5}, []float64{0, 1, 2, 5})
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, map[string]float64{"deviance": (2 + 2*(2*math.Ln2-1)) / 4, "mean_ratio": 1, "mae": .5})
	mean, err := score.MeanCount([]float64{2}, []float64{0, 4})
	if err != nil {
		t.Fatal(err)
	}
	check(t, mean, map[string]float64{"deviance": (4 + 2*(4*math.Ln2-2)) / 2, "mean_ratio": 1})
	none, err := score.Counts([]float64{0, 0}, []float64{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	check(t, none, map[string]float64{"deviance": 0})
	if _, err := score.Of(none, "mean_ratio"); err == nil {
		t.Error("a ratio to no counts")
	}
	sure, err := score.Counts([]float64{0}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := score.Of(sure, "deviance"); err == nil {
		t.Error("an infinite deviance")
	}
	below, err := score.Counts([]float64{1}, []float64{-1})
	if err != nil {
		t.Fatal(err)
	}
	check(t, below, map[string]float64{"mae": 2})
	for _, name := range []string{"deviance", "mean_ratio"} {
		if _, err := score.Of(below, name); err == nil {
			t.Errorf("%s of a negative count", name)
		}
	}
}

// Shares of labels 0 0 0 1 are .75 and .25. On labels 1 0 0: class 0 is predicted, equal
// ranks give an area of one half, and a precision that is that of chance.
func TestMajority(t *testing.T) {
	s, err := score.Majority([]int32{0, 1, 0, 0}, 2, []int32{1, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, map[string]float64{"accuracy": 2. / 3, "auroc": .5, "auprc": 1. / 3, "sensitivity": 0,
		"specificity": 1, "precision": math.NaN(), "brier": (.75*.75 + 2*.25*.25) / 3,
		"calibration_error": 1./3 - .25, "log_loss": -math.Log(.25*.75*.75) / 3})
	if _, err := score.Majority(nil, 2, []int32{1}); err == nil {
		t.Error("a majority of nobody")
	}
	if _, err := score.Mean(nil, []float64{1}); err == nil {
		t.Error("a mean of nothing")
	}
}

// What one class, no record, one target and broken outputs leave undefined is said.
func TestUndefined(t *testing.T) {
	none := math.NaN()
	check(t, binary(t, []float64{.9, .2}, 1, 1), map[string]float64{"accuracy": .5, "auroc": none,
		"auprc": none, "specificity": none, "sensitivity": .5, "precision": 1})
	check(t, binary(t, []float64{.9, .2}, 0, 0), map[string]float64{"accuracy": .5, "auroc": none,
		"auprc": none, "sensitivity": none, "precision": 0, "f1": 0})
	check(t, binary(t, []float64{.1, .2}, 0, 0), map[string]float64{"precision": none, "f1": none})
	for _, name := range score.Names(binary(t, nil)) {
		check(t, binary(t, nil), map[string]float64{name: none})
	}
	flat, err := score.Regression([]float64{1, 2}, []float64{3, 3})
	if err != nil {
		t.Fatal(err)
	}
	check(t, flat, map[string]float64{"r2": none, "mae": 1.5})
	huge, err := score.Regression([]float64{-1e300, 0}, []float64{1e300, 1})
	if err != nil {
		t.Fatal(err)
	}
	check(t, huge, map[string]float64{"rmse": none, "r2": none, "mae": 1e300})
	broken, err := score.Logits([]float64{math.NaN(), 2, -1}, 1, 2, []int32{0, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	check(t, broken, map[string]float64{"accuracy": 2. / 3, "auroc": none, "log_loss": none, "brier": none,
		"calibration_error": none, "sensitivity": .5})
	if _, err := broken.Calibration(); err == nil {
		t.Error("bins of outputs that are not finite")
	}
	margins, err := score.Margins([]float64{-3, 2, -1}, 1, 2, []int32{0, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	check(t, margins, map[string]float64{"accuracy": 2. / 3, "auroc": 1, "log_loss": none, "brier": none})
	one, err := score.Probabilities([]float64{1, 0, 0}, 3, []int32{0})
	if err != nil {
		t.Fatal(err)
	}
	check(t, one, map[string]float64{"auroc": none, "specificity": none, "log_loss": 0})
	never := binary(t, []float64{0}, 1)
	check(t, never, map[string]float64{"log_loss": -math.Log(score.LeastProbability)})
}

// Logits keep their order where probabilities have all rounded to 1, with one output and
// with several.
func TestLogits(t *testing.T) {
	labels := []int32{1, 0, 1, 0}
	one, err := score.Logits([]float64{60, 50, 45, -1}, 1, 2, labels)
	if err != nil {
		t.Fatal(err)
	}
	check(t, one, map[string]float64{"auroc": 3. / 4, "accuracy": 3. / 4})
	two, err := score.Logits([]float64{0, 60, 1, 51, 2, 47, 1, 0}, 2, 2, labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range score.Names(one) {
		a, _ := score.Of(one, name)
		if b, err := score.Of(two, name); err != nil || !near(a, b) {
			t.Errorf("%s is %v of one output, %v of two, %v", name, a, b, err)
		}
	}
	// a softmax of 0, ln 2, ln 5 is 1/8, 2/8, 5/8
	three, err := score.Logits([]float64{7, 7 + math.Log(2), 7 + math.Log(5)}, 3, 3, []int32{1})
	if err != nil {
		t.Fatal(err)
	}
	check(t, three, map[string]float64{"log_loss": math.Log(4), "brier": (1. + 36 + 25) / 64})
}

func TestRefusals(t *testing.T) {
	refused := func(what string, err error) {
		var bad *config.Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, p := range map[string][]float64{"a short row": {.5, .5, 1}, "a sum of .9": {.5, .4},
		"NaN": {math.NaN(), 1}, "a negative one": {-.1, 1.1}} {
		_, err := score.Probabilities(p, 2, []int32{0})
		refused(what, err)
	}
	_, err := score.Probabilities([]float64{.5, .5}, 2, []int32{2})
	refused("a label", err)
	_, err = score.Probabilities(nil, 1, nil)
	refused("one class", err)
	_, err = score.Logits([]float64{1, 2}, 2, 3, []int32{0})
	refused("two outputs for three classes", err)
	_, err = score.AUROC([]float64{1}, nil)
	refused("a score without a record", err)
	_, err = score.AUROC([]float64{math.NaN()}, []bool{true})
	refused("a score that is no number", err)
	_, err = score.Regression([]float64{1}, nil)
	refused("a prediction without a target", err)
	_, err = score.Regression([]float64{1}, []float64{math.Inf(1)})
	refused("an infinite target", err)
	_, err = score.Of(binary(t, []float64{1}, 1), "r2")
	refused("a figure of a regression", err)
}

// chance is random predictions, with ties.
func chance(t testing.TB, seed uint64, n, classes int) ([]float64, []int32, *score.Predictions) {
	t.Helper()
	r := rng.Public(seed, "scores of a test")
	z, labels := make([]float64, n*classes), make([]int32, n)
	for i := range labels {
		labels[i] = int32(r.Below(uint64(classes)))
		for k := range classes {
			z[i*classes+k] = float64(r.Below(6))
		}
		z[i*classes+int(labels[i])] += float64(r.Below(3))
	}
	s, err := score.Logits(z, classes, classes, labels)
	if err != nil {
		t.Fatal(err)
	}
	return z, labels, s
}

// The area is the share of pairs in order; average precision is the mean over positives
// of the precision among all that are not below them.
func TestDefinitions(t *testing.T) {
	for seed := range uint64(200) {
		z, labels, _ := chance(t, seed, 3+int(seed%40), 2)
		var scores []float64
		var positive []bool
		for i, y := range labels {
			scores, positive = append(scores, z[2*i+1]), append(positive, y == 1)
		}
		var pairs, won, precision, n float64
		for i, p := range positive {
			if !p {
				continue
			}
			var above, hits float64
			for j, q := range positive {
				if scores[j] >= scores[i] {
					above++
					if q {
						hits++
					}
				}
				if !q {
					pairs++
					if scores[i] > scores[j] {
						won++
					} else if scores[i] == scores[j] {
						won += .5
					}
				}
			}
			n++
			precision += hits / above
		}
		area, err := score.AUROC(scores, positive)
		if pairs == 0 {
			if err == nil {
				t.Errorf("an area of one class: %v", area)
			}
			continue
		}
		if err != nil || !near(area, won/pairs) {
			t.Errorf("area %v, %v; want %v", area, err, won/pairs)
		}
		if v, err := score.AveragePrecision(scores, positive); err != nil || !near(v, precision/n) {
			t.Errorf("average precision %v, %v; want %v", v, err, precision/n)
		}
		// what keeps the order changes nothing; what turns it turns the area
		bent, turned := slices.Clone(scores), slices.Clone(scores)
		for i, v := range scores {
			bent[i], turned[i] = math.Exp(v)-7, -v
		}
		again, _ := score.AUROC(bent, positive)
		other, _ := score.AUROC(turned, positive)
		if again != area || !near(other, 1-area) {
			t.Errorf("area %v, bent %v, turned %v", area, again, other)
		}
		p, _ := score.AveragePrecision(scores, positive)
		if q, _ := score.AveragePrecision(bent, positive); q != p {
			t.Errorf("average precision %v, bent %v", p, q)
		}
	}
}

// The order of the records does not matter, and figures keep their ranges.
func TestPermutationsAndRanges(t *testing.T) {
	top := map[string]float64{"log_loss": 34.54, "brier": 2}
	for seed := range uint64(60) {
		n, classes := 5+int(seed%30), 2+int(seed%4)
		z, labels, _ := chance(t, seed, n, classes)
		r := rng.Public(seed, "an order of a test")
		for i := n - 1; i > 0; i-- {
			j := int(r.Below(uint64(i + 1)))
			labels[i], labels[j] = labels[j], labels[i]
			for k := range classes {
				z[i*classes+k], z[j*classes+k] = z[j*classes+k], z[i*classes+k]
			}
		}
		// s holds labels, but has read the old order of logits: it is made again
		moved, err := score.Logits(z, classes, classes, slices.Clone(labels))
		if err != nil {
			t.Fatal(err)
		}
		_, _, s := chance(t, seed, n, classes)
		for _, name := range score.Names(s) {
			a, errA := score.Of(s, name)
			b, errB := score.Of(moved, name)
			if !near(a, b) || (errA == nil) != (errB == nil) {
				t.Errorf("%s is %v, %v in one order and %v, %v in another", name, a, errA, b, errB)
			}
			if a < 0 || a > max(1, top[name]) {
				t.Errorf("%s is %v", name, a)
			}
		}
	}
}
