package account

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/config"
)

func must(t testing.TB) func(Event, error) Event {
	return func(ev Event, err error) Event {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
}

// everyType returns one event of every type but noop.
func everyType(t testing.TB) map[Type]Event {
	ok := must(t)
	g := ok(Gaussian(1.1, 2))
	return map[Type]Event{
		TypeNonPrivate:         NonPrivate("published"),
		TypeGaussian:           g,
		TypeDiscreteGaussian:   ok(DiscreteGaussian(3, 2, 2, 1)),
		TypeLaplace:            ok(Laplace(5)),
		TypeDiscreteLaplace:    ok(DiscreteLaplace(0.1, 2)),
		TypeBoundedNoise:       ok(BoundedNoise(BoundedGeneralized, 2, 9, 1.5)),
		TypeRandomizedResponse: ok(RandomizedResponse(0.5, 3)),
		TypeEpsDelta:           ok(EpsDelta(0.1, 1e-6)),
		TypeZCDP:               ok(ZCDP(0.1, 0)),
		TypeGDP:                ok(GDP(0.5)),
		TypeRDP:                ok(RDP([]float64{2, 8}, []float64{0.1, 0.2})),
		TypePoisson:            ok(PoissonSampled(0.01, g)),
		TypePoissonTruncated:   ok(TruncatedPoissonSampled(0.01, 1000, 30, g)),
		TypeFixedSize:          ok(FixedSizeSampled(1000, 30, g)),
		TypeCyclic:             ok(CyclicSampled(10, g)),
		TypeMixtureGaussian:    ok(MixtureGaussian(1, []float64{0, 1, 2}, []float64{0.25, 0.5, 0.25})),
		TypeTree:               ok(Tree(5, 64, 0)),
		TypeRepeatSelect:       ok(RepeatSelectPoisson(10, g)),
		TypeCompose:            ok(Compose(g, ok(Laplace(3)))),
		TypeRepeat:             ok(Repeat(7, g)),
		TypeParallel:           ok(Parallel(g, ok(Laplace(3)))),
	}
}

func TestEventJSON(t *testing.T) {
	for typ, ev := range everyType(t) {
		ev.Adjacency, ev.Unit, ev.Clip, ev.Oracle, ev.Sampler = ReplaceOne, Group(3), 1.5, "gradient",
			"poisson/1"
		var back Event
		if err := json.Unmarshal([]byte(ev.Key()), &back); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		if ev.Type() != typ || !back.Equal(ev) || back.Key() != ev.Key() {
			t.Errorf("%s: %s became %s", typ, ev.Key(), back.Key())
		}
	}
	ok := must(t)
	ev := ok(PoissonSampled(0.01, ok(Gaussian(1.1, 1))))
	ev.Adjacency, ev.Unit, ev.Clip, ev.Oracle, ev.Sampler = AddRemove, Record(), 1, "gradient", "poisson/1"
	// The form that ledgers hold, with keys sorted and shift 1 left out.
	const want = `{"adjacency":"add_remove","clip":1,"event":{"noise_multiplier":1.1,` +
		`"type":"gaussian"},"oracle":"gradient","rate":0.01,"sampler":"poisson/1","type":"poisson",` +
		`"unit":{"kind":"record"},"v":1}`
	if ev.Key() != want {
		t.Errorf("got  %s\nwant %s", ev.Key(), want)
	}
}

func TestEventJSONStrict(t *testing.T) {
	for _, s := range []string{
		``, `{}`, `null`, `[]`, `{"v":1}`, `{"v":2,"type":"noop"}`, `{"v":1,"type":"guassian"}`,
		`{"v":1,"type":"noop"} {}`, `{"v":1,"type":"noop","extra":1}`,
		`{"v":1,"type":"gaussian"}`, `{"v":1,"type":"gaussian","noise_multiplier":"1"}`,
		`{"v":1,"type":"gaussian","noise_multiplier":-1}`,
		`{"v":1,"type":"gaussian","noise_multiplier":1,"scale":2}`,
		`{"v":1,"type":"gaussian","noise_multiplier":1e999}`,
		`{"v":1,"type":"poisson","rate":1.5,"event":{"type":"noop"}}`, `{"v":1,"type":"poisson","rate":0.5}`,
		`{"v":1,"type":"poisson","rate":0.5,"event":{"type":"noop","clip":1}}`,
		`{"v":1,"type":"poisson","rate":0.5,"event":null}`,
		`{"v":1,"type":"compose","events":[null]}`,
		`{"v":1,"type":"repeat","count":-1,"event":{"type":"noop"}}`,
		`{"v":1,"type":"repeat_select","mean":0.5,"shape":1,"event":{"type":"laplace","scale":1}}`,
		`{"v":1,"type":"noop","adjacency":"remove"}`,
		`{"v":1,"type":"noop","unit":{"kind":"group","size":1}}`,
		`{"v":1,"type":"noop","unit":{"kind":"record","x":1}}`,
		`{"v":1,"type":"fixed_size","population":10,"batch":2,"event":{"type":"laplace","scale":1},` +
			`"adjacency":"add_remove"}`,
		strings.Repeat(`{"v":1,"type":"compose","events":[`, 100),
	} {
		var ev Event
		if err := json.Unmarshal([]byte(s), &ev); err == nil {
			t.Errorf("accepted %s as %s", s, ev.Key())
		}
	}
}

// FuzzEventJSON: whatever is accepted is canonical, survives a round trip and never
// panics or yields NaN in any accountant.
func FuzzEventJSON(f *testing.F) {
	for _, ev := range everyType(f) {
		f.Add([]byte(ev.Key()))
	}
	f.Add(
		[]byte(
			`{"v":1,"type":"repeat","count":3,"event":{"type":"repeat","count":0,` +
				`"event":{"type":"gaussian","noise_multiplier":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var ev, back Event
		if json.Unmarshal(data, &ev) != nil {
			return
		}
		key := ev.Key()
		if err := json.Unmarshal([]byte(key), &back); err != nil || back.Key() != key {
			t.Fatalf("%s became %s, %v", key, back.Key(), err)
		}
		acc, err := NewExactGaussian(AddRemove, Record())
		if err != nil {
			t.Fatal(err)
		}
		if acc.Compose(ev, 2) != nil {
			return
		}
		if i, err := acc.Epsilon(1e-5); err == nil && (math.IsNaN(i.Upper) || i.Upper < 0) {
			t.Fatalf("%s has epsilon %v", key, i)
		}
	})
}

// FuzzRestore: a saved state is refused or restored, never a panic.
func FuzzRestore(f *testing.F) {
	for _, s := range []string{
		`{"v":1,"accountant":"rdp","adjacency":"add-remove","unit":{"kind":"record"},"branches":0,` +
			`"events":[{"branch":0,"count":2,"event":{"v":1,"type":"laplace","scale":2}}]}`,
		`{}`, `{"v":1,"accountant":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := Restore(data); (a == nil) == (err == nil) {
			t.Fatalf("%v, %v", a, err)
		}
	})
}

func TestAlgebra(t *testing.T) {
	ok := must(t)
	g := ok(Gaussian(1.1, 1))
	l := ok(Laplace(2))
	same := func(name string, a, b Event) {
		t.Helper()
		if !a.Equal(b) {
			t.Errorf("%s: %s is not %s", name, a.Key(), b.Key())
		}
	}
	same("repeat of repeat", ok(Repeat(3, ok(Repeat(4, g)))), ok(Repeat(12, g)))
	same("repeat 0", ok(Repeat(0, g)), NoOp())
	same("repeat 1", ok(Repeat(1, g)), g)
	same("repeat of nothing", ok(Repeat(5, NoOp())), NoOp())
	same("empty sequence", ok(Compose()), NoOp())
	same("sequence of one", ok(Compose(g)), g)
	same("flat sequence", ok(Compose(g, ok(Compose(l, NoOp(), g)))), ok(Compose(g, l, g)))
	same("rate 1", ok(PoissonSampled(1, g)), g)
	same("rate 0", ok(PoissonSampled(0, g)), NoOp())
	same("Poisson of Poisson", ok(PoissonSampled(0.5, ok(PoissonSampled(0.25, g)))),
		ok(PoissonSampled(0.125, g)))
	same("sampled non-private", ok(PoissonSampled(0.5, NonPrivate("x"))), NonPrivate("x"))
	same("period 1", ok(CyclicSampled(1, g)), g)
	same("group of one", Event{Unit: Group(1), body: g.body}, Event{Unit: Record(), body: g.body})
}

func TestEventBadInput(t *testing.T) {
	ok := must(t)
	g := ok(Gaussian(1, 1))
	sampled := ok(PoissonSampled(0.5, g))
	nan, inf := math.NaN(), math.Inf(1)
	fixed := ok(FixedSizeSampled(10, 2, g))
	removed := g
	removed.Adjacency = AddRemove
	replaced := g
	replaced.Adjacency = ReplaceOne
	for name, f := range map[string]func() (Event, error){
		"gaussian NaN":       func() (Event, error) { return Gaussian(nan, 1) },
		"gaussian Inf":       func() (Event, error) { return Gaussian(inf, 1) },
		"gaussian negative":  func() (Event, error) { return Gaussian(-1, 1) },
		"shift 0":            func() (Event, error) { return Gaussian(1, 0) },
		"laplace NaN":        func() (Event, error) { return Laplace(nan) },
		"rate above 1":       func() (Event, error) { return PoissonSampled(1.0001, g) },
		"rate NaN":           func() (Event, error) { return PoissonSampled(nan, g) },
		"sampled twice":      func() (Event, error) { return FixedSizeSampled(10, 2, sampled) },
		"Poisson of fixed":   func() (Event, error) { return PoissonSampled(0.5, fixed) },
		"no event":           func() (Event, error) { return PoissonSampled(0.5, Event{}) },
		"empty in sequence":  func() (Event, error) { return Compose(g, Event{}) },
		"batch above all":    func() (Event, error) { return FixedSizeSampled(10, 11, g) },
		"private population": func() (Event, error) { return FixedSizeSampled(10, 2, removed) },
		"two adjacencies":    func() (Event, error) { return Compose(removed, replaced) },
		"count overflow": func() (Event, error) {
			return Repeat(1<<40, Event{body: ok(Repeat(1<<40, g)).body})
		},
		"delta 2": func() (Event, error) { return EpsDelta(1, 2) },
		"probs sum": func() (Event, error) {
			return MixtureGaussian(1, []float64{0, 1}, []float64{0.5, 0.4})
		},
		"shifts order": func() (Event, error) {
			return MixtureGaussian(1, []float64{1, 0}, []float64{0.5, 0.5})
		},
		"orders at 1":           func() (Event, error) { return RDP([]float64{1}, []float64{0}) },
		"beta below 1":          func() (Event, error) { return BoundedNoise(BoundedGeneralized, 1, 1, 0.5) },
		"family":                func() (Event, error) { return BoundedNoise("cauchy", 1, 1, 0) },
		"mean of runs":          func() (Event, error) { return RepeatSelect(1, 1, g) },
		"parallel in parallel":  func() (Event, error) { return Parallel(g, ok(Parallel(g, g))) },
		"parallel in a sampler": func() (Event, error) { return PoissonSampled(0.5, ok(Parallel(g, g))) },
		"discrete fraction":     func() (Event, error) { return DiscreteGaussian(1, 1.5, 1, 1) },
	} {
		ev, err := f()
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Found == "" || bad.Allowed == "" {
			t.Errorf("%s: error %v, want a config.Error", name, err)
		}
		if ev.body != nil {
			t.Errorf("%s: an event came with the error", name)
		}
	}
}

// TestUnsupported pins which events each accountant accepts, per adjacency: a =
// add-remove, r = replace-one, z = zero-out, for the unit record, G for a group of 3
// under add-remove, O for the owner.
func TestUnsupported(t *testing.T) {
	want := map[Type]map[string]string{
		TypeNonPrivate:         {"pld": "arzGO", "rdp": "arzGO", "gdp": "arzGO", "kov": "arzGO"},
		TypeGaussian:           {"pld": "arzGO", "rdp": "arzGO", "gdp": "arzGO", "kov": ""},
		TypeDiscreteGaussian:   {"pld": "arzO", "rdp": "arzGO", "gdp": "", "kov": ""},
		TypeLaplace:            {"pld": "arzGO", "rdp": "arzGO", "gdp": "", "kov": "arzGO"},
		TypeDiscreteLaplace:    {"pld": "arzO", "rdp": "arzO", "gdp": "", "kov": "arzGO"},
		TypeBoundedNoise:       {"pld": "arzO", "rdp": "", "gdp": "", "kov": ""},
		TypeRandomizedResponse: {"pld": "rz", "rdp": "rz", "gdp": "", "kov": "rz"},
		TypeEpsDelta:           {"pld": "arzO", "rdp": "", "gdp": "", "kov": "arzO"},
		TypeZCDP:               {"pld": "", "rdp": "arzO", "gdp": "", "kov": ""},
		TypeGDP:                {"pld": "arzGO", "rdp": "arzGO", "gdp": "arzGO", "kov": ""},
		TypeRDP:                {"pld": "", "rdp": "arzO", "gdp": "", "kov": ""},
		TypePoisson:            {"pld": "arzG", "rdp": "az", "gdp": "", "kov": ""},
		TypePoissonTruncated:   {"pld": "r", "rdp": "", "gdp": "", "kov": ""},
		TypeFixedSize:          {"pld": "r", "rdp": "r", "gdp": "", "kov": ""},
		TypeCyclic:             {"pld": "rz", "rdp": "rz", "gdp": "rz", "kov": ""},
		TypeMixtureGaussian:    {"pld": "arz", "rdp": "", "gdp": "", "kov": ""},
		TypeTree:               {"pld": "arzO", "rdp": "arzO", "gdp": "arzO", "kov": ""},
		TypeRepeatSelect:       {"pld": "", "rdp": "arzO", "gdp": "", "kov": ""},
		TypeCompose:            {"pld": "arzGO", "rdp": "arzGO", "gdp": "", "kov": ""},
		TypeRepeat:             {"pld": "arzGO", "rdp": "arzGO", "gdp": "arzGO", "kov": ""},
		TypeParallel:           {"pld": "arzGO", "rdp": "arzGO", "gdp": "", "kov": ""},
	}
	cases := []struct {
		mark string
		a    Adjacency
		u    Unit
	}{{"a", AddRemove, Record()}, {"r", ReplaceOne, Record()}, {"z", ZeroOut, Record()},
		{"G", AddRemove, Group(3)}, {"O", AddRemove, Owner()}}
	for typ, ev := range everyType(t) {
		for name, marks := range want[typ] {
			got := ""
			for _, c := range cases {
				acc, err := New(name, c.a, c.u)
				if err != nil {
					t.Fatal(err)
				}
				switch err := acc.Compose(ev, 2); {
				case err == nil:
					got += c.mark
				case !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "supported: "):
					t.Errorf("%s by %s: %v", typ, name, err)
				}
			}
			if got != marks {
				t.Errorf("%s by %s accepts %q, want %q", typ, name, got, marks)
			}
		}
	}
}
