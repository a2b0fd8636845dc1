package oracle

import (
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
	"sotto/topology"
)

func stateful(t *testing.T, name, operator string, r *Records,
	change func(*StatefulResidual)) *StatefulResidual {
	t.Helper()
	k := &StatefulResidual{KM: *kmOf(t, name, operator, r, nil), Start: make(tensor.Vec, r.Data.X.Cols)}
	if change != nil {
		change(k)
	}
	if err := k.Validate(); err != nil {
		t.Fatal(err)
	}
	return k
}

// next answers a query without noise and returns the answer, and the sensitivity that its
// charge states.
func next(t *testing.T, k *StatefulResidual, q *agent.Query) (tensor.Vec, float64) {
	t.Helper()
	r, err := k.Describe(q)
	if err != nil {
		t.Fatal(err)
	}
	v := privacy.Value{Float: make(tensor.Vec, k.Dim)}
	k.Evaluate(&v, q, nil)
	v.Float.Scale(r.Scale, v.Float)
	return v.Float, r.Parts[0].Clip * r.Parts[0].Shift * r.Scale
}

// walk makes the queries of rounds with public mixes that wander.
func walk(rounds, d int, alpha float64, seed uint64) []*agent.Query {
	r := rng.Public(seed, "walk")
	var qs []*agent.Query
	for range rounds {
		at := make(tensor.Vec, d)
		for i := range at {
			at[i] = float32(.3 * (r.Float64() - .5))
		}
		qs = append(qs, &agent.Query{Oracle: StatefulResidualName, At: at, Step: alpha})
	}
	return qs
}

// Given equal queries the answers for neighbors are never further apart than the charge
// states, and the iterates behind them never further than Δ_k, which is
// ατ(1-(2α)^k)/(1-2α), or α 2B for a loss without a bound.
func TestStatefulSensitivity(t *testing.T) {
	const n, d, alpha, rounds = 6, 3, .4, 30
	for _, name := range []string{"logistic", "huber", "least-squares"} {
		for operator := range Operators {
			r := rng.Public(11, name+operator)
			for try := range 25 {
				one := owner(name, n, d, []float64{1, 30}[try%2], r)
				other := *one.Data
				other.X = tensor.NewMat(n, d)
				copy(other.X.Data, one.Data.X.Data)
				other.X.Row(0).Scale(-1, other.X.Row(0))
				other.Labels, other.Targets = slices.Clone(one.Data.Labels), slices.Clone(one.Data.Targets)
				a, b := stateful(t, name, operator, one, nil),
					stateful(t, name, operator, &Records{&other, one.Index}, nil)
				tau := 2 * a.Gamma * a.ClipNorm / n
				for k, q := range walk(rounds, d, alpha, uint64(try)) {
					x, bound := next(t, a, q)
					y, _ := next(t, b, q)
					apart := 0.
					for i := range x {
						apart = math.Hypot(apart, float64(x[i])-float64(y[i]))
					}
					if apart > bound {
						t.Fatalf("%s of %s: answers of release %d are %g apart, charged for %g", operator,
							name, k, apart, bound)
					}
					want := alpha * tau * (1 - math.Pow(2*alpha, float64(k+1))) / (1 - 2*alpha)
					if name == "least-squares" || want > 2*alpha {
						want = 2 * alpha
					}
					if math.Abs(alpha*bound/want-1) > 1e-4 {
						t.Fatalf("%s of %s: release %d states Δ = %g, want %g", operator, name, k,
							alpha*bound, want)
					}
					states := distance(a.state, b.state)
					if states > want*(1+1e-4) {
						t.Fatalf("%s of %s: iterates are %g apart after %d answers, want at most %g",
							operator, name, states, k+1, want)
					}
				}
			}
		}
	}
}

// The private iterates do grow apart. One dimension, Huber loss, γ = 2, N = 9: four
// records at 3, four at -3, and one at 0 or a null record, which pulls one way at 3 and
// the other way at -3. With mixes that alternate between the two, the distance after the
// second answer is ατ(1 + (8/9)α), above that after the first, τ = γ/N.
func TestStatefulIteratesGrowApart(t *testing.T) {
	const alpha = .4
	var sides [2]*StatefulResidual
	for side := range sides {
		r := owner("huber", 9, 1, 1, rng.Public(1, "pulled"))
		for i := range 9 {
			r.Data.X.Data[i], r.Data.Targets[i] = 1, []float32{3, -3}[i%2]
		}
		r.Data.Targets[8] = 0
		if side == 1 {
			r.Data.Targets[8] = float32(math.NaN())
		}
		sides[side] = stateful(t, "huber", Forward, r, func(k *StatefulResidual) {
			k.Gamma, k.Residual, k.Adjacency, k.Start = 2, 10, account.ZeroOut, tensor.Vec{3}
		})
	}
	tau := 2. / 9
	for k, want := range []float64{alpha * tau, alpha * tau * (1 + alpha*8/9)} {
		q := &agent.Query{At: tensor.Vec{[]float32{-3, 3}[k]}, Step: alpha}
		for _, o := range sides {
			o.Replay(q)
		}
		if got := math.Abs(sides[0].state[0] - sides[1].state[0]); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("after %d answers the iterates are %g apart, want %g", k+1, got, want)
		}
	}
}

// A replayed oracle has the state, goes on with the same bits and states the same
// sensitivity; an erased one has nothing, and answers and charges as in the beginning.
func TestStatefulReplay(t *testing.T) {
	r := owner("logistic", 9, 4, 1, rng.Public(12, "replay"))
	a, b := stateful(t, "logistic", DouglasRachford, r, nil), stateful(t, "logistic", DouglasRachford, r, nil)
	qs := walk(20, 4, .3, 1)
	start, least := tensor.Vec(nil), 0.
	for k, q := range qs {
		if k == 13 {
			for _, past := range qs[:13] {
				b.Replay(past)
			}
			if !slices.Equal(a.state, b.state) {
				t.Fatalf("replayed %v, was %v", b.state, a.state)
			}
		}
		x, bound := next(t, a, q)
		if k == 0 {
			start, least = x, bound
		}
		if k >= 13 {
			if y, other := next(t, b, q); !slices.Equal(x, y) || bound != other {
				t.Errorf("release %d: %v for %g, after a replay %v for %g", k, x, bound, y, other)
			}
		}
	}
	rows := a.whole.x
	a.Erase()
	if a.state != nil || a.whole != nil || slices.ContainsFunc(rows, func(x float64) bool { return x != 0 }) {
		t.Error("something is left of an erased oracle")
	}
	if x, bound := next(t, a, qs[0]); !slices.Equal(x, start) || bound != least {
		t.Errorf("an erased oracle answers %v for %g, in the beginning %v for %g", x, bound, start, least)
	}
}

func TestStatefulRefuses(t *testing.T) {
	r := owner("logistic", 4, 2, 1, rng.Public(8, "refused"))
	for key, change := range map[string]func(*StatefulResidual){
		"sample_rate": func(k *StatefulResidual) { k.SampleRate = .5 },
		"start":       func(k *StatefulResidual) { k.Start = nil },
		"adjacency":   func(k *StatefulResidual) { k.Adjacency = account.AddRemove },
		"batch_size":  func(k *StatefulResidual) { k.ExpectedBatchSize = 3 },
		"gamma":       func(k *StatefulResidual) { k.Gamma = 8.001 }, // smoothness 1/4
	} {
		k := stateful(t, "logistic", Forward, r, nil)
		change(k)
		wantBad(t, key, k.Validate())
	}
	k := stateful(t, "logistic", Forward, r, func(k *StatefulResidual) { k.Gamma = 7.999 })
	_, err := k.Describe(&agent.Query{At: make(tensor.Vec, 2)})
	wantBad(t, "step", err)
}

// TestClaim50: Algorithm 1 puts out X^K, which has no noise. One agent, one round, T(x) =
// x - γ(x - a), x^0 = 0: it is αγa exactly, and tells neighbors apart with certainty,
// whatever noise was sent.
func TestClaim50(t *testing.T) {
	const alpha, gamma = .3, .5
	for _, a := range []float32{.25, -.75} {
		r := owner("least-squares", 1, 1, 1, rng.Public(1, "one"))
		r.Data.X.Data[0], r.Data.Targets[0] = float32(math.Sqrt(.5)), float32(math.Sqrt(.5))*a
		k := stateful(t, "least-squares", Forward, r, func(k *StatefulResidual) {
			k.Gamma, k.ClipNorm = gamma, 10
		})
		k.advance(&agent.Query{At: tensor.Vec{0}, Step: alpha})
		if want := alpha * gamma * float64(a); math.Abs(k.state[0]-want) > 1e-7 {
			t.Errorf("a = %g: puts out %g, want %g", a, k.state[0], want)
		}
	}
}

// TestClaim31: Theorem 1 bounds the expectation over which record is drawn. A guarantee
// needs the largest distance: for the mean of all agents N times as much where the record
// is hit, for an agent's own iterate N·M times. M = 3 agents of N = 5 records, one round
// at α, residuals of norm B for the record and its neighbor.
func TestClaim31(t *testing.T) {
	const agents, n, alpha, b = 3, 5, .5, 1.
	bound := 2 * b * alpha / (n * agents) // the theorem's, at K = 1
	expected, worst := 0., 0.
	for hit := range n {
		var x [2]float64
		for side := range x {
			r := owner("least-squares", n, 1, 1, rng.Public(2, "records"))
			r.Data.X.Data[0], r.Data.Targets[0] = 1, []float32{1e3, -1e3}[side]
			k := stateful(t, "least-squares", Forward, r, func(k *StatefulResidual) {
				k.ClipNorm, k.Published, k.OneRecord = 1e6, true, true
			})
			k.Records.Index = r.Index[hit : hit+1] // the draw hits this one
			k.draw(rng.Public(1, "draw"))
			x[side] = alpha * k.advance(&agent.Query{At: tensor.Vec{0}, Step: alpha})[0]
		}
		apart := math.Abs(x[0]-x[1]) / agents // of the mean
		expected += apart / n
		worst = max(worst, apart)
	}
	if math.Abs(expected/bound-1) > 1e-9 || math.Abs(worst/bound-n) > 1e-9 ||
		math.Abs(worst*agents/bound-n*agents) > 1e-9 {
		t.Errorf("bound %g; expected distance %g, largest %g, of the agent's own iterate %g", bound, expected,
			worst, worst*agents)
	}
}

// TestClaim34: Theorem 5 bounds E‖W(X - X̃)‖² by p(σ² + μ²)[(M-1)λ² + 1]. For noise of
// mean μ the part of μ is pμ²M, because W leaves constants alone: on a ring of five, in
// units of pμ², 5 against 2.16. The part of σ holds: it is ‖W‖², at most the bracket.
func TestClaim34(t *testing.T) {
	const m = 5
	schedule, err := topology.New("ring", "metropolis", m, 1, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	w, err := schedule.At(0)
	if err != nil {
		t.Fatal(err)
	}
	lambda := (1 + 2*math.Cos(2*math.Pi/m)) / 3
	bracket := (m-1)*lambda*lambda + 1
	mean, variance := 0., 0.
	for i := range m {
		row := 0.
		for j := range m {
			x := w.Weight(agent.ID(i), agent.ID(j))
			row += x
			variance += x * x
		}
		mean += row * row
	}
	if math.Abs(mean-5) > 1e-12 || math.Abs(bracket-2.16) > .005 || variance > bracket {
		t.Errorf("mean part %g, variance part %g, bracket %g; want 5, at most the bracket, 2.16", mean,
			variance, bracket)
	}
}
