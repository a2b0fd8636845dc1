package tune

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/internal/rowfile"
)

// turnLabels gives the owner's table of a run file the opposite labels.
func turnLabels(t *testing.T, file string) {
	t.Helper()
	_, rest, _ := strings.Cut(file, `path = "`)
	path, _, _ := strings.Cut(rest, `"`)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	turned := strings.NewReplacer(",yes\n", ",no\n", ",no\n", ",yes\n").Replace(string(b))
	if err := os.WriteFile(path, []byte(turned), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A search whose data have changed makes all trials again and ends as a new one. A
// charged search with a secret is refused: what was paid for was a search of the others.
func TestSearchOfOtherData(t *testing.T) {
	for what, keys := range map[string]string{
		"free":       "trials = 2\naccept_cost_not_included = true",
		"simulated":  "trials = 3\nsimulated = true",
		"population": "method = \"pbt\"\npopulation = 2\ninterval = 3\naccept_cost_not_included = true",
		"secret":     "trials = 3",
	} {
		file := privateData(t, keys)
		opt := Options{Out: t.TempDir(), Workers: 1}
		begin := func() *Search {
			s, err := Parse("own.toml", []byte(file), nil, nil)
			if err != nil {
				t.Fatal(what, err)
			}
			return s
		}
		first := search(t, begin(), opt)
		for len(first.Rows) == 0 { // by its law a charged search may have no trial
			opt.Out = t.TempDir()
			first = search(t, begin(), opt)
		}
		before := read(t, first.Dir, trialsFile)
		turnLabels(t, file)
		again, err := begin().Run(context.Background(), opt)
		if what == "secret" {
			var bad *config.Error
			if !errors.As(err, &bad) || bad.File != filepath.Join(first.Dir, trialsFile) ||
				bad.Key != "data_digest" || !strings.Contains(bad.Allowed, "another directory") {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(what, err)
		}
		after := read(t, again.Dir, trialsFile)
		fresh := read(t, search(t, begin(), Options{Workers: 1}).Dir, trialsFile)
		if bytes.Equal(before, fresh) || !bytes.Equal(after, fresh) {
			t.Errorf("%s: trials after the change are\n%s\nbefore\n%s\nof a new search\n%s", what, after,
				before, fresh)
		}
	}
}

// A table of an earlier version does not say of which data its trials are. They are made
// again, but those of a secret: they were paid for.
func TestTrialsOfEarlierVersions(t *testing.T) {
	for what, keys := range map[string]string{
		"free":   "trials = 2\naccept_cost_not_included = true",
		"secret": "trials = 3",
	} {
		file, ran := privateData(t, keys), 0
		opt := Options{Out: t.TempDir(), Workers: 1, Progress: func(Progress) { ran++ }}
		var first *Result
		for first == nil || len(first.Rows) == 0 {
			opt.Out = t.TempDir()
			s, err := Parse("own.toml", []byte(file), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			first = search(t, s, opt)
		}
		path := filepath.Join(first.Dir, trialsFile)
		var old []string
		for line := range strings.Lines(string(read(t, first.Dir, trialsFile))) {
			old = append(old, line[:strings.LastIndexByte(line, ',')]+"\n")
		}
		if err := os.WriteFile(path, []byte(strings.Join(old, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		header, err := rowfile.Header(path)
		if err != nil || header[len(header)-1] != "run" {
			t.Fatal(header, err)
		}
		ran = 0
		s, err := Parse("own.toml", []byte(file), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		again := search(t, s, opt)
		want := map[string]int{"free": len(first.Rows)}[what]
		if ran != want || len(again.Rows) != len(first.Rows) {
			t.Errorf("%s: %d trials were made again, want %d", what, ran, want)
		}
	}
}
