package main

import (
	"errors"
	"io/fs"

	"sotto/experiment/exposure"
	"sotto/experiment/forecast"
	"sotto/node"
	"sotto/privacy/account/network"
	"sotto/topology"
)

// source is what is averaged over.
type source struct {
	schedule topology.Schedule
	whole    *topology.Graph // with all its links
	first    int             // the round of the schedule in which averaging begins
	rounds   int             // of the run itself; 0: it does not only average
	notes    []string
}

// notAveraging is said of runs that do more than average values once.
const notAveraging = "the run does not only average: the figures are of one averaging of values over its " +
	"graph, not of its training, for which the figure against everyone holds"

// source reads the graphs of a family, a run or a roster.
func (f *networkFlags) source() (*source, error) {
	sources := 0
	for _, s := range []string{f.family, f.run, f.roster} {
		if s != "" {
			sources++
		}
	}
	switch {
	case sources != 1:
		return nil, usageError{errors.New("account network takes one of --topology, --run and --roster")}
	case f.family != "":
		return f.ofFamily()
	case f.graph.dropout != 0 || len(f.graph.set) > 0 || f.graph.weights != "" || f.graph.pairs:
		return nil, usageError{errors.New("--dropout, --pairs, --set and --weights go with --topology")}
	case f.run != "":
		return f.ofRun()
	}
	return f.ofRoster()
}

func (f *networkFlags) ofFamily() (*source, error) {
	schedule, base, err := f.graph.build(f.family)
	s := &source{schedule: schedule, whole: base}
	if f.graph.pairs {
		s.first = 1
	}
	if err != nil || f.graph.dropout == 0 {
		return s, err
	}
	whole := f.graph
	whole.dropout = 0
	_, s.whole, err = whole.build(f.family)
	return s, err
}

// ofRun has the graphs of all rounds of a run, and its own number of rounds where it
// averages.
func (f *networkFlags) ofRun() (*source, error) {
	r, err := forecast.ReadGraphs(f.run)
	if err != nil {
		return nil, err
	}
	// in round 0 nothing has been sent
	s := &source{schedule: r.Schedule, whole: r.Whole, first: 1, rounds: r.Averaging}
	s.note()
	return s, s.admit()
}

// note says of what does not only average that figures are of averaging.
func (s *source) note() {
	if s.rounds == 0 {
		s.notes = append(s.notes, notAveraging)
	}
}

// ofRoster has the graphs of all rounds where the run file lies beside the roster, and
// else the weights that the roster states.
func (f *networkFlags) ofRoster() (*source, error) {
	flags := rosterFlags{roster: f.roster}
	r, file, err := flags.read()
	if err == nil {
		whole, schedule, err := checkGraph(r, file)
		if err != nil {
			return nil, err
		}
		s := &source{schedule: schedule, whole: whole, first: 1, rounds: file.Averaging()}
		s.note()
		return s, s.admit()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if r, err = node.ReadRoster(f.roster); err != nil {
		return nil, err
	}
	g, err := r.Topology()
	if err != nil {
		return nil, err
	}
	s := &source{schedule: topology.Static(g), whole: g, notes: []string{notAveraging,
		"the run file is not beside the roster: weights are those that the roster states, of all links or " +
			"the mean of the rounds where graphs change"}}
	return s, s.admit()
}

// admit puts mixing weights on links that have those of an objective.
func (s *source) admit() error {
	first, err := s.schedule.At(uint64(s.first))
	if err != nil {
		return err
	}
	if topology.Validate(first, topology.Claims{}) == nil ||
		topology.Validate(first, topology.Claims{ColumnStochastic: true}) == nil {
		return nil
	}
	g, err := topology.Metropolis(s.whole)
	if err != nil {
		return err
	}
	s.schedule, s.whole = topology.Static(g), g
	s.notes = append(s.notes,
		"weights of an objective are not averaged by: these are Metropolis weights on its links")
	return nil
}

// mixing are the matrices of so many rounds.
func (s *source) mixing(rounds int) ([]*network.Matrix, error) {
	all, err := exposure.Mixing(s.schedule, s.first+rounds)
	if err != nil {
		return nil, err
	}
	return all[s.first:], nil
}
