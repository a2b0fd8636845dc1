package account

import (
	"fmt"
	"math"
)

// Warnings lists what a plan should be asked about before it is run: a delta that allows
// whole records to leak, a rate that does not fit the batch, very little noise, samplers
// and units that cost more than they seem to. noise is the noise multiplier, records the
// public lower bound of the largest owner's records (0: unknown). Nil means nothing to
// say.
func Warnings(r Release, noise, delta float64, records int) []string {
	var w []string
	say := func(when bool, format string, args ...any) {
		if when {
			w = append(w, fmt.Sprintf(format, args...))
		}
	}
	if n := float64(records); records > 0 {
		say(delta >= 1/n, "delta %.3g is at least 1/%d: releasing one record in the clear would satisfy it",
			delta, records)
		say(delta > 0.1/n && delta < 1/n,
			"delta %.3g is above 1/(10 n) = %.3g for the largest owner of %d records", delta, 0.1/n, records)
		expected := r.Sampler.SampleRate * n
		say(r.Sampler.Kind == Poisson && r.Scale > 0 && math.Abs(r.Scale*expected-1) > 0.05,
			"sums are scaled by %.3g but the expected batch is %.4g of %d records", r.Scale, expected,
			records)
	}
	say(noise > 0 && noise < 0.3,
		"noise multiplier %.3g is below 0.3: a single participation is nearly visible", noise)
	say(r.Sampler.Kind == Shuffled || r.Sampler.Kind == Cyclic,
		"%v batches are accounted without any amplification by sampling", r.Sampler.Kind)
	say(r.Unit.Kind == UnitOwner && r.Oracle == "grad", "the unit is an owner but the clip bounds one record")
	return w
}
