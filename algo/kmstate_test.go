package algo_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/tensor"
)

// ownKM is an agent of two parameters with α_k = .4/(1 + k/5) and a private iterate
// behind its gate.
func ownKM(t testing.TB) *algo.KM {
	t.Helper()
	f, err := algo.New("km", set(func(p *algo.KMParams) {
		p.PrivateIterate, p.Alpha, p.Schedule, p.AlphaTau = true, .4, "inverse", 5
	}))
	if err != nil {
		t.Fatal(err)
	}
	a, err := f(agent.Env{Dim: 2, Init: tensor.Vec{1, 2}, Graph: agent.Graph{LambdaMin: .5}})
	if err != nil {
		t.Fatal(err)
	}
	return a.(*algo.KM)
}

// askKM steps a, which has no neighbors, through one round, and returns the point of its
// query. Exhausted: with a nil answer.
func askKM(t testing.TB, a *algo.KM, round uint64, answer tensor.Vec) tensor.Vec {
	t.Helper()
	var out agent.Output
	in := agent.Input{Kind: agent.Round, Round: round, View: &agent.View{SelfWeight: 1}}
	if err := a.Step(&in, &out); err != nil || out.Query == nil {
		t.Fatalf("round %d: %v, query %v", round, err, out.Query)
	}
	at := slices.Clone(out.Query.At)
	in.Kind, in.Answer = agent.Answer, answer
	if answer == nil {
		in.Kind = agent.Exhausted
	}
	out.Reset()
	if err := a.Step(&in, &out); err != nil {
		t.Fatal(err)
	}
	return at
}

// A restored agent names the queries that were answered, with the steps of their rounds,
// wherever rounds were left out or had no answer.
func TestKMAsked(t *testing.T) {
	a := ownKM(t)
	type query struct {
		at   [2]float32
		step float64
	}
	var want []query
	for _, round := range []uint64{0, 1, 4, 5, 9} {
		answer := tensor.Vec{float32(round) - 3, .5}
		if round == 4 {
			answer = nil
		}
		at := askKM(t, a, round, answer)
		if answer != nil {
			want = append(want, query{[2]float32(at), .4 / (1 + float64(round)/5)})
		}
	}
	b := ownKM(t)
	if err := b.LoadState(a.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	var got []query
	b.Asked(func(q *agent.Query) { got = append(got, query{[2]float32(q.At), q.Step}) })
	if len(got) != len(want) {
		t.Fatalf("%d queries, want %d", len(got), len(want))
	}
	for k, q := range got {
		if q.at != want[k].at || math.Abs(q.step/want[k].step-1) > 1e-15 {
			t.Errorf("query %d: %v, want %v", k, q, want[k])
		}
	}
}

// A state with other bytes is refused or is itself a state: rounds go up and points are
// finite, so that what is recovered from it is.
func FuzzKMState(f *testing.F) {
	a := ownKM(f)
	f.Add(a.AppendState(nil))
	for k := range uint64(3) {
		askKM(f, a, 2*k, tensor.Vec{1, -1})
	}
	whole := a.AppendState(nil)
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Add(append(slices.Clone(whole), 0))
	const point = 8 + 4*2 // round and two values; the last one begins so many bytes before the end
	changed := func(at int, v uint64) {
		b := slices.Clone(whole)
		binary.LittleEndian.PutUint64(b[at:], v)
		f.Add(b)
	}
	changed(len(whole)-point, 2)                                         // the round of the one before
	changed(len(whole)-8, uint64(math.Float32bits(float32(math.NaN())))) // a point that is not finite
	changed(len(whole)-3*point-8, 1<<62)                                 // points without end
	f.Fuzz(func(t *testing.T, b []byte) {
		a := ownKM(t)
		if err := a.LoadState(b); err != nil {
			if !errors.Is(err, agent.ErrState) {
				t.Fatalf("%v, want ErrState", err)
			}
			return
		}
		if again := a.AppendState(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x is written again as %x", b, again)
		}
		a.Asked(func(q *agent.Query) {
			if !q.At.Finite() || !(q.Step > 0 && q.Step <= .4) {
				t.Fatalf("query %v", q)
			}
		})
	})
}

// The seeds that are no states are refused; an agent without a private iterate takes no
// state of one that has it.
func TestKMStateRefuses(t *testing.T) {
	a := ownKM(t)
	for k := range uint64(3) {
		askKM(t, a, 2*k, tensor.Vec{1, -1})
	}
	whole := a.AppendState(nil)
	put := func(at int, v uint64) []byte {
		b := slices.Clone(whole)
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	n := len(whole)
	for name, b := range map[string][]byte{
		"torn": whole[:n-5], "longer": append(slices.Clone(whole), 0), "a round twice": put(n-16, 2),
		"not finite": put(n-8, 0x7fc00000), "too many": put(n-3*16-8, 1<<62),
	} {
		if err := ownKM(t).LoadState(b); !errors.Is(err, agent.ErrState) {
			t.Errorf("%s: %v, want ErrState", name, err)
		}
	}
	plain, err := factory(t, "km", set(func(*algo.KMParams) {}))(agent.Env{Dim: 2, Init: tensor.Vec{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.LoadState(whole); !errors.Is(err, agent.ErrState) {
		t.Errorf("without a private iterate: %v, want ErrState", err)
	}
}
