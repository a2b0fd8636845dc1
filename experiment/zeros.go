package experiment

import (
	"math"

	"sotto/config"
)

// notZero lists keys that are no zero, because 0 inside the program stands for a key that
// was not given. Where the default is written over the 0, the document knows by itself.
var notZero = []struct{ key, allowed string }{
	{"topology.window", "1 to 1000; without the key, the program's own"},
	{"clock.wakes", "1 to 1099511627776; without the key, rounds for each agent"},
	{"clock.interval", "above 0; without the key, 1"},
	{"privacy.feature_norm", "above 0 and finite; without the key, 1"},
	{"evaluate.repeats", "1 or more; without the key, 1"},
	{"data.feature_groups", "a divisor of the channels; without the key, 27"},
}

// refuseZeros refuses a zero that would be taken for a key that was not given: a value is
// used or refused.
func refuseZeros(f *File) error {
	for _, z := range notZero {
		if v, ok := f.doc.Given(z.key); ok && isZero(v) {
			return f.doc.Locate("", config.Bad(z.key, v, z.allowed))
		}
	}
	if math.IsInf(f.Privacy.MaxGradNorm, 1) {
		f.doc.ZeroMeant("privacy.max_grad_norm") // no clip, of mechanisms without noise
	}
	return f.doc.RefuseReplaced()
}

func isZero(v any) bool { return v == int64(0) || v == 0. }
