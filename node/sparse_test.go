package node_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/rng"
	"sotto/tensor"
)

// byChance are runs whose links chance draws in every round.
func byChance(t testing.TB) map[string]nodetest.Options {
	return map[string]nodetest.Options{
		"pairs on a ring": {Factory: factory(t, "gossip-average"), Pairs: true, Agents: 5, Rounds: 80},
		"pairs of all": {Factory: factory(t, "gossip-average"), Pairs: true, Graph: "complete",
			Agents: 6, Rounds: 80},
		"pairs of two": {Factory: factory(t, "gossip-average"), Pairs: true, Graph: "complete",
			Agents: 2},
		"pairs that ask":        {Factory: factory(t, "dsgd"), Pairs: true, Graph: "star", Limit: 7},
		"pairs of the silent":   {Factory: factory(t, "local"), Pairs: true},
		"pairs in few bits":     {Factory: roundedFactory(factory(t, "dsgd")), Pairs: true, BF16: true},
		"dropout":               {Factory: factory(t, "dsgt"), Dropout: .4, Agents: 5, Rounds: 30},
		"dropout, dinno":        {Factory: factory(t, "dinno"), Dropout: .3, Graph: "complete"},
		"dropout, average":      {Factory: factory(t, "gossip-average"), Dropout: .5, Agents: 5, Rounds: 40},
		"dropout, shared noise": {Factory: factory(t, "dsgd"), Dropout: .3, Shared: true, Graph: "complete"},
		"dropout of arcs": {Factory: factory(t, "sgp"), Push: true, Dropout: .2, Graph: "exp-directed",
			Agents: 6, Rounds: 30},
		"dropout of columns": {Factory: factory(t, "sgp"), Push: true, Dropout: .2, Weights: "column",
			Agents: 5, Rounds: 30},
	}
}

// Graphs that chance draws are the simulator's, and whatever links do no bit of
// parameters and no charge differs.
func TestGraphsByChanceEqualTheSimulator(t *testing.T) {
	for name, o := range byChance(t) {
		t.Run(name, func(t *testing.T) { nodetest.Equal(t, o, openMemory) })
		t.Run(name+" over bad links", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodetest.Equal(t, o, openFaulty(func(f *nodetest.Faulty, _ agent.ID) {
					f.Lose, f.Unsure, f.Repeat, f.Delay = .2, .2, .2, time.Second
				}))
			})
		})
	}
}

// Crashes at random changes of the disk, after the round that was charged, leave the
// simulator's bits and charges: rounds without a neighbor, which are not stored, are
// stepped again, and what a neighbor lost is sent again.
func TestCrashesOfRoundsByChanceChangeNoBit(t *testing.T) {
	for name, o := range map[string]nodetest.Options{
		"pairs": {Factory: factory(t, "gossip-average"), Pairs: true, Graph: "complete", Agents: 5,
			Rounds: 200},
		"dropout": {Factory: factory(t, "gossip-average"), Dropout: .6, Agents: 5, Rounds: 80},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { crashLater(t, o) }) })
	}
}

func crashLater(t *testing.T, o nodetest.Options) {
	const lives = 10
	disks, left, crashed := make([]*ledgertest.CrashFS, o.Agents), make([]int, o.Agents),
		make([]int, o.Agents)
	chance := make([]*rng.Stream, o.Agents)
	o.Change = func(i int, c *node.Config) {
		c.Linger = time.Hour
		c.OnRound = func(node.RoundReport) { // the first comes when round 0 is stored
			if left[i] > 0 && disks[i].CrashAt == 0 {
				disks[i].CrashAt = disks[i].Changes + 1 + int(chance[i].Below(12))
			}
		}
	}
	w := nodetest.NewWorld(t, o)
	want, charges := w.Simulate(t)
	net := openFaulty(func(f *nodetest.Faulty, _ agent.ID) {
		f.Lose, f.Unsure, f.Repeat, f.Delay = .1, .1, .1, time.Second
	})(t, o.Agents)
	live := func(i int, l ledger.Ledger) (tensor.Vec, error) {
		for left[i] = lives; ; left[i]-- {
			tr := net.Open(t, agent.ID(i))
			n, store, err := w.Node(t, i, tr, disks[i], l)
			if err == nil {
				err = n.Run(context.Background())
			}
			tr.Close()
			if err == nil {
				return n.Params(), store.Close()
			}
			if !errors.Is(err, ledgertest.ErrCrashed) {
				return nil, err
			}
			crashed[i]++
			disks[i] = disks[i].Recover(func(n int) int { return int(chance[i].Below(uint64(n))) })
			disks[i].CrashAt = 0
			time.Sleep(time.Duration(chance[i].Below(uint64(20 * time.Second))))
		}
	}
	var all sync.WaitGroup
	for i := range o.Agents {
		l := ledger.NewMemory(nil)
		disks[i], chance[i] = ledgertest.NewCrashFS(), rng.Public(uint64(i), "crashes")
		all.Go(func() {
			got, err := live(i, l)
			if err != nil || !slices.Equal(got, want[i]) {
				t.Errorf("agent %d: %v, %v; in the simulator %v", i, got, err, want[i])
			}
			if n := l.Head().Seq; n != charges[i] || crashed[i] < 3 {
				t.Errorf("agent %d: %d charges, in the simulator %d; %d crashes, want 3 or more", i, n,
					charges[i], crashed[i])
			}
		})
	}
	all.Wait()
}

// stuckAt follows a run in pairs whose one member is stuck in round 0, from which it has
// sent what there is to send. Two agents complete their round when both have come to it
// and whoever heard one of them in its round before has completed that one. It returns
// the round of each agent.
func stuckAt(t *testing.T, w *nodetest.World, member agent.ID, agents int, rounds uint64) []uint64 {
	type meeting struct{ i, j agent.ID }
	// last: of each agent, before the round it is in; none: round 0, with all neighbors
	at, last := make([]uint64, agents), make([]meeting, agents)
	stuck := make([]bool, agents) // in round at
	// the second has not completed the round of its last meeting with the first
	failed := map[meeting]bool{}
	stuck[member] = true
	for i := range agents {
		last[i] = meeting{agent.ID(i), agent.ID(i)}
	}
	for nb := range w.Graph.Edges() {
		failed[meeting{nb.I, nb.I}] = failed[meeting{nb.I, nb.I}] || nb.J == member
		failed[meeting{nb.J, nb.J}] = failed[meeting{nb.J, nb.J}] || nb.I == member
	}
	for k := uint64(1); k < rounds; k++ {
		g, err := w.Graphs.At(k)
		if err != nil {
			t.Fatal(err)
		}
		for e := range g.Edges() {
			pair := []meeting{{e.I, e.J}, {e.J, e.I}}
			there := !stuck[e.I] && !stuck[e.J]
			for _, m := range pair {
				if !stuck[m.i] && (!there || failed[last[m.i]]) {
					stuck[m.i], at[m.i] = true, k
				}
			}
			for _, m := range pair {
				if there {
					last[m.i], failed[m] = m, stuck[m.j]
				}
			}
		}
	}
	for i := range at {
		if !stuck[i] {
			at[i] = rounds
		}
	}
	return at
}

// A member that takes two hours holds up those who meet it or have to keep what it was
// sent, and those who meet them; the others go on, and pass at once, and without storing
// anything, the rounds in which they meet nobody.
func TestRoundsOfOthersArePassed(t *testing.T) {
	const agents, rounds, slow = 12, 90, 3
	synctest.Test(t, func(t *testing.T) {
		reports := make([][]node.RoundReport, agents)
		r := start(t, nodetest.Options{
			Factory: factory(t, "gossip-average"),
			Pairs:   true,
			Agents:  agents,
			Rounds:  rounds,
			Change: func(i int, c *node.Config) {
				if i == slow {
					c.Gate = slowGate{c.Gate, 2 * time.Hour}
				}
				c.Linger = 4 * time.Hour
				c.OnRound = func(r node.RoundReport) { reports[i] = append(reports[i], r) }
			},
		}, openMemory)
		time.Sleep(time.Hour)
		at, far := stuckAt(t, r.w, slow, agents, rounds), uint64(0)
		for i, n := range r.nodes {
			if s := n.Status(); s.Round != at[i] {
				t.Errorf("agent %d is in round %d, want %d", i, s.Round, at[i])
			}
			far = max(far, at[i])
		}
		if far < 20 {
			t.Errorf("nobody gets further than round %d: another seed is needed", far)
		}
		r.wait(t)
		r.equalsSimulator(t)
		for i := range agents {
			met := 1 // round 0, with its query
			for k := uint64(1); k < rounds; k++ {
				g, _ := r.w.Graphs.At(k)
				met += g.Degree(agent.ID(i))
			}
			if n := len(reports[i]); n != met {
				t.Errorf("agent %d reports %d rounds, want its %d with a neighbor or a query", i, n, met)
			}
			// a write and a sync each; the first two make files
			if most := 2*(met+1) + 10; r.fs[i].Changes > most {
				t.Errorf("agent %d has changed its disk %d times for %d rounds with a neighbor, want at "+
					"most %d", i, r.fs[i].Changes, met, most)
			}
		}
	})
}

// Frames of rounds without that link, and of rounds that the run does not have, are
// refused; of later rounds the first one counts.
func TestHostileRoundsByChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, nodetest.Options{
			Change:  nodetest.Bare,
			Factory: factory(t, "gossip-average"),
			Pairs:   true,
			Graph:   "complete",
			Rounds:  400,
		}, openMemory)
		r.start(t, 0)
		synctest.Wait()
		tr := r.net.Open(t, 1)
		tr.Serve(func(agent.ID, []byte) error { return nil })
		send := func(round uint64) error {
			m := agent.Message{
				From:  1,
				To:    agent.Broadcast,
				Round: round,
				Body:  make([]float32, nodetest.Dim),
			}
			f := frame.Frame{
				Kind:    frame.Messages,
				Run:     r.w.Run,
				Sender:  1,
				Round:   round,
				Payload: agent.AppendMessage(nil, &m),
			}
			return tr.Send(context.Background(), 0, frame.Append(nil, &f))
		}
		var linked []uint64
		apart := uint64(0)
		for k := uint64(1); k < 400; k++ {
			if g, _ := r.w.Graphs.At(k); g.Weight(0, 1) != 0 {
				linked = append(linked, k)
			} else {
				apart = k
			}
		}
		for name, c := range map[string]struct {
			round uint64
			want  error
		}{
			"no link": {apart, node.RefusedSender}, "after the end": {400, node.RefusedAhead},
			"never": {1 << 63, node.RefusedAhead},
		} {
			if err := send(c.round); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, c := range []struct {
			round uint64
			want  error
		}{{linked[5], nil}, {linked[6], node.RefusedAhead}, {linked[2], nil}, {linked[5], node.RefusedAhead},
			{linked[2], nil}, {0, nil}} {
			if err := send(c.round); !errors.Is(err, c.want) {
				t.Errorf("round %d: %v, want %v", c.round, err, c.want)
			}
		}
		if c := r.nodes[0].Status().Counts; c.Replayed != 1 || c.Refused != 5 {
			t.Errorf("%+v, want one repeated and five refused", c)
		}
		r.halt(0)
		tr.Close()
	})
}
