package forecast

import (
	"fmt"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/exposure"
	"sotto/experiment/rundir"
	"sotto/privacy/account"
)

// released is the one release of the agents of a finished run that only averages, as its
// summary states it, and of another run delta and adjacency alone.
func released(dir string, f *experiment.File) (*exposure.Release, error) {
	r := &exposure.Release{Delta: f.Privacy.TargetDelta, Adjacency: f.Privacy.Adjacency}
	if experiment.AveragingRounds(f) == 0 {
		return r, nil
	}
	run, err := rundir.Read(dir)
	if err != nil {
		return nil, err
	}
	first := run.Summary.Privacy[0]
	for _, p := range run.Summary.Privacy {
		switch {
		case p.Noise != first.Noise:
			return nil, differs(dir, "noise_multiplier", p.Noise, first.Noise)
		case p.Delta != first.Delta:
			return nil, differs(dir, "delta", p.Delta, first.Delta)
		case p.Adjacency != first.Adjacency:
			return nil, differs(dir, "adjacency", p.Adjacency, first.Adjacency)
		case p.Charges != 1:
			return nil, differs(dir, "charges", p.Charges, 1)
		}
	}
	r.Noise, r.Delta, r.Adjacency = float64(first.Noise), first.Delta, first.Adjacency
	_, upper := run.Summary.Worst()
	r.State(upper)
	return r, nil
}

// differs refuses releases that are not alike.
func differs(dir, key string, found, first any) error {
	return &config.Error{
		File:  dir,
		Key:   "privacy." + key,
		Found: fmt.Sprint(found),
		Allowed: fmt.Sprintf("%v: exact views are of one release of each agent, all with the same noise",
			first),
	}
}

// Agreed is the one release of the members of a run that only averages, as its run file
// states it, and of another run delta and adjacency alone. A target stands for the noise
// that meets it.
func Agreed(f *experiment.File) (*exposure.Release, error) {
	p := &f.Privacy
	r := &exposure.Release{Noise: p.NoiseMultiplier, Delta: p.TargetDelta, Adjacency: p.Adjacency}
	if experiment.AveragingRounds(f) == 0 {
		return r, nil
	}
	a, err := account.ParseAdjacency(p.Adjacency)
	if err != nil {
		return nil, err
	}
	switch shift := account.ClipShift(a); {
	case p.NoiseMultiplier == 0:
		r.State(p.TargetEpsilon)
		r.Noise = shift / r.Mu
		r.Notes = append(r.Notes, "epsilon against everyone is the run file's target_epsilon: members' "+
			"noise is what meets it, and all figures are upper bounds")
	case !experiment.Asks(f): // of which the run file does not say how far sums move
		r.Mu = shift / p.NoiseMultiplier
	}
	return r, nil
}
