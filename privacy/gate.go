package privacy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sotto/agent"
	"sotto/internal/parallel"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// keySource gives the key of one charge. The secret source draws from the operating
// system; the simulated one derives from a seed and exists for package sim and for tests.
type keySource func(seq uint64) rng.Key

// Gate answers the queries of one owner's algorithm. It is used by one goroutine at a
// time. The zero Gate refuses every query.
type Gate struct {
	ledger    ledger.Ledger
	oracles   map[string]Oracle
	mechanism Mechanism
	byOracle  map[string]Mechanism // instead of mechanism, see SetMechanism
	streams
	rounds    []beginner // oracles whose records change with the round
	noiseOnly noiseOnly

	round uint64
	live  []agent.Neighbor
	last  struct { // query, release, mechanism and event, all public
		oracle    string
		noise     float64
		release   account.Release
		mechanism Mechanism
		event     account.Event
	}
}

// streams are where keys come from.
type streams struct {
	keys      keySource
	simulated bool
}

// noiseOnly are queries for the noise of an oracle alone, see Gate.NoiseOnly.
type noiseOnly struct {
	oracle map[string]string // by the name of the query
	count  uint64            // of such answers since Begin
}

// beginner is implemented by oracles whose records change with the round.
type beginner interface{ Begin(round uint64) }

// Stateful is an oracle with a state of its own, private, which goes on from answer to
// answer. The gate alone calls what is below; it is never told to an algorithm.
type Stateful interface {
	Oracle
	// Replay moves the state by a query that was answered before. Nothing is released.
	Replay(q *agent.Query)
	// Erase clears the state. What comes after begins anew.
	Erase()
	// Drawn reports that the state depends on random choices, so that it does not follow
	// from the queries.
	Drawn() bool
}

// ErrDrawn says that the state of an oracle cannot be recovered.
var ErrDrawn = errors.New("privacy: a state that depends on random choices does not follow from the queries")

// Recover brings the states of the gate's oracles to where the queries that asked yields,
// in order, had taken them. It goes before the first answer. Oracles without a state have
// nothing to recover; asked is then not called. ErrDrawn: the state of one depends on
// random choices; asked is not called, and the gate is not to be used.
func (g *Gate) Recover(asked func(yield func(q *agent.Query))) error {
	if !g.stateful(func(s Stateful) {}) {
		return nil
	}
	var err error
	g.stateful(func(s Stateful) {
		if s.Drawn() {
			err = ErrDrawn
			return
		}
		s.Erase()
	})
	if err != nil {
		return err
	}
	asked(func(q *agent.Query) {
		if s, ok := g.oracles[q.Oracle].(Stateful); ok {
			s.Replay(q)
		}
	})
	return nil
}

// Erase clears the states of the gate's oracles, when nothing is asked any more.
func (g *Gate) Erase() { g.stateful(Stateful.Erase) }

// stateful calls f with every oracle that has a state, and reports whether there is one.
func (g *Gate) stateful(f func(Stateful)) bool {
	any := false
	for _, o := range g.oracles {
		if s, ok := o.(Stateful); ok {
			any = true
			f(s)
		}
	}
	return any
}

// SetMechanism makes m the mechanism of one oracle's answers, in place of the gate's. It
// is called before the first answer.
func (g *Gate) SetMechanism(oracle string, m Mechanism) {
	if g.byOracle == nil {
		g.byOracle = map[string]Mechanism{}
	}
	g.byOracle[oracle] = frozen(m)
}

// NoiseOnly has queries of the given name answered with the noise of that oracle's
// answers alone, around zero, with a fresh key. They read no data, so that nothing is
// charged. It is called before the first answer.
func (g *Gate) NoiseOnly(name, oracle string) {
	if g.noiseOnly.oracle == nil {
		g.noiseOnly.oracle = map[string]string{}
	}
	g.noiseOnly.oracle[name] = oracle
}

// Keys says where a gate's streams come from. The zero Keys are secret: a fresh key of
// the operating system for each charge.
type Keys struct {
	seed      uint64
	simulated bool
}

// SimulatedKeys are a function of seed, agent and charge number: see NewSimulatedGate.
func SimulatedKeys(seed uint64) Keys { return Keys{seed: seed, simulated: true} }

// Simulated reports whether the keys are reproducible and hence protect nobody.
func (k Keys) Simulated() bool { return k.simulated }

// Open returns the gate of agent self over its oracles, by the names that queries have.
// What is nil is refused when a query needs it. self matters to simulated keys alone. The
// gate keeps the map, which is not changed afterwards, and a copy of the mechanism.
func Open(l ledger.Ledger, m Mechanism, oracles map[string]Oracle, keys Keys, self agent.ID) *Gate {
	g := &Gate{ledger: l, mechanism: frozen(m), oracles: oracles, streams: streams{simulated: keys.simulated,
		keys: func(uint64) rng.Key { return rng.NewKey() }}}
	if keys.simulated {
		g.keys = func(seq uint64) rng.Key { return rng.Simulated(keys.seed, uint32(self), seq) }
	}
	for _, name := range slices.Sorted(maps.Keys(oracles)) {
		if o, ok := oracles[name].(beginner); ok {
			g.rounds = append(g.rounds, o)
		}
	}
	return g
}

// NewGate returns a gate whose noise and sampling come from a fresh secret key for each
// charge.
func NewGate(l ledger.Ledger, m Mechanism, oracles map[string]Oracle) *Gate {
	return Open(l, m, oracles, Keys{}, 0)
}

// NewSimulatedGate returns a gate whose noise and sampling are a function of seed, agent
// and charge number, for exact re-runs of a simulation. Whoever knows the seed can remove
// the noise: its releases protect nobody, and every result made with it must be stamped
// "simulated".
func NewSimulatedGate(l ledger.Ledger, m Mechanism, oracles map[string]Oracle, seed uint64,
	self agent.ID) *Gate {
	return Open(l, m, oracles, SimulatedKeys(seed), self)
}

// Simulated reports whether the gate's noise is reproducible and hence protects nobody.
func (g *Gate) Simulated() bool { return g.simulated }

// Begin tells the gate which round it is and whose messages arrived in it. The slice is
// valid until the next Begin. Rounds do not go back: answers that share noise with
// neighbors (Decor) are then ErrAbstain.
func (g *Gate) Begin(round uint64, live []agent.Neighbor) {
	g.round, g.live, g.noiseOnly.count = round, live, 0
	for _, o := range g.rounds {
		o.Begin(round)
	}
	if l, ok := g.ledger.(interface{ SetRound(uint64) }); ok { // durable ledgers note the round of a charge
		l.SetRound(round)
	}
}

// Describe returns what q would release and what it would cost. It reads no data and
// charges nothing. Errors: ErrQuery, ErrRefused (an oracle without integers for noise
// that needs them), or what the oracle or the mechanism says, as a config.Error.
func (g *Gate) Describe(q *agent.Query) (account.Release, account.Event, error) {
	var none account.Release
	o, ok := g.oracles[q.Oracle]
	if !ok {
		return none, account.Event{}, fmt.Errorf("%w: no oracle %q", ErrQuery, q.Oracle)
	}
	if q.Clip < 0 || q.Clip-q.Clip != 0 || !q.At.Finite() {
		return none, account.Event{}, fmt.Errorf("%w: point or clip is not finite", ErrQuery)
	}
	m, err := g.mechanismOf(q)
	if err != nil {
		return none, account.Event{}, err
	}
	if m == nil || o == nil {
		return none, account.Event{}, fmt.Errorf("%w: the gate has no mechanism, or no oracle %q", ErrQuery,
			q.Oracle)
	}
	r, err := o.Describe(q)
	if err != nil {
		return none, account.Event{}, err
	}
	if TakesIntegers(m) {
		if _, ok := o.(GridOracle); !ok {
			return none, account.Event{},
				fmt.Errorf("%w: the mechanism adds integers and oracle %q gives none; quantise = true "+
					"charges the rounding of its values instead", ErrRefused, q.Oracle)
		}
	}
	ev, err := g.event(q, m, r)
	return r, ev, err
}

// mechanismOf is the mechanism that answers q: its oracle's or the gate's, with the
// query's factor on the noise.
func (g *Gate) mechanismOf(q *agent.Query) (Mechanism, error) {
	if g.last.mechanism != nil && q.Noise == g.last.noise && q.Oracle == g.last.oracle {
		return g.last.mechanism, nil
	}
	m, ok := g.byOracle[q.Oracle]
	if !ok {
		m = g.mechanism
	}
	if q.Noise == 0 {
		return m, nil
	}
	return Scaled(m, q.Noise)
}

// event is the mechanism's event of r. It remembers the last one, because most queries
// release the same and ledgers recognise an event that is made once and reused.
func (g *Gate) event(q *agent.Query, m Mechanism, r account.Release) (account.Event, error) {
	if g.last.mechanism != nil && q.Noise == g.last.noise && q.Oracle == g.last.oracle &&
		equalReleases(&r, &g.last.release) {
		return g.last.event, nil
	}
	ev, err := eventOf(m, r)
	if err == nil {
		r.Parts = slices.Clone(r.Parts) // the oracle's own may change
		g.last.oracle, g.last.noise, g.last.release, g.last.mechanism, g.last.event = q.Oracle, q.Noise, r, m,
			ev
	}
	return ev, err
}

func equalReleases(a, b *account.Release) bool {
	return a.Oracle == b.Oracle && a.Adjacency == b.Adjacency && a.Unit == b.Unit && a.Sampler == b.Sampler &&
		a.Draws == b.Draws && a.Scale == b.Scale && a.SumsUncharged == b.SumsUncharged &&
		slices.Equal(a.Parts, b.Parts)
}

// TakesIntegers reports whether m is handed exact integers alone, by a GridOracle.
func TakesIntegers(m Mechanism) bool {
	i, ok := m.(integral)
	return ok && i.integral()
}

// Answer releases the oracle's noisy value at q into dst. In this order: describe
// (public), charge (admitted by the budget and durable), evaluate, perturb. When it
// returns ErrExhausted or ErrAbstain nothing was charged or read; after any other error
// of the ledger nothing was read.
func (g *Gate) Answer(q *agent.Query, dst tensor.Vec) error {
	name, noiseOnly := g.noiseOnly.oracle[q.Oracle]
	if noiseOnly {
		like := *q
		like.Oracle, q = name, &like
	}
	r, ev, err := g.Describe(q)
	if err != nil {
		return err
	}
	m := g.last.mechanism // of this event
	if d, ok := m.(Decor); ok && g.round < d.blocks.round {
		return fmt.Errorf("%w: round %d, after one of round %d", ErrAbstain, g.round, d.blocks.round)
	}
	total := 0
	for _, p := range r.Parts {
		total += p.Dim
	}
	if total != len(dst) {
		return fmt.Errorf("%w: oracle %q releases %d values, the answer has room for %d", ErrQuery, q.Oracle,
			total, len(dst))
	}
	var seq uint64
	if noiseOnly {
		seq = g.noiseOnlySeq()
	} else if g.ledger == nil {
		return fmt.Errorf("%w: the gate has no ledger", ErrQuery)
	} else if seq, err = g.ledger.Charge(ev); err != nil {
		return err
	}
	key := g.keys(seq)
	u := used.Get()
	u.sample.Rekey(&key, rng.Sample)
	u.noise.Rekey(&key, rng.Noise)
	key.Erase()

	v := &u.value
	if g.size(v, len(dst), TakesIntegers(m), r); !noiseOnly {
		g.evaluate(u, q, TakesIntegers(m))
	}
	c := Charge{Seq: seq, Round: g.round, Live: g.live, Noise: &u.noise}
	if f, ok := m.(releaser); ok {
		f.release(dst, v, r, c)
	} else {
		m.Perturb(v, r, c)
		dst.Scale(r.Scale, v.Float)
		v.Float.Zero()
	}

	clear(v.Wide)
	clear(v.Grid)
	u.sample.Erase()
	u.noise.Erase()
	used.Put(u)
	return nil
}

// releaser is a mechanism that writes the release in one pass over memory: Perturb, times
// Release.Scale, to dst. It clears v.Float.
type releaser interface {
	release(dst tensor.Vec, v *Value, r account.Release, c Charge)
}

// scratch is what one answer needs. The gates of one worker share one, which stays in its
// cache and keeps the gates of a million agents small.
type scratch struct {
	value         Value
	sample, noise rng.Stream
}

// used are those of finished answers, erased; what a panic interrupts is never put back.
var used = parallel.Free[scratch]{New: func() *scratch { return new(scratch) }}

// noiseOnlySeq numbers answers of noise alone where a charge has its sequence number:
// with the round and their count in it, from 2^63 on, which no charge reaches. A
// simulated gate derives the key from it, so that a resumed run draws the same noise.
func (g *Gate) noiseOnlySeq() uint64 {
	g.noiseOnly.count++
	return 1<<63 | g.round<<16 | g.noiseOnly.count
}

// size makes v the value zero, in exact integers where the mechanism asks for them.
func (g *Gate) size(v *Value, dim int, grid bool, r account.Release) {
	if cap(v.Float) < dim {
		v.Float = make(tensor.Vec, dim)
	}
	v.Float, v.Wide, v.Grid, v.Step = v.Float[:dim], v.Wide[:0], v.Grid[:0], 0
	if !grid {
		return
	}
	if cap(v.Grid) < dim {
		v.Grid = make([]int64, dim)
	}
	v.Grid, v.Step = v.Grid[:dim], GridStep(r.Parts[0].Clip)
}

// evaluate fills the value.
func (g *Gate) evaluate(u *scratch, q *agent.Query, grid bool) {
	if o := g.oracles[q.Oracle]; grid {
		o.(GridOracle).EvaluateGrid(u.value.Grid, q, &u.sample)
	} else {
		o.Evaluate(&u.value, q, &u.sample)
	}
}
