package account

import (
	"testing"

	"sotto/privacy/account/gdp"
)

func benchPlan(steps int) Plan {
	p := DPSGD(AddRemove, 0.01, steps)
	p.NoiseMultiplier = 1
	return p
}

// BenchmarkPLDUpper: target 100 ms for T = 10,000 on one core, cold.
func BenchmarkPLDUpper(b *testing.B) {
	p := benchPlan(10000)
	for b.Loop() {
		memo.Forget()
		if _, err := p.upperAfter(1, 1e-5); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPLDInterval: target 2 s.
func BenchmarkPLDInterval(b *testing.B) {
	p := benchPlan(10000)
	for b.Loop() {
		memo.Forget()
		if _, err := Epsilon(p, 1e-5); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPLDHeterogeneous: 20 distinct events, target 500 ms.
func BenchmarkPLDHeterogeneous(b *testing.B) {
	var events []Event
	for i := range 20 {
		events = append(events, sampledGaussian(b, 0.01+0.001*float64(i), 1+0.05*float64(i), 1))
	}
	for b.Loop() {
		memo.Forget()
		d := newPLD(b, AddRemove, Record())
		for _, ev := range events {
			if err := d.Compose(ev, 100); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := d.UpperEpsilon(1e-5); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNoisePLD: target 1 s.
func BenchmarkNoisePLD(b *testing.B) {
	p := benchPlan(1000)
	for b.Loop() {
		memo.Forget()
		if _, err := Noise(p, Budget{1, 1e-5}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRDP: target 5 ms.
func BenchmarkRDP(b *testing.B) {
	p := benchPlan(10000)
	p.Accountant = "rdp"
	for b.Loop() {
		memo.Forget()
		if _, err := Epsilon(p, 1e-5); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGaussianEpsilon: target 20 microseconds.
func BenchmarkGaussianEpsilon(b *testing.B) {
	mu := 1.0
	for b.Loop() {
		memo.Forget()
		mu = 1 + 1e-9*gdp.Epsilon(mu, 1e-5)
	}
}

// BenchmarkCountFilter: target 200 ns.
func BenchmarkCountFilter(b *testing.B) {
	ev := sampledGaussian(b, 0.01, 1, 1)
	ev.Adjacency, ev.Unit, ev.Clip, ev.Oracle, ev.Sampler = AddRemove, Record(), 1, "gradient", "poisson/1"
	f, err := NewCountFilter(ev, maxCount)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		memo.Forget()
		if err := f.Admit(ev, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRDPFilter: target 100 microseconds.
func BenchmarkRDPFilter(b *testing.B) {
	ev := sampledGaussian(b, 0.01, 10, 1)
	f, err := NewRDPFilter(AddRemove, Record(), Budget{1e6, 1e-5})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		memo.Forget()
		if err := f.Admit(ev, 1); err != nil {
			b.Fatal(err)
		}
	}
}
