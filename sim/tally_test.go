package sim_test

import (
	"strings"
	"testing"

	"sotto/agent"
	"sotto/sim"
	"sotto/topology"
)

// linksOf are the links of a graph, each once.
func linksOf(g *topology.Graph) (links [][2]int) {
	for e := range g.Edges() {
		links = append(links, [2]int{int(e.I), int(e.J)})
	}
	return links
}

// total adds what links have carried.
func total(t *sim.Tally) (c sim.Carried) {
	for _, x := range t.Links() {
		c.Sent, c.Bytes, c.Lost, c.Late = c.Sent+x.Sent, c.Bytes+x.Bytes, c.Lost+x.Lost, c.Late+x.Late
	}
	return c
}

// What single links have carried adds up to what the run counts over all agents, for any
// number of workers and every way in which agents are paced.
func TestTally(t *testing.T) {
	g := asyncGraph(t, 40)
	ring, err := topology.New("ring", "", 10, 1, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	circle, _ := ring.At(0)
	for name, tc := range map[string]struct {
		g     *topology.Graph
		steps uint64
		make  func(workers int) sim.Runtime
	}{
		"rounds": {circle, 50, func(workers int) sim.Runtime {
			return build(t, options{graph: "ring", agents: 10, rounds: 50, step: 1, seed: 3, workers: workers,
				faults: sim.Faults{Drop: .2, Delay: .2, MaxDelay: 2, Late: "use"}})
		}},
		"rounds without faults": {circle, 50, func(workers int) sim.Runtime {
			return build(t, options{graph: "ring", agents: 10, rounds: 50, step: 1, workers: workers})
		}},
		"wakes": {g, 500, func(workers int) sim.Runtime {
			s, _ := diaries(t, 40, 500, func(c *sim.Config) { c.Workers, c.Faults.Drop = workers, .2 })
			return s
		}},
		"pairs": {g, 500, func(workers int) sim.Runtime {
			s, _ := diaries(t, 40, 500, func(c *sim.Config) {
				c.Workers, c.Faults.Drop, c.Pacing = workers, .2, agent.PacingPairs
			})
			return s
		}},
		"tokens": {g, 300, func(workers int) sim.Runtime {
			s, _ := walkers(t, g, func(c *sim.Config) { c.Workers, c.Faults.Drop = workers, .2 })
			return s
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var last []sim.Carried
			for _, workers := range []int{1, 4} {
				s := tc.make(workers)
				before, bytes := s.Stats(), uint64(0)
				if s.Done() == 0 && strings.HasPrefix(name, "rounds") {
					before.Sent = 0 // these are still to be delivered
				} else {
					for i := range tc.g.Agents() {
						bytes += s.BytesSent(i)
					}
				}
				tally := s.Count(linksOf(tc.g))
				run(t, s, tc.steps)
				st, got, now := s.Stats(), total(tally), uint64(0)
				for i := range tc.g.Agents() {
					now += s.BytesSent(i)
				}
				want := sim.Carried{Sent: st.Sent - before.Sent, Bytes: now - bytes,
					Lost: st.Dropped - before.Dropped, Late: st.Late - before.Late}
				if got != want || got.Sent == 0 {
					t.Errorf("%d workers: links have carried %+v, the run %+v", workers, got, want)
				}
				all := tally.Links()
				if last != nil {
					for k := range all {
						if all[k] != last[k] {
							t.Errorf("link %d: %+v, with one worker %+v", k, all[k], last[k])
						}
					}
				}
				last = all
			}
		})
	}
}
