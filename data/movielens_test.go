package data_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/data"
	"sotto/data/datatest"
	"sotto/data/ratings"
)

// made writes u.data, and u.item with a flag that tells even movies from odd ones, where
// the data set looks for them.
func made(t testing.TB, ratings []byte, items int) string {
	t.Helper()
	dir := t.TempDir()
	var list strings.Builder
	for i := 1; i <= items; i++ {
		list.WriteString(datatest.Item(i, i%2, 2))
	}
	folder := filepath.Join(dir, "ml-100k")
	if err := errors.Join(os.Mkdir(folder, 0o755),
		os.WriteFile(filepath.Join(folder, "u.data"), ratings, 0o644),
		os.WriteFile(filepath.Join(folder, "u.item"), []byte(list.String()), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Counts, parts, targets and vectors against the file's own lines. Targets are ratings
// less the center; with user_mean less the mean of the user's training ratings, which are
// the row of Vectors.
func TestMovieLens(t *testing.T) {
	text := datatest.Ratings(30, 40, 3, 2, 10, 20, 1)
	dir := made(t, text, 40)
	all, err := ratings.Read(bytes.NewReader(text), "f")
	if err != nil {
		t.Fatal(err)
	}
	count := map[int32]int{}
	for _, r := range all {
		count[r.User]++
	}
	for _, text := range []string{"public_users = 5", "features = 'genres'\npublic_users = 0\ncenter = 3.5",
		"features = 'all-users'\npublic_users = 0\nuser_mean = true"} {
		s := load(t, "movielens", dir, text)
		users := len(s.Train.GroupNames)
		wantUsers, center := 30, 3.
		if strings.Contains(text, "= 5") {
			wantUsers = 25
		}
		if strings.Contains(text, "3.5") {
			center = 3.5
		}
		if users != wantUsers || s.Vectors.Rows != users || s.Vectors.Cols != 40 || s.Train.Classes != 0 {
			t.Fatalf("%q: %d users, vectors %d x %d", text, users, s.Vectors.Rows, s.Vectors.Cols)
		}
		train, test := tallied(s.Train), tallied(s.Test)
		longest := 0.
		for u, name := range s.Train.GroupNames {
			var id int32
			fmt.Sscanf(name, "user %d", &id)
			if m := count[id]; test[u] != m/5 || train[u] != m-m/5 {
				t.Errorf("%q: %s has %d + %d records of %d", text, name, train[u], test[u], m)
			}
			// The user's training ratings are those of the file that Vectors has; targets
			// sum to what they exceed the center by.
			sum, least, shift, vector := 0., 0., 0., 0.
			for _, r := range all {
				if v := float64(s.Vectors.Row(u)[r.Item-1]); r.User == id && (v != 0 || r.Value == center) {
					sum, least, vector = sum+r.Value, least+1, vector+v
				}
			}
			for k, g := range s.Train.Groups {
				if int(g) == u {
					shift += float64(s.Train.Targets[k])
					longest = max(longest, s.Train.X.Row(k).Norm())
				}
			}
			want := sum - center*least
			if strings.Contains(text, "user_mean") {
				want = 0
			}
			if math.Abs(shift-want) > 1e-4 || math.Abs(vector-shift) > 1e-4 || least < float64(train[u]) {
				t.Errorf("%q: targets of %s sum to %g, its vector to %g, want %g", text, name, shift, vector,
					want)
			}
		}
		if longest > 1+1e-6 || longest < .5 {
			t.Errorf("%q: the longest feature vector has norm %g", text, longest)
		}
		if (s.Derived == "") != !strings.Contains(text, "all-users") {
			t.Errorf("%q: derived %q", text, s.Derived)
		}
	}
}

func tallied(d *data.Dataset) map[int]int {
	n := map[int]int{}
	for _, g := range d.Groups {
		n[int(g)]++
	}
	return n
}

// With features of public users no record but the changed one depends on a private
// rating: features, split, targets and counts of all others stay. Features from all
// users' ratings change (claim C20).
func TestOneRatingMovesOneRecord(t *testing.T) {
	text := datatest.Ratings(30, 40, 3, 2, 10, 20, 1)
	for _, c := range []struct {
		params string
		sound  bool
	}{{"public_users = 5\ndim = 3", true}, {"features = 'genres'\npublic_users = 5", true},
		{"features = 'all-users'\npublic_users = 0\ndim = 3", false},
		{"features = 'genres'\npublic_users = 0\nuser_mean = true", false}} {
		a := load(t, "movielens", made(t, text, 40), c.params)
		// Turn the rating of a training record of the first private user into another.
		var id, row int32
		fmt.Sscanf(a.Train.GroupNames[0], "user %d", &id)
		for a.Train.Groups[row] != 0 {
			row++
		}
		lines, seen := strings.SplitAfter(string(text), "\n"), 0
		rated := map[int]bool{}
		for j, v := range a.Vectors.Row(0) {
			rated[j+1] = v != 0 // a training rating other than the center
		}
		for k, l := range lines {
			var u, j, r, when int
			if fmt.Sscanf(l, "%d\t%d\t%d\t%d", &u, &j, &r, &when); int32(u) == id && rated[j] {
				lines[k] = fmt.Sprintf("%d\t%d\t%d\t%d\n", u, j, r%5+1, when)
				seen++
				break
			}
		}
		b := load(t, "movielens", made(t, []byte(strings.Join(lines, "")), 40), c.params)
		changed := 0
		for k := range a.Train.Targets {
			if a.Train.Targets[k] != b.Train.Targets[k] || !slices.Equal(a.Train.X.Row(k), b.Train.X.Row(k)) {
				changed++
			}
		}
		if seen != 1 || !slices.Equal(a.Train.Groups, b.Train.Groups) ||
			!slices.Equal(a.Test.Targets, b.Test.Targets) && c.sound {
			t.Fatalf("%s: the split moved", c.params)
		}
		if (changed == 1) != c.sound {
			t.Errorf("%s: one rating changes %d training records", c.params, changed)
		}
		if (a.Derived == "") != c.sound {
			t.Errorf("%s: derived %q", c.params, a.Derived)
		}
	}
}

func TestMovieLensRefuses(t *testing.T) {
	dir := made(t, datatest.Ratings(10, 20, 2, 2, 10, 12, 1), 20)
	for text, key := range map[string]string{
		"test_fraction = 0.0":  "test_fraction",
		"test_fraction = 0.01": "test_fraction",
		"features = 'titles'":  "features",
		"dim = 0":              "dim",
		"feature_norm = 0.0":   "feature_norm",
		"als_lambda = 0.0":     "als_lambda",
		"als_sweeps = 0":       "als_sweeps",
		"public_users = 0":     "public_users",
		"public_users = 10":    "public_users",
		"center = 6.0":         "center",
		"center = -1.0":        "center",
	} {
		if !strings.Contains(text, "public_users") {
			text += "\npublic_users = 2"
		}
		_, err := data.Load("movielens", dir, 1, params(text))
		wantBad(t, text, err, key)
	}
	short := made(t, datatest.Ratings(10, 20, 2, 2, 10, 12, 1), 3)
	if _, err := data.Load("movielens", short, 1, params("features = 'genres'\npublic_users = 0")); err ==
		nil || !strings.Contains(err.Error(), "3 movies") {
		t.Errorf("a list of 3 movies: %v", err)
	}
	_, err := data.Load("movielens", t.TempDir(), 1, params(""))
	if !errors.Is(err, data.ErrMissing) || !strings.Contains(err.Error(), "grouplens.org") ||
		!strings.Contains(err.Error(), "ml-100k") {
		t.Errorf("without the file: %v", err)
	}
}

// The published file has 100,000 ratings of 943 users and 1,682 movies, 20 to 737 by a
// user.
func TestMovieLens100K(t *testing.T) {
	dir := dataDir(t, "movielens")
	b, err := os.ReadFile(filepath.Join(dir, "ml-100k", "u.data"))
	if err != nil {
		t.Skip("ml-100k/u.data is not in the data folder: MovieLens-100K may not be redistributed")
	}
	all, err := ratings.Read(bytes.NewReader(b), "u.data")
	if err != nil {
		t.Fatal(err)
	}
	count, movies := map[int32]int{}, map[int32]bool{}
	for _, r := range all {
		count[r.User]++
		movies[r.Item] = true
	}
	least, most := math.MaxInt, 0
	for _, n := range count {
		least, most = min(least, n), max(most, n)
	}
	if len(all) != 100_000 || len(count) != 943 || len(movies) != 1682 || least != 20 || most != 737 {
		t.Errorf("%d ratings of %d users and %d movies, %d to %d by a user", len(all), len(count),
			len(movies), least, most)
	}
}
