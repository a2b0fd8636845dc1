package audit

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"sotto/internal/long"
)

// deterministic are the scores of the tightness table: the quantiles PhiInv((i + 1/2)/n),
// shifted by mu with the record.
func deterministic(n int, mu float64) *Scores {
	s := &Scores{In: make([]float64, n), Out: make([]float64, n)}
	for i := range n {
		s.Out[i] = quantile((float64(i) + .5) / float64(n))
		s.In[i] = s.Out[i] + mu
	}
	return s
}

// TestTightness is the published table, to three digits after the point. The source's
// values are of google-deepmind/jax_privacy.
func TestTightness(t *testing.T) {
	t.Parallel()
	const beta, delta = .05, 1e-5
	for _, c := range []struct {
		mu              float64
		n               int
		cp, gdp, run, f float64
	}{
		{.5, 1000, .265, .841, .294, .473},
		{1, 1000, 1.050, 2.996, .894, 1.494},
		{1, 10000, 1.787, 3.875, 0, 1.913},
		{2, 1000, 2.618, 8.055, 1.826, 3.538},
		{3.73, 1000, 4.477, 18.539, 3.770, 6.729},
	} {
		s, hull := deterministic(c.n, c.mu), Rule{Kind: Hull}
		for _, b := range []struct {
			got  Bound
			want float64
		}{
			{s.ByClopperPearson(hull, beta, delta), c.cp}, {s.ByGDP(hull, beta, delta), c.gdp},
			{s.ByOneRun(hull, beta, delta), c.run}, {s.ByOneRunFDP(hull, beta, delta), c.f},
		} {
			if math.Abs(b.got.Epsilon-b.want) > .0006 {
				t.Errorf("mu %g, n %d: %s is %.4f, published %.3f (%d thresholds)", c.mu, c.n, b.got.Name,
					b.got.Epsilon, b.want, b.got.Tested)
			}
		}
	}
}

// TestVectors checks the golden rows that belong to this package, and that there are as
// many as package account leaves to it.
func TestVectors(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../account/testdata/accounting_vectors.csv")
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
	seen := 0
	for _, r := range rows[1:] {
		at := map[string]func(*Scores, Rule, float64,
			float64) Bound{"audit_clopper_pearson": (*Scores).ByClopperPearson,
			"audit_gdp": (*Scores).ByGDP, "audit_one_run": (*Scores).ByOneRun,
			"audit_one_run_fdp": (*Scores).ByOneRunFDP}[r[col["accountant"]]]
		if at == nil {
			continue
		}
		seen++
		var p struct {
			N     int     `json:"n_in"`
			Shift float64 `json:"shift"`
			Beta  float64 `json:"significance"`
		}
		if err := json.Unmarshal([]byte(r[col["params"]]), &p); err != nil {
			t.Fatal(err)
		}
		if r[0] == "v295" && !long.Tests {
			continue // half a second, and v297 has as many scores
		}
		number := func(name string) float64 {
			x, err := strconv.ParseFloat(r[col[name]], 64)
			if err != nil {
				t.Fatalf("%s: %v", r[0], err)
			}
			return x
		}
		got := at(deterministic(p.N, p.Shift), Rule{Kind: Hull}, p.Beta, number("delta")).Epsilon
		if lo, hi := number("accept_lo"), number("accept_hi"); got < lo || got > hi {
			t.Errorf("%s %s: got %.6f, accepted [%.6f, %.6f]", r[0], r[col["accountant"]], got, lo, hi)
		}
	}
	if seen != 16 {
		t.Errorf("%d rows, want 16", seen)
	}
}
