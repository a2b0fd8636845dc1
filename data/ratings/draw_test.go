package ratings

import (
	"math"
	"slices"
	"testing"

	"sotto/data/als"
)

// The published description of MovieLens-100K: 943 users with at least 20 ratings,
// median 65, most 737; 1,682 movies with at least one, median 27, most 583; 100,000
// ratings with mean 3.53, no pair twice. Shares of the values are drawn: those of ratings
// 1 to 5 keep within .03 of the published ones (their sd over seeds is below .008).
func TestDrawAreOfTheSize(t *testing.T) {
	for seed := range uint64(3) {
		all := Draw(seed)
		users, items, values := make([]int, madeUsers), make([]int, madeItems), [5]float64{}
		pairs, sum := map[[2]int32]bool{}, 0.
		for _, r := range all {
			users[r.User-1]++
			items[r.Item-1]++
			values[int(r.Value)-1]++
			sum += r.Value
			pairs[[2]int32{r.User, r.Item}] = true
		}
		slices.Sort(users)
		slices.Sort(items)
		got := []int{len(all), len(pairs), users[0], users[471], users[942], items[0], items[841],
			items[1681]}
		if want := []int{100_000, 100_000, 20, 65, 737, 1, 27, 583}; !slices.Equal(got, want) {
			t.Errorf("seed %d: counts %v, want %v", seed, got, want)
		}
		if mean := sum / 100_000; math.Abs(mean-3.53) > .1 {
			t.Errorf("seed %d: mean %.3f, want 3.53 ± .1", seed, mean)
		}
		for k, n := range values {
			if math.Abs(n/100_000-madeShares[k]) > .03 {
				t.Errorf("seed %d: share of %d is %.4f, want %.4f ± .03", seed, k+1, n/100_000, madeShares[k])
			}
		}
	}
}

// Equal seeds give equal ratings, others give others; both sides have levels: means of
// users and of movies with 30 ratings or more vary by more than noise alone makes them
// (variance 1.27/n of n ratings).
func TestDrawHaveLevels(t *testing.T) {
	all := Draw(1)
	if !slices.Equal(all, Draw(1)) || slices.Equal(all, Draw(2)) {
		t.Error("ratings do not follow from the seed")
	}
	for side, of := range map[string]func(r als.Rating) int32{
		"user":  func(r als.Rating) int32 { return r.User },
		"movie": func(r als.Rating) int32 { return r.Item },
	} {
		sums, counts := map[int32]float64{}, map[int32]float64{}
		for _, r := range all {
			sums[of(r)] += r.Value
			counts[of(r)]++
		}
		n, first, second, noise := 0., 0., 0., 0.
		for k, count := range counts {
			if mean := sums[k] / count; count >= 30 {
				n, first, second, noise = n+1, first+mean, second+mean*mean, noise+1.27/count
			}
		}
		variance := second/n - first/n*first/n
		if variance < 3*noise/n {
			t.Errorf("%s means vary by %.3f, noise alone by %.3f", side, variance, noise/n)
		}
	}
}
