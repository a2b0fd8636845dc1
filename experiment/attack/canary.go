package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// auditMembers is how many records a sampler is tested on.
const auditMembers = 8

// dataset is an empty data set of n rows that the run's model takes.
func dataset(e *experiment.Experiment, n int) *data.Dataset {
	d := *e.Task.Split.Train
	d.X = tensor.NewMat(n, d.X.Cols)
	d.Groups, d.Units = nil, nil
	if d.Labels != nil {
		d.Labels = make([]int32, n)
	} else {
		d.Targets = make([]float32, n)
	}
	return &d
}

// setLabel gives a row one of several very different outcomes.
func setLabel(d *data.Dataset, row, k int) {
	if d.Labels != nil {
		d.Labels[row] = int32(k % max(1, d.Classes))
		return
	}
	d.Targets[row] = float32(1000 * (1 - 2*(k%2)))
}

// canaryRows are records with random features of size 30 and an outcome that the initial
// model does not expect: their gradients differ and are long.
func canaryRows(e *experiment.Experiment, n int, s *rng.Stream) *data.Dataset {
	d := dataset(e, n)
	for i := range n {
		randomRow(d.X.Row(i), 30, s)
		bound(e, d.X.Row(i))
		if k := int(s.Below(1 << 20)); d.Classes > 1 {
			setLabel(d, i, likeliest(e, d, i)+1+k%(d.Classes-1))
		} else {
			setLabel(d, i, k)
		}
	}
	return spread(e, d)
}

func randomRow(x tensor.Vec, size float64, s *rng.Stream) {
	z := make([]float64, len(x))
	s.Normals(z)
	for c := range x {
		x[c] = float32(size * z[c])
	}
}

// bound keeps a row within the public bound that a claim rests on.
func bound(e *experiment.Experiment, x tensor.Vec) {
	if b := e.Task.Split.Train.RowNorm; b > 0 {
		if n := x.Norm(); n > b {
			x.Scale(b*(1-1e-6)/n, x)
		}
	}
}

// canary is the attacked record; in the unit of a person, a person whose records are all
// equal.
type canary struct {
	rows   *data.Dataset // that spread made
	record int32         // its number
	other  int32         // that of what takes its place in world Out under replace-one
}

// answerer gives the answer to a query about a hypothesis.
type answerer func(hypothesis, *agent.Query) (tensor.Vec, error)

// choose finds the attacked record, for query q.
func (c *canary) choose(e *experiment.Experiment, kind string, q *agent.Query, answer answerer) error {
	switch kind {
	case "", "gradient":
		return c.strongest(e, q, answer)
	case "blank", "mislabelled":
		d := dataset(e, 2)
		likeliest := likeliest(e, d, 0)
		if train := e.Task.Split.Train; kind == "mislabelled" && train.Len() > 0 {
			for i := range 2 {
				copy(d.X.Row(i), train.X.Row(0))
			}
			if train.Labels != nil {
				likeliest = int(train.Labels[0])
			}
		}
		setLabel(d, 0, likeliest+1)
		setLabel(d, 1, likeliest)
		c.rows, c.record, c.other = spread(e, d), 0, 1
		return nil
	}
	return config.Bad("canary", kind, "one of blank, gradient, mislabelled")
}

// likeliest is the class that the initial model gives a row of d.
func likeliest(e *experiment.Experiment, d *data.Dataset, r int) int {
	if d.Labels == nil {
		return 0
	}
	out := tensor.NewMat(1, e.Task.Model.Outputs())
	x := d.X.Row(r)
	e.Task.Model.Predict(out, e.Task.Init, tensor.Mat{Rows: 1, Cols: len(x), Stride: len(x), Data: x},
		new(model.Workspace))
	row, best := out.Row(0), 0
	if len(row) == 1 && row[0] > 0 { // the logit of class 1
		return 1
	}
	for c, x := range row {
		if x > row[best] {
			best = c
		}
	}
	return best
}

// strongest tries records of several sizes and outcomes and keeps the one, or under
// replace-one the pair, that changes an answer the most.
func (c *canary) strongest(e *experiment.Experiment, q *agent.Query, answer answerer) error {
	const outcomes = 2
	sizes := []float64{0, 1, 30, 1000}
	d := dataset(e, 2*outcomes*len(sizes))
	s, row := rng.Public(e.File.Run.Seed, "canary"), 0
	for _, size := range sizes {
		x := make(tensor.Vec, d.X.Cols)
		randomRow(x, size, s)
		bound(e, x)
		for _, sign := range []float64{1, -1} {
			for k := range outcomes {
				d.X.Row(row).Scale(sign, x)
				setLabel(d, row, k)
				row++
			}
		}
	}
	c.rows = spread(e, d)
	values := make([]tensor.Vec, row)
	for i := range values {
		var err error
		if values[i], err = answer(hypothesis{train: c.rows, rows: []int32{int32(i)}, drawn: true},
			q); err != nil {
			return err
		}
	}
	best := 0.
	for i, v := range values {
		if e.Setup.Target.Adjacency != account.ReplaceOne {
			if n := length(v); n > best {
				best, c.record = n, int32(i)
			}
			continue
		}
		for j := range i {
			apart := slices.Clone(v)
			apart.AddScaled(-1, values[j])
			if n := length(apart); n > best {
				best, c.record, c.other = n, int32(i), int32(j)
			}
		}
	}
	if best == 0 {
		return fmt.Errorf("experiment: no record was found that changes an answer to oracle %q", q.Oracle)
	}
	return nil
}

// length is v's norm; that of what is not finite is infinite: such an answer tells all.
func length(v tensor.Vec) float64 {
	if n := v.Norm(); !math.IsNaN(n) {
		return n
	}
	return math.Inf(1)
}

// train is audit.Target.Train: the whole run on all agents' data, with the attacked
// record among its owner's or not; the score is the negative loss of the owner's last
// model on that record.
func (a *auditor) train(w audit.Hypothesis, seed uint64) (float64, error) {
	d, part := a.trainingRows(a.e, a.agent, w)
	e := a.e
	pop := run.Population{Train: d, Parts: slices.Clone(e.Task.Parts),
		Seed: experiment.TrialSeed(e.File.Run.Seed, seed|1)}
	pop.Parts[a.agent] = part
	world, err := run.Start(e, pop, 1, nil)
	if err != nil {
		return 0, err
	}
	if err := world.Sim.Run(context.Background(), e.File.Steps); err != nil {
		return 0, err
	}
	one := oracle.BatchOf(a.rows.Select(rowsOf(e, []int32{a.record})))
	return -e.Task.Model.Loss(world.Sim.Model(a.agent), one, new(model.Workspace)), nil
}

// trainingRows are the training records with the attacked one and its replacement behind
// them, and the attacked agent's part: under add-remove the record is one more, elsewhere
// it takes the place of the agent's first.
func (c *canary) trainingRows(e *experiment.Experiment, agent int, w audit.Hypothesis) (*data.Dataset,
	[]int32) {
	all, n := e.Task.Split.Train, e.Task.Split.Train.Len()
	behind := rowsOf(e, []int32{c.record, c.other})
	d := dataset(e, n+len(behind))
	for r := range n {
		copyRecord(d, r, all, r)
	}
	for k, r := range behind {
		copyRecord(d, n+k, c.rows, int(r))
	}
	part := slices.Clone(e.Task.Parts[agent])
	if e.Setup.Target.Adjacency != account.AddRemove && len(part) > 0 {
		part = lessFirst(all, part)
	}
	in := len(behind) / 2
	d.Units = besidePersons(all, in)
	if w == audit.In {
		part = appendRows(part, n, n+in)
	} else if e.Setup.Target.Adjacency == account.ReplaceOne {
		part = appendRows(part, n+in, n+2*in)
	}
	return d, part
}

func appendRows(part []int32, lo, hi int) []int32 {
	for r := lo; r < hi; r++ {
		part = append(part, int32(r))
	}
	return part
}

func copyRecord(d *data.Dataset, to int, from *data.Dataset, row int) {
	copy(d.X.Row(to), from.X.Row(row))
	if d.Labels != nil {
		d.Labels[to] = from.Labels[row]
	} else {
		d.Targets[to] = from.Targets[row]
	}
}

// canaries is audit.Target.Canaries: one run in which the attacked agent has nothing but
// canaries. The score of one is the sum of the inner products of its own contribution
// with the answers.
func (a *auditor) canaries(coins []bool, seed uint64) ([]float64, error) {
	d := canaryRows(a.e, len(coins), rng.Public(seed, "canaries"))
	var there []int32
	for i, in := range coins {
		if in {
			there = append(there, int32(i))
		}
	}
	gate, err := a.gate(hypothesis{train: d, rows: there}, ledger.NewMemory(nil), nil, seed)
	if err != nil {
		return nil, err
	}
	g := &recorder{Gate: gate}
	alg, err := a.algorithm()
	if err != nil {
		return nil, err
	}
	if err := a.drive(alg, g, seed, func() bool { return false }); err != nil {
		return nil, err
	}
	scores := make([]float64, len(coins))
	for i := range coins {
		one := hypothesis{train: d, rows: []int32{int32(i)}, drawn: true, once: true}
		for k := range g.queries {
			v, err := a.answer(one, &g.queries[k])
			if err != nil {
				return nil, err
			}
			scores[i] += v.Dot(g.answers[k])
		}
	}
	return scores, nil
}

// recorder keeps what a gate was asked and has answered.
type recorder struct {
	sim.Gate
	queries []agent.Query
	answers []tensor.Vec
}

// Answer implements sim.Gate.
func (g *recorder) Answer(q *agent.Query, dst tensor.Vec) error {
	if err := g.Gate.Answer(q, dst); err != nil {
		return err
	}
	kept := *q
	kept.At = slices.Clone(q.At)
	g.queries, g.answers = append(g.queries, kept), append(g.answers, slices.Clone(dst))
	return nil
}
