//go:build !operator

package calculator

import (
	"sotto/config"
	"sotto/experiment/exposure"
)

// takeRelease sets noise, delta and adjacency to a run's own where no flag does, and
// wants flags for what no run or roster says.
func (f *networkFlags) takeRelease(given func(flag string) bool, src *exposure.Source) error {
	r := src.Release
	if r == nil {
		return nil
	}
	if f.Noise == 0 && f.Epsilon == 0 {
		switch {
		case r.Mu == 0:
			return &config.Error{Key: "--noise-multiplier", Found: "nothing", Allowed: unknownNoise}
		case given("adjacency") && f.Adjacency != r.Adjacency:
			return config.Bad("--adjacency", f.Adjacency, r.Adjacency+", the run's, or no flag; "+
				"--noise-multiplier or --epsilon beside it describe another release")
		}
		f.Noise, f.Mu = r.Noise, r.Mu
		src.Notes = append(src.Notes, r.Notes...)
	}
	if !given("delta") {
		if !(r.Delta > 0 && r.Delta < 1) {
			return &config.Error{Key: "--delta", Found: "nothing",
				Allowed: "above 0 and below 1: " + notStated}
		}
		f.Delta = r.Delta
	}
	if !given("adjacency") {
		if r.Adjacency == "" {
			return &config.Error{Key: "--adjacency", Found: "nothing",
				Allowed: "add-remove, replace-one or zero-out: " + notStated}
		}
		f.Adjacency = r.Adjacency
	}
	return nil
}

const (
	notStated    = "the run does not state it, or its run file is not beside the roster"
	unknownNoise = "a value, or --epsilon, where a run does more than average values once, has questions " +
		"with a stated noise_multiplier, or its run file is not beside the roster: it has no noise of one " +
		"release that the figures could be of"
)
