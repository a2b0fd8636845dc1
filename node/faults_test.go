package node_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/node/wire"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// The tests below run in virtual time (testing/synctest), so that minutes of waiting take
// none.

// faulty opens a network in memory whose members' links are changed.
type faulty struct {
	net    *wire.Memory
	change func(f *nodetest.Faulty, i agent.ID)
}

func (f faulty) Open(_ testing.TB, i agent.ID) node.Transport {
	t := nodetest.NewFaulty(f.net.Open(i), uint64(i))
	f.change(t, i)
	return t
}

func openFaulty(change func(f *nodetest.Faulty, i agent.ID)) func(testing.TB, int) nodetest.Network {
	return func(_ testing.TB, members int) nodetest.Network {
		return faulty{wire.NewMemory(members, node.MaxPayload(nodetest.Dim)), change}
	}
}

// Whatever links do, a run that waits ends with the simulator's bits.
func TestFaultyLinksChangeNoBit(t *testing.T) {
	for name, change := range map[string]func(f *nodetest.Faulty, i agent.ID){
		"lost":           func(f *nodetest.Faulty, _ agent.ID) { f.Lose = .5 },
		"answers lost":   func(f *nodetest.Faulty, _ agent.ID) { f.Unsure = .5 },
		"slow and twice": func(f *nodetest.Faulty, _ agent.ID) { f.Repeat, f.Delay = .5, 30*time.Second },
		"all at once": func(f *nodetest.Faulty, _ agent.ID) {
			f.Lose, f.Unsure, f.Repeat, f.Delay = .2, .2, .2, time.Second
		},
		"six minutes without a link": func(f *nodetest.Faulty, i agent.ID) {
			f.Delay = time.Second
			began := time.Now()
			f.Down = func(to agent.ID) bool {
				passed := time.Since(began)
				return i+to == 1 && passed > 3*time.Second && passed < 6*time.Minute // between 0 and 1
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodetest.Equal(t, nodetest.Options{Factory: factory(t, "dsgt"), Graph: "complete"},
					openFaulty(change))
			})
		})
	}
}

// A damaged frame is refused, its sender named, and sent again whole. (Equal wants no
// refusals, so this run is its own.)
func TestDamagedFramesAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nodetest.Options{Factory: factory(t, "dsgd")},
			openFaulty(func(f *nodetest.Faulty, _ agent.ID) {
				f.Damage = .3
			}))
		r.wait(t)
		r.equalsSimulator(t)
		refused := uint64(0)
		for _, n := range r.nodes {
			refused += n.Status().Counts.Refused
		}
		if refused == 0 {
			t.Error("no damaged frame was refused")
		}
	})
}

// running is a run whose members are started one by one.
type running struct {
	w     *nodetest.World
	net   nodetest.Network
	nodes []*node.Node
	trs   []node.Transport
	fs    []*ledgertest.CrashFS
	led   []*ledger.Memory
	stop  []context.CancelFunc
	done  []chan error

	price     []*account.Event // of a first charge, of members that were rolled back
	rejoining map[int]func()   // what happens when a member begins another generation
}

func prepare(t *testing.T, o nodetest.Options, open func(testing.TB, int) nodetest.Network) *running {
	w := nodetest.NewWorld(t, o)
	n := w.Graph.Agents()
	r := &running{
		w:     w,
		net:   open(t, n),
		nodes: make([]*node.Node, n),
		trs:   make([]node.Transport, n),
		stop:  make([]context.CancelFunc, n),
		done:  make([]chan error, n),
		price: make([]*account.Event, n),
	}
	for range n {
		r.fs, r.led = append(r.fs, ledgertest.NewCrashFS()), append(r.led, ledger.NewMemory(w.Filter(t)))
	}
	return r
}

// charge has member i's ledger charge what it lacks, at the price of its first charge.
func (r *running) charge(i int, times uint64) error {
	ev := r.price[i]
	if ev == nil && times > 0 {
		return fmt.Errorf("member %d lacks %d charges of a price that nobody knows", i, times)
	}
	for range times {
		if _, err := r.led[i].Charge(*ev); err != nil {
			return err
		}
	}
	return nil
}

// rollBack leaves the first records of a member's ledger.
func (r *running) rollBack(t *testing.T, i int, count uint64) {
	t.Helper()
	short := ledger.NewMemory(nil)
	for rec, err := range r.led[i].Records() {
		if err != nil {
			t.Fatal(err)
		}
		if r.price[i] == nil {
			r.price[i] = rec.Event
		}
		for range min(rec.Count, count-short.Head().Seq) {
			if _, err := short.Charge(*rec.Event); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.led[i] = short
}

func start(t *testing.T, o nodetest.Options, open func(testing.TB, int) nodetest.Network) *running {
	r := prepare(t, o, open)
	for i := range r.nodes {
		r.start(t, i)
	}
	return r
}

// start starts member i, also again.
func (r *running) start(t *testing.T, i int) {
	t.Helper()
	tr := r.net.Open(t, agent.ID(i))
	n, store, err := r.w.Node(t, i, tr, r.fs[i], r.led[i])
	if err != nil {
		t.Fatal(err)
	}
	if do := r.rejoining[i]; do != nil {
		n.BeforeRejoin(do)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.nodes[i], r.trs[i], r.stop[i], r.done[i] = n, tr, stop, make(chan error, 1)
	done := r.done[i]
	go func() {
		err := n.Run(ctx)
		stop()
		tr.Close()
		store.Close()
		done <- err
	}()
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	for i := range r.nodes {
		if err := <-r.done[i]; err != nil {
			t.Fatalf("agent %d: %v", i, err)
		}
	}
}

func (r *running) halt(i int) {
	r.stop[i]()
	<-r.done[i]
}

func (r *running) equalsSimulator(t *testing.T) {
	t.Helper()
	want, _ := r.w.Simulate(t)
	for i, n := range r.nodes {
		if !slices.Equal(n.Params(), want[i]) {
			t.Errorf("agent %d: %v, in the simulator %v", i, n.Params(), want[i])
		}
	}
}

// slowGate takes its time for every answer.
type slowGate struct {
	node.Gate
	takes time.Duration
}

func (g slowGate) Answer(q *agent.Query, dst tensor.Vec) error {
	time.Sleep(g.takes)
	return g.Gate.Answer(q, dst)
}

func TestSlowAndLatePeersAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, nodetest.Options{Factory: factory(t, "dinno"), Change: func(i int, c *node.Config) {
			c.Gate = slowGate{c.Gate, time.Second}
			if i == 2 {
				c.Gate = slowGate{c.Gate, 20 * time.Second}
			}
			c.Deadline = 5 * time.Second
		}}, openMemory)
		for _, i := range []int{0, 1, 2} {
			r.start(t, i)
		}
		time.Sleep(6 * time.Second)
		s := r.nodes[0].Status()
		if s.Round != 0 || s.Peers[1].Name != "agent 3" || s.Peers[1].State != node.Gone {
			t.Errorf("without member 3: %+v", s)
		}
		r.start(t, 3)
		time.Sleep(40 * time.Second)
		if s := r.nodes[1].Status(); s.Peers[1].Name != "agent 2" || s.Peers[1].State != node.Late {
			t.Errorf("beside a slow member: %+v", s)
		}
		r.wait(t)
		r.equalsSimulator(t)
	})
}

// failing errs once, at one round, before anything is charged.
type failing struct {
	node.Gate
	at    uint64
	round uint64
	once  *bool
}

func (g *failing) Begin(round uint64, live []agent.Neighbor) {
	g.round = round
	g.Gate.Begin(round, live)
}

func (g *failing) Answer(q *agent.Query, dst tensor.Vec) error {
	if g.round == g.at && !*g.once {
		*g.once = true
		return errDisk
	}
	return g.Gate.Answer(q, dst)
}

var errDisk = errors.New("no space left on device")

func TestAMemberThatErrsStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		once := false
		r := start(t, nodetest.Options{Factory: factory(t, "dsgt"), Change: func(i int, c *node.Config) {
			if i == 1 {
				c.Gate = &failing{Gate: c.Gate, at: 5, once: &once}
			}
		}}, openMemory)
		if err := <-r.done[1]; !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "round 5") {
			t.Fatalf("got %v", err)
		}
		if s := r.nodes[1].Status(); s.Round != 5 || !strings.Contains(s.Failure, "no space") {
			t.Errorf("status %+v", s)
		}
		time.Sleep(24 * time.Hour)
		r.start(t, 1)
		r.wait(t)
		r.equalsSimulator(t)
	})
}

// Rounds that go on without a member put its weight on self: for a path 0-1-2 without 2
// whose budgets are spent, W' to the k-th power of the start, in float64.
func TestProceedKeepsTheWeightOfMissingPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []node.RoundReport
		o := nodetest.Options{
			Factory: factory(t, "dsgd"),
			Agents:  3,
			Graph:   "path",
			Rounds:  6,
			Change: func(i int, c *node.Config) {
				c.Gate = spent{}
				c.Missing, c.Deadline, c.Linger = node.Proceed, 10*time.Second, time.Minute
				c.Algorithm = startAt{c.Algorithm, float32(i)}
				if i == 1 {
					c.OnRound = func(r node.RoundReport) { reports = append(reports, r) }
				}
			},
		}
		r := prepare(t, o, openMemory)
		r.start(t, 0)
		r.start(t, 1)
		for _, i := range []int{0, 1} {
			if err := <-r.done[i]; err != nil {
				t.Fatal(err)
			}
		}
		g := r.w.Graph
		x := [2]float64{0, 1}
		for range 6 {
			a := g.SelfWeight(0)*x[0] + g.Weight(0, 1)*x[1]
			b := g.Weight(1, 0)*x[0] + (g.SelfWeight(1)+g.Weight(1, 2))*x[1]
			x = [2]float64{a, b}
		}
		for i := range x {
			if got := float64(r.nodes[i].Params()[0]); math.Abs(got-x[i]) > 5e-6 {
				t.Errorf("agent %d: %g, want %g", i, got, x[i])
			}
		}
		s := r.nodes[1].Status()
		if s.Counts.Missing != 6 || s.Counts.OneSided != 0 || !s.Exhausted || len(reports) != 6 ||
			!slices.Equal(reports[3].Missing, []agent.ID{2}) {
			t.Errorf("status %+v, reports %+v", s, reports)
		}
	})
}

// spent is a gate whose budget is spent.
type spent struct{}

func (spent) Begin(uint64, []agent.Neighbor)        {}
func (spent) Answer(*agent.Query, tensor.Vec) error { return privacy.ErrExhausted }

// startAt begins with one number in all coordinates, by its first checkpoint.
type startAt struct {
	agent.Algorithm
	x float32
}

func (s startAt) Step(in *agent.Input, out *agent.Output) error {
	if in.Kind == agent.Start {
		p := s.Algorithm.Params()
		for i := range p {
			p[i] = s.x
		}
	}
	return s.Algorithm.Step(in, out)
}

// A member that was away for days skips to its neighbors' round: it takes no step, and no
// charge, for rounds that nobody mixes.
func TestRejoinAfterDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nodetest.Options{Factory: factory(t, "dsgd"), Rounds: 400,
			Change: func(i int, c *node.Config) {
				c.Gate = slowGate{c.Gate, time.Hour}
				c.Missing, c.Deadline = node.Proceed, 90*time.Minute
			}}, openMemory)
		time.Sleep(10*time.Hour + 30*time.Minute)
		r.halt(2)
		time.Sleep(5 * 24 * time.Hour)
		r.start(t, 2)
		r.wait(t)
		s := r.nodes[2].Status()
		charges := r.led[2].Head().Seq
		if s.Counts.Skipped < 30 || charges+s.Counts.Skipped < 400 || charges+s.Counts.Skipped > 401 {
			t.Errorf("%d rounds skipped, %d charges, want 400 together, one more if the last step was "+
				"lost: %+v", s.Counts.Skipped, charges, s)
		}
		if missing := r.nodes[1].Status().Counts.Missing; missing < 100 || missing > 130 {
			t.Errorf("a neighbor missed %d frames", missing)
		}
	})
}

// A loss in one direction only is counted where it is seen.
func TestOneSidedLossesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nodetest.Options{
			Factory: factory(t, "dsgd"),
			Agents:  2,
			Graph:   "path",
			Rounds:  8,
			Change: func(i int, c *node.Config) {
				c.Missing, c.Deadline, c.Linger = node.Proceed, 10*time.Second, time.Second
			},
		}, openFaulty(func(f *nodetest.Faulty, i agent.ID) {
			f.Down = func(agent.ID) bool { return i == 0 }
		}))
		r.wait(t)
		// the first may be on its way yet
		if s := r.nodes[1].Status(); s.Counts.Missing != 8 || s.Counts.OneSided < 7 {
			t.Errorf("the deaf side: %+v", s.Counts)
		}
		if s := r.nodes[0].Status(); s.Counts.OneSided != 0 {
			t.Errorf("the dumb side: %+v", s.Counts)
		}
	})
}
