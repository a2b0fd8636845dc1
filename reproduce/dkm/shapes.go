package dkm

import (
	"fmt"
	"math"
	"slices"

	"sotto/experiment/sweep"
	"sotto/privacy"
	"sotto/reproduce"
)

// The paper's noise (Eq. 3) has a shape b > 0, of which its experiments have 1 and 2.

var shapeAxes = slices.Insert(slices.Clone(iterationAxes), len(iterationAxes)-1, "shape")

var shapeValues = []string{"0.5", "1", "1.5", "2", "4", "8"}

// shaped is a run with noise of one shape.
type shaped struct {
	iteration
	shape string
}

func (s shaped) values(small bool) []string {
	v := s.iteration.values(small)
	return slices.Insert(v, len(v)-1, s.shape)
}

// shapes are the different runs without their seeds: figure 1 at epsilon .5, delta 1e-3.
func shapes() (list []shaped) {
	for _, rounds := range []int{iterationRounds, iterationRounds / 10} {
		for _, b := range shapeValues {
			list = append(list, shaped{iteration{form: "published", noise: "truncated-generalized",
				loss: "squares", method: "SPGD", graph: "complete", agents: 5, epsilon: "0.5", delta: "1e-3",
				rounds: rounds}, b})
		}
	}
	return list
}

func shapeCells(small bool) []sweep.Cell {
	var cells []sweep.Cell
	for _, s := range shapes() {
		for _, s.seed = range instances(small) {
			c := s.cell(small)
			c.Values = s.values(small)
			c.Set = append(c.Set, lastAlone(c.Values), "replication.shape="+s.shape)
			cells = append(cells, c)
		}
	}
	return reproduce.Distinct(cells)
}

// law is the noise of one value for sensitivity 1: scale, bound and standard deviation
// after the truncation, and the smallest δ at ε for one value that moves by 1, both by
// the midpoint rule on 2^20 cells.
type law struct{ scale, bound, std, delta float64 }

func lawOf(shape, epsilon, delta float64) (law, error) {
	m, err := privacy.New("published", func(p any) error {
		*p.(*privacy.PaperNoise) = privacy.PaperNoise{Family: "truncated-generalized", Shape: shape,
			Epsilon: epsilon, Delta: delta, Sensitivity: 1}
		return nil
	})
	if err != nil {
		return law{}, err
	}
	l := law{}
	l.scale, l.bound = m.(privacy.PaperNoise).Law()
	density := func(z float64) float64 {
		if math.Abs(z) > l.bound {
			return 0
		}
		return math.Exp(-math.Pow(math.Abs(z)/l.scale, shape))
	}
	const cells = 1 << 20
	mass, square, above := 0., 0., 0.
	for i := range cells {
		z := l.bound * (2*(float64(i)+.5)/cells - 1)
		p := density(z)
		mass, square = mass+p, square+z*z*p
		above += max(0, p-math.Exp(epsilon)*density(z-1))
	}
	l.std, l.delta = math.Sqrt(square/mass), above/mass
	return l, nil
}

func shapeTable(f *reproduce.Results) *reproduce.Document {
	small := f.Scale == reproduce.Smoke
	g := reproduce.Group(f, func(s shaped) []string { return s.values(small) })
	d := &reproduce.Document{Header: []string{"shape b", "rounds", "A/Δ", "standard deviation/Δ",
		"delta of one value (claimed: 1e-3)", "claimed epsilon", "true epsilon of the run (replace-one)",
		"error of what is sent", "error of what is put out"}}
	seen := map[string]bool{}
	for _, s := range shapes() {
		rows := g.Of(s)
		if len(rows) == 0 || seen[settingsOf(s.values(small))] {
			continue
		}
		seen[settingsOf(s.values(small))] = true
		l, err := lawOf(reproduce.Number(s.shape), .5, 1e-3)
		if err != nil {
			panic(err) // its parameters are written in this package
		}
		d.Add(s.shape, rows[0].Values[8], fmt.Sprintf("%.4g", l.bound), fmt.Sprintf("%.4g", l.std),
			fmt.Sprintf("%.3g", l.delta), s.epsilon, g.Epsilon(s),
			g.Last(s, "estimation_rmse", "all").Significant(),
			g.Last(s, "estimation_rmse_noise_free", "all").Significant())
	}
	d.Notes = append(d.Notes,
		"noise of density C exp(-(|z|/s)^b) on [-A, A] on every coordinate of every iterate (Eq. 3), with "+
			"Theorem 1's Δ at B = 1; the paper gives s and A for b = 1 and 2 alone: here s = Δ ε^(-1/b) and "+
			"A from the mass delta of [A-Δ, A], of which these are cases",
		"delta of one value: the smallest at epsilon .5 for a scalar that moves by Δ, by numerical "+
			"integration; the claim for one value holds where it is at most 1e-3 (b up to 1, where the loss "+
			"is at most (Δ/s)^b = epsilon); the run's claim holds for no b: its Δ is an expectation and "+
			"iterates are put out without noise, so that the true epsilon is infinite",
		fmt.Sprintf("least squares, five agents of 100 records, complete graph, α = .99 of its bound, %d "+
			"problem instances; error: root mean square over coordinates of the distance of the mean model "+
			"from the hidden vector, mean ± sd; always guessing 0 has an error of about 1",
			len(instances(small))))
	if small {
		d.Notes = append(d.Notes, "scale smoke: 20 rounds, one instance")
	}
	return d
}

// settingsOf names a run without its seed.
func settingsOf(values []string) string { return fmt.Sprint(values[:len(values)-1]) }
