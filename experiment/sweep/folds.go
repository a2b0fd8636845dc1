package sweep

import (
	"math"
	"slices"
	"strconv"

	"sotto/experiment"
	"sotto/experiment/runfile"
)

// FoldAxis is the key that cross-validation varies.
const FoldAxis = "evaluate.fold"

// lastAxes vary fastest, in this order.
var lastAxes = []string{SeedAxis, FoldAxis}

// addFolds adds the axis of all folds where the run file b asks for folds and neither it
// nor a list says which.
func addFolds(file string, b []byte, set []string, lists map[string][]choice) error {
	if lists[FoldAxis] != nil || lists["evaluate.folds"] != nil || lists["evaluate.repeats"] != nil {
		return nil
	}
	doc, err := runfile.Parse(file, b)
	if err != nil {
		return err
	}
	for _, v := range set {
		if err := doc.Set("--set", v); err != nil {
			return err
		}
	}
	if _, ok := doc.Given("evaluate.folds"); !ok {
		return nil
	}
	var p experiment.EvaluateParams
	if err := doc.Read("evaluate", &p); err != nil {
		return err
	}
	if err := doc.Locate("evaluate", p.CheckCounts()); err != nil {
		return err
	}
	if p.Fold == nil && p.Folds > 0 {
		for k := range p.Runs() {
			lists[FoldAxis] = append(lists[FoldAxis], plain(FoldAxis, strconv.Itoa(k)))
		}
	}
	return nil
}

// Spread is mean and sample standard deviation of some values; SD is 0 for one value.
type Spread struct {
	Values   int
	Mean, SD float64
}

// SpreadOf leaves out values that are NaN; without any, the mean is NaN.
func SpreadOf(values []float64) Spread {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	s := Spread{Values: len(values)}
	sum := 0.
	for _, v := range values {
		sum += v
	}
	s.Mean = sum / float64(s.Values)
	if s.Values > 1 {
		squares := 0.
		for _, v := range values {
			squares += (v - s.Mean) * (v - s.Mean)
		}
		s.SD = math.Sqrt(squares / float64(s.Values-1))
	}
	return s
}
