// Package finishing makes an owner's own model of the one that all owners have trained:
// it fits the owner's records around the shared model, and weighs what it finds against
// the shared model and one that it fits alone. Nothing of it leaves the owner, so nothing
// is charged; the model that is released stays the shared one.
package finishing

import (
	"context"
	"math"
	"slices"

	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/rng"
	"sotto/tensor"
)

// Params are the keys of a run file's section [personal].
type Params struct {
	// Enabled makes a model of its own for every owner at the end of the run.
	Enabled bool `toml:"enabled"`
	// Strengths of the prior to try: how many records the prior counts as, in each
	// direction of the parameters. Each is above 0 and at most 1e9. Default: powers of
	// ten from .001 to 10,000; for networks .1, 3 and 100.
	Strengths []float64 `toml:"strengths,omitempty"`
	// Folds of the cross-validation on the owner's training records, 2 to 20; default 5,
	// for networks 3.
	Folds int `toml:"folds,omitempty"`
	// Layers of a network that are trained around the shared model: "last" (default), or
	// "all".
	Layers string `toml:"layers,omitempty"`
}

// Fill sets defaults, of networks or of linear models.
func (p *Params) Fill(network bool) {
	if p.Strengths == nil && network {
		p.Strengths = []float64{.1, 3, 100}
	}
	if p.Folds == 0 && network {
		p.Folds = 3
	}
	if p.Layers == "" && network {
		p.Layers = "last"
	}
	if p.Strengths == nil {
		for k := -3; k <= 4; k++ {
			p.Strengths = append(p.Strengths, math.Pow10(k))
		}
	}
	if p.Folds == 0 {
		p.Folds = 5
	}
}

// Validate names the first key that cannot be used.
func (p *Params) Validate() error {
	if !p.Enabled && (p.Strengths != nil || p.Folds != 0 || p.Layers != "") {
		return config.Bad("enabled", false, "true, for strengths, folds or layers to mean something")
	}
	if p.Layers != "" && p.Layers != "last" && p.Layers != "all" {
		return config.Bad("layers", p.Layers, "last, all")
	}
	for _, s := range p.Strengths {
		if !(s > 0 && s <= 1e9) {
			return config.Bad("strengths", s, "above 0 and at most 1000000000")
		}
	}
	if p.Strengths != nil && (len(p.Strengths) < 1 || len(p.Strengths) > 50) {
		return config.Bad("strengths", len(p.Strengths), "1 to 50 numbers")
	}
	if p.Folds != 0 && (p.Folds < 2 || p.Folds > 20) {
		return config.Bad("folds", p.Folds, "2 to 20")
	}
	return nil
}

// Own is what one owner has.
type Own struct {
	GLM    model.GLM
	Shared tensor.Vec // the parameters that all have trained
	Data   *data.Dataset
	Rows   []int32 // of Data: the owner's training records
	Seed   uint64  // public: of the folds
}

// Candidates are the models that are weighed, in this order.
var Candidates = [3]string{"alone", "shared", "personal"}

// Model is what an owner ends with.
type Model struct {
	// Theta are the parameters: the candidates by their weights.
	Theta      tensor.Vec
	Candidates [3]tensor.Vec
	Weights    [3]float64 // at least 0, sum 1
	// Strengths are those of the prior around 0 of the model alone, and around the shared
	// one of the personal model.
	Strengths [2]float64
	// Losses are means over the held-out records of all folds: of the candidates, and of
	// the model that they make.
	Losses [4]float64
}

// fewest records are needed to tell models apart.
const fewest = 10

// Fit makes an owner's model. Strengths and weights are those with the smallest loss on
// records held out from the fits, by folds; of equal ones the first. The shared model
// knows all of the owner's records, through noise, so that it is not held out from. An
// owner with fewer than ten records keeps the shared model; the one alone then has a
// prior of one record. Folds are of persons where records have persons, as many as
// there are folds or fewer; of an owner who is one person alone, of records. The error is
// that of ctx, which ends the fits.
func Fit(ctx context.Context, o *Own, p Params) (*Model, error) {
	p.Fill(false)
	shared := slices.Clone(o.Shared)
	m := &Model{Theta: shared, Candidates: [3]tensor.Vec{shared, shared, shared},
		Weights: [3]float64{0, 1, 0}}
	zero := make(tensor.Vec, len(o.Shared))
	folds := o.folds(&p.Folds)
	if folds == nil {
		m.Candidates[0], m.Strengths[0] = o.around(zero, 1, o.Rows), 1
		return m, nil
	}
	// outputs of each candidate and strength for each record, held out
	alone, personal := make([][]float64, len(p.Strengths)), make([][]float64, len(p.Strengths))
	for k := range p.Strengths {
		alone[k], personal[k] = make([]float64, len(o.Rows)), make([]float64, len(o.Rows))
	}
	for f := range p.Folds {
		in := o.in(folds, f)
		fit := oracle.NewOwn(o.GLM, oracle.Records{Data: o.Data, Index: in}, len(o.Shared))
		for _, c := range []struct {
			outputs [][]float64
			prior   tensor.Vec
		}{{alone, zero}, {personal, o.Shared}} {
			fit.Forget()
			for k, s := range slices.Backward(p.Strengths) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				o.predict(c.outputs[k], folds, f, fit.Around(c.prior, lambda(s, in), compared))
			}
		}
	}
	everything := make([]float64, len(o.Rows))
	o.predict(everything, make([]int, len(o.Rows)), 0, o.Shared)
	a, l := o.best(alone)
	q, r := o.best(personal)
	m.Strengths = [2]float64{p.Strengths[a], p.Strengths[q]}
	m.Candidates = [3]tensor.Vec{o.around(zero, p.Strengths[a], o.Rows), shared,
		o.around(o.Shared, p.Strengths[q], o.Rows)}
	outputs := [3][]float64{alone[a], everything, personal[q]}
	m.Losses = [4]float64{l, o.loss(everything), r, math.Inf(1)}
	m.Weights, m.Losses[3] = o.weigh(outputs)
	m.Theta = mixture(m.Weights, m.Candidates) // outputs are linear in parameters
	return m, nil
}

// weigh chooses the weights of the candidates by their outputs, in tenths.
func (o *Own) weigh(outputs [3][]float64) (best [3]float64, least float64) {
	const steps = 10
	mixed := make([]float64, len(o.Rows))
	best, least = [3]float64{0, 1, 0}, math.Inf(1)
	for i := range steps + 1 {
		for j := range steps + 1 - i {
			w := [3]float64{float64(i) / steps, float64(j) / steps, float64(steps-i-j) / steps}
			for k := range mixed {
				mixed[k] = 0
				for c := range w {
					if w[c] > 0 { // what has no weight need not be finite
						mixed[k] += w[c] * outputs[c][k]
					}
				}
			}
			if l := o.loss(mixed); l < least {
				least, best = l, w
			}
		}
	}
	return best, least
}

// folds gives every record one of n, which becomes the number of persons where those are
// fewer; nil: too few records.
func (o *Own) folds(n *int) []int {
	unit := func(k int) int32 { return int32(k) }
	if o.Data.UnitCount(o.Rows) > 1 && o.Data.Units != nil {
		unit = func(k int) int32 { return o.Data.Units[o.Rows[k]] }
	}
	var units []int32
	seen := map[int32]int{}
	for k := range o.Rows {
		if u := unit(k); !contains(seen, u) {
			seen[u] = 0
			units = append(units, u)
		}
	}
	if len(o.Rows) < fewest {
		return nil
	}
	*n = min(*n, len(units))
	r := rng.Public(o.Seed, "folds of an owner")
	for k := len(units) - 1; k > 0; k-- {
		j := int(r.Below(uint64(k + 1)))
		units[k], units[j] = units[j], units[k]
	}
	for k, u := range units {
		seen[u] = k % *n
	}
	all := make([]int, len(o.Rows))
	for k := range all {
		all[k] = seen[unit(k)]
	}
	return all
}

func contains(m map[int32]int, k int32) bool {
	_, ok := m[k]
	return ok
}

// in are the rows outside fold f.
func (o *Own) in(folds []int, f int) []int32 {
	var rows []int32
	for k, r := range o.Rows {
		if folds[k] != f {
			rows = append(rows, r)
		}
	}
	return rows
}

// around fits rows under a prior that counts as so many records.
func (o *Own) around(prior tensor.Vec, strength float64, rows []int32) tensor.Vec {
	return oracle.Around(o.GLM, oracle.Records{Data: o.Data, Index: rows}, prior, lambda(strength, rows))
}

// lambda is the penalty of a prior that counts as so many records.
func lambda(strength float64, rows []int32) float64 {
	return strength / (2 * float64(max(1, len(rows))))
}

// compared is how exact fits are that are compared with each other.
const compared = 1e-5

// predict writes the outputs for the records of fold f.
func (o *Own) predict(dst []float64, folds []int, f int, theta tensor.Vec) {
	for k, r := range o.Rows {
		if folds[k] != f {
			continue
		}
		row := o.Data.X.Row(int(r))
		z := 0.
		for i, v := range row {
			z += float64(v) * float64(theta[i])
		}
		if o.GLM.Intercept {
			z += float64(theta[len(row)])
		}
		dst[k] = z
	}
}

// loss is the mean over the owner's records of finite features; that of parameters which
// give one of these no finite output is infinite.
func (o *Own) loss(z []float64) float64 {
	total, n := 0., 0
	for k, r := range o.Rows {
		y := 0.
		if math.IsNaN(z[k]) || math.IsInf(z[k], 0) {
			if o.Data.X.Row(int(r)).Finite() {
				return math.Inf(1)
			}
			continue
		}
		if o.Data.Labels != nil {
			y = float64(2*o.Data.Labels[r] - 1)
		} else {
			y = float64(o.Data.Targets[r])
		}
		l, _, _ := o.GLM.Loss(z[k], y)
		total, n = total+l, n+1
	}
	return total / float64(n)
}

func (o *Own) best(outputs [][]float64) (at int, least float64) {
	least = math.Inf(1)
	for k, z := range outputs {
		if l := o.loss(z); l < least {
			at, least = k, l
		}
	}
	return at, least
}
