package experiment

import (
	"fmt"
	"strings"

	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
	"sotto/topology"
)

// derived names what is made from training records before the run for all to see: no
// charge of the run covers it (claim C20). "" where there is nothing.
func derived(e *Experiment) string {
	var parts []string
	if d := e.Task.Split.Derived; d != "" {
		parts = append(parts, d)
	}
	if comparesVectors(e.File) && e.File.Topology.Vectors == "data" {
		parts = append(parts, "the graph")
	}
	return strings.Join(parts, ", ")
}

// comparesVectors says that the graph links agents by their vectors.
func comparesVectors(f *File) bool {
	_, similar := topology.Similarities[f.Topology.Graph]
	return similar
}

// checkPrior refuses a run with noise whose guarantee would not cover what all agents
// see from the start.
func (e builder) checkPrior() error {
	f, what := e.File, derived(e.Experiment)
	switch {
	case !f.Private() || what != "" && e.Setup.Uncharged:
		return nil
	case e.Setup.Uncharged:
		return f.At("replication", config.Bad("uncharged", true,
			"false: nothing is made from training records before this run"))
	case e.Task.Split.Derived != "":
		err := f.At("data", config.Bad("dataset", f.Data.Dataset+" with "+e.Task.Split.Derived,
			"features and centers from public facts: what is made from training records is a release of "+
				"its own, for which nothing is charged"))
		return fmt.Errorf("%w: %w", privacy.ErrRefused, err)
	case what != "":
		err := f.At("topology", config.Bad("vectors", "data",
			"hidden: a graph made from training records is a release of its own, for which nothing "+
				"is charged"))
		return fmt.Errorf("%w: %w", privacy.ErrRefused, err)
	}
	return nil
}

// priorEvents are charged in every ledger before the run; nil where nothing is.
func (e planner) priorEvents() []account.Event {
	what := derived(e.Experiment)
	if what == "" || !e.Setup.Uncharged && sends(e.Experiment) {
		return nil
	}
	return []account.Event{account.Shared(account.NonPrivate("made from training records without noise: " +
		what))}
}

// vectors are what a graph of similar agents compares.
func (e builder) vectors() (tensor.Mat, error) {
	f := e.File
	if f.Topology.Vectors != "data" {
		return e.Task.Split.GroundTruth, nil
	}
	if v := e.Task.Split.Vectors; v.Rows > 0 && f.Data.Partition == "natural" {
		if v.Rows != f.Topology.Agents {
			return v, f.At("topology", config.Bad("agents", f.Topology.Agents,
				fmt.Sprintf("%d, one for each group of %s, with vectors data", v.Rows, f.Data.Dataset)))
		}
		return v, nil
	}
	d := e.Task.Split.Train
	means := tensor.NewMat(len(e.Task.Parts), d.X.Cols)
	for i, part := range e.Task.Parts {
		for _, r := range part {
			w := float64(1)
			switch {
			case d.Classes == 2:
				w = float64(2*d.Labels[r] - 1)
			case d.Targets != nil:
				w = float64(d.Targets[r])
			}
			means.Row(i).AddScaled(w/float64(len(part)), d.X.Row(int(r)))
		}
	}
	return means, nil
}
