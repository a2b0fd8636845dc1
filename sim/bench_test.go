package sim_test

import (
	"context"
	"fmt"
	"testing"

	"sotto/sim"
)

// Wakes of an algorithm that does next to nothing: what the runtime itself costs.
func BenchmarkWakes(b *testing.B) {
	const wakes = 20_000
	for _, pairs := range []bool{false, true} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%v/workers=%d", pacing(pairs), workers), func(b *testing.B) {
				s, _ := diaries(b, 2000, 1<<40, func(c *sim.Config) {
					c.Workers, c.Pacing = workers, pacing(pairs)
				})
				advance(b, s, wakes, "wake")
			})
		}
	}
}

// Ticks in which 100 tokens visit 200 agents.
func BenchmarkTicks(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			s, _ := walkers(b, asyncGraph(b, 200), func(c *sim.Config) {
				c.Workers, c.Tokens.Count, c.Steps = workers, 100, 1<<40
			})
			advance(b, s, 100, "tick")
		})
	}
}

// advance makes so many steps for each iteration.
func advance(b *testing.B, s sim.Runtime, steps uint64, name string) {
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Run(context.Background(), s.Done()+steps); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(s.Done()), "ns/"+name)
}
