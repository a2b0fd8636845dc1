package keys

import (
	"maps"
	"slices"

	"sotto/algo"
	"sotto/data"
	"sotto/data/catalog"
	"sotto/experiment/runfile"
	"sotto/model"
	"sotto/privacy/account"
	"sotto/topology"
)

// Values are those of a key that takes one of some names; nil: it takes others, or none
// is known. key has its section, as in "topology.graph".
func Values(key string) []string {
	key = runfile.FirstSpelling(key)
	if names := registered(key); names != nil {
		return names
	}
	return plain[key]
}

// registered are the names of the registry that a key names one of.
func registered(key string) []string {
	switch key {
	case "topology.graph":
		return Graphs()
	case "topology.weights":
		return Weights()
	case "data.dataset":
		return Datasets()
	case "data.partition":
		return sorted(data.Partitions)
	case "model.name":
		return sorted(model.Models)
	case "algorithm.name":
		return sorted(algo.Algorithms)
	case "privacy.accountant":
		return account.Names()
	}
	return nil
}

// plain are the values of keys that are checked beside others, or with the data.
var plain = map[string][]string{
	"privacy.clipping": {"constant", "quantile", "released", "schedule"},
	"data.features":    {"pixels", "scattering"},
	"faults.attack":    {"alie", "large-norm", "sign-flip", "stale"},
	"faults.late":      {"discard", "use"},
	"model.precision":  {"bf16", "float32"},
	"privacy.curious":  {"neighbors", "none", "one"},
	"privacy.noise":    {"exact", "fast"},
	"topology.vectors": {"data", "hidden"},
	"topology.wake":    {"pair"},
}

// Graphs are all families that a run file can name.
func Graphs() []string {
	all := slices.Concat(sorted(topology.Graphs), sorted(topology.Digraphs), sorted(topology.Similarities))
	slices.Sort(all)
	return all
}

// Weights are the rules of mixing weights, and those of directed graphs and of personal
// models.
func Weights() []string { return append(sorted(topology.Weights), "column", "objective") }

// Datasets are the data sets of the catalogue.
func Datasets() []string {
	var names []string
	for _, e := range catalog.List() {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func sorted[V any](registry map[string]V) []string { return slices.Sorted(maps.Keys(registry)) }
