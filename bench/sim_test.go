package bench

import (
	"strings"
	"testing"
)

// The table has a line for each size, and what it says of a size is what was built.
// Memory is what the heap grew by, which the collector blurs: 54 records of 10 float32
// are 2,160 bytes.
func TestSim(t *testing.T) {
	reports, err := Sim(.05, 2, 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) != 1 {
		t.Fatalf("%d sizes of at most 1,000 agents, want 1", len(reports))
	}
	r := reports[0]
	if r.Agents != 1000 || r.Dim != 10 || r.Links < 5*1000 || r.Links > 10*1000 || r.Records < 1000*50 ||
		r.Records > 1000*60 ||
		r.Wakes == 0 || !(r.PerSecond > 0) || !(r.DataBytes > 1000) || !(r.AgentBytes > 0) ||
		r.AgentBytes > 20_000 {
		t.Errorf("%+v", r)
	}
	var b strings.Builder
	if err := WriteSimTable(&b, reports); err != nil || !strings.Contains(b.String(), "1000    10") {
		t.Errorf("%v:\n%s", err, &b)
	}
}

func TestSimRefuses(t *testing.T) {
	for _, c := range []struct {
		seconds         float64
		workers, agents int
	}{{0, 1, 0}, {1, -1, 0}, {1, 1, 999}, {1, 1, -1}} {
		if _, err := Sim(c.seconds, c.workers, c.agents, nil); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func BenchmarkWakes(b *testing.B) {
	for b.Loop() {
		c := SimCase{1_000, 100}
		r, err := c.measure(3, 1)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(r.CPUMicros, "cpu-us/wake")
	}
}
