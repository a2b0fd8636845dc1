package data_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sotto/data"
	"sotto/tensor"
)

// labelled returns a data set with the given class counts, labels interleaved, and the
// class as group.
func labelled(counts ...int) *data.Dataset {
	d := &data.Dataset{Name: "test", Shape: [3]int{1, 1, 1}, Classes: len(counts)}
	for turn := range slices.Max(counts) {
		for c, n := range counts {
			if turn < n {
				d.Labels = append(d.Labels, int32(c))
			}
		}
	}
	d.Groups = d.Labels
	for c := range counts {
		d.GroupNames = append(d.GroupNames, fmt.Sprint(c))
	}
	d.X = tensor.NewMat(len(d.Labels), 1)
	return d
}

func split(t testing.TB, name string, d *data.Dataset, agents int, text string) [][]int32 {
	t.Helper()
	parts, err := data.Partition(name, d, agents, 1, params(text))
	if err != nil {
		t.Fatalf("%s of %d: %v", name, agents, err)
	}
	return parts
}

// Every partition covers every row once and is deterministic, whatever the class counts.
func TestPartitionsCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := labelled(rapid.SliceOfN(rapid.IntRange(1, 60), 1, 12).Draw(t, "counts")...)
		agents := rapid.IntRange(1, 15).Draw(t, "agents")
		seed := rapid.Uint64().Draw(t, "seed")
		share := rapid.SampledFrom([]float64{0, .1, .5, .99, 1}).Draw(t, "t")
		least := (d.Classes + agents - 1) / agents
		k := rapid.IntRange(least, d.Classes).Draw(t, "classes")
		for name, p := range map[string]string{
			"a":         fmt.Sprintf("t = %.2f", share),
			"by-class":  fmt.Sprintf("classes = %d", k),
			"by-value":  "columns = [1]",
			"dirichlet": "beta = 0.5\nmin_records = 0",
			"iid":       "",
			"natural":   "merge_groups = true",
		} {
			decode := params(p + "\nallow_empty = true")
			parts, err := data.Partition(name, d, agents, seed, decode)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := data.Partition(name, d, agents, seed, decode)
			if err != nil || !slices.EqualFunc(parts, again, slices.Equal[[]int32]) {
				t.Fatalf("%s differs between two calls", name)
			}
			owner := make([]int, d.Len())
			for _, rows := range parts {
				if !slices.IsSorted(rows) {
					t.Fatalf("%s: rows are not ascending", name)
				}
				for _, r := range rows {
					owner[r]++
				}
			}
			if len(parts) != agents || slices.Min(owner) != 1 || slices.Max(owner) != 1 {
				t.Fatalf("%s: rows are given away %d to %d times to %d agents", name, slices.Min(owner),
					slices.Max(owner), len(parts))
			}
		}
	})
}

// Records are sorted by the first column, those of equal values by the second one, and
// cut into lots that are equal within one; columns that are not there are refused.
func TestByValue(t *testing.T) {
	d := &data.Dataset{X: tensor.NewMat(7, 2)}
	for i, row := range [][2]float32{{2, 1}, {1, 9}, {2, 0}, {0, 5}, {1, 8}, {3, 3}, {0, 4}} {
		copy(d.X.Row(i), row[:])
	}
	got := split(t, "by-value", d, 3, "columns = [1, 2]")
	want := [][]int32{{3, 6}, {1, 4}, {0, 2, 5}}
	if !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, text := range []string{"", "columns = []", "columns = [0]", "columns = [3]"} {
		if _, err := data.Partition("by-value", d, 3, 1, params(text)); err == nil {
			t.Errorf("%q is not refused", text)
		} else {
			wantBad(t, text, err, "columns")
		}
	}
}

// a_ij of A(t) for t = .25 and ten agents.
func TestShare(t *testing.T) {
	for j := range 20 {
		var sum float64
		for i := range 10 {
			want := .075
			if i == j%10 {
				want = .325
			}
			got := data.Share(i, j, 10, .25)
			if math.Abs(got-want) > 1e-15 {
				t.Errorf("a[%d][%d] = %v, want %v", i, j, got, want)
			}
			sum += got
		}
		if math.Abs(sum-1) > 1e-15 {
			t.Errorf("column %d sums to %v", j, sum)
		}
	}
	for _, p := range [][3]int{{0, 0, 0}, {0, 0, -1}, {-1, 0, 2}, {2, 0, 2}} {
		if got := data.Share(p[0], p[1], p[2], .5); got != 0 {
			t.Errorf("agent %d of %d has the share %v", p[0], p[2], got)
		}
	}
}

func TestOverlapTakesInOrder(t *testing.T) {
	// 100 records of class 0, then 100 of class 1; two agents, t = .5: shares .75 and
	// .25.
	d := &data.Dataset{Classes: 2, Labels: slices.Concat(slices.Repeat([]int32{0}, 100),
		slices.Repeat([]int32{1}, 100)), X: tensor.NewMat(200, 1)}
	parts := split(t, "a", d, 2, "t = 0.5")
	var want [2][]int32
	for r := range int32(200) {
		i := 0
		if r >= 75 && r < 100 || r >= 125 {
			i = 1
		}
		want[i] = append(want[i], r)
	}
	if !slices.Equal(parts[0], want[0]) || !slices.Equal(parts[1], want[1]) {
		t.Errorf("got %v", parts)
	}
	// t = 0: floor(count/n) of each class for all but the last agent, who takes the
	// remainders.
	d = labelled(103, 57)
	parts = split(t, "a", d, 10, "t = 0.0")
	for i, rows := range parts {
		want := 15
		if i == 9 {
			want = 103 - 90 + 57 - 45
		}
		if len(rows) != want {
			t.Errorf("t = 0: agent %d has %d records, want %d", i, len(rows), want)
		}
	}
	// t = 1: four classes on two agents are two contiguous pairs.
	parts = split(t, "a", labelled(10, 20, 30, 40), 2, "t = 1.0")
	if n := []int{len(parts[0]), len(parts[1])}; !slices.Equal(n, []int{30, 70}) &&
		!slices.Equal(n, []int{70, 30}) {
		t.Errorf("t = 1: sizes %v, want 30 and 70", n)
	}
}

func TestPartitionMNIST(t *testing.T) {
	d := load(t, "mnist", dataDir(t, "mnist"), "normalize = false").Train
	parts := split(t, "a", d, 10, "t = 1.0")
	var sizes []int
	total := 0
	for i, rows := range parts {
		sizes = append(sizes, len(rows))
		total += len(rows)
		for _, r := range rows {
			if d.Labels[r] != d.Labels[rows[0]] {
				t.Fatalf("agent %d has digits %d and %d", i, d.Labels[rows[0]], d.Labels[r])
			}
		}
	}
	slices.Sort(sizes)
	if want := []int{5421, 5842, 5851, 5918, 5923, 5949, 5958, 6131, 6265, 6742}; !slices.Equal(sizes,
		want) || total != 60_000 {
		t.Errorf("t = 1: sizes %v, total %d", sizes, total)
	}
	if slices.IsSortedFunc(parts, func(a, b []int32) int { return int(d.Labels[a[0]] - d.Labels[b[0]]) }) {
		t.Error("t = 1: digits are not shuffled among agents")
	}
	total = 0
	for i, rows := range split(t, "a", d, 10, "t = 0.25") {
		for c, n := range counts(pick(d.Labels, rows), 10) {
			share := .075
			if c == i {
				share = .325
			}
			all := float64([]int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}[c])
			if i < 9 && n != int(share*all) || i == 9 && math.Abs(float64(n)-share*all) > 10 {
				t.Errorf("t = .25: agent %d has %d of %v records of digit %d", i, n, all, c)
			}
		}
		total += len(rows)
	}
	if total != 60_000 {
		t.Errorf("t = .25: %d records in all", total)
	}
}

func pick(labels []int32, rows []int32) []int32 {
	var p []int32
	for _, r := range rows {
		p = append(p, labels[r])
	}
	return p
}

func TestByClass(t *testing.T) {
	d := labelled(100, 80, 60, 90, 70)
	for _, text := range []string{"classes = 2", "classes = 2\ntruncate = true"} {
		parts := split(t, "by-class", d, 10, text)
		for i, rows := range parts {
			held := 0
			for _, n := range counts(pick(d.Labels, rows), 5) {
				if n > 0 {
					held++
				}
			}
			if held != 2 {
				t.Errorf("%s: agent %d holds %d classes", text, i, held)
			}
			// Each class has 10·2/5 = 4 holders; the smallest shard is 60/4 = 15.
			if text != "classes = 2" && len(rows) != 30 {
				t.Errorf("truncated: agent %d has %d records, want 30", i, len(rows))
			}
		}
	}
	if parts := split(t, "by-class", d, 1, "classes = 5"); len(parts[0]) != 400 {
		t.Errorf("one agent has %d of 400 records", len(parts[0]))
	}
}

// The row lists of one seed must not change between releases: hashes of the first
// version.
func TestPartitionGolden(t *testing.T) {
	d := labelled(50, 60, 70, 80)
	for _, c := range []struct {
		name, text string
		want       uint64
	}{
		{"a", "t = 1.0", 0xde28c62bbbf740a7}, {"by-class", "classes = 2", 0x16f01eac8fa5df15},
		{"dirichlet", "beta = 0.5", 0x138b7eb2a7700eb1}, {"iid", "", 0xbc80564e9db93f33},
	} {
		h := fnv.New64a()
		for _, rows := range split(t, c.name, d, 4, c.text) {
			fmt.Fprintln(h, rows)
		}
		if h.Sum64() != c.want {
			t.Errorf("%s: hash %x, want %x", c.name, h.Sum64(), c.want)
		}
	}
}

func TestPartitionRefuses(t *testing.T) {
	d := labelled(30, 30)
	table := labelled(30, 30)
	table.Labels, table.Classes, table.Groups, table.Targets = nil, 0, nil, make([]float32, 60)
	strange, below := labelled(30, 30), labelled(30, 30)
	strange.Labels[7], below.Groups = 9, []int32{0, -1}
	for _, c := range []struct {
		name   string
		d      *data.Dataset
		agents int
		text   string
		key    string
	}{
		{"by-class", strange, 2, "", "labels[7]"}, // these two panicked
		{"natural", below, 1 << 20, "", "groups[1]"},
		{"random", d, 2, "", "partition"},
		{"iid", d, 0, "", "agents"},
		{"iid", d, 61, "", "partition"},
		{"a", d, 2, "t = 1.5", "t"},
		{"a", d, 2, "t = nan", "t"},
		{"a", d, 3, "t = 1.0", "partition"},
		{"a", table, 2, "", "partition"},
		{"by-class", d, 2, "classes = 3", "classes"},
		{"by-class", labelled(5, 5, 5), 1, "classes = 1", "classes"},
		{"by-class", table, 2, "", "partition"},
		{"dirichlet", d, 2, "", "beta"},
		{"dirichlet", d, 2, "beta = 1.0\nmin_records = 31", "min_records"},
		{"dirichlet", labelled(60), 2, "beta = 0.0001\nmin_records = 30", "min_records"},
		{"dirichlet", table, 2, "beta = 1.0\nmin_records = 0", "partition"},
		{"natural", table, 2, "", "partition"},
		{"natural", labelled(3, 3, 3, 3), 3, "", "partition"}, // two owners would be one
		{"natural", d, 3, "", "partition"},
		{"iid", nil, 3, "", "data"},
		{"by-class", nil, 3, "", "data"},
	} {
		_, err := data.Partition(c.name, c.d, c.agents, 1, params(c.text))
		wantBad(t, fmt.Sprintf("%s of %d, %s", c.name, c.agents, c.text), err, c.key)
	}
	for name := range data.Partitions {
		_, err := data.Partition(name, d, 2, 1, nil)
		_, want := data.Partition(name, d, 2, 1, params(""))
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%s without decode: %v, want %v", name, err, want)
		}
		if _, err := data.Partition(name, d, 2, 1, params("colour = 1")); err == nil {
			t.Errorf("%s accepts an unknown parameter", name)
		}
	}
	if parts := split(t, "natural", d, 3, "allow_empty = true"); len(parts[2]) != 0 || len(parts[0]) != 30 {
		t.Errorf("allow_empty: %v", parts)
	}
}
