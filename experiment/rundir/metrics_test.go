package rundir

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

func TestStatsRoundTrip(t *testing.T) {
	for _, x := range []float64{0, 1.5, math.Inf(1), math.Inf(-1), math.NaN()} {
		b, err := json.Marshal(Stats{Mean: x})
		if err != nil {
			t.Fatal(err)
		}
		r := Stats{Mean: 7}
		if err := json.Unmarshal(b, &r); err != nil ||
			math.Float64bits(r.Mean) != math.Float64bits(x) &&
				!(math.IsNaN(x) && math.IsNaN(r.Mean)) {
			t.Errorf("%g came back as %g, %v", x, r.Mean, err)
		}
	}
}

func FuzzDecodeMetrics(f *testing.F) {
	f.Add(EncodeMetrics([]Row{{1, "mean", "loss", .25, math.Inf(1), 1e-5},
		{1, "0", "class_accuracy.3", math.NaN(), 0, 0}}))
	f.Add([]byte("round,agent\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := DecodeMetrics("metrics.csv", b)
		if err != nil {
			return
		}
		again, err := DecodeMetrics("metrics.csv", EncodeMetrics(rows))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(rows) {
			t.Errorf("%v came back as %v, %v", rows, again, err)
		}
	})
}
