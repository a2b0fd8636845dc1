package ratings

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/data/als"
)

// What Draw takes from the published description of MovieLens-100K (its README; Harper,
// Konstan 2015) are counts alone.
const (
	madeUsers, madeItems = 943, 1682
	madeTotal            = 100_000
	madeLeastOfUser      = 20
	madeMostOfUser       = 737
	madeMostOfItem       = 583
	madeRank             = 8 // of tastes
)

// madeShares are the shares of ratings 1 to 5.
var madeShares = [5]float64{.06110, .11370, .27145, .34174, .21201}

// Shares of the variance of a latent rating, whose sum is 1: of users' levels, movies'
// levels and tastes; the rest is noise. They are our choice.
const madeOfUsers, madeOfItems, madeOfTastes = .15, .20, .20

// Draw draws ratings that have the size of MovieLens-100K, by user: 943 users, 1,682
// movies, 100,000 ratings, at least 20 of each user, with the long tails that are
// published: the most active user has 737, the most popular movie 583. Numbers of ratings
// follow quantiles of gamma laws with these means and most (shapes .6 and .5, our
// choice); who rates what is drawn by how many ratings movies still lack. A rating is
//
//	1 + the number of thresholds below l_u + l_j + t_u·v_j + e
//
// with levels l_u ~ N(0, .15), l_j ~ N(0, .2), tastes and movies in 8 dimensions with
// inner products of variance .2, noise e ~ N(0, .45), and thresholds at which ratings 1
// to 5 have their published shares (6.11, 11.37, 27.145, 34.174 and 21.201 %). Equal
// seeds give equal ratings on machines of one architecture.
func Draw(seed uint64) []als.Rating {
	r := rand.New(rand.NewPCG(seed, 0x726174696e6773))
	normals := func(n int, variance float64) []float64 {
		x := make([]float64, n)
		for k := range x {
			x[k] = math.Sqrt(variance) * r.NormFloat64()
		}
		return x
	}
	userLevels, itemLevels := normals(madeUsers, madeOfUsers), normals(madeItems, madeOfItems)
	tastes := normals(madeUsers*madeRank, madeOfTastes/madeRank)
	movies := normals(madeItems*madeRank, 1)
	var thresholds [4]float64
	below := 0.
	for k := range thresholds {
		below += madeShares[k]
		thresholds[k] = distuv.UnitNormal.Quantile(below)
	}
	all := make([]als.Rating, 0, madeTotal)
	for u, rated := range drawPairs(r) {
		for _, j := range rated {
			x := userLevels[u] + itemLevels[j] +
				math.Sqrt(1-madeOfUsers-madeOfItems-madeOfTastes)*r.NormFloat64()
			for k := range madeRank {
				x += tastes[u*madeRank+k] * movies[int(j)*madeRank+k]
			}
			value, _ := slices.BinarySearch(thresholds[:], x)
			all = append(all, als.Rating{User: int32(u + 1), Item: j + 1, Value: float64(value + 1)})
		}
	}
	return all
}

// drawPairs draws which movies each user rates. Users in random order take movies without
// replacement, in proportion to the ratings that these still lack; a movie that lacks as
// many as there are users left is taken.
func drawPairs(r *rand.Rand) [][]int32 {
	ofUser := longTail(madeUsers, madeLeastOfUser, madeMostOfUser, .6)
	lacks := longTail(madeItems, 1, madeMostOfItem, .5)
	r.Shuffle(madeItems, func(a, b int) { lacks[a], lacks[b] = lacks[b], lacks[a] })
	slices.Reverse(ofUser) // most active first: at the end many movies are left for few
	rated := make([][]int32, madeUsers)
	type key struct {
		item int32
		at   float64
	}
	order := r.Perm(madeUsers)
	for k, u := range order {
		keys := make([]key, 0, madeItems)
		for j, n := range lacks {
			switch {
			case n >= madeUsers-k:
				keys = append(keys, key{int32(j), math.Inf(-1)})
			case n > 0: // the first of n exponential times (Efraimidis, Spirakis 2006)
				keys = append(keys, key{int32(j), r.ExpFloat64() / float64(n)})
			}
		}
		slices.SortFunc(keys, func(a, b key) int {
			if a.at < b.at || a.at == b.at && a.item < b.item {
				return -1
			}
			return 1
		})
		for _, x := range keys[:min(ofUser[k], len(keys))] {
			rated[u] = append(rated[u], x.item)
			lacks[x.item]--
		}
	}
	return rated
}

// longTail are n ascending numbers from least to most with sum madeTotal: quantiles of a
// gamma law of the given shape, shifted by least, with a scale for that sum.
func longTail(n, least, most int, shape float64) []int {
	law := distuv.Gamma{Alpha: shape, Beta: 1}
	at := make([]float64, n)
	for k := range at {
		at[k] = law.Quantile((float64(k) + .5) / float64(n))
	}
	count := func(k int, scale float64) int {
		if k == n-1 {
			return most
		}
		return min(most, least+int(scale*at[k]))
	}
	low, high := 0., float64(madeTotal)
	for range 60 {
		mid, sum := (low+high)/2, 0
		for k := range at {
			sum += count(k, mid)
		}
		if sum > madeTotal {
			high = mid
		} else {
			low = mid
		}
	}
	counts, sum := make([]int, n), 0
	for k := range counts {
		counts[k] = count(k, low)
		sum += counts[k]
	}
	for k := n / 2; sum < madeTotal; k++ { // what rounding has left, one each
		counts[k]++
		sum++
	}
	slices.Sort(counts)
	return counts
}
