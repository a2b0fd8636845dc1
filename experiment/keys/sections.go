// Package keys says which keys a run file may have, what values they take, and what they
// mean, in the words of the parameters' own comments. It reads no data.
package keys

import (
	"errors"

	"sotto/algo"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/finishing"
	"sotto/experiment/replication"
	"sotto/model"
	"sotto/node/roster"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// Chosen is what a run file names, whether or not the rest of it is right.
type Chosen struct{ Graph, Dataset, Partition, Model, Algorithm string }

// Section is one of a run file, with pointers to the structs of keys that all have in it.
type Section struct {
	Name   string // "": keys before all sections
	Params []any
}

// Policy are the sections of an owner's policy file.
func Policy() []Section {
	return []Section{
		{PolicyFile, []any{&roster.Policy{}}},
		{PolicyFile + ".dataset", []any{&roster.DatasetPolicy{}}}, // [[dataset]]
	}
}

// PolicyFile stands before the keys of a policy, as if it were a section of a run file.
const PolicyFile = "policy"

// common are the sections of runs, in the order of a run file.
func common() []Section {
	return []Section{
		{"", []any{&experiment.RunParams{}}},
		{"topology", []any{&experiment.TopologyParams{}}},
		{"data", []any{&experiment.DataParams{}}},
		{"model", []any{&experiment.ModelParams{}}},
		{"algorithm", []any{&experiment.AlgorithmParams{}}},
		{"privacy", []any{&experiment.PrivacyParams{}}},
		{"evaluate", []any{&experiment.EvaluateParams{}}},
		{"faults", []any{&sim.Faults{}, &algo.Adversaries{}}},
		{experiment.PersonalSection, []any{&finishing.Params{}}},
		{"clock", []any{&experiment.ClockParams{}}},
		{"token", []any{&experiment.TokenParams{}}},
		{"replication", []any{&replication.Params{}}},
		{experiment.TunedSection, []any{&experiment.TunedParams{}}},
	}
}

// Sections are pointers to the parameter structs of each section of a run file: those
// that all runs have, and those of what c names. Names that nothing has add none.
func Sections(c Chosen) map[string][]any {
	s := map[string][]any{}
	for _, part := range common() {
		s[part.Name] = part.Params
	}
	for _, of := range registries {
		if params := of.params(of.chosen(c)); params != nil {
			s[of.section] = append(s[of.section], params)
		}
	}
	return s
}

// A registry is what a key names one of, each with keys of its own.
type registry struct {
	section, key string
	chosen       func(Chosen) string
	params       func(name string) any // nil: it has none
}

// registries are in the order in which their keys are listed.
var registries = []registry{
	{"topology", "graph", func(c Chosen) string { return c.Graph }, Graph},
	{"data", "dataset", func(c Chosen) string { return c.Dataset }, Dataset},
	{"data", "partition", func(c Chosen) string { return c.Partition }, partition},
	{"model", "name", func(c Chosen) string { return c.Model }, ofModel},
	{"algorithm", "name", func(c Chosen) string { return c.Algorithm }, algorithm},
}

// errRecorded stops a constructor when its parameters are known.
var errRecorded = errors.New("recorded")

// recorded is the struct that a constructor asks to have decoded, nil where it asks for
// none.
func recorded(construct func(decode func(any) error)) (params any) {
	construct(func(p any) error {
		params = p
		return errRecorded
	})
	return params
}

// Graph is a pointer to the parameters of a family of graphs, nil for an unknown one.
func Graph(name string) any {
	return recorded(func(decode func(any) error) {
		if build, ok := topology.Graphs[name]; ok {
			_, _ = build(decode, 10, 1)
		} else if build, ok := topology.Digraphs[name]; ok {
			_, _ = build(decode, 10)
		} else if build, ok := topology.Similarities[name]; ok {
			_, _ = build(decode, tensor.Mat{})
		}
	})
}

// Dataset is a pointer to the parameters of a data set, nil for an unknown one. Nothing
// is read.
func Dataset(name string) any {
	return recorded(func(decode func(any) error) {
		if build, ok := data.Datasets[name]; ok {
			_, _ = build(decode, data.Source{})
		}
	})
}

func partition(name string) any {
	return recorded(func(decode func(any) error) {
		if _, ok := data.Partitions[name]; ok {
			_, _ = data.Partition(name, &data.Dataset{}, 1, 0, decode)
		}
	})
}

func ofModel(name string) any {
	return recorded(func(decode func(any) error) {
		_, _ = model.New(name, model.Shape{Height: 1, Width: 1, Channels: 1}, decode)
	})
}

func algorithm(name string) any {
	return recorded(func(decode func(any) error) { _, _ = algo.New(name, decode) })
}
