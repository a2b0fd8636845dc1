package network_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"sotto/privacy/account/network"
)

func training(t *testing.T, g network.Gossip, steps int, a network.Adversary) *network.TrainingView {
	t.Helper()
	v, err := (&network.Training{Gossip: g, Steps: steps}).View(a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// One step is one averaging; who sees all messages gets every update whole, and its
// figure alone is proved; partial views are estimates and say so.
func TestTrainingView(t *testing.T) {
	g := params{Graph: "hypercube(4)", Rounds: 3}.gossip(t)
	one, exact := training(t, g, 1, network.Observer(3)), view(t, g, network.Observer(3))
	for u, share := range one.Share {
		if math.Abs(share-exact.Leak[u]) > 1e-9 {
			t.Errorf("agent %d: share %v of one step, leak %v", u, share, exact.Leak[u])
		}
	}
	for _, steps := range []int{1, 3, 5} {
		for _, a := range []network.Adversary{network.AllMessages(), network.Eavesdropper()} {
			all := training(t, g, steps, a)
			for u, share := range all.Share {
				if math.Abs(share-float64(steps)) > 1e-9 || all.Provenance != network.Proved ||
					all.Label != "" {
					t.Errorf("%d steps, %v: agent %d has %v, %s", steps, a, u, share, all.Provenance)
				}
			}
		}
		for _, a := range []network.Adversary{network.Observer(3), network.Coalition(3, 9)} {
			v := training(t, g, steps, a)
			if v.Provenance != network.Claimed || v.Label != network.EstimateLabel {
				t.Errorf("%v: a figure of training is %s, %q", a, v.Provenance, v.Label)
			}
			for u, share := range v.Share {
				if share < 0 || share > float64(steps) {
					t.Errorf("agent %d: share %v of %d steps", u, share, steps)
				}
			}
		}
	}
}

// Two steps with one round each on a line of three, observer 2: it gets x_1 of the first
// step and (x_0 + x_1 + x_2)/3 + x_1' in the second, hence the direction (1/3,
// 1)/sqrt(10/9) of (x_0, x_1'): shares 1/10 of agent 0 and 1 + 9/10 of agent 1.
func TestTrainingByHand(t *testing.T) {
	v := training(t, params{Graph: "path(3)", Rounds: 1}.gossip(t), 2, network.Observer(2))
	for u, want := range []float64{.1, 1.9, 2} {
		if math.Abs(v.Share[u]-want) > 1e-12 {
			t.Errorf("agent %d: share %v, want %v", u, v.Share[u], want)
		}
	}
}

func TestTrainingBadInput(t *testing.T) {
	g := params{Graph: "path(3)", Rounds: 1}.gossip(t)
	for name, tc := range map[string]struct {
		steps int
		a     network.Adversary
	}{"none": {0, network.Observer(0)}, "many": {2000, network.Observer(0)},
		"nobody": {1, network.Observer(3)}} {
		if _, err := (&network.Training{Gossip: g, Steps: tc.steps}).View(tc.a); err == nil {
			t.Errorf("%s: admitted", name)
		}
	}
}

// leakOfGrowth is mu^2 of the record of agent 0 on a ring of four, of which each agent
// hears the sum of its neighbors' models once a step, where agent 0's second update is
// the record and growth times its own model: by the pseudoinverse, over eight noises and
// eight sums.
func leakOfGrowth(t *testing.T, growth float64) float64 {
	t.Helper()
	const n = 4
	var rows, signal []float64 // of what is heard: its noises, and what the record adds
	state, record := mat.NewDense(n, 2*n, nil), make([]float64, n)
	for step := range 2 {
		if step == 1 { // agent 0's gradient at its own model
			for c := range 2 * n {
				state.Set(0, c, (1+growth)*state.At(0, c))
			}
			record[0] *= 1 + growth
		}
		record[0]++
		for i := range n {
			state.Set(i, step*n+i, state.At(i, step*n+i)+1)
		}
		next, after := mat.NewDense(n, 2*n, nil), make([]float64, n)
		for i := range n {
			heard := make([]float64, 2*n)
			s := 0.
			for _, j := range []int{(i + 1) % n, (i + n - 1) % n} {
				floats.AddScaled(heard, 1./3, state.RawRowView(j))
				s += record[j] / 3
			}
			rows, signal = append(rows, heard...), append(signal, s)
			after[i] = s + record[i]/3
			for c := range 2 * n {
				next.Set(i, c, heard[c]+state.At(i, c)/3)
			}
		}
		state, record = next, after
	}
	m := mat.NewDense(2*n, 2*n, rows)
	var cov mat.SymDense
	cov.SymOuterK(1, m)
	var eig mat.EigenSym
	if !eig.Factorize(&cov, true) {
		t.Fatal("no eigenvalues")
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	sum := 0.
	for k, lambda := range eig.Values(nil) {
		if lambda < 1e-9 {
			continue
		}
		x := 0.
		for i := range signal {
			x += vectors.At(i, k) * signal[i]
		}
		sum += x * x / lambda
	}
	return sum
}

// Who hears secure sums only does not know the models that later updates start from: an
// update that is a multiple of an agent's own model tells more of it than the updates
// that are given beforehand, which had been called proved. The truth reaches mu^2 = 1.5
// where the program said 1.
func TestSecureSumsOfSeveralStepsTellMore(t *testing.T) {
	for growth, want := range map[float64]float64{0: 1, 1: 1.162, 2: 1.3, 3: 1.4, 6: 1.5, 9: 1.462,
		20: 1.275} {
		if got := leakOfGrowth(t, growth); math.Abs(got-want) > 6e-4 {
			t.Errorf("an update of %g times the own model: mu^2 %.4f, want %.3f", growth, got, want)
		}
	}
	g := network.Gossip{Agents: 4, Rounds: repeat(metropolis(t, 4, ring(4)), 1), SecureSum: true}
	for _, a := range []network.Adversary{network.AllMessages(), network.Eavesdropper()} {
		v, err := (&network.Training{Gossip: g, Steps: 2}).View(a)
		if err != nil {
			t.Fatal(err)
		}
		if v.Provenance == network.Proved && v.Share[0] < 1.5 {
			t.Errorf("%v: %g of 2, %s", a, v.Share[0], v.Provenance)
		}
		// one step has no later update
		if v, err = (&network.Training{Gossip: g, Steps: 1}).View(a); err != nil || v.Share[0] > .5+1e-9 {
			t.Errorf("%v, one step: %g, %v; want half", a, v.Share[0], err)
		}
	}
}

// Where the messages of a step do not tell all releases, because agents meet in pairs, as
// much is charged as all updates cost in the open, but to who never sends; where every
// agent sends, what the view tells.
func TestTrainingIsProvedWhereEveryReleaseIsSeen(t *testing.T) {
	half := network.Fraction(1, 2)
	pair, err := network.NewMatrix([]network.Row{
		{Agent: 0, Self: half, In: []network.Link{{From: 1, Weight: half}}},
		{Agent: 1, Self: half, In: []network.Link{{From: 0, Weight: half}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		rounds []*network.Matrix
		want   []float64
	}{
		"pairs": {[]*network.Matrix{pair}, []float64{3, 3, 0}},
		"ring":  {repeat(metropolis(t, 3, complete(3)), 1), []float64{3, 3, 3}},
	} {
		v, err := (&network.Training{Gossip: network.Gossip{Agents: 3, Rounds: tc.rounds}, Steps: 3}).
			View(network.AllMessages())
		if err != nil || v.Provenance != network.Proved {
			t.Fatalf("%s: %v, %v", name, v, err)
		}
		for i, want := range tc.want {
			if math.Abs(v.Share[i]-want) > 1e-9 {
				t.Errorf("%s: agent %d has %g, want %g", name, i, v.Share[i], want)
			}
		}
	}
}
