package algo

import (
	"math"

	"sotto/config"
)

// StepSize is a public learning-rate schedule over K rounds, embedded in the parameters
// of algorithms.
//
//	const      η_k = step_size
//	geometric  η_k = step_size (step_size_final / step_size)^(k/(K-1)),
//	           a logarithmic sweep
//	inverse    η_k = step_size / (1 + k/step_size_tau)
//	cosine     η_k = step_size_final + (step_size - step_size_final)
//	           (1 + cos(π k/(K-1)))/2
//
// warmup = w multiplies the first w of them by (k+1)/w, whatever the schedule.
type StepSize struct {
	StepSize float64 `toml:"step_size"` // step size of the first round, above 0 and finite
	// step size of the last round, for geometric and cosine; above 0
	StepSizeFinal float64 `toml:"step_size_final,omitempty"`
	StepSizeTau   float64 `toml:"step_size_tau,omitempty"` // inverse only: rounds until η is halved, > 0
	Warmup        uint64  `toml:"warmup,omitempty"`        // rounds over which steps grow to their full size
	// Schedule says how step sizes change over the rounds: "const" (default),
	// "geometric", "inverse" or "cosine".
	Schedule string `toml:"schedule"`
}

func (s *StepSize) validate() error {
	if !positive(s.StepSize) {
		return config.Bad("step_size", s.StepSize, "above 0 and finite")
	}
	switch s.Schedule {
	case "const":
	case "geometric", "cosine":
		if !positive(s.StepSizeFinal) {
			return config.Bad("step_size_final", s.StepSizeFinal,
				"above 0 and finite (schedule "+s.Schedule+")")
		}
	case "inverse":
		if !positive(s.StepSizeTau) {
			return config.Bad("step_size_tau", s.StepSizeTau, "above 0 and finite (schedule inverse)")
		}
	default:
		return config.Bad("schedule", s.Schedule, "one of const, cosine, geometric, inverse")
	}
	switch {
	case s.StepSizeFinal != 0 && s.Schedule != "geometric" && s.Schedule != "cosine":
		return config.Bad("step_size_final", s.StepSizeFinal, "no value with schedule "+s.Schedule)
	case s.StepSizeTau != 0 && s.Schedule != "inverse":
		return config.Bad("step_size_tau", s.StepSizeTau, "no value with schedule "+s.Schedule)
	}
	return nil
}

// At returns η_k for round k of rounds.
func (s *StepSize) At(k, rounds uint64) float64 {
	eta := s.scheduled(k, rounds)
	if k < s.Warmup {
		eta *= float64(k+1) / float64(s.Warmup)
	}
	return eta
}

func (s *StepSize) scheduled(k, rounds uint64) float64 {
	switch {
	case s.Schedule == "geometric" && rounds > 1:
		return s.StepSize * math.Pow(s.StepSizeFinal/s.StepSize, float64(k)/float64(rounds-1))
	case s.Schedule == "cosine" && rounds > 1:
		fall := (1 + math.Cos(math.Pi*float64(k)/float64(rounds-1))) / 2
		return s.StepSizeFinal + float64((s.StepSize-s.StepSizeFinal)*fall)
	case s.Schedule == "inverse":
		return s.StepSize / (1 + float64(k)/s.StepSizeTau)
	}
	return s.StepSize
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

func notNegative(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
