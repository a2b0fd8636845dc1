package network_test

import (
	"math"
	"testing"

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
