package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/agent"
	"sotto/config"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// diary is an algorithm that writes down what it is stepped with and broadcasts its wake
// number; in pairs it broadcasts at its start alone.
type diary struct {
	self  agent.ID
	lines []string
	heard [][]agent.Message
	value float32
	until int // wakes until it is done; 0: never
	wakes int
	pairs bool
}

func (d *diary) Step(in *agent.Input, out *agent.Output) error {
	var inbox []agent.Message
	for _, m := range in.Inbox {
		m.Body = slices.Clone(m.Body)
		inbox = append(inbox, m)
	}
	d.lines, d.heard = append(d.lines, in.Kind.String()), append(d.heard, inbox)
	for _, m := range in.Inbox {
		d.value += m.Body[0] / 3 // rounding makes the order of everything visible
	}
	switch in.Kind {
	case agent.Wake:
		d.wakes++
		out.Done = d.wakes == d.until
		if d.pairs {
			out.Outbox = append(out.Outbox, agent.Message{To: in.Peer, Body: d.Params()})
			return nil
		}
	case agent.Start:
		d.value = float32(d.self) + .1
	case agent.Exchange:
		return nil
	default:
		return agent.ErrKind
	}
	out.Broadcast(d.Params())
	return nil
}

func (d *diary) Params() tensor.Vec          { return tensor.Vec{d.value, float32(d.wakes)} }
func (d *diary) AppendState(b []byte) []byte { return agent.AppendVec(b, d.Params()) }
func (d *diary) LoadState([]byte) error      { return errors.New("not here") }
func newDiary(i int, pairs bool) *diary      { return &diary{self: agent.ID(i), pairs: pairs} }

func stateOf(s sim.Runtime) string {
	var b strings.Builder
	if err := s.WriteState(&b); err != nil {
		panic(err) // a Builder takes all
	}
	return b.String()
}

func load(s sim.Runtime, state string) error { return s.ReadState(strings.NewReader(state)) }

func runAsync(t *testing.T, s sim.Runtime, until uint64) {
	t.Helper()
	if err := s.Run(context.Background(), until); err != nil {
		t.Fatal(err)
	}
}

func asyncGraph(t testing.TB, agents int) *topology.Graph {
	t.Helper()
	s, err := topology.New("regular", "", agents, 5, func(p any) error {
		p.(*topology.RegularParams).Degree = 4
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.At(0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func pacing(pairs bool) agent.Pacing {
	if pairs {
		return agent.PacingPairs
	}
	return agent.PacingWakes
}

func diaries(t testing.TB, agents int, wakes uint64, edit func(*sim.Config)) (sim.Runtime, []*diary) {
	t.Helper()
	cfg := sim.Config{Schedule: topology.Static(asyncGraph(t, agents)), Dim: 2, Pacing: agent.PacingWakes,
		Steps: wakes, Seed: 11, Workers: 1}
	if edit != nil {
		edit(&cfg)
	}
	var all []*diary
	for i := range agents {
		d := newDiary(i, cfg.Pacing == agent.PacingPairs)
		all, cfg.Agents = append(all, d), append(cfg.Agents, sim.Agent{Algorithm: d})
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, all
}

// The bits do not depend on the number of workers, with and without faults, for
// broadcasts and pairs.
func TestAsyncBitsDoNotDependOnWorkers(t *testing.T) {
	for name, f := range map[string]sim.Faults{"no faults": {}, "loss": {Drop: .3}, "latency": {Latency: 2},
		"all": {Drop: .2, Latency: 1.5, Churn: .3, ChurnPeriod: 3}} {
		for _, pairs := range []bool{false, true} {
			if pairs && f.Latency > 0 {
				continue
			}
			var want string
			for _, workers := range []int{1, 2, 7} {
				s, _ := diaries(t, 60, 9000, func(c *sim.Config) {
					c.Workers, c.Faults, c.Pacing = workers, f, pacing(pairs)
				})
				runAsync(t, s, 5000)
				runAsync(t, s, 9000)
				if got := stateOf(s); workers == 1 {
					want = got
				} else if got != want {
					t.Errorf("%s, pairs %v: %d workers give other bits than one", name, pairs, workers)
				}
			}
		}
	}
}

// In pairs every wake has in its inbox what neighbors broadcast at the start, as far as
// the links let it through: always the same. Who comes later has said nothing.
func TestPairsHearStarts(t *testing.T) {
	for name, f := range map[string]sim.Faults{"no faults": {}, "loss": {Drop: .3},
		"churn": {Churn: .3, ChurnPeriod: 3}} {
		s, all := diaries(t, 40, 2000, func(c *sim.Config) { c.Pacing, c.Faults = agent.PacingPairs, f })
		if heard := s.Stats().Sent; heard != 40*4 && name != "churn" || heard >= 40*4 && name == "churn" {
			t.Errorf("%s: %d messages at the start", name, heard)
		}
		runAsync(t, s, 2000)
		total := 0
		for i, d := range all {
			first := -1
			for k, line := range d.lines {
				if line != agent.Wake.String() {
					continue
				}
				if first < 0 {
					first, total = k, total+len(d.heard[k])
				}
				same := slices.EqualFunc(d.heard[k], d.heard[first], func(a, b agent.Message) bool {
					return a.From == b.From && a.Body[0] == b.Body[0] && a.Body[0] == float32(a.From)+.1
				})
				if !same {
					t.Fatalf("%s: agent %d hears %v, at first %v", name, i, d.heard[k], d.heard[first])
				}
			}
		}
		// of 160, without faults all; 30 % are lost or away: the standard deviation of
		// losses is 5.8, of the messages of those away 11.6
		if total == 160 != (name == "no faults") || name != "no faults" && (total < 54 || total > 158) {
			t.Errorf("%s: %d messages are heard", name, total)
		}
	}
}

// Each agent is woken as often as any other (chi-square), and the gaps are exponential
// with mean 1/n (Kolmogorov-Smirnov): false-reject rate 1e-6 each. Peers are uniform
// among neighbors.
func TestClock(t *testing.T) {
	const n, wakes = 100, 50_000
	g := asyncGraph(t, n)
	c := sim.NewClock(8, n, g)
	counts, peers, gaps, last := make([]float64, n), map[[2]agent.ID]float64{}, []float64{}, 0.
	for range wakes {
		w, _ := c.Next()
		counts[w.Agent]++
		peers[[2]agent.ID{w.Agent, w.Peer}]++
		gaps, last = append(gaps, w.Time-last), w.Time
	}
	chi := 0.
	for _, k := range counts {
		chi += (k - wakes/n) * (k - wakes/n) / (wakes / n)
	}
	if p := (distuv.ChiSquared{K: n - 1}).Survival(chi); p < 1e-6 {
		t.Errorf("wakes of agents: chi-square %g, p-value %g", chi, p)
	}
	chi = 0
	for i := range n {
		for _, nb := range g.In(agent.ID(i)) {
			want := wakes / n / 4.
			d := peers[[2]agent.ID{agent.ID(i), nb.ID}] - want
			chi += d * d / want
		}
	}
	if p := (distuv.ChiSquared{K: 4*n - 1}).Survival(chi); p < 1e-6 {
		t.Errorf("peers: chi-square %g, p-value %g", chi, p)
	}
	slices.Sort(gaps)
	ks := 0.
	for k, x := range gaps {
		f := 1 - math.Exp(-n*x)
		ks = max(ks, math.Abs(f-float64(k)/wakes), math.Abs(f-float64(k+1)/wakes))
	}
	if limit := math.Sqrt(math.Log(2/1e-6) / 2 / wakes); ks > limit {
		t.Errorf("gaps are %g away from the exponential law, at most %g is chance", ks, limit)
	}
}

// A wake hears of every neighbor the last message that has arrived, as a slow and simple
// record of all messages has it.
func TestAsyncDelivery(t *testing.T) {
	const n, wakes = 20, 600
	for _, f := range []sim.Faults{{}, {Latency: 3}, {Drop: .4}, {Drop: .3, Latency: 1}} {
		s, all := diaries(t, n, wakes, func(c *sim.Config) { c.Faults = f })
		runAsync(t, s, wakes)
		g, clock := asyncGraph(t, n), sim.NewClock(11, n, nil)
		sentAt := make([][]float64, n) // times of each agent's messages
		for i := range sentAt {
			sentAt[i] = []float64{0}
		}
		at := make([]int, n)               // wakes so far
		newest := map[[2]agent.ID]uint64{} // highest number that a receiver has seen of a sender
		heard, missing, behind := 0, 0, 0
		for range wakes {
			w, _ := clock.Next()
			at[w.Agent]++
			inbox := all[w.Agent].heard[at[w.Agent]] // 0 is Start
			next := 0
			for _, nb := range g.In(w.Agent) {
				if next == len(inbox) || inbox[next].From != nb.ID {
					missing++
					continue
				}
				m := inbox[next]
				next++
				key := [2]agent.ID{nb.ID, w.Agent}
				if m.Round < newest[key] {
					t.Fatalf("%+v: agent %d heard message %d of agent %d after %d", f, w.Agent, m.Round,
						nb.ID, newest[key])
				}
				newest[key] = m.Round
				last := uint64(len(sentAt[nb.ID]) - 1)
				if m.Round > last || m.Body[1] != float32(m.Round) {
					t.Fatalf("%+v: message %d of agent %d holds %v, it has sent %d", f, m.Round, nb.ID,
						m.Body, last)
				}
				heard++
				if m.Round < last {
					behind++
					if f.Drop == 0 && w.Time-sentAt[nb.ID][m.Round+1] >= f.Latency {
						t.Fatalf("%+v: a message is %g late", f, w.Time-sentAt[nb.ID][m.Round+1])
					}
				}
			}
			if next != len(inbox) {
				t.Fatalf("%+v: agent %d hears agents it has no link to", f, w.Agent)
			}
			sentAt[w.Agent] = append(sentAt[w.Agent], w.Time)
		}
		if perfect := f == (sim.Faults{}); perfect != (behind == 0) || perfect && missing > 0 {
			t.Errorf("%+v: %d of %d messages were not the last ones, %d missing", f, behind, heard, missing)
		}
		if st := s.Stats(); f.Drop > 0 {
			if d := math.Abs(float64(st.Dropped)/float64(st.Sent) - f.Drop); d >
				4.9*math.Sqrt(f.Drop*(1-f.Drop)/float64(st.Sent)) {
				t.Errorf("%+v: %d of %d messages dropped", f, st.Dropped, st.Sent)
			}
		}
	}
}

// Who is away neither wakes nor hears; who joins late gets one Start with its neighbors'
// vectors.
func TestChurn(t *testing.T) {
	s, all := diaries(t, 60, 6000, func(c *sim.Config) {
		c.Faults = sim.Faults{Churn: .4, ChurnPeriod: 5}
	})
	runAsync(t, s, 6000)
	late := 0
	for i, d := range all {
		starts := 0
		for k, line := range d.lines {
			if line == "start" {
				starts++
				if k == 0 && len(d.heard[0]) > 0 {
					late++
				}
			}
		}
		if starts > 1 || len(d.lines) > 0 && d.lines[0] != "start" {
			t.Errorf("agent %d: %d starts, first %q", i, starts, d.lines[0])
		}
	}
	if late < 10 || late > 40 { // 24 expected of 60 at 0.4
		t.Errorf("%d agents joined late", late)
	}
	st := s.Stats()
	if share := float64(st.Absent) / 6000; share < .2 || share > .6 {
		t.Errorf("%g of the wakes were of absent agents", share)
	}
}

// A recorded list gives the bits of the run it was taken from, and survives its text
// form.
func TestReplay(t *testing.T) {
	for _, pairs := range []bool{false, true} {
		g := asyncGraph(t, 30)
		if !pairs {
			g = nil
		}
		var list []sim.Wake
		for c := sim.NewClock(11, 30, g); len(list) < 500; {
			w, _ := c.Next()
			list = append(list, w)
		}
		text := sim.AppendWakes(nil, list)
		read, err := sim.ParseWakes(text, 30, g)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(read, list) {
			t.Fatal("the list read is not the list written")
		}
		drawn, _ := diaries(t, 30, 500, func(c *sim.Config) { c.Pacing = pacing(pairs); c.Faults.Drop = .1 })
		again, _ := diaries(t, 30, 500, func(c *sim.Config) {
			c.Pacing, c.Seed, c.Replay = pacing(pairs), 11, read
			c.Faults.Drop = .1
		})
		other, _ := diaries(t, 30, 500, func(c *sim.Config) {
			c.Pacing, c.Seed = pacing(pairs), 12
			c.Faults.Drop = .1
		})
		for _, s := range []sim.Runtime{drawn, again, other} {
			runAsync(t, s, 500)
		}
		if stateOf(drawn) != stateOf(again) {
			t.Errorf("pairs %v: the replayed run has other bits", pairs)
		}
		if stateOf(drawn) == stateOf(other) {
			t.Errorf("pairs %v: another seed gives the same bits", pairs)
		}
	}
}

func TestAsyncRefuses(t *testing.T) {
	good := func() sim.Config {
		return sim.Config{
			Agents: []sim.Agent{{Algorithm: newDiary(0, false)}, {Algorithm: newDiary(1, false)},
				{Algorithm: newDiary(2, false)},
				{Algorithm: newDiary(3, false)}, {Algorithm: newDiary(4, false)}},
			Schedule: topology.Static(asyncGraph(t, 5)),
			Dim:      2,
			Pacing:   agent.PacingWakes,
			Steps:    10,
			Workers:  1,
		}
	}
	for key, edit := range map[string]func(*sim.Config){
		"agents":       func(c *sim.Config) { c.Agents = c.Agents[:4] },
		"workers":      func(c *sim.Config) { c.Workers = -1 },
		"drop":         func(c *sim.Config) { c.Faults.Drop = 1.1 },
		"delay":        func(c *sim.Config) { c.Faults.Delay = .1 },
		"latency":      func(c *sim.Config) { c.Faults.Latency = math.NaN() },
		"churn":        func(c *sim.Config) { c.Faults.Churn = 1 },
		"churn_period": func(c *sim.Config) { c.Faults.ChurnPeriod = -1 },
		"wakes":        func(c *sim.Config) { c.Replay = []sim.Wake{} },
	} {
		cfg := good()
		edit(&cfg)
		_, err := sim.New(cfg)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	cfg := good()
	cfg.Agents[2].Silent = true
	if _, err := sim.New(cfg); !errors.Is(err, sim.ErrSent) {
		t.Errorf("a silent agent sent: %v", err)
	}
	if _, err := sim.New(sim.Config{Agents: cfg.Agents, Faults: sim.Faults{Latency: 1}}); err == nil {
		t.Error("rounds took a latency")
	}
}

func TestWakeListsRefuse(t *testing.T) {
	g := asyncGraph(t, 30)
	for name, text := range map[string]string{
		"header":    "time,agent\n",
		"cells":     "time,agent,peer\n1,2\n",
		"backwards": "time,agent,peer\n2,1,\n1,1,\n",
		"nan":       "time,agent,peer\nNaN,1,\n",
		"infinite":  "time,agent,peer\n+Inf,1,\n",
		"agent":     "time,agent,peer\n1,30,\n",
		"peer":      "time,agent,peer\n1,3,4\n",
	} {
		if _, err := sim.ParseWakes([]byte(text), 30, nil); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	nb := g.In(3)[0].ID
	if _, err := sim.ParseWakes(fmt.Appendf(nil, "time,agent,peer\n1,3,%d\n", nb), 30, g); err != nil {
		t.Error(err)
	}
	for id := range agent.ID(30) {
		if _, err := sim.ParseWakes(fmt.Appendf(nil, "time,agent,peer\n1,3,%d\n", id), 30, g); (err == nil) !=
			(g.Weight(3, id) > 0 && id != 3) {
			t.Errorf("peer %d of agent 3: %v", id, err)
		}
	}
}

func FuzzParseWakes(f *testing.F) {
	f.Add([]byte("time,agent,peer\n0.5,1,\n0.75,2,\n"))
	f.Add([]byte("time,agent,peer\n1e-3,0,3"))
	f.Add([]byte("time,agent,peer\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		wakes, err := sim.ParseWakes(b, 4, nil)
		if err != nil {
			var bad *config.Error
			if !errors.As(err, &bad) || bad.Line < 1 {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		again, err := sim.ParseWakes(sim.AppendWakes(nil, wakes), 4, nil)
		if err != nil || !slices.Equal(again, wakes) {
			t.Fatalf("%v is not read back: %v", wakes, err)
		}
	})
}

// An agent that is done is not stepped, and a context that ends stops the run where it
// can go on.
func TestAsyncEnds(t *testing.T) {
	s, all := diaries(t, 10, 20_000, nil)
	for _, d := range all {
		d.until = 5
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx, 100); !errors.Is(err, context.Canceled) || s.Done() != 0 {
		t.Errorf("%v after %d wakes", err, s.Done())
	}
	runAsync(t, s, 1<<62)
	for i, d := range all {
		if d.wakes != 5 {
			t.Errorf("agent %d was stepped %d times, want 5", i, d.wakes)
		}
	}
	if st := s.Stats(); s.Done() != 20_000 || st.Idle != 20_000-50 || st.Sent != 10*6*4 ||
		st.Vectors != 240 {
		t.Errorf("%d wakes, %+v", s.Done(), st)
	}
	if n := s.BytesSent(3); n != 6*4*uint64(agent.MessageSize(2)) {
		t.Errorf("agent 3 sent %d bytes", n)
	}
}
