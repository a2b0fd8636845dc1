package score_test

import (
	"reflect"
	"testing"

	"sotto/model/score"
	"sotto/rng"
)

// Of 40 persons with 10 records each, about which a model is right for a person as a
// whole with probability .7, the interval of the accuracy misses .7, and that of the
// difference of two such models misses 0, in one sample of 20, or somewhat more. Of 200
// samples more than 26 have a probability below 1e-4 at 6.5 %. Were records drawn in the
// place of persons, more than half of them would.
func TestPersonsAreDrawn(t *testing.T) {
	const persons, each = 40, 10
	b := score.Usual()
	b.Resamples = 200
	r, misses := rng.Public(5, "persons"), [2]int{}
	for range 200 {
		var whose, labels []int32
		p, q := []float64(nil), []float64(nil)
		for k := range persons {
			x, y := .2, .2
			if r.Float64() < .7 {
				x = .8
			}
			if r.Float64() < .7 {
				y = .8
			}
			for range each {
				whose, labels = append(whose, int32(k)), append(labels, 1)
				p, q = append(p, x), append(q, y)
			}
		}
		all, err := b.JudgeBy(whose, []score.Scored{binary(t, p, labels...)},
			[]score.Scored{binary(t, q, labels...)})
		if err != nil {
			t.Fatal(err)
		}
		for k, f := range []score.Figure{all[0].Figures["accuracy"], all[0].Less(&all[1], "accuracy")} {
			if want := [2]float64{.7, 0}[k]; f.Interval[0] > want+1e-9 || f.Interval[1] < want-1e-9 {
				misses[k]++
			}
		}
	}
	if max(misses[0], misses[1]) > 26 {
		t.Errorf("of 200 intervals of an accuracy, and of a difference, %v miss", misses)
	}
}

// Persons of one record each are records, and the differences of few persons have no
// interval, however many records they have.
func TestPersonsAndRecords(t *testing.T) {
	b := score.Usual()
	_, _, s := chance(t, 3, 60, 3)
	_, _, o := chance(t, 4, 60, 3)
	whose := make([]int32, 60)
	for k := range whose {
		whose[k] = int32(k)
	}
	plain := judge(t, b, []score.Scored{s})
	same, err := b.JudgeBy(whose, []score.Scored{s})
	if err != nil || !reflect.DeepEqual(plain[0].Figures, same[0].Figures) {
		t.Errorf("persons of one record: %v", err)
	}
	same, err = b.JudgeBy(make([]int32, 60), []score.Scored{s})
	if err != nil || !reflect.DeepEqual(plain[0].Figures, same[0].Figures) {
		t.Errorf("one person alone: %v", err)
	}
	for k := range whose {
		whose[k] %= score.FewestCompared - 1
	}
	few, err := b.JudgeBy(whose, []score.Scored{s}, []score.Scored{o})
	if err != nil {
		t.Fatal(err)
	}
	if f := few[0].Less(&few[1], "accuracy"); f.Interval != nil || f.Value == nil {
		t.Errorf("the difference of 19 persons has an interval: %+v", f)
	}
	if f := few[0].Figures["accuracy"]; f.Interval == nil {
		t.Error("the accuracy of 19 persons has no interval")
	}
	if _, err := b.JudgeBy(whose[1:], []score.Scored{s}); err == nil {
		t.Error("persons of 59 records of 60 are taken")
	}
}
