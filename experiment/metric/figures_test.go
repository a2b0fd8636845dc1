package metric

import (
	"math"
	"testing"

	"sotto/model/score"
)

// Three predictions of .25 with one hit and one of .21 with one: 4 predictions, mean .24,
// share 1/2. Bins of one model stay as they are.
func TestPooled(t *testing.T) {
	models := []judged{
		{bins: []score.Bin{{Low: .2, High: .3, Records: 3, Mean: .25, Share: 1. / 3}}},
		{bins: []score.Bin{{Low: .2, High: .3, Records: 1, Mean: .21, Share: 1},
			{Low: .9, High: 1, Records: 2, Mean: .95, Share: .5}}},
		{},
	}
	got := pooled(models)
	if len(got) != 2 || got[0].Records != 4 || math.Abs(got[0].Mean-.24) > 1e-12 ||
		math.Abs(got[0].Share-.5) > 1e-12 || got[0].Low != .2 || got[1].Records != 2 || got[1].High != 1 {
		t.Errorf("%+v", got)
	}
	if pooled(nil) != nil {
		t.Error("bins of nothing")
	}
}

// A figure that an agent does not have is left out of mean, least and largest.
func TestLine(t *testing.T) {
	value := func(v float64) *float64 { return &v }
	models := []judged{{values: []*float64{value(.2)}, undefined: []string{""}},
		{values: []*float64{nil}, undefined: []string{"all records have one class"}},
		{values: []*float64{value(.6)}, undefined: []string{""}}}
	l := line("auroc", 0, models, []judged{{values: []*float64{value(.5)}}, {values: []*float64{nil}}})
	if l.Agents != 2 || math.Abs(l.Over.Mean-.4) > 1e-12 || l.Over.Min != .2 || l.Over.Max != .6 ||
		*l.Baseline != .5 || l.Undefined != "all records have one class" || l.ByAgent[1] != nil {
		t.Errorf("%+v", l)
	}
	l = line("auroc", 0, models[1:2], []judged{{values: []*float64{nil}}})
	if l.Agents != 0 || l.Over != nil || l.Baseline != nil {
		t.Errorf("%+v", l)
	}
}

func TestAdded(t *testing.T) {
	sum := added(added(nil, [][]int{{1, 2}, {3, 4}}), [][]int{{10, 0}, {0, 20}})
	if sum[0][0] != 11 || sum[0][1] != 2 || sum[1][0] != 3 || sum[1][1] != 24 {
		t.Errorf("%v", sum)
	}
	if added(nil, nil) != nil {
		t.Error("a table of nothing")
	}
}
