package score

import (
	"cmp"
	"math"
	"slices"

	"sotto/config"
)

// order is records by falling score.
type order struct {
	rows []int32
	hits []bool  // by place: whether the record is positive
	ends []int32 // one behind the last place of each group of equal scores
}

// newOrder sorts n records. at must not return NaN.
func newOrder(n int, at func(row int) float64, positive func(row int) bool) order {
	o := order{rows: make([]int32, n), hits: make([]bool, n)}
	for i := range o.rows {
		o.rows[i] = int32(i)
	}
	slices.SortFunc(o.rows, func(a, b int32) int {
		return cmp.Or(cmp.Compare(at(int(b)), at(int(a))), cmp.Compare(a, b))
	})
	for i, row := range o.rows {
		o.hits[i] = positive(int(row))
		if i+1 == n || at(int(row)) != at(int(o.rows[i+1])) {
			o.ends = append(o.ends, int32(i+1))
		}
	}
	return o
}

// groups calls f with how many records of the class and of all others each group of equal
// scores has, from the highest score.
func (o *order) groups(w []int32, f func(in, out int64)) {
	lo := int32(0)
	for _, hi := range o.ends {
		var in, all int64
		for i, row := range o.rows[lo:hi] {
			n := int64(w[row])
			all += n
			if o.hits[lo+int32(i)] {
				in += n
			}
		}
		f(in, all-in)
		lo = hi
	}
}

// auroc is exact but for one division: twice the number of pairs in order, with ties as
// one half, is a whole number.
func (o *order) auroc(w []int32) (float64, error) {
	var in, out, twice int64 // twice the pairs in which the record of the class is lower, or equal
	o.groups(w, func(p, n int64) {
		twice += p * (2*out + n)
		in += p
		out += n
	})
	if in == 0 || out == 0 {
		return 0, oneClass
	}
	all := 2 * float64(in) * float64(out)
	return (all - float64(twice)) / all, nil
}

func (o *order) averagePrecision(w []int32) (float64, error) {
	var in, out int64
	var sum float64
	o.groups(w, func(p, n int64) {
		in += p
		out += n
		if p > 0 {
			sum += float64(p) * float64(in) / float64(in+out)
		}
	})
	if in == 0 || out == 0 {
		return 0, oneClass
	}
	return sum / float64(in), nil
}

// AUROC is the probability that a positive record has a higher score than another, where
// equal scores count one half: the rank statistic of Mann and Whitney with midranks. It
// is Undefined unless both kinds of records are there. A NaN among the scores, or another
// number of scores than of records, is a config.Error.
func AUROC(scores []float64, positive []bool) (float64, error) {
	return ranked((*order).auroc, scores, positive)
}

// AveragePrecision is the sum over distinct scores, from the highest, of the recall that
// is gained times the precision of all records down to it. Equal scores are one step.
// Errors are those of AUROC.
func AveragePrecision(scores []float64, positive []bool) (float64, error) {
	return ranked((*order).averagePrecision, scores, positive)
}

func ranked(f func(*order, []int32) (float64, error), scores []float64,
	positive []bool) (float64, error) {
	if len(scores) != len(positive) {
		return 0, config.Bad("scores", len(scores), "one for each record")
	}
	if len(scores) == 0 {
		return 0, noRecords
	}
	if slices.ContainsFunc(scores, math.IsNaN) {
		return 0, config.Bad("scores", "NaN", "numbers that can be ordered")
	}
	o := newOrder(len(scores), func(row int) float64 { return scores[row] },
		func(row int) bool { return positive[row] })
	return f(&o, ones(len(scores)))
}
