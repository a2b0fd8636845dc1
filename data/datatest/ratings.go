// Package datatest makes files in the formats of data sets that may not be shipped, for
// tests.
package datatest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/rng"
)

// Ratings writes u.data as MovieLens does, in an order without meaning, with ratings that
// have a structure to be found: users belong to as many kinds as there are kinds, and
//
//	rating of movie j by a user of kind k = 3.2 + level of the user + level of the movie
//	    + taste_k·movie_j + N(0, .3²)
//
// in a space of rank dimensions, rounded to 1 .. 5, with levels of standard deviation .4
// and .6. Every user rates least .. most movies. Equal arguments give equal bytes.
func Ratings(users, items, kinds, rank, least, most int, seed uint64) []byte {
	draw := rng.Public(seed, "ratings")
	unit := func() []float64 {
		v := make([]float64, rank+rank%2)
		draw.Normals(v)
		v = v[:rank]
		square := 0.
		for _, x := range v {
			square += x * x
		}
		for k := range v {
			v[k] /= math.Sqrt(square)
		}
		return v
	}
	tastes, movies, levels := make([][]float64, kinds), make([][]float64, items),
		make([]float64, items+items%2)
	draw.Normals(levels)
	for k := range tastes {
		tastes[k] = unit()
	}
	for j := range movies {
		movies[j] = unit()
		for k := range movies[j] {
			movies[j][k] *= math.Sqrt(float64(rank))
		}
	}
	var lines []string
	normal := make([]float64, 2)
	for u := range users {
		draw.Normals(normal)
		level, taste := .4*normal[0], tastes[u%kinds]
		for _, j := range choose(draw, items, least+int(draw.Below(uint64(most-least+1)))) {
			x := 3.2 + level + .6*levels[j]
			for k, v := range movies[j] {
				x += v * taste[k]
			}
			draw.Normals(normal)
			value := math.Round(min(max(x+.3*normal[0], 1), 5))
			lines = append(lines, fmt.Sprintf("%d\t%d\t%d\t%d\n", u+1, j+1, int(value),
				880_000_000+draw.Below(10_000_000)))
		}
	}
	var b []byte
	for _, k := range choose(draw, len(lines), len(lines)) {
		b = append(b, lines[k]...)
	}
	return b
}

// choose draws k of n numbers, in a random order.
func choose(draw *rng.Stream, n, k int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for i := range k {
		j := i + int(draw.Below(uint64(n-i)))
		all[i], all[j] = all[j], all[i]
	}
	return slices.Clip(all[:k])
}

// Item is a line of MovieLens' u.item with the given flags set.
func Item(id int, flags ...int) string {
	g := strings.Split(strings.Repeat("0", 19), "")
	for _, k := range flags {
		g[k] = "1"
	}
	return fmt.Sprintf("%d|Caf\xe9 (1995)|01-Jan-1995||http://x|%s\n", id, strings.Join(g, "|"))
}
