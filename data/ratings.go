package data

import (
	"fmt"
	"slices"
	"strconv"

	"sotto/config"
	"sotto/data/als"
	"sotto/tensor"
)

// ratingTable are ratings by user: those of public users, and of all others what is to be
// trained on and tested. In its ratings a user is a number: place in users, or after
// these for a public one.
type ratingTable struct {
	file        string
	users       []int32 // ids of those who are not public, ascending
	items       int     // largest id
	public      []als.Rating
	train, test []als.Rating // in order of the file; all in train before holdOut
}

// newRatingTable draws the public users.
func newRatingTable(ratings []als.Rating, file string, public int, seed uint64) (*ratingTable, error) {
	t := &ratingTable{file: file}
	var ids []int32
	for _, r := range ratings {
		ids = append(ids, r.User)
		t.items = max(t.items, int(r.Item))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if public >= len(ids) {
		return nil, config.Bad("public_users", public,
			fmt.Sprintf("fewer than the %d users of %s", len(ids), file))
	}
	if len(ids)-public > maxCells/t.items {
		return nil, &config.Error{File: file, Found: fmt.Sprintf("%d users and %d movies", len(ids), t.items),
			Allowed: fmt.Sprintf("at most %d pairs", maxCells)}
	}
	open := make(map[int32]bool, public)
	for _, k := range source(seed).Perm(len(ids))[:public] {
		open[ids[k]] = true
	}
	place := make(map[int32]int32, len(ids))
	for _, id := range ids {
		if !open[id] {
			place[id] = int32(len(t.users))
			t.users = append(t.users, id)
		}
	}
	next := int32(len(t.users))
	for _, id := range ids {
		if open[id] {
			place[id] = next
			next++
		}
	}
	for _, r := range ratings {
		to := &t.train
		if open[r.User] {
			to = &t.public
		}
		*to = append(*to, als.Rating{User: place[r.User], Item: r.Item, Value: r.Value})
	}
	return t, nil
}

// holdOut moves fraction of every user's ratings, rounded down, to test.
func (t *ratingTable) holdOut(fraction float64, seed uint64) {
	of := make([][]int32, len(t.users))
	for k, r := range t.train {
		of[r.User] = append(of[r.User], int32(k))
	}
	held := make([]bool, len(t.train))
	draw := source(seed)
	for _, places := range of {
		draw.Shuffle(len(places), func(a, b int) { places[a], places[b] = places[b], places[a] })
		for _, k := range places[:int(fraction*float64(len(places)))] {
			held[k] = true
		}
	}
	var rest []als.Rating
	for k, r := range t.train {
		if held[k] {
			t.test = append(t.test, r)
		} else {
			rest = append(rest, r)
		}
	}
	t.train = rest
}

// learned are the ratings that features are made from.
func (t *ratingTable) learned(all bool) []als.Rating {
	if all {
		return append(slices.Clone(t.train), t.public...)
	}
	return t.public
}

// split makes the parts.
func (t *ratingTable) split(name string, p *MovieLensParams, features tensor.Mat) (*Split, error) {
	if len(t.test) == 0 {
		return nil, config.Bad("test_fraction", p.TestFraction, "a value that leaves ratings to test")
	}
	if len(t.train) > maxCells/features.Cols {
		return nil, config.Bad("dim", features.Cols,
			fmt.Sprintf("at most %d with %d ratings", maxCells/len(t.train), len(t.train)))
	}
	center := make([]float64, len(t.users))
	for u := range center {
		center[u] = p.Center
	}
	if p.UserMean {
		center = als.Means(t.train, len(t.users))
	}
	names := make([]string, len(t.users))
	for u, id := range t.users {
		names[u] = "user " + strconv.Itoa(int(id))
	}
	part := func(ratings []als.Rating) *Dataset {
		d := flat(name, tensor.NewMat(len(ratings), features.Cols))
		d.Targets, d.Groups, d.GroupNames = make([]float32, len(ratings)), make([]int32, len(ratings)), names
		for k, r := range ratings {
			copy(d.X.Row(k), features.Row(int(r.Item)-1))
			d.Targets[k], d.Groups[k] = float32(r.Value-center[r.User]), r.User
		}
		return d
	}
	s := &Split{
		Train:   part(t.train),
		Test:    part(t.test),
		Derived: p.derived(),
		Vectors: tensor.NewMat(len(t.users), t.items),
	}
	for _, r := range t.train {
		s.Vectors.Row(int(r.User))[r.Item-1] = float32(r.Value - center[r.User])
	}
	return s, nil
}
