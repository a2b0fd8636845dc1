package account_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"sotto/internal/long"
	"sotto/privacy/account"
)

// vector is one row of the golden figures; see the columns of the file.
type vector struct {
	id, accountant, mechanism, direction, kind string
	adjacency                                  account.Adjacency
	q, noise, shift, order, delta, eps         float64
	n, batch, steps                            int
	params                                     map[string]any
	lo, hi                                     float64
}

func loadVectors(t testing.TB) []vector {
	f, err := os.Open("testdata/accounting_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := map[string]int{}
	for i, name := range rows[0] {
		col[name] = i
	}
	var out []vector
	for _, r := range rows[1:] {
		num := func(name string) float64 {
			s := r[col[name]]
			if s == "" {
				return math.NaN()
			}
			x, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatalf("%s: %v", r[0], err)
			}
			return x
		}
		whole := func(name string) int {
			if x := num(name); !math.IsNaN(x) {
				return int(x)
			}
			return 0
		}
		v := vector{
			id:         r[0],
			accountant: r[col["accountant"]],
			mechanism:  r[col["mechanism"]],
			direction:  r[col["direction"]],
			kind:       r[col["value_kind"]],
			q:          num("q"),
			noise:      num("noise_multiplier"),
			shift:      num("sensitivity"),
			order:      num("order"),
			delta:      num("delta"),
			eps:        num("eps"),
			n:          whole("n"),
			batch:      whole("batch"),
			steps:      whole("steps"),
			lo:         num("accept_lo"),
			hi:         num("accept_hi"),
		}
		v.adjacency = account.AddRemove
		if a := r[col["adjacency"]]; a != "any" {
			if v.adjacency, err = account.ParseAdjacency(a); err != nil {
				t.Fatal(err)
			}
		}
		if v.mechanism == "randomized_response" && r[col["adjacency"]] == "any" {
			v.adjacency = account.ReplaceOne
		}
		if err := json.Unmarshal([]byte(r[col["params"]]), &v.params); err != nil {
			t.Fatalf("%s: %v", v.id, err)
		}
		out = append(out, v)
	}
	return out
}

// notHere lists the accountants of rows that belong to other packages, with how many rows
// there are: network accounting (linear_gaussian, muffliato_printed, decor_secldp,
// random_walk_printed) and audit bounds. Published formulas that no accountant here uses
// (gdp_clt, kov_advanced, a divergence of exponential mechanisms) are not evaluated.
var notHere = map[string]int{
	"linear_gaussian": 33, "muffliato_printed": 32, "decor_secldp": 17, "random_walk_printed": 4,
	"audit_clopper_pearson": 3, "audit_gdp": 3, "audit_one_run": 5, "audit_one_run_fdp": 5,
	"gdp_clt": 3, "kov_advanced": 3, "exponential_mechanism": 1,
}

// looseReference lists calibration rows whose reference noise is larger than necessary by
// more than the row allows. v137, v139, v144: the reference search stopped early; at the
// lower end of the row's interval PLD already proves an epsilon below the target. v133:
// the best order is below 1.5, where the reference's series for fractional orders is
// loose; PLD needs still less noise. The value is how far below the interval the answer
// may lie.
var looseReference = map[string]float64{"v137": 0.012, "v139": 0.012, "v144": 0.012, "v133": 0.04}

// refusedRows are of what does not hold: a capped batch under add-remove, by another
// program's figure (see TestTruncatedPoissonIsRefusedUnderAddRemove).
var refusedRows = map[string]bool{"v064": true}

// TestVectors checks every row of the golden file that concerns this package, and that
// each would fail were its interval moved by its own width and a little. Rows of
// calibrated noise are searched for with the tag long, and bracketed without; the longest
// runs are left to it.
func TestVectors(t *testing.T) {
	skipped := map[string]int{}
	tested := 0
	for _, v := range loadVectors(t) {
		name := v.accountant
		if v.mechanism == "exponential_mechanism" {
			name = v.mechanism
		}
		if _, other := notHere[name]; other {
			skipped[name]++
			continue
		}
		tested++
		if v.repeats() && !long.Tests {
			continue
		}
		t.Run(v.id, func(t *testing.T) {
			t.Parallel()
			if v.searches() && !long.Tests {
				v.bracket(t)
				return
			}
			got, err := v.evaluate()
			if refusedRows[v.id] {
				if !errors.Is(err, account.ErrUnsupported) {
					t.Errorf("%v, %v; want a refusal", got, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s %s: %v", v.accountant, v.mechanism, err)
			}
			if allowed, loose := looseReference[v.id]; loose {
				p := v.plan("pld")
				p.NoiseMultiplier = got
				if i, err := account.Epsilon(p, v.delta); err != nil || i.Upper > v.eps {
					t.Errorf("pld proves epsilon %v, %v at noise %v, want at most %v", i, err, got, v.eps)
				}
				if got < (1-allowed)*v.lo || got > v.lo {
					t.Errorf("got %v, want within %v below %v", got, allowed, v.lo)
				}
				return
			}
			if !v.accepts(got, 0) {
				t.Errorf("%s %s %v: got %.12g, accepted [%.12g, %.12g]", v.accountant, v.mechanism,
					v.adjacency, got, v.lo, v.hi)
			}
			shift := 1.01*(v.hi-v.lo) + 1e-300
			if math.IsInf(v.lo, -1) {
				shift = -1e9 // one-sided: move the bound below any epsilon
			}
			if v.accepts(got, shift) || !math.IsInf(v.lo, -1) && v.accepts(got, -shift) {
				t.Errorf("got %v is also accepted by the interval moved by %v", got, shift)
			}
		})
	}
	for name, want := range notHere {
		if skipped[name] != want {
			t.Errorf("%d rows of %s left to other packages, want %d", skipped[name], name, want)
		}
	}
	if tested != 235 {
		t.Errorf("%d rows tested, want 235", tested)
	}
}

// searches reports the rows of calibrated noise that take a dozen compositions each. All
// of them take the path of TestNoise, and of the rows for other mechanisms.
func (v vector) searches() bool {
	return v.kind == "sigma" && v.mechanism == "poisson_gaussian"
}

// repeats reports the rows of runs of 50,000 and 100,000 steps, of which other rows have
// the first 20,000 by the same accountant.
func (v vector) repeats() bool { return v.accountant == "prv" && v.kind == "upper" && v.steps > 20_000 }

// bracket checks a row's noise with two compositions: the upper end of its interval meets
// the budget and the lower end does not, so that the least noise that does lies between,
// and outside of the interval moved by more than its width.
func (v vector) bracket(t *testing.T) {
	lo, hi := v.lo, v.hi
	if allowed, loose := looseReference[v.id]; loose {
		lo, hi = (1-allowed)*v.lo, v.lo
	}
	for noise, meets := range map[float64]bool{lo: false, hi: true} {
		r := v
		r.noise, r.kind = noise, "eps"
		if e, err := r.evaluate(); err != nil || (e <= v.eps) != meets {
			t.Errorf("%s: epsilon is %v at noise %v (%v), against %v", v.accountant, e, noise, err, v.eps)
		}
	}
}

func (v vector) accepts(got, shift float64) bool { return v.lo+shift <= got && got <= v.hi+shift }

func (v vector) number(key string) float64 {
	x, ok := v.params[key].(float64)
	if !ok {
		return math.NaN()
	}
	return x
}

func floats(x any) []float64 {
	var out []float64
	for _, e := range x.([]any) {
		out = append(out, e.(float64))
	}
	return out
}

// event builds the row's event at the given noise (sigma rows search for it).
func (v vector) event(noise float64) (account.Event, error) {
	gauss := func() (account.Event, error) { return account.Gaussian(noise, v.shift) }
	wrap := func(f func(account.Event) (account.Event, error)) (account.Event, error) {
		g, err := gauss()
		if err != nil {
			return g, err
		}
		return f(g)
	}
	switch v.mechanism {
	case "gaussian":
		return gauss()
	case "poisson_gaussian":
		return wrap(func(g account.Event) (account.Event, error) { return account.PoissonSampled(v.q, g) })
	case "truncated_poisson_gaussian":
		return wrap(func(g account.Event) (account.Event, error) {
			return account.TruncatedPoissonSampled(v.q, v.n, v.batch, g)
		})
	case "fixed_size_wor_gaussian":
		n, m := v.n, v.batch
		if n == 0 { // rows at one order give the rate only
			n, m = 10000, int(math.Round(10000*v.q))
		}
		return wrap(func(g account.Event) (account.Event, error) { return account.FixedSizeSampled(n, m, g) })
	}
	return v.otherEvent(noise)
}

// otherEvent builds the events that are not plain Gaussian ones.
func (v vector) otherEvent(noise float64) (account.Event, error) {
	switch v.mechanism {
	case "laplace":
		return account.Laplace(noise / v.shift)
	case "poisson_laplace":
		l, err := account.Laplace(noise / v.shift)
		if err != nil {
			return l, err
		}
		return account.PoissonSampled(v.q, l)
	case "discrete_laplace":
		a := v.number("a")
		if math.IsNaN(a) {
			a = 1 / noise
		}
		return account.DiscreteLaplace(a, int(v.shift))
	case "discrete_gaussian":
		return account.DiscreteGaussian(noise, v.shift, int(v.shift), 1)
	case "tree_aggregation_single_epoch":
		return account.Tree(noise, v.steps, 0)
	case "eps_delta":
		return account.EpsDelta(v.number("eps0"), v.number("delta0"))
	case "randomized_response":
		k := 2
		if x := v.number("k"); !math.IsNaN(x) {
			k = int(x)
		}
		return account.RandomizedResponse(v.number("noise"), k)
	case "mixture_of_gaussians":
		return account.MixtureGaussian(noise, floats(v.params["sensitivities"]), floats(v.params["probs"]))
	case "constant_rdp":
		var orders, values []float64
		for a := 2.0; a <= 32; a++ {
			orders, values = append(orders, a), append(values, v.number("rdp"))
		}
		return account.RDP(orders, values)
	case "truncated_laplace":
		return account.BoundedNoise(account.BoundedLaplace, noise/v.shift, v.number("truncation"), 0)
	case "truncated_gaussian_as_published":
		return account.BoundedNoise(account.BoundedGaussian, noise/v.shift, v.number("truncation"), 0)
	}
	return account.Event{}, fmt.Errorf("no event for mechanism %q", v.mechanism)
}

// steps returns the plan steps of the row; heterogeneous rows list theirs in params.
func (v vector) plan(name string) account.Plan {
	p := account.Plan{
		Accountant:      name,
		Adjacency:       v.adjacency,
		Unit:            account.Record(),
		NoiseMultiplier: v.noise,
	}
	add := func(r vector, times int) {
		p.Steps = append(p.Steps, account.PlanStep{Times: times,
			Event: func(noise, _ float64) (account.Event, error) {
				if !math.IsNaN(r.noise) {
					noise = r.noise
				}
				return r.event(noise)
			}})
	}
	list, ok := v.params["events"].([]any)
	if !ok {
		times := v.steps
		if v.mechanism == "tree_aggregation_single_epoch" {
			times = 1
		}
		add(v, times)
		return p
	}
	for _, x := range list {
		m := x.(map[string]any)
		r := vector{mechanism: m["mechanism"].(string), params: m, shift: 1, adjacency: v.adjacency}
		r.noise, r.q = r.number("noise_multiplier"), r.number("q")
		if s := r.number("sensitivity"); !math.IsNaN(s) {
			r.shift = s
		}
		add(r, int(r.number("steps")))
	}
	return p
}
