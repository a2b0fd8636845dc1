package complete

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/replication"
	"sotto/experiment/runfile"
	"sotto/model"
	"sotto/privacy/account"
	"sotto/sim"
	"sotto/topology"
)

// errRecorded stops a constructor when its parameters are known.
var errRecorded = errors.New("recorded")

// A recorder keeps the parameter structs that constructors ask to have decoded.
type recorder struct{ params []any }

func (r *recorder) decode(params any) error {
	r.params = append(r.params, params)
	return errRecorded
}

// chosen is what a run file names, whether or not the rest of it is right.
type chosen struct{ graph, dataset, partition, model, algorithm string }

// choices reads the run file at path, the built-in one for "", with settings.
func choices(path string, set []string) chosen {
	b, err := experiment.Builtin, error(nil)
	if path != "" {
		b, err = os.ReadFile(path)
	}
	values := map[string]string{}
	if doc, e := runfile.Parse(path, b); err == nil && e == nil {
		for _, s := range set {
			_ = doc.Set("--set", s) // the command refuses it
		}
		values = doc.Values()
	}
	of := func(key, standard string) string {
		return cmp.Or(strings.Trim(values[key], `"'`), standard)
	}
	return chosen{of("topology.graph", "ring"), of("data.dataset", "glyphs"), of("data.partition", "iid"),
		of("model.name", "mlp"), of("algorithm.name", "dsgd")}
}

// sections are the parameter structs of each section of a run file: those that all runs
// have, and those of the graph, data set, model and algorithm that the file names.
func sections(f chosen) map[string][]any {
	s := map[string][]any{
		"":            {&experiment.RunParams{}},
		"topology":    {&experiment.TopologyParams{}},
		"data":        {&experiment.DataParams{}},
		"model":       {&experiment.ModelParams{}},
		"algorithm":   {&experiment.AlgorithmParams{}},
		"privacy":     {&experiment.PrivacyParams{}},
		"evaluate":    {&experiment.EvaluateParams{}},
		"faults":      {&sim.Faults{}, &algo.Adversaries{}},
		"replication": {&replication.Params{}},
		"tuned":       {&experiment.TunedParams{}},
		"clock":       {&experiment.ClockParams{}},
		"token":       {&experiment.TokenParams{}},
	}
	s["topology"] = append(s["topology"], graphParams(f.graph)...)
	s["data"] = append(s["data"], dataParams(f.dataset)...)
	var r recorder
	if _, ok := data.Partitions[f.partition]; ok {
		_, _ = data.Partition(f.partition, &data.Dataset{}, 1, 0, r.decode)
	}
	s["data"] = append(s["data"], r.params...)
	r = recorder{}
	_, _ = model.New(f.model, model.Shape{Height: 1, Width: 1, Channels: 1}, r.decode)
	s["model"] = append(s["model"], r.params...)
	r = recorder{}
	_, _ = algo.New(f.algorithm, r.decode)
	s["algorithm"] = append(s["algorithm"], r.params...)
	return s
}

// graphParams are the parameters of a family of graphs.
func graphParams(name string) []any {
	var r recorder
	if build, ok := topology.Graphs[name]; ok {
		_, _ = build(r.decode, 10, 1)
	} else if build, ok := topology.Digraphs[name]; ok {
		_, _ = build(r.decode, 10)
	}
	return r.params
}

// dataParams are the parameters of a data set. Nothing is read.
func dataParams(name string) []any {
	var r recorder
	if build, ok := data.Datasets[name]; ok {
		_, _ = build(r.decode, data.Source{})
	}
	return r.params
}

// settings completes key=value of a run file: keys, or after the equals sign the values
// of one that has a list of them. set are the settings before.
func settings(path string, set []string, word string) []string {
	f := choices(path, set)
	key, _, valued := strings.Cut(word, "=")
	if !valued {
		var keys []string
		for section, all := range sections(f) {
			for _, params := range all {
				for _, k := range runfile.Keys(params) {
					keys = append(keys, runfile.Dotted(section, k)+"=")
				}
			}
		}
		return tidy(keys)
	}
	values := prefixed(key+"=", named(key))
	if values == nil {
		values = prefixed(key+"=", probed(f, path, set, key))
	}
	return values
}

// named are the values of keys that are registries' names.
func named(key string) []string {
	switch runfile.FirstSpelling(key) {
	case "topology.graph":
		return Graphs()
	case "topology.weights":
		return weights()
	case "data.dataset":
		return datasets()
	case "data.partition":
		return keysOf(data.Partitions)
	case "model.name":
		return keysOf(model.Models)
	case "algorithm.name":
		return keysOf(algo.Algorithms)
	case "privacy.accountant":
		return account.Names()
	}
	return plain[runfile.FirstSpelling(key)]
}

// plain are the values of keys that are checked beside others, or with the data.
var plain = map[string][]string{
	"algorithm.clipping": {"constant", "quantile", "released", "schedule"},
	"data.features":      {"pixels", "scattering"},
	"faults.attack":      {"alie", "large-norm", "sign-flip", "stale"},
	"faults.late":        {"discard", "use"},
	"model.precision":    {"bf16", "float32"},
	"privacy.curious":    {"neighbors", "none", "one"},
	"privacy.noise":      {"exact", "fast"},
	"topology.vectors":   {"data", "hidden"},
	"topology.wake":      {"pair"},
}

// probed are the values that an error about an impossible one allows, and true and false
// of a switch.
func probed(f chosen, path string, set []string, key string) []string {
	section, name, ok := strings.Cut(key, ".")
	if !ok {
		section, name = "", key
	}
	for _, params := range sections(f)[section] {
		field := fieldOf(reflect.ValueOf(params).Elem(), name)
		switch {
		case !field.IsValid():
			continue
		case field.Kind() == reflect.Bool:
			return []string{"false", "true"}
		case field.Kind() == reflect.String:
			if values := allowed(tried(path, set, key, impossible)); values != nil {
				return values
			}
			return allowed(constructed(f, section, name))
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.String:
			var values []string
			for _, v := range allowed(tried(path, set, key, "['"+impossible+"']")) {
				values = append(values, "['"+v+"']")
			}
			return values
		}
		return nil
	}
	return nil
}

// impossible is the value of no key.
const impossible = "?"

// tried is what is said of a value of a key, by the run file or else by the built-in one:
// a file that is being written has other faults.
func tried(path string, set []string, key, value string) error {
	_, err := experiment.Read(path, append(slices.Clone(set), key+"="+value))
	if allowed(err) == nil {
		_, err = experiment.Read("", []string{key + "=" + value})
	}
	return err
}

// constructed is what an algorithm or model says of an impossible value.
func constructed(f chosen, section, name string) error {
	decode := func(params any) error {
		if field := fieldOf(reflect.ValueOf(params).Elem(), name); field.IsValid() {
			field.SetString(impossible)
		}
		return nil
	}
	switch section {
	case "algorithm":
		_, err := algo.New(f.algorithm, decode)
		return err
	case "model":
		_, err := model.New(f.model, model.Shape{Height: 8, Width: 8, Channels: 1, Classes: 2}, decode)
		return err
	}
	return nil
}

// fieldOf is the field that a toml tag names, in embedded structs too.
func fieldOf(v reflect.Value, key string) reflect.Value {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if f.Anonymous && name == "" {
			if in := fieldOf(v.Field(i), key); in.IsValid() {
				return in
			}
		} else if name == key {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// allowed are the values that an error lists.
func allowed(err error) []string {
	var bad *config.Error
	if !errors.As(err, &bad) || !strings.Contains(bad.Found, impossible) {
		return nil
	}
	if list, ok := strings.CutPrefix(bad.Allowed, "one of "); ok {
		return strings.Split(list, ", ")
	}
	if a, b, ok := strings.Cut(bad.Allowed, " or "); ok && !strings.Contains(a+b, " ") {
		return []string{a, b}
	}
	return nil
}

func keysOf[V any](registry map[string]V) []string { return slices.Sorted(maps.Keys(registry)) }

func tidy(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

func prefixed(prefix string, words []string) []string {
	var out []string
	for _, w := range words {
		out = append(out, prefix+w)
	}
	return out
}
