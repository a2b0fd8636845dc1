package worth

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/data/memory"
	"sotto/experiment"
	"sotto/experiment/finishing"
	"sotto/experiment/run"
	"sotto/internal/jsonfloat"
	"sotto/model"
	"sotto/model/score"
	"sotto/rng"
	"sotto/tensor"
)

// law is what the owner's records suggest.
type law struct {
	*Question
	glm   model.GLM
	dim   int
	theta tensor.Vec // parameters of the owner's law
	error float64    // standard deviation of a number around its prediction
	low   float64    // of targets, among the owner's
	high  float64
}

// figure is the one that is compared.
func (l *law) figure() string {
	if l.Records.Classes > 0 {
		return "auroc"
	}
	return "r2"
}

// rows are all of the owner's records.
func (l *law) rows() []int32 {
	rows := make([]int32, l.Records.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// own fits rows alone, its prior by cross-validation.
func (l *law) own(ctx context.Context, rows []int32) (tensor.Vec, error) {
	m, err := finishing.Fit(ctx, &finishing.Own{GLM: l.glm, Shared: make(tensor.Vec, l.dim), Data: l.Records,
		Rows: rows, Seed: l.Seed}, finishing.Params{Enabled: true})
	if err != nil {
		return nil, err
	}
	return m.Candidates[0], nil
}

// output is that of parameters for a row of features.
func (l *law) output(theta tensor.Vec, row []float32) float64 {
	z := 0.
	for i, v := range row {
		z += float64(v) * float64(theta[i])
	}
	if l.glm.Intercept {
		z += float64(theta[len(row)])
	}
	return z
}

// fit finds the law.
func (l *law) fit(ctx context.Context) (err error) {
	if l.theta, err = l.own(ctx, l.rows()); err != nil {
		return err
	}
	if l.Records.Classes > 0 {
		return nil
	}
	square, n := 0., 0
	l.low, l.high = math.Inf(1), math.Inf(-1)
	out, err := l.outside(ctx, 1)
	if err != nil {
		return err
	}
	for i, z := range out {
		y := float64(l.Records.Targets[i])
		l.low, l.high = min(l.low, y), max(l.high, y)
		if d := y - z; d-d == 0 {
			square, n = square+d*d, n+1
		}
	}
	l.error = math.Sqrt(square / float64(max(1, n)))
	return nil
}

// folds of the cross-validation of the model alone.
const folds = 5

// outside predicts every record by a model of a part of the records in other folds. Each
// fold has its share of every class. Models of different folds lean to the class that
// their fold lacks, so that scores of classes are compared within a fold only: they are
// ranks there.
func (l *law) outside(ctx context.Context, part float64) ([]float64, error) {
	n := l.Records.Len()
	order := permutation(rng.Public(l.Seed, "folds of worth"), n)
	fold := l.deal(order)
	out := make([]float64, n)
	for f := range folds {
		var in, held []int32
		for _, r := range order {
			if fold[r] == f {
				held = append(held, int32(r))
			} else {
				in = append(in, int32(r))
			}
		}
		theta, err := l.own(ctx, in[:max(1, int(part*float64(len(in))))])
		if err != nil {
			return nil, err
		}
		for _, r := range held {
			out[r] = l.output(theta, l.Records.X.Row(int(r)))
		}
		if l.Records.Classes > 0 {
			rank(out, held)
		}
	}
	return out, nil
}

// deal gives every record its fold, class by class. All records of a person have the fold
// of the first.
func (l *law) deal(order []int) []int {
	fold, next := make([]int, len(order)), 0
	persons, of := l.persons(), map[int32]int{}
	for class := range max(1, l.Records.Classes) {
		for _, r := range order {
			if l.Records.Classes > 0 && int(l.Records.Labels[r]) != class {
				continue
			}
			if persons == nil {
				fold[r] = next % folds
				next++
				continue
			}
			f, ok := of[persons[r]]
			if !ok {
				f = next % folds
				of[persons[r]], next = f, next+1
			}
			fold[r] = f
		}
	}
	return fold
}

// persons are those of the records; nil where each record is one, or all are of one.
func (l *law) persons() []int32 {
	p := l.Records.Units
	if len(p) == 0 || slices.Min(p) == slices.Max(p) {
		return nil
	}
	return p
}

// rank replaces the values of some rows by their ranks among these, from 0 to 1; equal
// ones share theirs.
func rank(values []float64, rows []int32) {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b int32) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(sorted))
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && values[sorted[j]] == values[sorted[i]] {
			j++
		}
		for k := range ranks[i:j] {
			ranks[i+k] = float64(i+j) / 2 / float64(len(sorted))
		}
		i = j
	}
	for k, r := range sorted {
		values[r] = ranks[k]
	}
}

func permutation(r *rng.Stream, n int) []int {
	order := make([]int, n)
	for k := range order {
		order[k] = k
	}
	for k := n - 1; k > 0; k-- {
		j := int(r.Below(uint64(k + 1)))
		order[k], order[j] = order[j], order[k]
	}
	return order
}

// scored are predictions of all of the owner's records, see outside.
func (l *law) scored(ctx context.Context, part float64) (score.Scored, error) {
	out, err := l.outside(ctx, part)
	if err != nil {
		return nil, err
	}
	if l.Records.Classes > 0 {
		return score.Logits(out, 1, 2, l.Records.Labels)
	}
	targets := make([]float64, len(out))
	for i, t := range l.Records.Targets {
		targets[i] = float64(t)
	}
	return score.Regression(out, targets)
}

// alone is the figure by cross-validation, with all records and with fewer.
func (l *law) alone(ctx context.Context) (all Range, curve []Point, err error) {
	for _, part := range []float64{.25, .5, 1} {
		s, err := l.scored(ctx, part)
		if err != nil {
			return all, nil, err
		}
		v, err := score.Of(s, l.figure())
		if err != nil {
			return all, nil, fmt.Errorf("worth: %s of your records alone: %w", l.figure(), err)
		}
		if part < 1 {
			curve = append(curve, Point{int(part * float64(l.Records.Len()) * (folds - 1) / folds),
				jsonfloat.Float(v)})
			continue
		}
		all = Range{Value: jsonfloat.Float(v), Low: nan, High: nan}
		judged, err := score.Usual().JudgeBy(l.persons(), []score.Scored{s})
		if err != nil {
			return all, nil, err
		}
		if f := judged[0].Figures[l.figure()]; f.Interval != nil {
			all.Low, all.High = jsonfloat.Float(f.Interval[0]), jsonfloat.Float(f.Interval[1])
		}
	}
	return all, curve, nil
}

// tests are how many fresh records each member is tested on.
const tests = 1000

// world simulates the run once, and returns what the owner's own model, and the shared
// one, are better than the one alone; NaN where that is not defined.
func (l *law) world(ctx context.Context, k int, others []int, epsilon, unlike float64) (own, shared float64,
	err error) {
	seed := rng.Public(l.Seed, "world", uint64(k)).Uint64() >> 1
	train, test := l.table(), l.table()
	counts := append([]int{l.Own}, others...)
	for m := range counts {
		name := fmt.Sprint("member ", m)
		train.Owners, test.Owners = append(train.Owners, name), append(test.Owners, name)
	}
	for m, n := range counts {
		r := rng.Public(seed, "member", uint64(m))
		theta := l.theta
		if m > 0 && unlike > 0 {
			theta = l.moved(r, unlike)
		}
		l.draw(train, r, theta, n, m)
		many := 1
		if m == 0 {
			many = tests
		}
		l.draw(test, r, theta, many, m)
	}
	split, err := memory.Split(train, test)
	if err != nil {
		return 0, 0, err
	}
	e, err := experiment.StandIns(l.File, split, epsilon, seed)
	if err != nil {
		return 0, 0, err
	}
	t, err := run.Begin(e)
	if err != nil {
		return 0, 0, err
	}
	if err := t.Advance(ctx, e.File.Steps); err != nil {
		return 0, 0, err
	}
	p, err := run.OwnModels(ctx, t)
	if err != nil {
		return 0, 0, err
	}
	return gains(p.Models, p.Figures, p.Lines[0].Values, l.figure())
}

// gains are those of the models "own" and "shared" over "alone".
func gains(models, figures []string, values [][]*float64, figure string) (own, shared float64, err error) {
	at := map[string]float64{}
	for m, name := range models {
		at[name] = math.NaN()
		for f, n := range figures {
			if n == figure && values[m][f] != nil {
				at[name] = *values[m][f]
			}
		}
	}
	return at["own"] - at["alone"], at["shared"] - at["alone"], nil
}

func (l *law) table() *memory.Table {
	t := &memory.Table{Norm: l.Records.RowNorm}
	if l.Records.Classes > 0 {
		t.Classes = []string{"0", "1"}
	}
	return t
}

// moved are the parameters of a member that is not like the owner.
func (l *law) moved(r *rng.Stream, unlike float64) tensor.Vec {
	square := 0.
	for _, v := range l.theta {
		square += float64(v) * float64(v)
	}
	z := make([]float64, l.dim)
	r.Normals(z)
	size := unlike * math.Sqrt(square/float64(l.dim))
	theta := make(tensor.Vec, l.dim)
	for i, v := range l.theta {
		theta[i] = v + float32(size*z[i])
	}
	return theta
}

// draw appends n records of member m.
func (l *law) draw(t *memory.Table, r *rng.Stream, theta tensor.Vec, n, m int) {
	noise := make([]float64, 1)
	for range n {
		row := l.Records.X.Row(int(r.Below(uint64(l.Records.Len()))))
		x := make([]float64, len(row))
		for i, v := range row {
			x[i] = float64(v)
		}
		z := l.output(theta, row)
		t.X, t.Owner = append(t.X, x), append(t.Owner, m)
		if l.Records.Classes > 0 {
			label := 0
			if r.Float64() < 1/(1+math.Exp(-z)) {
				label = 1
			}
			t.Labels = append(t.Labels, label)
			continue
		}
		r.Normals(noise)
		t.Targets = append(t.Targets, min(max(z+l.error*noise[0], l.low), l.high))
	}
}
