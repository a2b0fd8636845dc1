package data

import (
	"sotto/config"
	"sotto/data/ratings"
)

// madeRatings draws ratings (ratings.Draw) that have the size of MovieLens-100K, which
// may not be redistributed, and then goes the way of "movielens" with its parameters, but
// for path, items and features genres: nothing of it is that data set.
func madeRatings(decode func(any) error, src Source) (*Split, error) {
	p := movieLensDefaults()
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	switch {
	case p.Path != "" || p.Items != "":
		return nil, config.Bad("path", p.Path+p.Items, "nothing, nor items: made-ratings are generated")
	case p.Features == genres:
		return nil, config.Bad("features", p.Features, "one of all-users, public-users with made-ratings")
	}
	return p.ratingSplit("made-ratings", ratings.Draw(src.Seed), "made-ratings", src.Seed,
		nil)
}
