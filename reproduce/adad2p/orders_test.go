package adad2p

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/data"
	"sotto/experiment/rundir"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Theorem 1 with c_2 = 1 in 20 dimensions: d log(1/δ) = 230.26. J = 1,000: K =
// 1e6/230.26 = 4,343; n = 4: √(n d log 1/δ) = 30.349, so that 1/γ = 32.95 + 6·.41·4.
// J >= n^{3/2} √230.26 everywhere.
func TestOrdersSettings(t *testing.T) {
	r := ordersRun{agents: 4, records: 1000}
	if k := r.rounds(); k != 4343 {
		t.Errorf("K = %v", k)
	}
	if x := 1 / r.step(4); math.Abs(x-(32.950+9.84)) > 1e-3 {
		t.Errorf("1/γ = %v", x)
	}
	for _, r := range ordersAll() {
		if n := float64(r.agents); float64(r.records) < n*math.Sqrt(n)*math.Sqrt(230.26) {
			t.Errorf("%+v: J is too small for the theorem", r)
		}
	}
	if n := len(ordersCells(false)); n != 2*7*5 {
		t.Errorf("%d cells", n)
	}
}

// A quarter of the largest eigenvalue of every agent's second moments is below L, on the
// data of all runs: the curvature of ln(1+e^-z) is 1/4 at most.
func TestOrdersSmooth(t *testing.T) {
	worst := 0.
	for _, r := range ordersAll() {
		for seed := uint64(1); seed <= 5; seed++ {
			s, err := data.Load("logistic-regression", "", seed, func(p any) error {
				q := p.(*data.LeastSquaresParams)
				q.Agents, q.Records, q.Dim, q.Test = r.agents, r.records, ordersDim, 100
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for a := range r.agents {
				moments := mat.NewSymDense(ordersDim, nil)
				for k := range r.records {
					x := mat.NewVecDense(ordersDim, nil)
					for i, v := range s.Train.X.Row(a*r.records + k) {
						x.SetVec(i, float64(v))
					}
					moments.SymRankOne(moments, 1/float64(r.records), x)
				}
				var e mat.EigenSym
				if !e.Factorize(moments, false) {
					t.Fatal("no eigenvalues")
				}
				worst = max(worst, e.Values(nil)[ordersDim-1]/4)
			}
		}
	}
	if worst > ordersSmooth || worst < .8*ordersSmooth {
		t.Errorf("the largest L is %v, the study has %v", worst, ordersSmooth)
	}
}

// Runs whose squared gradient norm is a constant 8/(√n J) give the exponents of Table 1
// exactly, and bounds above what is measured.
func TestOrders(t *testing.T) {
	rows := reproducetest.Runs(ordersCells(false), func([]string) float64 { return .5 })
	f := &reproduce.Results{Rows: rows, Curves: reproduce.Curves{}, Scale: reproduce.Full}
	for i := range rows {
		n, j := reproduce.Number(rows[i].Values[1]), reproduce.Number(rows[i].Values[2])
		key := reproduce.CurveKey(&rows[i])
		for _, round := range []uint64{0, 50, 100} {
			for metric, x := range map[string]float64{"gradient_norm": math.Sqrt(8 / (math.Sqrt(n) * j)),
				"gradient_rms": 2, "gradient_max": 7, "train_loss": .5} {
				f.Curves[key] = append(f.Curves[key],
					rundir.Row{Round: round, Agent: "all", Metric: metric, Value: x})
			}
		}
	}
	d := orders(f)
	found := 0
	for _, row := range d.Rows {
		if row[8] == "" {
			continue
		}
		want := map[string]string{"J, n = 4": "-1.00", "n, J = 2000": "-0.50"}[row[1]]
		if row[8] != want || row[9] != fmt.Sprintf("%s to %s", want, want) {
			t.Errorf("%s over %s: exponent %s (%s), want %s", row[0], row[1], row[8], row[9], want)
		}
		found++
	}
	if found != 4 || len(d.Rows) != 16 || len(d.Figures) != 4 {
		t.Errorf("%d exponents, %d rows, %d plots", found, len(d.Rows), len(d.Figures))
	}
	for _, row := range ordersWhole(f).Rows {
		// n = 4, J = 2,000: γ by Theorem 1, Ξ = 4 ln 2/(γK) + (2γL/4 + 12γ²L²·16)·ζ²,
		// noise of (13) 49 times the second factor
		if row[0] != "4" || row[1] != "2000" {
			continue
		}
		g, k, l := 1/(2000/30.3487+6*.41*4), 17372., .41
		factor := 2*g*l/4 + 12*g*g*l*l*16
		spread := 4 - 8/(2*2000.)
		for c, want := range map[int]float64{10: 4*math.Ln2/(g*k) + factor*spread, 11: factor * 4,
			12: factor * 49} {
			var got float64
			if fmt.Sscanf(row[c], "%g", &got); math.Abs(got/want-1) > .006 {
				t.Errorf("column %d: %s, want %v", c, row[c], want)
			}
		}
	}
}
