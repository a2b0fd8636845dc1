package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/data/als"
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
	ratings, err := ReadRatings(bytes.NewReader(b), path)
	if err != nil {
		return nil, err
	}
	if p.Features != genres {
		items = ""
	}
	p.Path, p.Items = "", items // where the files lie does not matter
	return p.ratingSplit("movielens", ratings, path, src.Seed, []string{hexSum(b)})
}

// ratingSplit makes the data set called name of ratings, whose place errors name file;
// Items is the path of the genres, where these are the features. sums are the files'.
func (p MovieLensParams) ratingSplit(name string, ratings []Rating, file string, seed uint64,
	sums []string) (*Split, error) {
	t, err := newRatingTable(ratings, file, p.PublicUsers, seed)
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
		if features, err = ReadGenres(bytes.NewReader(b), p.Items); err != nil {
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

// Rating is one line of u.data; its time is not kept.
type Rating = als.Rating

const (
	maxRatings = 1 << 22
	maxRaters  = 20_000
	maxItems   = 20_000
)

// ReadRatings reads MovieLens' u.data: on each line user, item, rating and time,
// separated by tabs, in any order. Errors are *config.Error with the line: another number
// of cells, ids outside 1 to 20,000, a rating that is no whole number from 1 to 5, a time
// that is no whole number of seconds, an item that its user rates twice, no lines, more
// than 2^22.
func ReadRatings(r io.Reader, name string) ([]Rating, error) {
	var all []Rating
	seen := map[[2]int32]bool{}
	err := eachLine(r, name, func(text string) *config.Error {
		cells := strings.Split(text, "\t")
		if len(cells) != 4 {
			return &config.Error{Found: fmt.Sprintf("%d cells", len(cells)),
				Allowed: "user, item, rating, time, separated by tabs"}
		}
		user, bad := wholeNumber("user", cells[0], 1, maxRaters)
		if bad != nil {
			return bad
		}
		item, bad := wholeNumber("item", cells[1], 1, maxItems)
		if bad != nil {
			return bad
		}
		value, bad := wholeNumber("rating", cells[2], 1, 5)
		if bad != nil {
			return bad
		}
		if _, bad = wholeNumber("time", cells[3], 0, 1<<40); bad != nil {
			return bad
		}
		k := [2]int32{int32(user), int32(item)}
		if seen[k] {
			return &config.Error{Key: "item", Found: cells[1],
				Allowed: "items that user " + cells[0] + " has not rated on an earlier line"}
		}
		if len(all) == maxRatings {
			return &config.Error{Found: "one more line",
				Allowed: fmt.Sprintf("at most %d ratings", maxRatings)}
		}
		seen[k] = true
		all = append(all, Rating{User: k[0], Item: k[1], Value: float64(value)})
		return nil
	})
	if err == nil && len(all) == 0 {
		err = &config.Error{File: name, Line: 1, Found: "no ratings", Allowed: "at least one"}
	}
	return all, err
}

const (
	itemCells  = 24
	genreCount = 19
)

// ReadGenres reads MovieLens' u.item: on each line 24 cells separated by "|", the id
// first, ascending from 1 without a gap, and 19 genre flags, 0 or 1, last. Titles are not
// looked at. Row i-1 has the flags of movie i. Errors are *config.Error with the line.
func ReadGenres(r io.Reader, name string) (tensor.Mat, error) {
	var flags []float32
	rows := 0
	err := eachLine(r, name, func(text string) *config.Error {
		cells := strings.Split(text, "|")
		if len(cells) != itemCells {
			return &config.Error{Found: fmt.Sprintf("%d cells", len(cells)),
				Allowed: fmt.Sprintf("%d, separated by |", itemCells)}
		}
		if rows == maxItems {
			return &config.Error{Found: "one more line", Allowed: fmt.Sprintf("at most %d movies", maxItems)}
		}
		if _, bad := wholeNumber("id", cells[0], rows+1, rows+1); bad != nil {
			return bad
		}
		for _, c := range cells[itemCells-genreCount:] {
			v, bad := wholeNumber("genre", c, 0, 1)
			if bad != nil {
				return bad
			}
			flags = append(flags, float32(v))
		}
		rows++
		return nil
	})
	if err == nil && rows == 0 {
		err = &config.Error{File: name, Line: 1, Found: "no movies", Allowed: "at least one"}
	}
	if err != nil {
		return tensor.Mat{}, err
	}
	return tensor.Mat{Rows: rows, Cols: genreCount, Stride: genreCount, Data: flags}, nil
}

// eachLine calls f for every line, without its end, and places its errors.
func eachLine(r io.Reader, name string, f func(text string) *config.Error) error {
	sc := bufio.NewScanner(r)
	line := 0
	for sc.Scan() {
		line++
		if err := f(sc.Text()); err != nil {
			err.File, err.Line = name, line
			return err
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &config.Error{
			File:    name,
			Line:    line + 1,
			Found:   "a line above 64 KiB",
			Allowed: "shorter lines",
		}
	} else if err != nil {
		return fmt.Errorf("data: %s: %w", name, err)
	}
	return nil
}

// wholeNumber reads a decimal number without a sign.
func wholeNumber(key, cell string, low, high int) (int, *config.Error) {
	v, err := strconv.ParseUint(cell, 10, 63)
	if err != nil || int(v) < low || int(v) > high {
		return 0, &config.Error{Key: key, Found: strconv.Quote(cell),
			Allowed: fmt.Sprintf("%d to %d", low, high)}
	}
	return int(v), nil
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
