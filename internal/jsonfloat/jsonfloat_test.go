package jsonfloat_test

import (
	"encoding/json"
	"math"
	"testing"

	"sotto/internal/jsonfloat"
)

func TestForms(t *testing.T) {
	for text, x := range map[string]float64{"0": 0, "1.5": 1.5, "1e-7": 1e-7, `"inf"`: math.Inf(1),
		`"-inf"`: math.Inf(-1), "null": math.NaN()} {
		b, err := json.Marshal(jsonfloat.Float(x))
		if err != nil || string(b) != text {
			t.Errorf("%g is %s, want %s (%v)", x, b, text, err)
		}
	}
	for _, text := range []string{`"nan"`, `"1"`, "[]"} {
		var f jsonfloat.Float
		if json.Unmarshal([]byte(text), &f) == nil {
			t.Errorf("%s was read as %g", text, float64(f))
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, x := range []float64{0, math.Copysign(0, -1), 1.5, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324} {
		f.Add(math.Float64bits(x))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		x := math.Float64frombits(bits)
		b, err := json.Marshal(struct{ X jsonfloat.Float }{jsonfloat.Float(x)})
		if err != nil {
			t.Fatal(err)
		}
		back := struct{ X jsonfloat.Float }{7}
		if err := json.Unmarshal(b, &back); err != nil || float64(back.X) != x &&
			!(math.IsNaN(x) && math.IsNaN(float64(back.X))) {
			t.Errorf("%g came back as %g, %v", x, float64(back.X), err)
		}
	})
}
