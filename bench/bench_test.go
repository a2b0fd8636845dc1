package bench

import (
	"testing"

	"sotto/privacy"
)

// BenchmarkStep measures one agent's private and non-private step from end to end: sampling, gathering, clipping, noise, the
// charge. It needs one processor; sotto bench measures all of them and the ratio within turns.
func BenchmarkStep(b *testing.B) {
	for i := range Cases {
		c := &Cases[i]
		if !c.available() {
			continue
		}
		l, err := c.workload()
		if err != nil {
			b.Fatal(err)
		}
		fast, free := l.owners(agents, privacy.Gaussian{NoiseMultiplier: 1}, false), l.owners(agents, nil, false)
		var loop plain
		for name, step := range map[string]func() float64{
			"private": func() float64 { return private(fast) }, "nonprivate": func() float64 { return loop.step(l, free) },
		} {
			b.Run(c.Name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				step()
				samples := 0.
				for b.Loop() {
					samples += step()
				}
				b.ReportMetric(samples/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}
