package nodetest

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"testing"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/mark"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// Dim is the length of the suite's parameter vectors.
const Dim = 5

// Options describe a run of the suite.
type Options struct {
	Factory agent.Factory
	Agents  int    // 0 means 4
	Graph   string // a family of topology.Graphs or topology.Digraphs; "" means ring
	Weights string // of topology.Spec
	Push    bool   // messages carry the mass of push-sum
	Pairs   bool   // one random pair of neighbors mixes in every round
	Dropout float64
	BF16    bool // messages have bfloat16 values
	Count   bool // answers end with a noisy count, as under algo.Clipping's quantile
	Shared  bool // gates add noise that neighbors share, besides their own
	// answers have no noise, so that equal questions have equal answers, however often
	// they are charged
	Plain  bool
	Rounds uint64 // 0 means 12
	Limit  int    // charges that every budget admits; 0: all
	// of all agents together, drawn once and recorded, in place of rounds; the graph then
	// has objective weights
	Wakes uint64
	// Interval is the mean time between two wakes of an agent's own clock, in place of
	// rounds; Rounds is then the number of each agent's wakes, and the graph has
	// objective weights.
	Interval time.Duration
	Tokens   int // that walk, in place of rounds; Rounds is then the number of each one's steps
	Change   func(i int, c *node.Config)
}

func (o *Options) fill() {
	if o.Agents == 0 {
		o.Agents = 4
	}
	if o.Graph == "" {
		o.Graph = "ring"
	}
	if o.Rounds == 0 {
		o.Rounds = 12
	}
}

// World is a run on quadratics: agent i's private value at θ is the sum of h (θ - b_r)
// over records r that are drawn with probability 1/2, each cut to [-1, 1] in every
// coordinate, or to a quarter of the query's clip. Its gates are seeded, so that noise
// and sampling are functions of agent and charge: they protect nobody and exist for
// tests.
type World struct {
	o      Options
	Graph  *topology.Graph   // of all rounds, or their whole
	Graphs topology.Schedule // of the rounds
	Run    [32]byte
	wakes  []sim.Wake
}

// NewWorld makes a run.
func NewWorld(t testing.TB, o Options) *World {
	t.Helper()
	o.fill()
	weights := o.Weights
	if o.Wakes > 0 || o.Interval > 0 {
		weights = "objective"
	}
	s, err := topology.Build(topology.Spec{
		Graph:    o.Graph,
		Weights:  weights,
		Agents:   o.Agents,
		Seed:     1,
		Push:     o.Push,
		Pairwise: o.Pairs,
		Dropout:  o.Dropout,
		Rounds:   o.Rounds,
	}, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Union(s)
	if err != nil {
		t.Fatal(err)
	}
	w := &World{o: o, Graph: g, Graphs: s, Run: [32]byte{5, 6, 7}}
	clock := sim.NewClock(3, o.Agents, nil)
	for range o.Wakes {
		k, _ := clock.Next()
		w.wakes = append(w.wakes, k)
	}
	return w
}

// Rounds returns how many rounds agent i completes: those of the run, or its wakes.
func (w *World) Rounds(i int) uint64 {
	if w.o.Wakes == 0 {
		return w.o.Rounds
	}
	count := uint64(0)
	for _, k := range w.wakes {
		if k.Agent == agent.ID(i) {
			count++
		}
	}
	return count
}

// Algorithm makes agent i's algorithm.
func (w *World) Algorithm(t testing.TB, i int) agent.Algorithm {
	t.Helper()
	a, err := w.From(i, w.initial())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// From makes agent i's algorithm with another first model.
func (w *World) From(i int, init tensor.Vec) (agent.Algorithm, error) {
	return w.o.Factory(agent.Env{
		Self:       agent.ID(i),
		Agents:     w.o.Agents,
		Dim:        Dim,
		Records:    3,
		MaxRecords: 3,
		Rounds:     max(w.o.Rounds, w.o.Wakes),
		Turns:      agent.Turns{Tokens: w.o.Tokens, Noise: .1},
		Init:       init,
		Graph:      agent.Graph{SLEM: 1},
		Table:      agent.Table{Outputs: 1, Norm: 1, Slope: 1, Curvature: 1},
	})
}

func (w *World) initial() tensor.Vec {
	init := make(tensor.Vec, Dim)
	for k := range init {
		init[k] = float32(k+1) / 4
	}
	return init
}

// dim is the length of answers.
func (w *World) dim() int {
	if w.o.Count {
		return Dim + 1
	}
	return Dim
}

// Node makes agent i's node on a transport, with its state in fsys.
func (w *World) Node(t testing.TB, i int, tr node.Transport, fsys ledger.FS, l ledger.Ledger) (*node.Node,
	*checkpoint.Store, error) {
	store, err := checkpoint.Open(fmt.Sprint("/state", i), fsys)
	if err != nil {
		return nil, nil, err
	}
	a, own := w.Algorithm(t, i), iterate(i, w.initial())
	c := node.Config{
		Identity: w.identity(i),
		Pace:     node.Pace{Graph: w.Graph, Rounds: w.Rounds(i), Interval: w.o.Interval},
		Learner: node.Learner{
			Algorithm: a,
			Gate:      w.gateOn(i, l, own),
			Recover:   recovery(a, own),
			Dim:       w.dim(),
			Mass:      w.o.Push,
			BF16:      w.o.BF16,
		},
		Ledgers: node.Ledgers{Head: l.Head, Book: func() mark.Book {
			head := l.Head()
			return mark.Book{Ledger: [16]byte{1, byte(i)}, Head: head, Charges: head.Seq}
		}},
		Transport: tr,
		Store:     store,
	}
	if w.o.Tokens > 0 {
		c.Holders, c.Hop = w.holders(), func(visit uint64) float64 {
			return choice(agent.ID(i), visit).Float64()
		}
	}
	if len(topology.Period(w.Graphs)) != 1 {
		c.Graphs = w.Graphs
	}
	for _, k := range w.wakes {
		c.Wakes = append(c.Wakes, k.Agent)
	}
	c.Patience = 1000 * time.Hour
	if w.o.Change != nil {
		w.o.Change(i, &c)
	}
	n, err := node.New(c)
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	return n, store, nil
}

// Bare has a node's frames have no marks, in Options.Change.
func Bare(_ int, c *node.Config) { c.Sign, c.Keys = nil, nil }

// identity is agent i's, with its key.
func (w *World) identity(i int) node.Identity {
	id := node.Identity{Self: agent.ID(i), Run: w.Run, Sign: func(message []byte) []byte {
		return ed25519.Sign(Key(agent.ID(i)), message)
	}}
	for k := range w.o.Agents {
		id.Keys = append(id.Keys, Key(agent.ID(k)).Public().(ed25519.PublicKey))
	}
	return id
}

// Equal runs the algorithm in package sim and as nodes over a network, and wants every
// parameter and the number of every node's charges to be the same, bit for bit.
func Equal(t *testing.T, o Options, open func(t testing.TB, members int) Network) {
	t.Helper()
	w := NewWorld(t, o)
	want, charges := w.Simulate(t)
	net := open(t, w.o.Agents)
	nodes := make([]*node.Node, w.o.Agents)
	ledgers := make([]*ledger.Memory, w.o.Agents)
	done := make(chan error)
	for i := range nodes {
		ledgers[i] = ledger.NewMemory(w.Filter(t))
		tr := net.Open(t, agent.ID(i))
		n, store, err := w.Node(t, i, tr, ledgertest.NewCrashFS(), ledgers[i])
		if err != nil {
			t.Fatal(err)
		}
		nodes[i] = n
		go func() {
			err := n.Run(context.Background())
			tr.Close()
			store.Close()
			done <- err
		}()
	}
	for range nodes {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range nodes {
		if !slices.Equal(n.Params(), want[i]) {
			t.Errorf("agent %d: %v, in the simulator %v", i, n.Params(), want[i])
		}
		if got := ledgers[i].Head().Seq; got != charges[i] {
			t.Errorf("agent %d: %d charges, in the simulator %d", i, got, charges[i])
		}
		if s := n.Status(); !s.Finished || s.Round != w.Rounds(i) && o.Tokens == 0 ||
			s.Counts.Refused+s.Counts.Missing != 0 {
			t.Errorf("agent %d ends with %+v", i, s)
		}
	}
}
