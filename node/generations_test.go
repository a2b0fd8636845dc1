package node_test

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/mark"
	"sotto/node/nodetest"
	"sotto/node/wire"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// generations is a run whose members change: people who take part, with numbers that
// differ between rosters.
type generations struct {
	rosters []generation
	rounds  uint64
	missing string
	faults  func(tr node.Transport, person int) node.Transport // of its links; nil: none
	worlds  []*nodetest.World
	net     *wire.Memory  // by person
	kills   int           // of each person around each change
	takes   time.Duration // an answer, but those of person 1 if quick
	quick   bool
	late    time.Duration  // when the operator has the first amendment
	deaf    int            // a person that refuses each amendment; 0: none
	patient time.Duration  // default: a day
	asks    int            // the operator's number
	dies    map[int]uint64 // at which round a person is gone for good
	// person 2 is restored at round back to what it had at round copied; 0: it is not
	back, copied uint64
	copy         *ledgertest.CrashFS
	told         []uint64    // rounds that it was told
	begins       map[int]int // the epoch in which a person takes part first, or again
	returns      map[int]*comeback
	mu           sync.Mutex
	killed       int
	params       map[int]tensor.Vec
	last         map[int]int // the epoch in which a person has ended
	disks        map[int]*ledgertest.CrashFS
}

// comeback is how a person that has left, or has lost its state, takes part again.
type comeback struct {
	epoch    int           // whose roster has it again, or that it is started with
	loses    uint64        // the round at which its state is lost; 0: it leaves
	lingers  time.Duration // how long it goes on then
	early    int           // times that its roster did not hold yet; then it is given the first one
	copied   uint64        // its ledger is that of this round; 0: the newest
	disk     *ledgertest.CrashFS
	took     bool   // it is back
	missing  uint64 // charges that it was told of then
	charged  uint64 // charges that it had when it left
	accusers int    // members whose status says that it was rolled back
}

// generation is one roster: who takes part, from which round on.
type generation struct {
	people []int
	from   uint64
	gone   []int       // of the generation before
	keys   map[int]int // of people who have another than their own: whose
}

func (g *generation) number(person int) int { return slices.Index(g.people, person) }

func (g *generation) key(person int) ed25519.PrivateKey {
	if other, ok := g.keys[person]; ok {
		return nodetest.Key(agent.ID(other))
	}
	return nodetest.Key(agent.ID(person))
}

func digest(epoch int) [32]byte { return [32]byte{9, byte(epoch)} }

func newGenerations(t *testing.T, name string, rounds uint64, rosters ...generation) *generations {
	return generationsOn(t, "complete", name, rounds, rosters...)
}

func generationsOn(t *testing.T, graph, name string, rounds uint64, rosters ...generation) *generations {
	g := &generations{rosters: rosters, rounds: rounds, params: map[int]tensor.Vec{}, last: map[int]int{},
		disks: map[int]*ledgertest.CrashFS{}, begins: map[int]int{}}
	for p := range 10 {
		g.begins[p] = slices.IndexFunc(rosters, func(r generation) bool { return r.number(p) >= 0 })
	}
	for _, r := range rosters {
		g.worlds = append(g.worlds, nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, name),
			Agents: len(r.people), Rounds: rounds, Graph: graph}))
	}
	g.net = wire.NewMemory(10, node.MaxPayload(nodetest.Dim))
	return g
}

// view is the network as one roster has it: whoever is not in it is a stranger.
type view struct {
	node.Transport
	people []int
}

func (g *generations) open(person int, now *generation) node.Transport {
	tr := g.net.Open(agent.ID(person))
	if g.faults != nil {
		tr = g.faults(tr, person)
	}
	return view{tr, now.people}
}

func (v view) Send(ctx context.Context, to agent.ID, frame []byte) error {
	return v.Transport.Send(ctx, agent.ID(v.people[to]), frame)
}

func (v view) Serve(h node.Handler) {
	v.Transport.Serve(func(from agent.ID, b []byte) error {
		i := slices.Index(v.people, int(from))
		if i < 0 {
			return node.RefusedSender
		}
		return h(agent.ID(i), b)
	})
}

// tug answers with a step of person's own towards a point of its own, for one charge:
// equal questions have equal answers.
type tug struct {
	person int
	ledger ledger.Ledger
	event  account.Event
	takes  time.Duration
}

func (p tug) Begin(uint64, []agent.Neighbor) {}

func (p tug) Answer(q *agent.Query, dst tensor.Vec) error {
	time.Sleep(p.takes)
	if _, err := p.ledger.Charge(p.event); err != nil {
		return err
	}
	p.answer(q, dst)
	return nil
}

func (p tug) answer(q *agent.Query, dst tensor.Vec) {
	for k, x := range q.At {
		dst[k] = (x - float32(p.person*(k+1))) / 8
	}
}

// amendment is what the roster before epoch says to a member of it.
func (g *generations) amendment(epoch, person int) *node.Amendment {
	now, next := &g.rosters[epoch-1], &g.rosters[epoch]
	a := &node.Amendment{Run: digest(epoch), Round: next.from, Removed: next.number(person) < 0,
		Text: fmt.Append(nil, epoch), Gone: make([]bool, len(now.people)),
		Leave: make([]bool, len(now.people))}
	for i, p := range now.people {
		a.Leave[i] = next.number(p) < 0
	}
	for _, p := range next.gone {
		a.Gone[now.number(p)] = true
	}
	return a
}

// config completes a node's configuration in an epoch.
func (g *generations) config(c *node.Config, disk *ledgertest.CrashFS, epoch, person int,
	crash func(error)) {
	now := &g.rosters[epoch]
	c.Run, c.Origin, c.Number, c.Keys = digest(epoch), digest(0), epoch, nil
	c.Sign = func(message []byte) []byte { return ed25519.Sign(now.key(person), message) }
	for _, p := range now.people {
		c.Keys = append(c.Keys, now.key(p).Public().(ed25519.PublicKey))
	}
	if epoch > 0 {
		was := &g.rosters[epoch-1]
		c.Since = &node.Since{Previous: digest(epoch - 1), Round: now.from}
		for _, p := range now.people {
			c.Since.Was = append(c.Since.Was, was.number(p))
		}
		later := now
		for e := epoch - 1; e >= 0 && g.rosters[e].number(person) >= 0; e-- {
			lost := g.returns[person] != nil && g.returns[person].took // with its state the rosters
			if former := g.rosters[e].key(person); !former.Equal(later.key(person)) && !lost {
				c.Since.Formers = append(c.Since.Formers, mark.Former{
					Key: former.Public().(ed25519.PublicKey), Until: later.from})
			}
			later = &g.rosters[e]
		}
	}
	c.OnAmendment = func(text []byte) (*node.Amendment, error) {
		if string(text) != fmt.Sprint(epoch+1) || g.deaf == person && person > 0 {
			return nil, fmt.Errorf("amendment %q", text)
		}
		return g.amendment(epoch+1, person), nil
	}
	c.KeepAmendment = func(a *node.Amendment) error {
		err := put(disk, name(epoch+1), a.Text)
		if errors.Is(err, ledgertest.ErrCrashed) {
			crash(err)
		}
		return err
	}
	c.Earlier = func(run [32]byte) ([]byte, agent.ID) {
		for e := range epoch {
			if run == digest(e) && g.rosters[e].number(person) >= 0 {
				return fmt.Append(nil, e+1), agent.ID(g.rosters[e].number(person))
			}
		}
		return nil, 0
	}
	if there(disk, name(epoch+1)) {
		c.Next = g.amendment(epoch+1, person)
	}
	c.Restart = func(x tensor.Vec) (agent.Algorithm, error) {
		return g.worlds[epoch].From(now.number(person), x)
	}
	c.Missing, c.Linger, c.Patience = g.missing, time.Hour, cmp.Or(g.patient, 24*time.Hour)
}

var errDead = errors.New("dead")

func name(epoch int) string { return fmt.Sprint("/rosters/amendment", epoch) }

func put(disk ledger.FS, name string, text []byte) error {
	if err := disk.Remove(name + ".tmp"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := disk.Create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := disk.Rename(name+".tmp", name); err != nil {
		return err
	}
	return disk.SyncDir("/rosters")
}

func there(disk ledger.FS, name string) bool {
	r, err := disk.Open(name)
	if err != nil {
		return false
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return err == nil && len(b) > 0
}

// answered steps a person's algorithm with the answers to its queries, and returns what
// it sends.
func answered(t *testing.T, a agent.Algorithm, person int, in agent.Input) (sent []agent.Message) {
	var out agent.Output
	for {
		out.Reset()
		if err := a.Step(&in, &out); err != nil {
			t.Fatal(err)
		}
		if out.Query == nil {
			break
		}
		answer := make(tensor.Vec, nodetest.Dim)
		tug{person: person}.answer(out.Query, answer)
		in.Kind, in.Answer, in.Inbox = agent.Answer, answer, nil
	}
	for _, m := range out.Outbox {
		m.Body = slices.Clone(m.Body)
		sent = append(sent, m)
	}
	return sent
}

// simulate steps everybody's algorithm over all rosters, in one place.
func (g *generations) simulate(t *testing.T) map[int]tensor.Vec {
	algorithms, sent := map[int]agent.Algorithm{}, map[int][]agent.Message{}
	step := func(person int, in agent.Input) { sent[person] = answered(t, algorithms[person], person, in) }
	epoch := -1
	for round := range g.rounds {
		begins := epoch+1 < len(g.rosters) && round == g.rosters[epoch+1].from
		if begins {
			epoch++
		}
		now, graph := &g.rosters[epoch], g.worlds[epoch].Graph
		fresh := map[int]bool{}
		for i, p := range now.people {
			was := algorithms[p]
			if was == nil || begins {
				algorithms[p] = g.worlds[epoch].Algorithm(t, i)
				if was != nil {
					algorithms[p], _ = g.worlds[epoch].From(i, slices.Clone(was.Params()))
				}
				id := agent.ID(i)
				step(p, agent.Input{Kind: agent.Start, View: &agent.View{SelfWeight: graph.SelfWeight(id),
					In: graph.In(id), Out: graph.Out(id)}})
				if fresh[p] = epoch > 0 && was == nil; fresh[p] {
					sent[p] = nil
				}
			}
		}
		inputs := map[int]agent.Input{}
		for i, p := range now.people {
			v := agent.View{SelfWeight: graph.SelfWeight(agent.ID(i)), Out: graph.Out(agent.ID(i))}
			in, lost, heard := agent.Input{Kind: agent.Round, Round: round, View: &v}, 0., 0.
			for _, nb := range graph.In(agent.ID(i)) {
				from := now.people[nb.ID]
				if len(sent[from]) == 0 {
					v.Missing++
					lost += nb.Weight
					continue
				}
				m := sent[from][0]
				m.From, m.Round = nb.ID, round
				in.Inbox, v.In = append(in.Inbox, m), append(v.In, nb)
				heard += nb.Weight
			}
			if v.Missing > 0 {
				v.SelfWeight += lost
			}
			if fresh[p] && heard > 0 {
				v.SelfWeight = 0
				for k := range v.In {
					v.In[k].Weight /= heard
				}
			}
			inputs[p] = in
		}
		for _, p := range now.people {
			step(p, inputs[p])
		}
	}
	params := map[int]tensor.Vec{}
	for _, p := range g.rosters[epoch].people {
		params[p] = algorithms[p].Params()
	}
	return params
}
