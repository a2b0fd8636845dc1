package agent

import (
	"slices"
	"testing"
)

// A schedule says how often each round asks, in few numbers where rounds ask alike.
func TestSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		asks    []int
		answers []int
	}{
		"never":            {nil, nil},
		"once":             {[]int{1}, []int{1}},
		"every round":      {[]int{1, 1, 1, 1, 1}, []int{1}},
		"twice in a round": {[]int{2, 2, 2, 2}, []int{2}},
		"every third":      {[]int{1, 0, 0, 1, 0, 0, 1, 0, 0, 1}, []int{1, 0, 0}},
		"late":             {[]int{0, 0, 0, 2}, []int{0, 0, 0, 2}},
		"more at first":    {[]int{3, 1, 1, 1, 1}, []int{3, 1, 1, 1, 1}},
		"two, three":       {[]int{2, 3, 2, 3, 2}, []int{2, 3}},
	} {
		s := Schedule{}
		for _, n := range c.asks {
			s.Add(n)
		}
		for k := range len(c.asks) + 3 {
			want := 0
			if k < len(c.asks) {
				want = c.asks[k]
			}
			if got := s.At(uint64(k)); got != want {
				t.Errorf("%s: round %d asks %d times, want %d: %+v", name, k, got, want, s)
			}
		}
		if !slices.Equal(s.Answers, c.answers) {
			t.Errorf("%s: kept as %+v, want %v", name, s, c.answers)
		}
	}
}
