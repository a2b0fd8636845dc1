package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
)

// walking lists the algorithms whose models walk.
var walking = map[string]func(p any){
	"walk": func(p any) {
		if p, ok := p.(*algo.WalkParams); ok {
			p.StepSize.StepSize = .3
		}
	},
}

func walkFactory(t testing.TB, name, after string) agent.Factory {
	t.Helper()
	f, err := algo.New(name, func(p any) error {
		walking[name](p)
		if p, ok := p.(*algo.WalkParams); ok {
			p.After = after
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// One token goes where the simulator's goes, and every visit leaves the same bits,
// whatever links do to frames, also where budgets end.
func TestATokenEqualsTheSimulator(t *testing.T) {
	for name := range algo.Algorithms {
		if algo.Algorithms[name].Pacing != agent.PacingTokens {
			continue
		}
		if walking[name] == nil {
			t.Errorf("algorithm %s is not in the list of this suite", name)
			continue
		}
		for _, after := range []string{"noise", "nothing"} {
			for _, o := range []nodetest.Options{
				{Graph: "ring", Agents: 5, Rounds: 40},
				{Graph: "complete", Agents: 4, Rounds: 30, Limit: 3},
				{Graph: "complete", Agents: 1, Rounds: 6},
				{Graph: "star", Agents: 5, Rounds: 1},
			} {
				o.Tokens, o.Factory = 1, walkFactory(t, name, after)
				t.Run(fmt.Sprint(name, " ", after, " ", o.Graph, " ", o.Agents), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						nodetest.Equal(t, o, openFaulty(func(f *nodetest.Faulty, _ agent.ID) {
							f.Lose, f.Unsure, f.Repeat, f.Delay = .2, .2, .2, time.Second
						}))
					})
				})
			}
		}
	}
}

// Tokens that meet, over bad links, with members that crash again and again: each makes
// all its steps once, all members end with the same final tokens, and what a member was
// charged for more than its visits is lost with its crashes.
func TestTokensSurviveCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tokens, steps, agents = 3, 25, 5
		visits := make([]uint64, agents)
		r := start(t, nodetest.Options{
			Factory: walkFactory(t, "walk", "noise"),
			Graph:   "ring",
			Agents:  agents,
			Rounds:  steps,
			Tokens:  tokens,
			Change: func(i int, c *node.Config) {
				c.OnRound = func(r node.RoundReport) {
					if r.Round != visits[i] {
						t.Errorf("agent %d: visit %d is stored after visit %d", i, r.Round, visits[i])
					}
					visits[i] = r.Round + 1
				}
			},
		}, openFaulty(func(f *nodetest.Faulty, _ agent.ID) {
			f.Lose, f.Unsure, f.Repeat, f.Delay = .1, .1, .2, 200*time.Millisecond
		}))
		for k := range 12 {
			time.Sleep(700 * time.Millisecond)
			i := k % agents
			r.halt(i)
			r.start(t, i)
		}
		r.wait(t)
		sum := uint64(0)
		for i, n := range r.nodes {
			s := n.Status()
			sum += s.Round
			if !s.Finished || s.Pace != node.InVisits {
				t.Errorf("agent %d: %+v", i, s)
			}
			for k, v := range n.Tokens() {
				if v == nil || !slices.Equal(v, r.nodes[0].Tokens()[k]) {
					t.Errorf("agent %d has token %d as %v, agent 0 %v", i, k, v, r.nodes[0].Tokens()[k])
				}
			}
		}
		if sum != tokens*steps {
			t.Errorf("%d visits, want %d", sum, tokens*steps)
		}
	})
}

// duel starts agent 0 of two, between whom one token walks to and fro, and returns agent
// 1's transport and what hands agent 0 the token after so many steps.
func duel(t *testing.T, steps uint64, change func(c *node.Config)) (
	r *running, other node.Transport, hand func(k uint64)) {
	t.Helper()
	r = prepare(t, nodetest.Options{
		Change: func(i int, c *node.Config) {
			nodetest.Bare(i, c)
			c.Hop = func(uint64) float64 { return 0 }
			if change != nil && i == 0 {
				change(c)
			}
		},
		Factory: walkFactory(t, "walk", "noise"),
		Graph:   "complete",
		Agents:  2,
		Rounds:  steps,
		Tokens:  1,
	}, openMemory)
	r.start(t, 0)
	synctest.Wait()
	other = r.net.Open(t, 1)
	return r, other, func(k uint64) {
		t.Helper()
		f := frame.Frame{Kind: frame.Token, Run: r.w.Run, Sender: 1, Round: k,
			Payload: agent.AppendMessage(nil,
				&agent.Message{From: 1, To: 0, Round: k, Body: make([]float32, nodetest.Dim)})}
		if err := other.Send(context.Background(), 0, frame.Append(nil, &f)); err != nil {
			t.Error(err)
		}
	}
}

// collect takes all frames that come, and returns the rounds of those of a kind.
func collect(tr node.Transport, kind frame.Kind) func() []uint64 {
	var mu sync.Mutex
	var rounds []uint64
	tr.Serve(func(_ agent.ID, b []byte) error {
		f, err := frame.Decode(b, node.MaxPayload(nodetest.Dim))
		if err == nil && f.Kind == kind {
			mu.Lock()
			defer mu.Unlock()
			rounds = append(rounds, f.Round)
		}
		return nil
	})
	return func() []uint64 {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(rounds)
	}
}

// A neighbor that hands tokens back and never says that it has taken one does not make
// the stored state grow, whether it takes the frames or refuses them: what it is sent at
// last is the last token alone.
func TestUnthankedTokens(t *testing.T) {
	for _, refuses := range []error{nil, errors.New("no")} {
		synctest.Test(t, func(t *testing.T) {
			r, other, hand := duel(t, 1000, nil)
			other.Serve(func(agent.ID, []byte) error { return refuses })
			for k := uint64(1); k < 12; k += 2 {
				hand(k)
				time.Sleep(time.Minute)
			}
			came := collect(other, frame.Token)
			r.halt(0)
			r.start(t, 0)
			time.Sleep(time.Minute)
			if came := came(); !slices.Equal(came, []uint64{12}) {
				t.Errorf("sent tokens of %v steps, want 12 alone", came)
			}
			r.halt(0)
			other.Close()
		})
	}
}

// Old tokens are thanked for once each at most: a neighbor that takes no thanks and sends
// ever other ones finds one word about each token at last.
func TestStaleTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, other, hand := duel(t, 1000, nil)
		other.Serve(func(agent.ID, []byte) error { return errors.New("no") })
		for k := uint64(900); k > 0; k-- {
			hand(k)
			time.Sleep(time.Millisecond)
		}
		taken := collect(other, frame.Taken)
		time.Sleep(time.Minute)
		if n := len(taken()); n != 1 {
			t.Errorf("%d words of thanks, want 1", n)
		}
		r.halt(0)
		other.Close()
	})
}

// A copy of a token that comes between its visit and the end of the store is not thanked
// for: a machine that crashes then would have lost it for good.
func TestNoThanksBeforeTheStore(t *testing.T) {
	for _, k := range []uint64{5, 1000} {
		synctest.Test(t, func(t *testing.T) {
			var between func()
			r, other, hand := duel(t, 1000, func(c *node.Config) {
				head := c.Head
				c.Head = func() ledger.Head { // the node asks before it stores
					if f := between; f != nil {
						between = nil
						f()
					}
					return head()
				}
			})
			taken := collect(other, frame.Taken)
			between = func() {
				hand(k)
				time.Sleep(time.Second)
				if len(taken()) > 0 {
					t.Errorf("token %d is thanked for before it is stored", k)
				}
			}
			hand(k)
			time.Sleep(time.Minute)
			if taken := taken(); !slices.Equal(taken, []uint64{k}) {
				t.Errorf("thanked for %v, want %d", taken, k)
			}
			r.halt(0)
			other.Close()
		})
	}
}

// Frames of tokens that no run has are refused, and of other runs; a token that has moved
// on is thanked for.
func TestHostileTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const steps = 10
		r := prepare(t, nodetest.Options{
			Change:  nodetest.Bare,
			Factory: walkFactory(t, "walk", "noise"),
			Graph:   "complete",
			Agents:  2,
			Rounds:  steps,
			Tokens:  2,
		}, openMemory)
		r.start(t, 0)
		synctest.Wait()
		other := r.net.Open(t, 1)
		var mu sync.Mutex
		var taken []uint64
		other.Serve(func(_ agent.ID, b []byte) error {
			if f, err := frame.Decode(b, node.MaxPayload(nodetest.Dim)); err == nil &&
				f.Kind == frame.Taken {
				mu.Lock()
				taken = append(taken, f.Round)
				mu.Unlock()
			}
			return nil
		})
		send := func(kind frame.Kind, round uint64, values int) error {
			f := frame.Frame{Kind: kind, Run: r.w.Run, Sender: 1, Round: round}
			if values >= 0 {
				f.Payload = agent.AppendMessage(nil,
					&agent.Message{From: 1, To: 0, Round: round, Body: make([]float32, values)})
			}
			return other.Send(context.Background(), 0, frame.Append(nil, &f))
		}
		for name, c := range map[string]struct {
			kind   frame.Kind
			round  uint64
			values int
		}{
			"no step":        {frame.Token, 0, nodetest.Dim},
			"too many steps": {frame.Token, 2*steps + 2, nodetest.Dim},
			"too many":       {frame.Token, 1 << 63, nodetest.Dim},
			"short":          {frame.Token, 4, 2},
			"empty":          {frame.Token, 4, -1},
			"rounds":         {frame.Messages, 4, nodetest.Dim},
		} {
			if err := send(c.kind, c.round, c.values); err == nil {
				t.Errorf("%s was taken", name)
			}
		}
		for range 2 { // final already: a copy is thanked for
			if err := send(frame.Token, 2*steps, nodetest.Dim); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		if err := send(frame.Token, 2*3, nodetest.Dim); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		mu.Lock()
		if n := len(taken); n < 3 || slices.Contains(taken, 7) {
			t.Errorf("thanked for %v", taken)
		}
		mu.Unlock()
		if err := send(frame.Taken, 5, -1); err != nil { // of nothing
			t.Error(err)
		}
		r.halt(0)
		other.Close()
	})
	if _, err := node.New(node.Config{Pace: node.Pace{
		Graph:   nodetest.NewWorld(t, nodetest.Options{Agents: 3}).Graph,
		Holders: []agent.ID{3},
	}}); err == nil {
		t.Error("a token starts at nobody")
	}
}
