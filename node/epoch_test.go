package node_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/mark"
	"sotto/node/nodetest"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/rng"
)

// live runs a person through all lives. Disks crash around the changes of members.
func (g *generations) live(t *testing.T, person int) error {
	chance := rng.Public(uint64(person), "kills")
	disk := ledgertest.NewCrashFS()
	if err := disk.MkdirAll("/rosters"); err != nil {
		return err
	}
	left := make([]int, len(g.rosters))
	for e := range left {
		left[e] = g.kills
	}
	near := func(round uint64) {
		for e := 1; e < len(g.rosters); e++ {
			if k := g.rosters[e].from; round+4 >= k && round <= k+3 && left[e] > 0 && disk.CrashAt == 0 {
				disk.CrashAt = disk.Changes + 1 + int(chance.Below(12)) // a start changes six
				left[e]--
			}
		}
	}
	for {
		err := g.once(t, person, disk, near)
		switch r := g.returns[person]; {
		case r == nil:
		case !r.took && (errors.Is(err, node.ErrRemoved) || errors.Is(err, errDead)):
			if err := r.begin(disk, person); err != nil {
				return err
			}
			disk = r.disk
			continue
		case r.took && errors.Is(err, node.ErrEarly):
			r.epoch = 0
			r.early++
			continue
		}
		if !errors.Is(err, ledgertest.ErrCrashed) {
			g.mu.Lock() // a crash may come at the very end
			g.disks[person] = disk.Recover(func(n int) int { return n - 1 })
			g.mu.Unlock()
			return err
		}
		g.mu.Lock()
		g.killed++
		g.mu.Unlock()
		if disk = disk.Recover(func(n int) int { return int(chance.Below(uint64(n))) }); person == 2 &&
			g.copy != nil {
			disk, g.copy = g.copy, nil
		}
		disk.CrashAt = 0
		time.Sleep(time.Duration(chance.Below(uint64(20 * time.Second))))
	}
}

// begin leaves a person the ledger alone, the newest or that of an earlier round.
func (r *comeback) begin(disk *ledgertest.CrashFS, person int) error {
	r.took = true
	disk = disk.Recover(func(n int) int { return n - 1 }) // where it has crashed at the very end
	newest, err := ledger.Verify("/ledger", ledger.Options{FS: disk, Accountant: "rdp"})
	r.charged = newest.Charges
	if r.disk == nil {
		r.disk = disk
	}
	r.disk.CrashAt = 0
	for _, file := range []string{"/person/checkpoint", "/person/checkpoint.2", name(1), name(2), name(3)} {
		if err := r.disk.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// once runs a person until the next crash or the end, over changes of members.
func (g *generations) once(t *testing.T, person int, disk *ledgertest.CrashFS, near func(uint64)) error {
	for next := -1; ; {
		store, err := checkpoint.Open("/person", disk)
		if err != nil {
			return err
		}
		check, err := store.Load()
		if err != nil {
			return err
		}
		g.mu.Lock()
		epoch := g.begins[person]
		g.mu.Unlock()
		if r := g.returns[person]; r != nil && r.took {
			epoch = r.epoch
		}
		opt := ledger.Options{Key: nodetest.Key(agent.ID(person)), FS: disk, Filter: nothing{},
			Accountant: "rdp"}
		if check != nil {
			opt.KnownSeq, opt.KnownHead = check.Head.Seq, check.Head
			epoch = int(check.Run[1])
			near(check.Round)
		}
		follows := next >= 0 // it was told so by the node before
		if follows {
			epoch = next
		}
		next = epoch + 1
		l, err := ledger.Open("/ledger", opt)
		if errors.Is(err, fs.ErrNotExist) {
			l, err = ledger.Create("/ledger", ledger.Genesis{Adjacency: account.ZeroOut,
				Unit: account.Record(), Budget: account.Budget{Epsilon: 1e6, Delta: 1e-5},
				MinRecords: 100}, opt)
		}
		if err != nil {
			return err
		}
		err = g.epoch(t, epoch, follows, person, disk, store, l, near)
		l.Close()
		store.Close()
		if !errors.Is(err, node.ErrChange) {
			return err
		}
	}
}

// epoch runs a person's node under one roster.
func (g *generations) epoch(t *testing.T, epoch int, follows bool, person int, disk *ledgertest.CrashFS,
	store *checkpoint.Store, l *ledger.File, near func(uint64)) error {
	now := &g.rosters[epoch]
	tr := g.open(person, now)
	defer tr.Close()
	w := g.worlds[epoch]
	i := now.number(person)
	event, takes := ledgertest.Gaussian(t, 4), g.takes
	if g.quick && person == 1 {
		takes = 0
	}
	c := node.Config{
		Identity: node.Identity{Self: agent.ID(i)},
		Pace:     node.Pace{Graph: w.Graph, Rounds: g.rounds},
		Learner: node.Learner{Algorithm: w.Algorithm(t, i), Dim: nodetest.Dim,
			Gate: tug{person, l, event, takes}},
		Ledgers: node.Ledgers{Head: l.Head,
			Book: func() mark.Book {
				return mark.Book{Ledger: [16]byte{1, byte(person)}, Head: l.Head(), Charges: l.Total(),
					Total: l.Total()}
			},
			OnRollback: func(m *mark.Mark, missing, _ uint64) error {
				g.mu.Lock()
				g.told = append(g.told, m.Round)
				g.mu.Unlock()
				if r := g.returns[person]; r != nil {
					r.missing += missing
				}
				for range missing {
					if _, err := l.Charge(event); err != nil {
						return err
					}
				}
				return nil
			}},
		Transport: tr,
		Store:     store,
	}
	ctx, crash := context.WithCancelCause(context.Background())
	g.config(&c, disk, epoch, person, crash)
	if c.Since != nil {
		c.Since.Holds = follows
	}
	c.OnRound = func(r node.RoundReport) {
		near(r.Round + 1)
		back := g.returns[person]
		if back != nil && r.Round == back.copied && r.Round > 0 && !back.took {
			back.disk = disk.Clone()
		}
		switch {
		case back != nil && !back.took && r.Round == back.loses && r.Round > 0:
			time.Sleep(back.lingers)
			crash(errDead)
		case g.dies[person] > 0 && r.Round >= g.dies[person]:
			crash(errDead)
		case person == 2 && r.Round == g.copied && g.copied > 0:
			g.copied, g.copy = 0, disk.Clone()
		case person == 2 && r.Round == g.back && g.back > 0:
			g.back = 0
			crash(ledgertest.ErrCrashed)
		}
	}
	n, err := node.New(c)
	if err != nil {
		return err
	}
	g.operate(ctx, n, epoch+1, person, i == g.asks && c.Next == nil, crash)
	if err = n.Run(ctx); context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	g.mu.Lock()
	g.params[person], g.last[person] = slices.Clone(n.Params()), epoch
	g.accuse(n, now)
	g.mu.Unlock()
	return err
}

// operate has a person's operator give its node the amendment of an epoch, if it asks.
func (g *generations) operate(ctx context.Context, n *node.Node, epoch, person int, asks bool,
	crash func(error)) {
	if !asks || epoch == len(g.rosters) {
		return
	}
	go func() {
		if time.Sleep(g.late); ctx.Err() == nil {
			err := n.Amend(g.amendment(epoch, person))
			if err != nil && !errors.Is(err, ledgertest.ErrCrashed) {
				crash(err)
			}
		}
	}()
}

// accuse notes whom a node says to have been rolled back. g.mu is held.
func (g *generations) accuse(n *node.Node, now *generation) {
	for _, peer := range n.Status().Peers {
		var who int
		if fmt.Sscanf(peer.Name, "agent %d", &who); peer.RolledBack > 0 {
			if r := g.returns[now.people[who]]; r != nil {
				r.accusers++
			}
		}
	}
}

// run runs everybody, and wants the errors.
func (g *generations) run(t *testing.T, want map[int]error) {
	everybody := map[int]bool{}
	for _, r := range g.rosters {
		for _, p := range r.people {
			everybody[p] = true
		}
	}
	type end struct {
		person int
		err    error
	}
	ends := make(chan end)
	for p := range everybody {
		go func() { ends <- end{p, g.live(t, p)} }()
	}
	for range everybody {
		if e := <-ends; !errors.Is(e.err, want[e.person]) {
			t.Errorf("person %d ends with %v, want %v", e.person, e.err, want[e.person])
		}
	}
}

// Members leave, come, and get other keys at agreed rounds, while everybody is killed
// around the changes, some 300 times. Everybody ends where a computation in one place
// does, bit for bit; ledgers go on, with a charge for every answer.
func TestMembersChange(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dsgd", "dsgt"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { membersChange(t, name) })
		})
	}
}

func membersChange(t *testing.T, name string) {
	g := newGenerations(t, name, 60,
		generation{people: []int{0, 1, 2, 3}},
		generation{people: []int{0, 2, 3, 4}, from: 20},
		generation{people: []int{4, 0, 3, 2, 5}, from: 40, keys: map[int]int{2: 12}},
	)
	g.kills = 80
	g.run(t, map[int]error{1: node.ErrRemoved})
	t.Logf("%d kills", g.killed)
	if g.killed < 200 {
		t.Errorf("%d kills, want at least 200", g.killed)
	}
	for p, want := range g.simulate(t) {
		if !slices.Equal(g.params[p], want) {
			t.Errorf("person %d ends at %v, without kills in one place at %v", p, g.params[p], want)
		}
	}
	for p, disk := range g.disks {
		r, err := ledger.Verify("/ledger", ledger.Options{FS: disk, Accountant: "rdp",
			PublicKey: nodetest.Key(agent.ID(p)).Public().(ed25519.PublicKey)})
		answers := map[int]uint64{0: 60, 1: 20, 2: 60, 3: 60, 4: 40, 5: 20}[p]
		if name == "dsgt" && p != 1 { // it asks nothing at the end
			answers--
		}
		if err != nil || r.Charges < answers || r.Charges > answers+uint64(2*g.kills) {
			t.Errorf("person %d: %d charges, want %d and at most %d more: %v", p, r.Charges, answers,
				2*g.kills, err)
		}
	}
}

// A member gets another key, and soon the members change once more: neighbors hold marks
// of its first key, of a process that had charged more than its restored ledger has. It
// takes them, and everybody ends; also where it has lost its state, and knows nothing of
// that key.
func TestMarksUnderAnEarlierKey(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ copied, loses uint64 }{"whole": {}, "restored": {copied: 6},
		"without its state": {loses: 26}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				keys := map[int]int{2: 12}
				g := newGenerations(t, "dsgd", 40,
					generation{people: []int{0, 1, 2, 3}},
					generation{people: []int{0, 3, 2, 4}, from: 12, keys: keys},
					generation{people: []int{2, 4, 0, 3}, from: 24, keys: keys},
				)
				g.takes = time.Second
				if g.copied = tc.copied; tc.copied > 0 {
					g.back = 26
				}
				if tc.loses > 0 {
					g.returns = map[int]*comeback{2: {epoch: 2, loses: tc.loses}}
				}
				g.run(t, map[int]error{1: node.ErrRemoved})
				r, err := ledger.Verify("/ledger", ledger.Options{FS: g.disks[2], Accountant: "rdp"})
				if err != nil || r.Charges < 40 {
					t.Errorf("%d charges, want at least 40: %v", r.Charges, err)
				}
			})
		})
	}
}

// A member is gone for good and everybody waits for it, as the terms say. The others
// agree on a roster without it, go on, and end.
func TestAGoneMemberIsRemoved(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{node.Wait, node.Proceed} {
		t.Run(missing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGenerations(t, "dsgd", 60, generation{people: []int{0, 1, 2, 3}},
					generation{people: []int{0, 1, 2}, from: 20, gone: []int{3}})
				g.missing, g.dies, g.late = missing, map[int]uint64{3: 8}, 10*time.Second
				g.takes = time.Second
				g.run(t, map[int]error{3: errDead})
				for p := range 3 {
					if x := g.params[p]; !x.Finite() || x[0] < .4 || x[0] > 1.6 {
						t.Errorf("person %d ends at %v, want near the mean of 0, 1 and 2", p, x)
					}
				}
			})
		})
	}
}

// Members that are gone for good leave the others in parts without a link between them,
// and the operator of one node has the amendment. It reaches all parts, also where the
// next roster joins them by a new member that those before it do not know.
func TestAnAmendmentReachesEveryPart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		graph     string
		was, then generation
		asks      int
	}{
		"ring": {graph: "ring", was: generation{people: []int{0, 1, 2, 3, 4, 5, 6, 7}},
			then: generation{people: []int{0, 1, 2, 4, 5, 6}, gone: []int{3, 7}}},
		"path": {graph: "path", was: generation{people: []int{0, 1, 2, 3, 4}},
			then: generation{people: []int{4, 1, 0, 3}, gone: []int{2}, keys: map[int]int{1: 11}}},
		"star": {graph: "star", was: generation{people: []int{0, 1, 2, 3, 4}}, asks: 2,
			then: generation{people: []int{5, 1, 2, 3, 4}, gone: []int{0}}},
	} {
		for _, missing := range []string{node.Wait, node.Proceed} {
			t.Run(name+" "+missing, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tc.then.from = 40
					g := generationsOn(t, tc.graph, "dsgd", 120, tc.was, tc.then)
					g.missing, g.late, g.takes, g.asks = missing, 10*time.Second, time.Second, tc.asks
					g.dies, g.kills = map[int]uint64{}, 3
					want := map[int]error{}
					for _, p := range tc.then.gone {
						g.dies[p], want[p] = 8, errDead
					}
					g.run(t, want)
					for _, p := range tc.then.people {
						if e := g.last[p]; e != 1 {
							t.Errorf("person %d ends in epoch %d, want 1", p, e)
						}
					}
				})
			})
		}
	}
}

// New members that are started long before their first round wait for it, also where
// rounds go on without members: they made them alone, with a charge for each, and began
// from no model of the others.
func TestNewMembersComeEarly(t *testing.T) {
	t.Parallel()
	for name, people := range map[string][]int{"complete": {0, 1, 2, 4}, "ring": {0, 1, 2, 4, 5},
		"path": {0, 1, 2, 4, 5, 6}} {
		for _, missing := range []string{node.Wait, node.Proceed} {
			t.Run(name+" "+missing, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := generationsOn(t, name, "dsgd", 60, generation{people: []int{0, 1, 2, 3}},
						generation{people: people, from: 40})
					g.missing, g.takes = missing, 10*time.Second
					g.run(t, map[int]error{3: node.ErrRemoved})
					for p, want := range g.simulate(t) {
						if !slices.Equal(g.params[p], want) {
							t.Errorf("person %d ends at %v, in one place at %v", p, g.params[p], want)
						}
						r, err := ledger.Verify("/ledger", ledger.Options{FS: g.disks[p], Accountant: "rdp"})
						if answers := map[bool]uint64{true: 60, false: 20}[p < 3]; r.Charges != answers {
							t.Errorf("person %d: %d charges, want %d: %v", p, r.Charges, answers, err)
						}
					}
				})
			})
		}
	}
}

// A new member whose roster came too late for the others makes no round and charges
// nothing, and its end says what that may be.
func TestANewMemberThatNobodyTakes(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{node.Wait, node.Proceed} {
		t.Run(missing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGenerations(t, "dsgd", 60, generation{people: []int{0, 1, 2, 3}},
					generation{people: []int{0, 1, 2, 4}, from: 20})
				g.missing = missing
				err := g.live(t, 4) // the others never follow that roster
				if !errors.Is(err, node.ErrStalled) || !strings.Contains(err.Error(), "first round is 20") {
					t.Errorf("it ends with %v, want ErrStalled and its first round", err)
				}
				r, err := ledger.Verify("/ledger", ledger.Options{FS: g.disks[4], Accountant: "rdp"})
				if err != nil || r.Charges != 0 {
					t.Errorf("%d charges, want none: %v", r.Charges, err)
				}
			})
		})
	}
}

// A member that is restored over a change of members, to before it knew of it, learns of
// the change and of where it was, charges the difference and goes on.
func TestARestoreOverAChange(t *testing.T) {
	t.Parallel()
	for _, copied := range []uint64{4, 15} { // before and after it had the amendment
		t.Run(fmt.Sprint(copied), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGenerations(t, "dsgd", 60, generation{people: []int{0, 1, 2, 3}},
					generation{people: []int{3, 0, 2, 4}, from: 20})
				g.copied, g.back, g.late, g.takes = copied, 30, 9*time.Second, time.Second
				g.run(t, map[int]error{1: node.ErrRemoved})
				if len(g.told) < 1 || slices.Max(g.told) < 30 {
					t.Errorf("the restored member was told of rounds %v, want at least 30", g.told)
				}
				// Nobody knows that its marks from after the change count the charges
				// that those from before it show: both are charged.
				r, err := ledger.Verify("/ledger", ledger.Options{FS: g.disks[2], Accountant: "rdp"})
				if err != nil || r.Charges < 60 || r.Charges > 60+30 {
					t.Errorf("%d charges, want 60 to 90: %v", r.Charges, err)
				}
			})
		})
	}
}

// Members that leave and come back by later rosters, with nothing but a ledger: with an
// older copy of it they are told what they had charged before they had left, and charge
// it before anybody hears them, also where the others were killed meanwhile; with the
// newest one nobody says anything against them.
func TestLeavingForgetsNoCharge(t *testing.T) {
	t.Parallel()
	for name, copied := range map[string][2]uint64{"older copies": {6, 11}, "the newest": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGenerations(t, "dsgd", 75,
					generation{people: []int{0, 1, 2, 3}},
					generation{people: []int{0, 1, 3}, from: 15}, // 2 leaves
					generation{people: []int{1, 0, 4}, from: 30}, // 3 leaves
					generation{people: []int{0, 4, 2, 1}, from: 45},
					generation{people: []int{3, 0, 2, 4, 1}, from: 60},
				)
				g.takes = time.Second
				g.returns = map[int]*comeback{2: {epoch: 3, copied: copied[0]},
					3: {epoch: 4, copied: copied[1]}}
				if copied[0] > 0 {
					g.kills = 8
				}
				g.run(t, nil)
				if t.Failed() {
					return
				}
				for p, r := range g.returns {
					l, err := ledger.Verify("/ledger", ledger.Options{FS: g.disks[p], Accountant: "rdp"})
					after := map[int]uint64{2: 30, 3: 15}[p]
					if err != nil || l.Charges < r.charged+after {
						t.Errorf("person %d: %d charges after %d and at least %d more: %v", p, l.Charges,
							r.charged, after, err)
					}
					if lied := r.copied > 0; lied != (r.missing > 0) || lied != (r.accusers > 0) {
						t.Errorf("person %d: %+v", p, *r)
					}
				}
			})
		})
	}
}

// A member loses its state after it has taken an amendment on, and is started with the
// amendment: its neighbors wait for it under the roster before. It is told so
// after a deadline, goes on with that roster, and gets the amendment from them.
func TestAStateIsLostBeforeAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGenerations(t, "dsgd", 40, generation{people: []int{0, 1, 2, 3}},
			generation{people: []int{1, 0, 2, 4}, from: 20})
		g.takes = time.Second
		lost := &comeback{epoch: 1, loses: 10}
		g.returns = map[int]*comeback{2: lost}
		g.run(t, map[int]error{3: node.ErrRemoved})
		if lost.early != 1 {
			t.Errorf("told %d times that the roster does not hold yet, want once", lost.early)
		}
		l, err := ledger.Verify("/ledger", ledger.Options{FS: g.disks[2], Accountant: "rdp"})
		if err != nil || l.Charges < 40 {
			t.Errorf("%d charges, want 40 and more: %v", l.Charges, err)
		}
	})
}

// A member that has left, and is killed then, stays until a neighbor that was killed too
// has what it sent last: it ended at once, and its neighbors waited for good.
func TestWhoLeavesIsKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var kill context.CancelFunc
		w := nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, "dsgd"), Agents: 2, Graph: "complete",
			Change: func(i int, c *node.Config) {
				leaver := []bool{true, false}
				c.Restart, c.Next = never, &node.Amendment{Run: digest(1), Round: 3, Removed: i == 0,
					Leave: leaver, Gone: make([]bool, 2)}
				c.OnRound = func(r node.RoundReport) {
					switch { // the last round of the one begins while the other is between two
					case i == 1 && r.Round == 1:
						time.Sleep(time.Second)
					case i == 0 && r.Round == 2:
						kill()
					}
				}
			}})
		disks := []*ledgertest.CrashFS{ledgertest.NewCrashFS(), ledgertest.NewCrashFS()}
		ledgers := []ledger.Ledger{ledger.NewMemory(nil), ledger.NewMemory(nil)}
		for _, want := range [][2]error{{context.Canceled, context.Canceled},
			{node.ErrRemoved, node.ErrChange}} {
			var ctx context.Context
			ctx, kill = context.WithTimeout(context.Background(), 5*time.Minute)
			net := openMemory(t, 2)
			var all sync.WaitGroup
			for i, want := range want {
				tr := net.Open(t, agent.ID(i))
				defer tr.Close()
				n, store, err := w.Node(t, i, tr, disks[i], ledgers[i])
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					defer store.Close()
					if err := n.Run(ctx); !errors.Is(err, want) {
						t.Errorf("node %d at round %d ends with %v, want %v", i, n.Status().Round, err, want)
					}
				})
			}
			all.Wait()
			kill()
		}
	})
}
