package oracle

import (
	"cmp"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
)

// Public is what an oracle is made from: public facts of a run and of one agent. No field
// follows from a record, so that what is made from them describes its releases before any
// data are there. Bind is the only way to records. Whoever plans a run, simulates it,
// takes part in it or attacks it makes its oracles from the same Public: the planned
// release is then the executed one.
type Public struct {
	Model             model.Model // not nil
	SampleRate        float64     // q in (0, 1]
	ExpectedBatchSize float64     // L > 0, finite: the normaliser of a sum
	ClipNorm          float64     // C > 0; +Inf: none
	Records           int         // the agent's public record count; 0 where it is private
	Adjacency         account.Adjacency
	Unit              account.Unit

	Sums         Sums
	Rescale      bool // see Gradient
	Count        bool // see Gradient
	Draws        int  // Poisson batches under one noise draw; 0 means 1
	SingleRecord bool // a batch is one uniform record of Records
	Augment      Augmentation

	FeatureNorm float64 // norm that a fit scales features to; +Inf: none
	Residual    float64 // bound of residuals where a query has none of its own; +Inf: none

	Init      tensor.Vec // where an oracle with a state of its own starts
	Published bool       // of such an oracle: see StatefulResidual
	OneRecord bool       // of such an oracle: see StatefulResidual
}

// Oracle is a privacy.Oracle without records, or with those it was bound to last.
type Oracle interface {
	privacy.Oracle
	// Bind gives the oracle its records, and scratch memory. An error follows from their
	// number and shape alone.
	Bind(r Records, pool *Pool) error
}

// Batches says how an oracle reads its records, and hence which public constants of a run
// it needs.
type Batches uint8

const (
	// Sampled reads Poisson batches: a sample rate and an expected batch size.
	Sampled Batches = iota
	// FullBatch reads all records, and divides their sum by a public count.
	FullBatch
	// Mean reads all records, as an owner's mean or over their public count.
	Mean
	// Sum reads all records and counts them itself: it needs no public count.
	Sum
)

// Kind is a named oracle before it is made.
type Kind struct {
	New     func(p *Public, op agent.Operator) (Oracle, error)
	Batches Batches
	Owner   bool // may protect all of an owner's data
	Record  bool // may protect one record
	Person  bool // may protect one person with several records
	Exact   bool // has exact integers, where the model has
	Private bool // has a state of its own, which follows from all queries
	Arrives bool // records may come during a run
	Augment bool // has views of records
}

// Kinds lists the oracles that algorithms ask, by name.
var Kinds = map[string]Kind{
	"grad": {New: newGradient, Record: true, Person: true, Exact: true, Arrives: true, Augment: true},
	FullName: {New: newFull(account.L2), Batches: FullBatch, Record: true, Exact: true,
		Arrives: true},
	FullL1Name: {New: newFull(account.L1), Batches: FullBatch, Record: true, Exact: true,
		Arrives: true},
	FitName:              {New: newFit, Batches: FullBatch, Record: true, Arrives: true},
	OwnerGradName:        {New: newOwnerGradient, Batches: FullBatch, Owner: true, Exact: true},
	ValueName:            {New: newValue, Batches: Mean, Owner: true, Record: true},
	StatisticName:        {New: newStatistic, Batches: Sum, Record: true, Person: true, Exact: true},
	MomentsName:          {New: newMoments, Batches: Sum, Record: true, Person: true, Exact: true},
	GradientSumName:      {New: newGradientSum, Batches: Sum, Record: true, Person: true, Exact: true},
	RowSumName:           {New: newRowSum, Batches: Sum, Record: true, Person: true, Exact: true},
	KMName:               {New: newKM, Record: true},
	StatefulResidualName: {New: newStatefulResidual, Record: true, Private: true},
}

// New makes the oracle that q names, without records. Errors are config.Errors,
// ErrNotLinear or ErrNoTable.
func New(p *Public, q *agent.Query) (Oracle, error) {
	k, ok := Kinds[q.Oracle]
	if !ok {
		return nil, config.Bad("oracle", q.Oracle, config.OneOf(Kinds))
	}
	if err := checkModel(p.Model); err != nil {
		return nil, err
	}
	return k.New(p, q.Operator)
}

// Describe states what an answer to q releases, q's point apart, by an oracle without
// records. Errors are those of New.
func Describe(p *Public, q *agent.Query) (account.Release, error) {
	o, err := New(p, q)
	if err != nil {
		return account.Release{}, err
	}
	at := *q
	at.At = make(tensor.Vec, p.Model.Dim())
	return o.Describe(&at)
}

func newGradient(p *Public, _ agent.Operator) (Oracle, error) {
	g := &Gradient{
		Model:             p.Model,
		SampleRate:        p.SampleRate,
		ExpectedBatchSize: p.ExpectedBatchSize,
		ClipNorm:          p.ClipNorm,
		Adjacency:         p.Adjacency,
		Unit:              p.Unit,
		Sums:              p.Sums,
		Draws:             p.Draws,
		Augment:           p.Augment,
		Rescale:           p.Rescale,
		Count:             p.Count,
	}
	if p.SingleRecord {
		g.One = p.Records
	}
	return g, g.Validate()
}

// Bind implements Oracle.
func (g *Gradient) Bind(r Records, pool *Pool) error {
	g.Records, g.Pool = r, pool
	if g.perPerson() && r.Data != nil && r.Data.Units != nil {
		g.Sums.people = gathered(r, g.Sums.Persons.MaxRows)
	}
	return g.Validate()
}

func newFull(norm account.Norm) func(*Public, agent.Operator) (Oracle, error) {
	return func(p *Public, _ agent.Operator) (Oracle, error) {
		g := &Full{
			Model:      p.Model,
			Normaliser: p.ExpectedBatchSize,
			ClipNorm:   p.ClipNorm,
			Norm:       norm,
			Adjacency:  p.Adjacency,
			Unit:       p.Unit,
			Sums:       p.Sums,
		}
		return g, g.Validate()
	}
}

// Bind implements Oracle.
func (g *Full) Bind(r Records, pool *Pool) error {
	g.Records, g.Pool = r, pool
	return g.Validate()
}

func newOwnerGradient(p *Public, _ agent.Operator) (Oracle, error) {
	g := &OwnerGradient{Model: p.Model, ClipNorm: p.ClipNorm, Adjacency: p.Adjacency}
	return g, g.Validate()
}

// Bind implements Oracle.
func (g *OwnerGradient) Bind(r Records, pool *Pool) error {
	g.Records, g.Pool = r, pool
	return g.Validate()
}

func newValue(p *Public, _ agent.Operator) (Oracle, error) {
	v := &Value{
		ClipNorm:   p.ClipNorm,
		Normaliser: p.ExpectedBatchSize,
		Adjacency:  p.Adjacency,
		Unit:       p.Unit,
		Dim:        p.Model.Dim(),
	}
	return v, v.Validate()
}

// Bind implements Oracle.
func (v *Value) Bind(r Records, _ *Pool) error {
	v.Records = r
	return v.Validate()
}

func newFit(p *Public, op agent.Operator) (Oracle, error) {
	glm, ok := model.Linear(p.Model)
	if !ok {
		return nil, ErrNotLinear
	}
	f := &Fit{
		GLM:        glm,
		Normaliser: p.ExpectedBatchSize,
		Lambda:     op.Lambda,
		Radius:     p.FeatureNorm,
		Adjacency:  p.Adjacency,
		Unit:       p.Unit,
		Dim:        p.Model.Dim(),
	}
	return f, f.Validate()
}

// Bind implements Oracle.
func (f *Fit) Bind(r Records, _ *Pool) error {
	f.Records = r
	return f.Validate()
}

func residuals(p *Public, op agent.Operator) (*KM, error) {
	glm, ok := model.Linear(p.Model)
	if !ok {
		return nil, ErrNotLinear
	}
	return &KM{
		GLM:               glm,
		Operator:          op.Name,
		Gamma:             op.Gamma,
		L1:                op.L1,
		Residual:          cmp.Or(op.Bound, p.Residual),
		ClipNorm:          p.ClipNorm,
		SampleRate:        p.SampleRate,
		ExpectedBatchSize: p.ExpectedBatchSize,
		Adjacency:         p.Adjacency,
		Unit:              p.Unit,
		Dim:               p.Model.Dim(),
	}, nil
}

func newKM(p *Public, op agent.Operator) (Oracle, error) {
	k, err := residuals(p, op)
	if err != nil {
		return nil, err
	}
	return k, k.Validate()
}

// Bind implements Oracle.
func (k *KM) Bind(r Records, _ *Pool) error {
	k.Records = r
	return k.Validate()
}

func newStatefulResidual(p *Public, op agent.Operator) (Oracle, error) {
	k, err := residuals(p, op)
	if err != nil {
		return nil, err
	}
	s := &StatefulResidual{KM: *k, Start: p.Init, Published: p.Published, OneRecord: p.OneRecord}
	if s.Published {
		s.ClipNorm = math.Inf(1)
	}
	return s, s.Validate()
}

// Bind implements Oracle.
func (k *StatefulResidual) Bind(r Records, _ *Pool) error {
	k.Records = r
	return k.Validate()
}
