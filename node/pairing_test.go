package node_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/node/wire"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// admm is gossip ADMM on the problems of pull.
func admm(t testing.TB) agent.Factory { return admmFrom(t, "zero") }

func admmFrom(t testing.TB, start string) agent.Factory {
	t.Helper()
	f, err := algo.New("gossip-admm", func(p any) error {
		a := p.(*algo.GossipADMMParams)
		a.Start = start
		a.Mu, a.Lambda, a.Confidence, a.Smoothness = pullMu, pullLambda, 1, 1
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Nodes that meet in pairs reach the minimiser of the objective, whatever links do: lost
// and repeated frames undo no meeting and make none twice.
func TestPairsReachTheMinimiser(t *testing.T) {
	for name, change := range map[string]func(f *nodetest.Faulty, i agent.ID){
		"good links": func(*nodetest.Faulty, agent.ID) {},
		"bad links": func(f *nodetest.Faulty, _ agent.ID) {
			f.Lose, f.Unsure, f.Repeat, f.Delay = .2, .2, .2, 100*time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const rounds = 800
				center := func(i int) float64 { return float64(i * i) }
				r := start(t, nodetest.Options{
					Factory:  admm(t),
					Agents:   4,
					Rounds:   rounds,
					Interval: 10 * time.Second,
					Change: func(i int, c *node.Config) {
						c.Pairs, c.Deadline, c.Gate = true, 20*time.Second, exact{center: float32(center(i))}
					},
				}, openFaulty(change))
				r.wait(t)
				want := minimiser(r.w, center)
				for i, n := range r.nodes {
					if got := float64(n.Params()[0]); math.Abs(got-want[i]) > 1e-3*(1+math.Abs(want[i])) {
						t.Errorf("agent %d ends at %g, the minimiser is %g", i, got, want[i])
					}
					s := n.Status()
					if s.Round != rounds || !s.Finished || s.Counts.OneSided != 0 || name == "bad links" &&
						s.Counts.Busy == 0 {
						t.Errorf("agent %d: %+v", i, s)
					}
				}
			})
		})
	}
}

// diary keeps an agent's steps. What follows a state that is loaded again has not
// happened.
type diary struct {
	agent.Algorithm
	kept *entries
}

type entries struct {
	mu    sync.Mutex
	steps []step
	marks []landmark
}

type landmark struct {
	state string
	steps int
}

func (d diary) Step(in *agent.Input, out *agent.Output) error {
	e := d.kept
	e.mu.Lock()
	defer e.mu.Unlock()
	s := step{in: agent.Input{Kind: in.Kind, Round: in.Round, Peer: in.Peer, Answer: slices.Clone(in.Answer)}}
	v := *in.View
	s.in.View = &v
	for _, m := range in.Inbox {
		m.Body = slices.Clone(m.Body)
		s.in.Inbox = append(s.in.Inbox, m)
	}
	if in.Kind == agent.Start {
		e.steps, e.marks = nil, nil
	}
	if err := d.Algorithm.Step(in, out); err != nil {
		return err
	}
	for _, m := range out.Outbox {
		m.Body = slices.Clone(m.Body)
		s.out = append(s.out, m)
	}
	e.steps = append(e.steps, s)
	if out.Query == nil {
		e.marks = append(e.marks, landmark{string(d.Algorithm.AppendState(nil)), len(e.steps)})
	}
	return nil
}

func (d diary) LoadState(b []byte) error {
	e := d.kept
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := len(e.marks) - 1; k >= 0; k-- {
		if e.marks[k].state == string(b) {
			e.steps, e.marks = e.steps[:e.marks[k].steps], e.marks[:k+1]
			return d.Algorithm.LoadState(b)
		}
	}
	return errors.New("a state that the agent never was in")
}

// Nodes that meet in pairs crash at random changes of their disks. The run ends; a replay
// of each node's answers and messages gives its parameters bit for bit; whoever received
// a message has it from the sender's replay, bit for bit; charges are at least the
// answers in use, and every ledger verifies.
func TestCrashesInPairs(t *testing.T) {
	for _, from := range []string{"zero", "fit"} {
		t.Run(from, func(t *testing.T) { crashInPairs(t, from) })
	}
}

func crashInPairs(t *testing.T, from string) {
	synctest.Test(t, func(t *testing.T) {
		const members, rounds = 4, 30
		c := &crashing{
			crashes: 8,
			down:    5 * time.Second,
			steps:   make([][]step, members),
			params:  make([]tensor.Vec, members),
			disks:   make([]*ledgertest.CrashFS, members),
		}
		books := make([]*entries, members)
		for i := range books {
			books[i] = new(entries)
		}
		c.w = nodetest.NewWorld(t, nodetest.Options{
			Factory:  admmFrom(t, from),
			Rounds:   rounds,
			Interval: 20 * time.Second,
			Change: func(i int, cfg *node.Config) {
				cfg.Pairs, cfg.Linger = true, time.Hour
				cfg.Algorithm = diary{cfg.Algorithm, books[i]}
			},
		})
		c.net = openMemory(t, members)
		done := make(chan error, members)
		keys := make([]ed25519.PrivateKey, members)
		for i := range members {
			_, keys[i], _ = ed25519.GenerateKey(nil)
			go func() { done <- c.live(t, i, keys[i]) }()
		}
		for range members {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		key := func(from agent.ID, body tensor.Vec) string {
			return string(agent.AppendMessage(nil, &agent.Message{From: from, Body: body}))
		}
		sent := map[string]bool{}
		for i := range members {
			for _, body := range c.replayDiary(t, i, books[i]) {
				sent[key(agent.ID(i), body)] = true
			}
		}
		meetings, foreign := 0, 0
		for i := range members {
			answers := uint64(0)
			for _, s := range books[i].steps {
				switch s.in.Kind {
				case agent.Answer:
					answers++
				case agent.Exchange:
					if meetings++; !sent[key(s.in.Inbox[0].From, s.in.Inbox[0].Body)] {
						foreign++ // of a meeting that the sender has given up
					}
				}
			}
			report, err := ledger.Verify("/ledger", ledger.Options{FS: c.disks[i],
				PublicKey: keys[i].Public().(ed25519.PublicKey), Accountant: "rdp"})
			if err != nil || report.Charges < answers {
				t.Errorf("agent %d: %d charges for %d answers in use, %v", i, report.Charges, answers, err)
			}
		}
		// Each of the 120 wakes meets somebody who is free more often than not. Crashes
		// take some of that: in 417 runs the fewest halves were 72, half of the median. A
		// meeting is given up only when a crash keeps a node away for longer than the
		// deadline of 60 s, which not even all of its crashes in a row do (8 of 5 s).
		if meetings < members*rounds/4 || foreign > 0 {
			t.Errorf("%d halves of meetings, %d of them one-sided", meetings, foreign)
		}
	})
}

// replayDiary steps a fresh algorithm with what was recorded, wants the node's
// parameters, and returns what it sends.
func (c *crashing) replayDiary(t *testing.T, i int, book *entries) (sent []tensor.Vec) {
	alg := c.w.Algorithm(t, i)
	var out agent.Output
	for _, s := range book.steps {
		out.Reset()
		in := s.in
		if in.Kind == agent.Start {
			g := c.w.Graph
			in.View = &agent.View{In: g.In(agent.ID(i)), Out: g.Out(agent.ID(i))}
		}
		if err := alg.Step(&in, &out); err != nil {
			t.Fatal(err)
		}
		for _, m := range out.Outbox {
			sent = append(sent, slices.Clone(m.Body))
		}
	}
	if !slices.Equal(alg.Params(), c.params[i]) {
		t.Errorf("agent %d: a replay ends at %v, the node at %v", i, alg.Params(), c.params[i])
	}
	return sent
}

// What an agent broadcasts at its start reaches all its neighbors over bad links, and is
// in the inbox of its later wakes: the start models, here the answers to "fit".
func TestGreetingsInPairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const members = 4
		books := make([]*entries, members)
		r := start(t, nodetest.Options{
			Factory:  admmFrom(t, "fit"),
			Agents:   members,
			Graph:    "path",
			Rounds:   40,
			Interval: 10 * time.Second,
			Change: func(i int, c *node.Config) {
				books[i] = new(entries)
				c.Pairs, c.Deadline, c.Gate = true, 20*time.Second, exact{center: float32(i + 1)}
				c.Algorithm = diary{c.Algorithm, books[i]}
			},
		}, openFaulty(func(f *nodetest.Faulty, _ agent.ID) {
			f.Lose, f.Unsure, f.Repeat, f.Delay = .2, .2, .2, 100*time.Millisecond
		}))
		r.wait(t)
		for i, book := range books {
			var last []agent.Message
			for _, s := range book.steps {
				if s.in.Kind == agent.Wake {
					last = s.in.Inbox
				}
			}
			var from []agent.ID
			for _, m := range last {
				from = append(from, m.From)
				if want := books[m.From].steps[1].in.Answer; !slices.Equal(m.Body, want) || want[0] == 0 {
					t.Errorf("agent %d has %v from %d, which began with %v", i, m.Body, m.From, want)
				}
			}
			want := []agent.ID{agent.ID(i - 1), agent.ID(i + 1)}
			switch i {
			case 0:
				want = want[1:]
			case members - 1:
				want = want[:1]
			}
			if !slices.Equal(from, want) {
				t.Errorf("agent %d has heard %v, its neighbors are %v", i, from, want)
			}
		}
	})
}

// A neighbor that consents and then falls silent costs the charges of one meeting: the
// state is that before it. When its reply comes after all, it is counted, and dropped.
// One that is not there costs nothing. (The second wake may come within the two seconds
// that the first takes, with probability 3e-5; the test then fails.)
func TestMeetingsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.NewWorld(t, nodetest.Options{
			Factory:  admm(t),
			Agents:   2,
			Graph:    "path",
			Rounds:   3,
			Interval: 24 * time.Hour,
			Change: func(i int, c *node.Config) {
				c.Pairs, c.Linger, c.Deadline = true, time.Second, time.Second
			},
		})
		net := openMemory(t, 2)
		l := ledger.NewMemory(nil)
		tr := net.Open(t, 0)
		n, store, err := w.Node(t, 0, tr, ledgertest.NewCrashFS(), l)
		if err != nil {
			t.Fatal(err)
		}
		bad := net.Open(t, 1)
		var offers [][]byte
		bad.Serve(func(_ agent.ID, raw []byte) error {
			if frame.Kind(raw[5]) == frame.Offer {
				offers = append(offers, slices.Clone(raw))
			}
			return nil
		})
		done := make(chan error)
		go func() { done <- n.Run(context.Background()) }()
		for n.Status().Round == 0 {
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if s := n.Status(); len(offers) != 1 || s.Counts.Missing != 1 || l.Head().Seq != 10 ||
			n.Params().Norm() != 0 {
			t.Errorf("%d offers, %d charges, at %v: %+v", len(offers), l.Head().Seq, n.Params(), s)
		}
		late := frame.Append(nil, &frame.Frame{Kind: frame.Reply, Run: w.Run, Sender: 1, Round: 0,
			Payload: agent.AppendMessage(nil,
				&agent.Message{From: 1, To: 0, Body: make(tensor.Vec, 2*nodetest.Dim)})})
		for range 2 {
			if err := bad.Send(context.Background(), 0, late); err != nil {
				t.Error(err)
			}
		}
		if s := n.Status(); s.Counts.OneSided != 1 {
			t.Errorf("after a late reply: %+v", s)
		}
		// An offer that nobody asked for, of a length that does not fit.
		short := frame.Append(nil, &frame.Frame{Kind: frame.Offer, Run: w.Run, Sender: 1, Round: 0,
			Payload: agent.AppendMessage(nil, &agent.Message{From: 1, To: 0, Body: make(tensor.Vec, 3)})})
		if err := bad.Send(context.Background(), 0, short); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if s := n.Status(); s.Peers[0].Fault == "" || n.Params().Norm() != 0 {
			t.Errorf("after a short offer: %+v", s)
		}
		ahead := frame.Append(nil, &frame.Frame{Kind: frame.Ask, Run: w.Run, Sender: 1, Round: 3})
		if err := bad.Send(context.Background(), 0, ahead); !errors.Is(err, node.RefusedAhead) {
			t.Errorf("a fourth meeting of a node with three wakes: %v", err)
		}
		bad.Close()
		charges := l.Head().Seq
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if s := n.Status(); s.Round != 3 || s.Counts.Missing != 3 || l.Head().Seq != charges {
			t.Errorf("without the neighbor: %+v, %d charges", s, l.Head().Seq)
		}
		tr.Close()
		store.Close()
	})
}

// A neighbor that asks again and again and offers nothing keeps others from a meeting for
// one deadline, not for good. (Its own clock rings meanwhile with probability 4e-5.)
func TestConsentIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deadline = time.Second
		w := nodetest.NewWorld(t, nodetest.Options{Factory: admm(t), Agents: 3, Graph: "path", Rounds: 3,
			Interval: 24 * time.Hour,
			Change: func(i int, c *node.Config) {
				c.Pairs, c.Deadline = true, deadline
				nodetest.Bare(i, c)
			}})
		net := openMemory(t, 3)
		tr := net.Open(t, 1)
		n, store, err := w.Node(t, 1, tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		ask := func(i agent.ID, tr node.Transport) error {
			return tr.Send(ctx, 1, frame.Append(nil, &frame.Frame{Kind: frame.Ask, Run: w.Run, Sender: i}))
		}
		ends := make([]node.Transport, 3)
		for _, i := range []agent.ID{0, 2} {
			ends[i] = net.Open(t, i)
			ends[i].Serve(func(agent.ID, []byte) error { return nil })
		}
		synctest.Wait()
		began := time.Now()
		if err := ask(0, ends[0]); err != nil {
			t.Fatal(err)
		}
		for ask(2, ends[2]) != nil {
			if time.Since(began) > 3*deadline {
				t.Fatal("a neighbor that keeps asking has the table for itself")
			}
			time.Sleep(deadline / 20)
			ask(0, ends[0])
		}
		stop()
		<-done
		ends[1] = tr
		for _, e := range ends {
			e.Close()
		}
		store.Close()
	})
}

func TestPairsRefuseOtherPaces(t *testing.T) {
	w := nodetest.NewWorld(t, nodetest.Options{Factory: admm(t), Change: func(_ int, c *node.Config) {
		c.Pairs = true
	}})
	_, _, err := w.Node(t, 0, wire.NewMemory(4, 1000).Open(0), ledgertest.NewCrashFS(), ledger.NewMemory(nil))
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "interval" {
		t.Errorf("pairs without a clock: %v", err)
	}
}
