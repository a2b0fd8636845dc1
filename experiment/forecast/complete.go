package forecast

import (
	"fmt"
	"os"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/runfile"
)

// Proposed builds the experiment of the run file at path with the changes set, and
// returns Suggest's proposal for it. The file needs no batch size: without one it is
// built with batches of all records. path "" is the built-in file. Errors are those of
// reading and building, and Suggest's.
func Proposed(path string, set []string, dir string) (*experiment.Experiment, *Suggestion, error) {
	doc, err := changed(path, set)
	if err != nil {
		return nil, nil, err
	}
	return proposed(doc, path, set, dir, Suggest)
}

func proposed(doc *runfile.Document, path string, set []string, dir string,
	suggest func(*experiment.Experiment) (*Suggestion, error)) (*experiment.Experiment, *Suggestion, error) {
	if _, err := experiment.Read(path, set); err != nil && !given(doc, batchKeys...) {
		set = append(set[:len(set):len(set)], "privacy.sample_rate=1.0")
	}
	e, err := built(path, set, dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := suggest(e)
	return e, s, err
}

// Completed is Proposed with an experiment that has what the file leaves out of the
// proposal, to which the proposal is cut. A key that the file has stays as it is; one
// batch size, or rate, is enough, and one key of the step sizes. A file that names its
// algorithm, or a batch size, keeps it: Newton steps are proposed to others alone.
// Another optimizer than sgd is refused.
func Completed(path string, set []string, dir string) (*experiment.Experiment, *Suggestion, error) {
	doc, err := changed(path, set)
	if err != nil {
		return nil, nil, err
	}
	if given(doc, "algorithm.optimizer", "algorithm.momentum") {
		return nil, nil, doc.Locate("algorithm", config.Bad("optimizer", "one",
			"no optimizer or momentum beside suggestions, whose steps are those of sgd"))
	}
	suggest := Suggest
	if given(doc, "algorithm.name") || given(doc, batchKeys...) {
		suggest = batches
	}
	_, s, err := proposed(doc, path, set, dir, suggest)
	if err != nil {
		return nil, nil, err
	}
	all := s.Keys
	s.Keys = nil
	for _, k := range all {
		name := strings.TrimPrefix(k.Section+"."+k.Key, ".")
		if together := decided[k.Section]; given(doc, name) || given(doc, together...) &&
			k.Key != "max_grad_norm" {
			continue
		}
		s.Keys = append(s.Keys, k)
		set = append(set[:len(set):len(set)], fmt.Sprintf("%s=%s", name, k.text()))
	}
	e, err := built(path, set, dir)
	return e, s, err
}

var batchKeys = []string{"privacy.batch_size", "privacy.sample_rate", "privacy.min_records"}

// decided are keys of a section of which one stands for what is proposed there.
var decided = map[string][]string{
	"privacy":   batchKeys,
	"algorithm": {"algorithm.step_size", "algorithm.step_size_final", "algorithm.schedule"},
	"topology":  {"topology.graph"},
}

func given(doc *runfile.Document, keys ...string) bool {
	for _, key := range keys {
		if _, ok := doc.Given(key); ok {
			return true
		}
	}
	return false
}

func built(path string, set []string, dir string) (*experiment.Experiment, error) {
	f, err := experiment.Read(path, set)
	if err != nil {
		return nil, err
	}
	return f.Build(dir)
}

// changed is the document of a run file with changes.
func changed(path string, set []string) (*runfile.Document, error) {
	b := experiment.Builtin
	if path != "" {
		var err error
		if b, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	doc, err := runfile.Parse(path, b)
	for _, s := range set {
		if err == nil {
			err = doc.Set("--set", s)
		}
	}
	return doc, err
}
