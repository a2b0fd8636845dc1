package owner_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/privacy"
	"sotto/tensor"
)

// oneRound is a round of an agent that hears nobody, with answers of its gate. It returns
// the clip of the query.
func oneRound(t *testing.T, a agent.Algorithm, gate *privacy.Gate, round uint64,
	answer tensor.Vec) (clip float64, err error) {
	t.Helper()
	var out agent.Output
	in := agent.Input{Kind: agent.Round, Round: round, View: &agent.View{SelfWeight: 1}}
	if err := a.Step(&in, &out); err != nil || out.Query == nil {
		t.Fatalf("round %d: %v, query %v", round, err, out.Query)
	}
	clip = out.Query.Clip
	if err := gate.Answer(out.Query, answer); err != nil {
		return clip, err
	}
	in.Kind, in.Answer = agent.Answer, answer
	out.Reset()
	return clip, a.Step(&in, &out)
}

// Under every adaptive clip an owner's durable ledger is charged what constant clips
// cost, quantile paying for its counts with noise on the gradients (z^-2 = z_c^-2 -
// (2σ_b)^-2), and not more often than planned; clips begin at max_grad_norm.
func TestOwnerWithAdaptiveClips(t *testing.T) {
	path := ownTable(t)
	constant, err := ownerOf(t, ownerRun, path)
	if err != nil {
		t.Fatal(err)
	}
	base, err := constant.Terms()
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{"dsgd", "sgp"} {
		for kind, keys := range map[string]string{"schedule": "clip_decay = 0.5", "released": "",
			"quantile": ""} {
			run := strings.Replace(ownerRun, "target_epsilon",
				"clipping = \""+kind+"\"\n"+keys+"\ntarget_epsilon", 1)
			run = strings.Replace(run, `"dsgd"`, `"`+algorithm+`"`, 1)
			o, err := ownerOf(t, run, path)
			if err != nil {
				t.Fatalf("%s %s: %v", algorithm, kind, err)
			}
			x, err := o.Terms()
			if err != nil {
				t.Fatal(err)
			}
			want, extra := base.Noise, 0
			if kind == "quantile" {
				sigma := 2. * 20 / 20
				want, extra = 1/math.Sqrt(1/(want*want)-1/(sigma*sigma)), 1
			}
			if math.Abs(x.Noise-want) > 2e-3*want || x.Charges != 6 || x.Dim != 2 || x.Extra != extra ||
				x.Push != (algorithm == "sgp") || x.NoiseKind != "exact" {
				t.Errorf("%s %s: terms %+v, want noise %v", algorithm, kind, x, want)
			}
			if look, err := o.Outlook(); err != nil || !(look.Total.Upper <= 2 && look.Total.Upper > 1.9) {
				t.Errorf("%s %s: outlook %+v, %v; want an epsilon just below 2", algorithm, kind, look, err)
			}
			follow(t, o, &x, algorithm+" "+kind)
			if alone, err := o.LocalBaseline(t.Context()); err != nil || alone < .8 {
				t.Errorf("%s %s: alone %g, %v", algorithm, kind, alone, err)
			}
		}
	}
}

// follow runs the owner's agent until its ledger refuses.
func follow(t *testing.T, o *owner.Owner, x *owner.Terms, name string) {
	t.Helper()
	gate := gateOf(t, o, x)
	a, err := o.Algorithm()
	if err != nil {
		t.Fatal(err)
	}
	answer := make(tensor.Vec, x.Dim+x.Extra)
	var last float64
	for k := range uint64(7) {
		clip, err := oneRound(t, a, gate, k, answer)
		if k == 0 && clip != 1 {
			t.Errorf("%s: the first clip is %v, want max_grad_norm", name, clip)
		}
		if errors.Is(err, privacy.ErrExhausted) != (k == 6) || (err == nil) != (k < 6) {
			t.Errorf("%s: answer %d: %v", name, k, err)
		}
		last = clip
	}
	if !(last > 0 && last < 2) || strings.HasSuffix(name, "schedule") && last != math.Pow(.5, 6) {
		t.Errorf("%s: the last clip is %v", name, last)
	}
}

// Push-sum runs on graphs that change round by round, also by chance.
func TestOwnersPush(t *testing.T) {
	path := ownTable(t)
	push := strings.Replace(strings.Replace(ownerRun, `"dsgd"`, `"sgp"`, 1), `"ring"`, `"exp-directed"`, 1)
	if _, err := ownerOf(t, push, path); err != nil {
		t.Error(err)
	}
	f, err := experiment.Parse("run.toml", []byte(push), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.ScheduleFor(1)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := s.At(0)
	second, _ := s.At(1)
	if first.Weight(1, 0) != .5 || second.Weight(2, 0) != .5 || second.Weight(1, 0) != 0 {
		t.Error("the graphs of the rounds are not those of the run file")
	}
	if _, err := ownerOf(t, strings.Replace(push, "[topology]", "[topology]\ndropout = 0.1", 1), path); err !=
		nil {
		t.Errorf("dropout: %v", err)
	}
}

// Members round what they send where the run file says so, with algorithms that average
// models; others are refused.
func TestOwnersSendBF16(t *testing.T) {
	path := ownTable(t)
	half := strings.Replace(ownerRun, "step_size = 2.0", "step_size = 2.0\nmessages = \"bf16\"", 1)
	o, err := ownerOf(t, half, path)
	if err != nil {
		t.Fatal(err)
	}
	if x, err := o.Terms(); err != nil || !x.BF16 {
		t.Errorf("terms %+v, %v", x, err)
	}
	a, err := o.Algorithm()
	if err != nil {
		t.Fatal(err)
	}
	var out agent.Output
	start := slices.Clone(a.Params())
	in := agent.Input{Kind: agent.Round, View: &agent.View{SelfWeight: 1}}
	if err := a.Step(&in, &out); err != nil {
		t.Fatal(err)
	}
	in.Kind, in.Answer = agent.Answer, tensor.Vec{.1, -.3}
	out.Reset()
	if err := a.Step(&in, &out); err != nil {
		t.Fatal(err)
	}
	for k, x := range out.Outbox[0].Body { // a step of size 2, rounded to 8 significant bits
		fraction, exponent := math.Frexp(float64(start[k]) - 2*float64(in.Answer[k]))
		if want := math.Ldexp(math.RoundToEven(256*fraction)/256, exponent); float64(x) != want {
			t.Errorf("value %d is sent as %v, want %v", k, x, want)
		}
	}
	for _, tc := range []struct {
		old, new, want string
	}{{`"dsgd"`, `"dsgt"`, "algorithm dsgt"}, {`"bf16"`, `"fp8"`, "float32 or bf16"}} {
		_, err := experiment.Parse("run.toml", []byte(strings.Replace(half, tc.old, tc.new, 1)), nil)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "algorithm.messages" ||
			!strings.Contains(bad.Allowed, tc.want) {
			t.Errorf("%s: %v", tc.new, err)
		}
	}
}
