package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sotto/report/plot"
)

// foldKey is the key of the fold of cross-validation: mean and deviation of a setting are
// over its folds as over its seeds.
const foldKey = "evaluate.fold"

// fold is the run's in words, numbered from 1; "" without cross-validation.
func (r *run) fold() string {
	k, err := strconv.Atoi(r.keys[foldKey])
	folds, err2 := strconv.Atoi(r.keys["evaluate.folds"])
	if err != nil || err2 != nil || k < 0 || folds < 1 {
		return ""
	}
	text := fmt.Sprintf("%d of %d", k%folds+1, folds)
	if n := r.keys["evaluate.repeats"]; n != "" {
		text += fmt.Sprintf(", repeat %d of %s", k/folds+1, n)
	}
	return text
}

// setting is a group of runs that differ in nothing but the seed, or the fold.
type group struct {
	label string
	keys  map[string]string // the configuration without seed and fold
	named []string          // keys that the label is made of
	runs  []*run
	style plot.Style // in every plot of the page
	mixed bool       // the page has several mechanisms that add noise
}

// groupRuns puts runs into settings, ordered by what they vary; of runs with the same
// bits it keeps the first and counts the others.
func groupRuns(runs []*run) (groups []*group, repeated int) {
	byKeys, seen := map[string]*group{}, map[string]bool{}
	for _, r := range runs {
		same := r.Summary.ConfigDigest + r.Summary.Engine + r.Summary.RunHash
		if seen[same] {
			repeated++
			continue
		}
		seen[same] = true
		keys := maps.Clone(r.keys)
		delete(keys, "seed")
		delete(keys, foldKey)
		key := ""
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			key += fmt.Sprintf("%q=%q\n", k, keys[k])
		}
		s := byKeys[key]
		if s == nil {
			s = &group{keys: keys}
			byKeys[key] = s
			groups = append(groups, s)
		}
		s.runs = append(s.runs, r)
	}
	named := distinguishing(groups)
	noisy := map[string]bool{}
	for _, s := range groups {
		if s.private() {
			noisy[s.keys["privacy.mechanism"]] = true
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		for _, k := range named {
			if c := compareValues(a.keys[k], b.keys[k]); c != 0 {
				return c
			}
		}
		return 0
	})
	count := map[string]int{}
	for _, s := range groups {
		s.named, s.mixed = named, len(noisy) > 1
		s.label = s.describe(named)
		if s.label == "" {
			s.label = s.runs[0].Summary.Name
		}
		if count[s.label]++; count[s.label] > 1 {
			s.label = fmt.Sprintf("%s (%d)", s.label, count[s.label])
		}
		slices.SortStableFunc(s.runs, func(a, b *run) int {
			return cmp.Or(cmp.Compare(a.Summary.Seed, b.Summary.Seed),
				compareValues(a.keys[foldKey], b.keys[foldKey]))
		})
	}
	setStyles(groups)
	return groups, repeated
}

// compareValues orders numbers by value and before other texts.
func compareValues(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// firstKeys are those that people tell runs apart by; the others follow in alphabetical
// order, the name last.
var firstKeys = []string{"data.dataset", "algorithm.name", "topology.graph", "topology.target",
	"topology.agents", "topology.p", "data.partition",
	"model.name", "privacy.mechanism", "privacy.target_epsilon", "privacy.noise_multiplier"}

// distinguishing returns keys that together tell all settings apart, without those that
// would add nothing to the ones before, such as a step size that follows from epsilon.
func distinguishing(groups []*group) []string {
	all := map[string]bool{}
	for _, s := range groups {
		for k := range s.keys {
			all[k] = true
		}
	}
	order := slices.Clone(firstKeys)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(order, k) && k != "name" {
			order = append(order, k)
		}
	}
	var named []string
	values := make([]string, len(groups))
	distinct := 1
	for _, k := range append(order, "name") {
		next, seen := make([]string, len(groups)), map[string]bool{}
		for i, s := range groups {
			next[i] = fmt.Sprintf("%s%q", values[i], s.keys[k])
			seen[next[i]] = true
		}
		if len(seen) > distinct {
			distinct, values, named = len(seen), next, append(named, k)
		}
	}
	return named
}

// describe names the setting by keys.
func (s *group) describe(keys []string) string {
	var parts []string
	for _, k := range keys {
		v := s.keys[k]
		if v == "" {
			continue
		}
		switch k {
		case "privacy.mechanism":
			if v == "none" {
				parts = append(parts, "not private")
			} else if s.mixed {
				parts = append(parts, v)
			}
		case "privacy.target_epsilon":
			parts = append(parts, "epsilon "+v)
		case "algorithm.name", "topology.graph", "data.dataset", "data.partition", "model.name", "name":
			parts = append(parts, v)
		default:
			parts = append(parts, k[strings.LastIndexByte(k, '.')+1:]+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

// private says that noise was added.
func (s *group) private() bool { return s.keys["privacy.mechanism"] != "none" }

// baseline is the setting without privacy to compare s with: the same agents, data, graph
// and algorithm, or nil. Step sizes and batches may differ, as they do between the
// published runs.
func (s *group) baseline(groups []*group) *group {
	var best *group
	most := -1
	for _, b := range groups {
		if b.private() || !s.private() || b.runs[0].Summary.Agents != s.runs[0].Summary.Agents {
			continue
		}
		same, fits := 0, true
		for k, v := range s.keys {
			equal := b.keys[k] == v
			if strings.HasPrefix(k, "data.") || strings.HasPrefix(k, "topology.") || k == "algorithm.name" ||
				k == "model.name" || k == "rounds" {
				fits = fits && equal
			}
			if equal {
				same++
			}
		}
		if fits && same > most {
			best, most = b, same
		}
	}
	return best
}
