package algo_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/agent/agenttest"
	"sotto/algo"
	"sotto/config"
	"sotto/tensor"
)

func complete(t *testing.T, c algo.Clipping, initial, batch float64) algo.Clipping {
	t.Helper()
	if err := c.Complete(initial, batch); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClippedConformance(t *testing.T) {
	for name, c := range map[string]algo.Clipping{
		"schedule": {Kind: "schedule", Decay: .9}, "released": {Kind: "released"},
	} {
		for _, inner := range []string{"dsgd", "dsgt", "sgp", "dinno", "gossip-sgd"} {
			t.Run(name+" "+inner, func(t *testing.T) {
				f := factory(t, inner, func(any) error { return nil })
				c := complete(t, c, 3, 10)
				agenttest.Run(t, agenttest.Options{Tolerance: .1,
					Factory: func(env agent.Env) (agent.Algorithm, error) {
						a, err := f(env)
						if err != nil {
							return nil, err
						}
						return c.Clipped(a, 3, .01, env.Dim), nil
					}})
			})
		}
	}
}

// clips drives one agent of a clipped SGP for rounds and returns the clip of every query.
// answer gives what the gate releases at a clip.
func clips(t *testing.T, c algo.Clipping, initial, noise float64, dim, rounds int,
	answer func(clip float64) tensor.Vec) []float64 {
	t.Helper()
	build := func() agent.Algorithm {
		a, err := factory(t, "sgp", func(any) error {
			return nil
		})(agent.Env{Agents: 1, Dim: dim, Rounds: uint64(rounds), Init: make(tensor.Vec, dim)})
		if err != nil {
			t.Fatal(err)
		}
		return c.Clipped(a, initial, noise, dim)
	}
	a := build()
	var found []float64
	var out agent.Output
	for k := range uint64(rounds) {
		out.Reset()
		if err := a.Step(&agent.Input{Kind: agent.Round, Round: k, View: &agent.View{SelfWeight: 1}},
			&out); err != nil {
			t.Fatal(err)
		}
		clip := out.Query.Clip
		found = append(found, clip)
		if err := a.Step(&agent.Input{
			Kind:   agent.Answer,
			Round:  k,
			View:   &agent.View{SelfWeight: 1},
			Answer: answer(clip),
		}, &out); err != nil {
			t.Fatal(err)
		}
		// A checkpoint goes on as the agent itself would.
		state := a.AppendState(nil)
		a = build()
		if err := a.LoadState(state); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.AppendState(nil), state) {
			t.Fatal("a checkpoint changes when it is read")
		}
		if err := build().LoadState(state[:len(state)-1]); !errors.Is(err, agent.ErrState) {
			t.Fatalf("a cut checkpoint: %v", err)
		}
	}
	return found
}

func TestScheduledClips(t *testing.T) {
	c := complete(t, algo.Clipping{Kind: "schedule", Decay: .5, Least: .3}, 4, 10)
	for k, got := range clips(t, c, 4, 0, 2, 6, func(float64) tensor.Vec { return tensor.Vec{0, 0} }) {
		if want := []float64{4, 2, 1, .5, .3, .3}[k]; got != want {
			t.Errorf("round %d: clip %v, want %v", k, got, want)
		}
	}
}

// Norms spread by the distribution function C/(C+m) have the median m and the quarter
// m/3. Without noise the clip gets there from far above and from far below.
func TestQuantileClipsFindTheQuantile(t *testing.T) {
	for _, tc := range []struct {
		initial, median, share, want float64
	}{{100, 2, .5, 2}, {.01, 2, .5, 2}, {5, 3, .25, 1}} {
		c := complete(t, algo.Clipping{Kind: "quantile", Share: tc.share, Count: 1}, tc.initial, 0)
		found := clips(t, c, tc.initial, 0, 1, 400, func(clip float64) tensor.Vec {
			return tensor.Vec{0, float32((clip/(clip+tc.median) - .5) * clip / tc.initial)}
		})
		if got := found[399]; math.Abs(got-tc.want) > 1e-5*tc.want {
			t.Errorf("from %v: clip %v, the quantile is %v", tc.initial, got, tc.want)
		}
		if first := tc.initial * math.Exp(-.2*(tc.initial/(tc.initial+tc.median)-tc.share)); math.Abs(
			found[1]-first) > 1e-6*first {
			t.Errorf("second clip %v, want %v", found[1], first)
		}
	}
}

// Answers of length 5 over 16 coordinates of noise .75: r = sqrt(25 - 16 .75²) = 4 while
// the clip is 1, and C = κ r at most C_0.
func TestReleasedClips(t *testing.T) {
	answer := make(tensor.Vec, 16)
	answer[3] = 5
	c := complete(t, algo.Clipping{Kind: "released", Factor: .125, Average: .5}, 1, 10)
	found := clips(t, c, 1, .75, 16, 3, func(float64) tensor.Vec { return answer })
	second := .125 * 4
	r := math.Sqrt(25 - 16*.75*.75*second*second)
	for k, want := range []float64{1, second, .125 * (4 + r) / 2} {
		if math.Abs(found[k]-want) > 1e-12 {
			t.Errorf("round %d: clip %v, want %v", k, found[k], want)
		}
	}
	if got := clips(t, c, 1, 2, 16, 2, func(float64) tensor.Vec { return answer })[1]; got != 1./1000 {
		t.Errorf("an answer shorter than its noise: clip %v, want clip_min", got)
	}
}

func TestClippingRefusals(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for key, cs := range map[string][]algo.Clipping{
		"clipping": {{Kind: "ada"}},
		"clip_decay": {{Kind: "schedule"}, {Kind: "schedule", Decay: 1.1}, {Kind: "schedule", Decay: nan},
			{Kind: "released", Decay: .5}, {Decay: .5}},
		"clip_min": {{Kind: "released", Least: 3}, {Kind: "quantile", Least: -1}, {Least: .1}},
		"clip_max": {{Kind: "quantile", Most: 1}, {Kind: "quantile", Most: inf},
			{Kind: "schedule", Decay: .5, Most: 5}},
		"clip_rate":      {{Kind: "quantile", Rate: -1}, {Kind: "quantile", Rate: 11}},
		"clip_quantile":  {{Kind: "quantile", Share: 1}, {Kind: "quantile", Share: nan}},
		"clip_count_std": {{Kind: "quantile", Count: inf}, {Kind: "quantile", Count: -1}},
		"clip_factor":    {{Kind: "released", Factor: inf}},
		"clip_average":   {{Kind: "released", Average: 1}, {Kind: "released", Average: -.1}},
	} {
		for _, c := range cs {
			var bad *config.Error
			if err := c.Complete(2, 10); !errors.As(err, &bad) || bad.Key != key {
				t.Errorf("%+v: %v, want a config.Error on %s", c, err, key)
			}
		}
	}
	var bad *config.Error
	if err := (&algo.Clipping{Kind: "quantile"}).Complete(2, 0); !errors.As(err, &bad) ||
		bad.Key != "clip_count_std" {
		t.Errorf("quantile without an expected batch: %v", err)
	}
	if err := (&algo.Clipping{Kind: "released"}).Complete(inf, 10); !errors.As(err, &bad) ||
		bad.Key != "max_grad_norm" {
		t.Errorf("adaptive clips without a first one: %v", err)
	}
}
