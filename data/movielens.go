package data

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sotto/config"
	"sotto/data/als"
	"sotto/data/ratings"
	"sotto/tensor"
)

// MovieLensParams are the parameters of "movielens" and "made-ratings".
type MovieLensParams struct {
	Path string `toml:"path"` // the file u.data; "" is ml-100k/u.data below the data folder
	// file u.item, which features genres needs; "" is ml-100k/u.item in the data folder
	Items string `toml:"items"`
	// TestFraction of every user's ratings is held out, drawn with the seed and rounded
	// down; default .2.
	TestFraction float64 `toml:"test_fraction"`
	// Features are the vectors of movies: "public-users" (default) factorises the ratings
	// of users who gave theirs openly, "genres" takes the flags of u.item, and
	// "all-users" factorises the training ratings of everybody, as published: these
	// features are a release of everybody's ratings that nobody has paid for
	// (Split.Derived).
	Features string `toml:"features"`
	Dim      int    `toml:"dim"` // number of factorised features; default 20
	// the longest vector's norm: all are scaled by one factor; default 1
	FeatureNorm float64 `toml:"feature_norm"`
	ALSLambda   float64 `toml:"als_lambda"` // regularisation of the factorisation, 1e-6 to 1e6; default 10
	ALSSweeps   int     `toml:"als_sweeps"` // alternations of the factorisation; default 20
	// PublicUsers is the number of users, drawn with the seed, who gave their ratings
	// openly. They are in neither part. Default 100.
	PublicUsers int `toml:"public_users"`
	// Center is subtracted from every rating, a public constant: default 3, the middle of
	// the scale. UserMean subtracts the mean of the user's own training ratings instead,
	// as published, which is one more unpaid release (claim C20).
	Center   float64 `toml:"center"`
	UserMean bool    `toml:"user_mean"`
}

// Names of MovieLensParams.Features.
const (
	publicUsers = "public-users"
	genres      = "genres"
	allUsers    = "all-users"
)

func movieLensDefaults() MovieLensParams {
	return MovieLensParams{
		TestFraction: .2,
		Features:     publicUsers,
		Dim:          20,
		FeatureNorm:  1,
		ALSLambda:    10,
		ALSSweeps:    20,
		PublicUsers:  100,
		Center:       3,
	}
}

func (p *MovieLensParams) validate() error {
	switch {
	case !(p.TestFraction > 0 && p.TestFraction < 1):
		return config.Bad("test_fraction", p.TestFraction, "above 0 and below 1")
	case p.Features != publicUsers && p.Features != genres && p.Features != allUsers:
		return config.Bad("features", p.Features, "all-users, genres, public-users")
	case p.Dim < 1 || p.Dim > 200:
		return config.Bad("dim", p.Dim, "1 to 200")
	case !(p.FeatureNorm > 0 && p.FeatureNorm <= 1e6):
		return config.Bad("feature_norm", p.FeatureNorm, "above 0, at most 1e6")
	case !(p.ALSLambda >= 1e-6 && p.ALSLambda <= 1e6):
		return config.Bad("als_lambda", p.ALSLambda, "1e-6 to 1e6")
	case p.ALSSweeps < 1 || p.ALSSweeps > 1000:
		return config.Bad("als_sweeps", p.ALSSweeps, "1 to 1000")
	case p.PublicUsers < 0 || p.PublicUsers == 0 && p.Features == publicUsers:
		return config.Bad("public_users", p.PublicUsers,
			"at least 0, and at least 1 with features public-users")
	case !(p.Center >= 0 && p.Center <= 5):
		return config.Bad("center", p.Center, "0 to 5")
	}
	return nil
}

// derived names what is made from private training ratings for all to see, and paid for
// by nobody; "" without.
func (p *MovieLensParams) derived() string {
	var parts []string
	if p.Features == allUsers {
		parts = append(parts, "features from all users' training ratings")
	}
	if p.UserMean {
		parts = append(parts, "ratings less their user's own mean")
	}
	return strings.Join(parts, ", ")
}

// MovieLens-100K may not be redistributed; its users fetch it themselves.
const movieLensHint = "it may not be redistributed: accept its terms at " +
	"https://grouplens.org/datasets/movielens/100k/, unpack ml-100k.zip into the data folder, or set path " +
	"and items of [data]"

// movieLens loads the user's MovieLens-100K (Harper, Konstan 2015): one record a rating,
// its features the movie's vector, its target the rating less a center, its group the
// user, in ascending order of ids without the public users. Which ratings are held out
// depends on their places in the file alone, so that replacing one moves no other.
// Split.Vectors has each user's training targets by movie, 0 where there is none: cosines
// of ratings less their mean, not of ratings, which are all of one sign.
func movieLens(decode func(any) error, src Source) (*Split, error) {
	p := movieLensDefaults()
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	path, items := p.Path, p.Items
	if path == "" {
		path = filepath.Join(src.Dir, "ml-100k", "u.data")
	}
	if items == "" {
		items = filepath.Join(src.Dir, "ml-100k", "u.item")
	}
	b, err := movieLensBytes(path)
	if err != nil {
		return nil, err
	}
	all, err := ratings.Read(bytes.NewReader(b), path)
	if err != nil {
		return nil, err
	}
	if p.Features != genres {
		items = ""
	}
	p.Path, p.Items = "", items // where the files lie does not matter
	return p.ratingSplit("movielens", all, path, src.Seed, []string{hexSum(b)})
}

// ratingSplit makes the data set called name of ratings, whose place errors name file;
// Items is the path of the genres, where these are the features. sums are the files'.
func (p MovieLensParams) ratingSplit(name string, all []als.Rating, file string, seed uint64,
	sums []string) (*Split, error) {
	t, err := newRatingTable(all, file, p.PublicUsers, seed)
	if err != nil {
		return nil, err
	}
	t.holdOut(p.TestFraction, seed)
	var features tensor.Mat
	if p.Features == genres {
		b, err := movieLensBytes(p.Items)
		if err != nil {
			return nil, err
		}
		sums = append(sums, hexSum(b))
		if features, err = ratings.ReadGenres(bytes.NewReader(b), p.Items); err != nil {
			return nil, err
		}
		if features.Rows < t.items {
			return nil, &config.Error{File: p.Items, Found: fmt.Sprintf("%d movies", features.Rows),
				Allowed: fmt.Sprintf("at least %d, the largest id in %s", t.items, file)}
		}
	} else {
		features = als.Factorise(t.learned(p.Features == allUsers), len(t.users)+p.PublicUsers, t.items,
			p.Dim, p.ALSLambda, p.ALSSweeps, seed)
	}
	scaleRows(features, p.FeatureNorm)
	split, err := t.split(name, &p, features)
	if err != nil {
		return nil, err
	}
	p.Items = ""
	return split.seal(p, seed, sums), nil
}

func movieLensBytes(path string) ([]byte, error) {
	b, err := userBytes(path)
	if errors.Is(err, ErrMissing) {
		return nil, fmt.Errorf("%w (%s)", err, movieLensHint)
	}
	return b, err
}

// scaleRows scales all rows by one factor, so that the longest has the given norm.
func scaleRows(m tensor.Mat, to float64) {
	longest := 0.
	for i := range m.Rows {
		longest = max(longest, m.Row(i).Norm())
	}
	if longest > 0 {
		all := tensor.Vec(m.Data)
		all.Scale(to/longest, all)
	}
}
