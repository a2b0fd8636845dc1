package experiment

import (
	"sotto/config"
	"sotto/experiment/metric"
	"sotto/model"
	"sotto/oracle"
)

// buildTests gives every agent its test records.
func (e builder) buildTests() error {
	test, n := e.Task.Split.Test, e.File.Topology.Agents
	if e.File.Evaluate.On == "validation" {
		test = e.Task.Validation
	}
	limit := test.Len()
	if l := e.File.Evaluate.Limit; l > 0 {
		limit = min(limit, l)
	}
	train := e.Task.Split.Train
	if e.File.Evaluate.Figures && !metric.Figured(e.Task.Model, train.Classes, train.Targets) {
		return e.File.At("evaluate", config.Bad("figures", true,
			"false with model "+e.File.Model.Name+", which neither classifies nor predicts one target"))
	}
	if limit == 0 {
		return e.File.At("data", config.Bad("dataset", e.File.Data.Dataset, "a data set with test records"))
	}
	e.Task.Tests = make([]*model.Batch, max(n, e.File.Token.Count))
	e.Task.Tested = e.Honest()
	all := e.Task.Tested
	e.Task.Tested = make([]int, 0, len(all))
	for _, k := range metric.Evenly(len(all), min(e.File.Evaluate.Agents, len(all))) {
		e.Task.Tested = append(e.Task.Tested, all[k])
	}
	if e.File.Evaluate.On != "own" {
		all := oracle.BatchOf(test)
		all.X.Rows = limit
		all.Labels, all.Targets = first(all.Labels, limit), first(all.Targets, limit)
		for i := range e.Task.Tests {
			e.Task.Tests[i] = all
		}
		return nil
	}
	test, rows, err := e.ownTests(test)
	if err != nil {
		return err
	}
	for _, i := range e.Task.Tested {
		if l := e.File.Evaluate.Limit; l > 0 && len(rows[i]) > l {
			rows[i] = rows[i][:l]
		}
		if len(rows[i]) == 0 {
			return e.File.At("evaluate",
				config.Bad("on", "own", "all: agent "+agentNamed(e.Experiment, i)+" has no test records"))
		}
		e.Task.Tests[i] = oracle.BatchOf(test.Select(rows[i]))
	}
	return nil
}

func first[T any](s []T, n int) []T {
	if s == nil {
		return nil
	}
	return s[:n]
}
