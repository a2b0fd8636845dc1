package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// budgetKeys say how much budget a run has, and nothing else of its guarantee or method:
// they alone vary along a curve over epsilon.
var budgetKeys = []string{"privacy.target_epsilon", "privacy.noise_multiplier", "privacy.agent_epsilon",
	"privacy.warm_epsilon"}

func ofBudget(key string) bool { return slices.Contains(budgetKeys, key) }

// tunedKeys are those that people choose anew for every budget.
var tunedKeys = []string{"privacy.max_grad_norm", "privacy.batch_size", "privacy.sample_rate"}

func tuned(key string) bool {
	return strings.HasPrefix(key, "algorithm.step") || slices.Contains(tunedKeys, key)
}

// ofGuarantee says that a key makes another guarantee than an equal epsilon has. An
// override is not of it: the delta that it allows is.
func ofGuarantee(key string) bool {
	if ofBudget(key) || tuned(key) || key == "privacy.i_understand" {
		return false
	}
	return strings.HasPrefix(key, "privacy.") || strings.HasPrefix(key, "replication.")
}

func ofGraph(key string) bool { return strings.HasPrefix(key, "topology.") }

// varying are the keys in which some settings differ, sorted.
func varying(groups []*group) []string {
	all := map[string]bool{}
	for _, s := range groups {
		for _, keys := range []map[string]string{s.keys, groups[0].keys} {
			for k := range keys {
				if s.keys[k] != groups[0].keys[k] {
					all[k] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// values are those of keys, as one text.
func (s *group) values(keys []string) string {
	text := ""
	for _, k := range keys {
		text += fmt.Sprintf("%q ", s.keys[k])
	}
	return text
}

// family are settings that one curve joins, in their order.
type family struct {
	name    string
	members []*group
}

// partition makes families of the settings that agree in keys, which name them.
func partition(groups []*group, keys []string) []*family {
	var order []*family
	by := map[string]*family{}
	for _, s := range groups {
		v := s.values(keys)
		if by[v] == nil {
			by[v] = &family{name: cmp.Or(s.describe(keys), "all runs")}
			order = append(order, by[v])
		}
		by[v].members = append(by[v].members, s)
	}
	return order
}

// with is named without the keys that are left out, and the keys that vary and must be
// told apart even where others would do.
func with(groups []*group, leave, must func(key string) bool) []string {
	if len(groups) == 0 {
		return nil
	}
	keys := slices.DeleteFunc(slices.Clone(groups[0].named), leave)
	for _, k := range varying(groups) {
		if must(k) && !leave(k) && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// overBudgets are the families whose settings differ in their budget, in step sizes and
// the like that were chosen for it, and in what follows from it: not in the guarantee.
// Where one budget has several step sizes, each is of another family.
func overBudgets(groups []*group) []*family {
	keys := with(groups, func(k string) bool { return ofBudget(k) || tuned(k) }, ofGuarantee)
	var all []*family
	for _, f := range partition(groups, keys) {
		apart := slices.Clone(keys)
		for _, one := range partition(f.members, budgetKeys) {
			for _, k := range varying(one.members) {
				if tuned(k) && !slices.Contains(apart, k) {
					apart = append(apart, k)
				}
			}
		}
		all = append(all, partition(f.members, apart)...)
	}
	return distinct(all)
}

// overGraphs are the families whose settings differ in their graph and what follows from
// it: not in their budget or guarantee.
func overGraphs(groups []*group) []*family {
	return distinct(partition(groups, with(groups, ofGraph, func(k string) bool {
		return ofGuarantee(k) || ofBudget(k)
	})))
}

// distinct numbers families of one name.
func distinct(all []*family) []*family {
	count := map[string]int{}
	for _, f := range all {
		if count[f.name]++; count[f.name] > 1 {
			f.name = fmt.Sprintf("%s (%d)", f.name, count[f.name])
		}
	}
	return all
}

// follows names the keys in which the settings of a curve differ, of the curves of one
// plot, beside those of asked: they go along with what it is drawn over.
func follows(curves [][]*group, asked func(key string) bool) string {
	var keys []string
	for _, of := range curves {
		for _, k := range varying(of) {
			if !asked(k) && k != "name" && k != "engine" && !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	return " Points of one curve also differ in " + strings.Join(keys, ", ") + "."
}
