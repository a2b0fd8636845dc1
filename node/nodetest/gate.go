package nodetest

import (
	"bytes"
	"crypto/ed25519"
	"sync"
	"testing"

	"sotto/agent"
	"sotto/node/roster"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// Gate makes agent i's gate over a ledger, with seeded noise.
func (w *World) Gate(i int, l ledger.Ledger) *privacy.Gate {
	return w.gateOn(i, l, iterate(i, w.initial()))
}

func (w *World) gateOn(i int, l ledger.Ledger, own *oracle.StatefulResidual) *privacy.Gate {
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

func (w *World) seeded(i int, l ledger.Ledger, o records, own *oracle.StatefulResidual,
	m privacy.Mechanism) *privacy.Gate {
	g := privacy.NewSimulatedGate(l, m,
		map[string]privacy.Oracle{"grad": o, "grad-full": o, "user-grad": o, "fit": o, "km": o, "value": o,
			"statistic": o, "moments": o, "gradient-sum": o, "row-sum": o,
			oracle.StatefulResidualName: own}, 77, agent.ID(i))
	g.NoiseOnly("zero", "user-grad")
	return g
}

// Key is that of agent i in all runs of the suite.
func Key(i agent.ID) ed25519.PrivateKey {
	k, ok := keys.Load(i)
	if !ok {
		k, _ = keys.LoadOrStore(i, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i) + 1},
			ed25519.SeedSize)))
	}
	return k.(ed25519.PrivateKey)
}

// keys are those made so far: each signature of a test asks for one.
var keys sync.Map // of agent.ID

// shared is noise of the agent's own and, for each neighbor, three times as much that the
// neighbor subtracts.
func (w *World) shared(i int) privacy.Mechanism {
	var neighbors []agent.ID
	for _, n := range w.Graph.In(agent.ID(i)) {
		neighbors = append(neighbors, n.ID)
	}
	m, err := privacy.NewDecor(privacy.Decor{
		NoiseMultiplier: Noise,
		Pair:            3 * Noise,
		Effective:       Noise,
		Self:            agent.ID(i),
		Neighbors:       neighbors,
		Secret: func(j agent.ID) []byte {
			return roster.PairSecret(Key(agent.ID(i)), Key(j).Public().(ed25519.PublicKey), w.Run)
		},
	})
	if err != nil {
		panic(err) // constants of this package
	}
	return m
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
	parts := []account.Part{{Name: "gradient", Clip: Clip, Shift: 1, Norm: account.L2,
		Dim: max(Dim, q.Values)}}
	if r.count {
		parts = append(parts, account.Part{Name: countPart, Clip: .5, Shift: 1, Norm: account.L2, Dim: 1})
	}
	return account.Release{Oracle: "grad", Adjacency: account.ZeroOut, Unit: account.Record(),
		Sampler: account.Sampler{Kind: account.Poisson, SampleRate: .5}, Parts: parts,
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
		for i, x := range q.At[:min(Dim, len(q.At))] {
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
