package exposure

import (
	"sotto/algo"
	"sotto/privacy/account/network"
	"sotto/topology"
)

// Source is what is averaged over.
type Source struct {
	Schedule topology.Schedule
	Whole    *topology.Graph // with all its links
	First    int             // the round of the schedule in which averaging begins
	Rounds   int             // of a run that only averages; 0: another, or no run
	// Recursion is how such a run averages; without acceleration: another, or no run.
	Recursion algo.Recursion
	Dropout   float64 // probability that a link is missing from a round, as stated
	// Release is what a run's agents release; nil: no run
	Release *Release
	Notes   []string
}

// notAveraging is said of runs that do more than average values once.
const notAveraging = "the run does not only average: the figures are of one averaging of values over its " +
	"graph, not of its training, for which the figure against everyone holds"

// OfRun has the graphs of a run, which averages for so many rounds by r and does nothing
// else; 0: it does.
func OfRun(schedule topology.Schedule, whole *topology.Graph, rounds int, r algo.Recursion,
	release *Release) (*Source, error) {
	// in round 0 nothing has been sent
	s := &Source{Schedule: schedule, Whole: whole, First: 1, Rounds: rounds, Recursion: r,
		Release: release}
	if rounds == 0 {
		s.Notes = append(s.Notes, notAveraging)
	}
	return s, s.admit()
}

// OfWeights has the weights that a roster states, where its run is not known.
func OfWeights(g *topology.Graph) (*Source, error) {
	s := &Source{Schedule: topology.Static(g), Whole: g, Release: &Release{}, Notes: []string{notAveraging,
		"the run file is not beside the roster: weights are those that the roster states, of all links or " +
			"the mean of the rounds where graphs change"}}
	return s, s.admit()
}

// admit puts mixing weights on links that have those of an objective.
func (s *Source) admit() error {
	first, err := s.Schedule.At(uint64(s.First))
	if err != nil {
		return err
	}
	if topology.Validate(first, topology.Claims{}) == nil ||
		topology.Validate(first, topology.Claims{ColumnStochastic: true}) == nil {
		return nil
	}
	g, err := topology.Metropolis(s.Whole)
	if err != nil {
		return err
	}
	s.Schedule, s.Whole = topology.Static(g), g
	s.Notes = append(s.Notes,
		"weights of an objective are not averaged by: these are Metropolis weights on its links")
	return nil
}

// mixing are the matrices of so many rounds.
func (s *Source) mixing(rounds int) ([]*network.Matrix, error) {
	all, err := Mixing(s.Schedule, s.First+rounds)
	if err != nil {
		return nil, err
	}
	return all[s.First:], nil
}
