package nodetest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"testing"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/rng"
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
	g, err := topology.Whole(s)
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
	init := w.initial()
	a, err := w.o.Factory(agent.Env{
		Self:        agent.ID(i),
		Agents:      w.o.Agents,
		Dim:         Dim,
		Records:     3,
		MostRecords: 3,
		Rounds:      max(w.o.Rounds, w.o.Wakes),
		Tokens:      w.o.Tokens,
		Init:        init,
		Rho:         1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (w *World) initial() tensor.Vec {
	init := make(tensor.Vec, Dim)
	for k := range init {
		init[k] = float32(k+1) / 4
	}
	return init
}

// Gate makes agent i's gate over a ledger, with seeded noise.
func (w *World) Gate(i int, l ledger.Ledger) *privacy.Gate {
	return w.gateOn(i, l, iterate(i, w.initial()))
}

func (w *World) gateOn(i int, l ledger.Ledger, own *oracle.KMStateful) *privacy.Gate {
	o := records{i, w.o.Count}
	m := privacy.Gaussian{NoiseMultiplier: Noise}
	if w.o.Count {
		m.PartNoise = map[string]float64{countPart: 1}
	}
	switch {
	case w.o.Shared:
		return w.seeded(i, l, o, own, w.shared(i))
	case w.o.Plain:
		return w.seeded(i, l, o, own, privacy.None{})
	}
	return w.seeded(i, l, o, own, m)
}

func (w *World) seeded(i int, l ledger.Ledger, o records, own *oracle.KMStateful,
	m privacy.Mechanism) *privacy.Gate {
	g := privacy.NewSimulatedGate(l, m,
		map[string]privacy.Oracle{"grad": o, "grad-full": o, "user-grad": o, "fit": o, "km": o, "value": o,
			oracle.KMStatefulName: own}, 77, agent.ID(i))
	g.Imitate("zero", "user-grad")
	return g
}

// hopSeed is that of the tokens' hops.
const hopSeed = 78

// holders says where tokens start in package sim: with the number that nobody has, each
// by its own.
func (w *World) holders() []agent.ID {
	if w.o.Tokens == 0 {
		return nil
	}
	all := make([]agent.ID, w.o.Tokens)
	for k := range all {
		all[k] = agent.ID(choice(^agent.ID(0), uint64(k)).Below(uint64(w.o.Agents)))
	}
	return all
}

// choice is the stream of a simulated agent's visit.
func choice(i agent.ID, visit uint64) *rng.Stream {
	key := rng.Simulated(hopSeed, uint32(i), visit)
	return rng.NewStream(&key, rng.Choice)
}

// Key is that of agent i in all runs of the suite.
func Key(i agent.ID) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i) + 1}, ed25519.SeedSize))
}

// shared is noise of the agent's own and, for each neighbor, three times as much that the
// neighbor subtracts.
func (w *World) shared(i int) privacy.Mechanism {
	var near []agent.ID
	for _, n := range w.Graph.In(agent.ID(i)) {
		near = append(near, n.ID)
	}
	m, err := privacy.NewDecor(privacy.Decor{
		NoiseMultiplier: Noise,
		Pair:            3 * Noise,
		Effective:       Noise,
		Self:            agent.ID(i),
		Neighbors:       near,
		Secret: func(j agent.ID) []byte {
			return node.PairSecret(Key(agent.ID(i)), Key(j).Public().(ed25519.PublicKey), w.Run)
		},
	})
	if err != nil {
		panic(err) // constants of this package
	}
	return m
}

// dim is the length of answers.
func (w *World) dim() int {
	if w.o.Count {
		return Dim + 1
	}
	return Dim
}

// Filter is the budget of the run's options.
func (w *World) Filter(t testing.TB) account.Filter {
	if w.o.Limit == 0 {
		return nil
	}
	g := w.Gate(0, ledger.NewMemory(nil))
	_, ev, err := g.Describe(&agent.Query{Oracle: "grad", At: make(tensor.Vec, Dim)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := account.NewCountFilter(ev, w.o.Limit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Clip is the clip norm of queries that name none, Noise that over it, Scale what answers
// are multiplied by.
const (
	Clip      = 4
	Noise     = .5
	Scale     = .25
	countPart = "count"
)

// records is the oracle of one agent. As oracle.Gradient's do, its releases under other
// clips are one event.
type records struct {
	agent int
	count bool
}

func (r records) clip(q *agent.Query) float64 {
	if q.Clip > 0 {
		return q.Clip
	}
	return Clip
}

// Describe implements privacy.Oracle.
func (r records) Describe(q *agent.Query) (account.Release, error) {
	parts := []account.Part{{Name: "gradient", Clip: Clip, Shift: 1, Norm: account.L2, Dim: Dim}}
	if r.count {
		parts = append(parts, account.Part{Name: countPart, Clip: .5, Shift: 1, Norm: account.L2, Dim: 1})
	}
	return account.Release{Oracle: "grad", Adjacency: account.ZeroOut, Unit: account.Record(),
		Sampler: account.Sampler{Kind: account.Poisson, Rate: .5}, Parts: parts,
		Scale: Scale * r.clip(q) / Clip}, nil
}

// Evaluate implements privacy.Oracle.
func (r records) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	bound := float32(r.clip(q) / Clip)
	for k := range 3 {
		if sample.Float64() < .5 {
			continue
		}
		within := float32(.5)
		for i, x := range q.At {
			v := .5 * (x - float32(r.agent+k)/4)
			if v < -bound || v > bound {
				within = -.5
			}
			dst.Float[i] += max(-bound, min(bound, v)) / bound
		}
		if r.count {
			dst.Float[Dim] += within
		}
	}
}

// Simulate returns every agent's parameters and number of charges after the run in
// package sim.
func (w *World) Simulate(t testing.TB) (params []tensor.Vec, charges []uint64) {
	t.Helper()
	var (
		ledgers []*ledger.Memory
		agents  []sim.Agent
	)
	for i := range w.o.Agents {
		l := ledger.NewMemory(w.Filter(t))
		ledgers = append(ledgers, l)
		agents = append(agents, sim.Agent{Algorithm: w.Algorithm(t, i), Gate: w.Gate(i, l)})
	}
	var s interface {
		Run(ctx context.Context, until uint64) error
		Params(i int) tensor.Vec
	}
	var err error
	if w.o.Tokens > 0 {
		return w.simulateTokens(t, agents, ledgers)
	}
	if w.o.Wakes > 0 {
		s, err = sim.NewAsync(sim.AsyncConfig{
			Agents:  agents,
			Graph:   w.Graph,
			Dim:     Dim,
			Wakes:   w.o.Wakes,
			Workers: 1,
			Replay:  w.wakes,
		})
	} else {
		s, err = sim.New(sim.Config{
			Agents:   agents,
			Schedule: w.Graphs,
			Dim:      w.dim(),
			Rounds:   w.o.Rounds,
			Workers:  1,
		})
	}
	if err == nil {
		err = s.Run(context.Background(), max(w.o.Rounds, w.o.Wakes))
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.o.Agents {
		params = append(params, slices.Clone(s.Params(i)))
		charges = append(charges, ledgers[i].Head().Seq)
	}
	return params, charges
}

// simulateTokens returns the parameters as they left each agent last.
func (w *World) simulateTokens(t testing.TB, agents []sim.Agent,
	ledgers []*ledger.Memory) (params []tensor.Vec, charges []uint64) {
	t.Helper()
	s, err := sim.NewTokens(sim.TokenConfig{
		Agents:  agents,
		Graph:   w.Graph,
		Dim:     Dim,
		Init:    w.initial(),
		Tokens:  w.o.Tokens,
		Steps:   w.o.Rounds,
		Workers: 1,
		Secret:  hopSeed,
		Faults:  sim.DefaultFaults(),
	})
	if err == nil {
		err = s.Run(context.Background(), w.o.Rounds)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range agents {
		params = append(params, slices.Clone(agents[i].Algorithm.Params()))
		charges = append(charges, ledgers[i].Head().Seq)
	}
	return params, charges
}

// Node makes agent i's node on a transport, with its state in fsys.
func (w *World) Node(t testing.TB, i int, tr node.Transport, fsys ledger.FS, l ledger.Ledger) (*node.Node,
	*node.Store, error) {
	store, err := node.OpenStore(fmt.Sprint("/state", i), fsys)
	if err != nil {
		return nil, nil, err
	}
	a, own := w.Algorithm(t, i), iterate(i, w.initial())
	c := node.Config{
		Self:      agent.ID(i),
		Run:       w.Run,
		Graph:     w.Graph,
		Algorithm: a,
		Gate:      w.gateOn(i, l, own),
		Head:      l.Head,
		Recover:   recovery(a, own),
		Rounds:    w.Rounds(i),
		Dim:       w.dim(),
		Mass:      w.o.Push,
		BF16:      w.o.BF16,
		Transport: tr,
		Store:     store,

		Interval: w.o.Interval,
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
