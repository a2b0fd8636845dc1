// Package oracle is the private side of sotto: the only code that reads an owner's
// records to answer an algorithm. An oracle says publicly what it is going to release
// (Describe) and then computes it (Evaluate) for the gate, which adds the noise. Evaluate
// is total: no data set makes it fail, and nothing it does but its value depends on the
// data.
package oracle

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/internal/parallel"
	"sotto/model"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// Pool shares scratch memory between the oracles of one process. Its content never enters
// a value. Oracles without one share that of the package.
type Pool struct{ p parallel.Free[scratch] }

// common serves oracles without a pool.
var common = NewPool()

func (p *Pool) get() *scratch {
	if p == nil || p.p.New == nil {
		p = common
	}
	return p.p.Get()
}

func (p *Pool) put(s *scratch) {
	if p == nil || p.p.New == nil {
		p = common
	}
	p.p.Put(s)
}

// scratch is what one evaluation needs.
type scratch struct {
	work  model.Workspace
	rows  []int32
	batch model.Batch // copied rows
	whole model.Batch // rows of a data set itself
	x     []float32

	columns  []int      // of one view
	gradient tensor.Vec // of one record, or the sum of a bin

	dealt []int32  // rows by bins
	bin   []uint32 // of each row
	ends  []int    // of bins
}

// NewPool returns an empty pool.
func NewPool() *Pool { return NewSplitPool(1) }

// NewSplitPool returns a pool whose memory lets networks share the chunks of one batch
// among n goroutines, without a change of bits: for few agents with large networks
// (model.Workspace.Split).
func NewSplitPool(n int) *Pool {
	return &Pool{parallel.Free[scratch]{New: func() *scratch {
		s := new(scratch)
		if n > 1 {
			s.work.Split(n)
		}
		return s
	}}}
}

// Records is one owner's part of a data set: the rows Index of Data, each of them once. A
// row that is in it twice moves a sum twice as far as is charged; Check refuses that, and
// Arrive calls it.
type Records struct {
	Data  *data.Dataset
	Index []int32
}

// Check refuses rows that the data set does not have, and rows that come twice.
func (r Records) Check() error {
	n := 0
	if r.Data != nil {
		n = r.Data.Len()
	}
	last, ascending := int32(-1), true
	for _, row := range r.Index {
		if row < 0 || int(row) >= n {
			return config.Bad("records", fmt.Sprintf("row %d", row),
				fmt.Sprintf("rows of a data set of %d", n))
		}
		ascending, last = ascending && row > last, row
	}
	if ascending {
		return nil
	}
	seen := make(map[int32]bool, len(r.Index))
	for _, row := range r.Index {
		if seen[row] {
			return config.Bad("records", fmt.Sprintf("row %d twice", row),
				"each row once: it is charged as often as it is read")
		}
		seen[row] = true
	}
	return nil
}

// BatchOf is a whole data set as a batch; nothing is copied.
func BatchOf(d *data.Dataset) *model.Batch {
	return &model.Batch{X: d.X, Labels: d.Labels, Targets: d.Targets}
}

// chunk is the number of rows that are gathered at a time, a multiple of the model's own
// chunk; with views, as many whole records as fit. Poisson batches of 256 expected
// records have no more in all but one of 20,000 rounds, and then need the model only
// once.
const chunk = 320

// gather copies rows of the data set, or views of them, into the scratch batch. Rows that
// follow one another, as those of a full batch of an owner's own file do, stay where they
// are: who gets the batch only reads.
func (s *scratch) gather(d *data.Dataset, rows []int32, a *Augmentation, sample *rng.Stream) *model.Batch {
	cols, views := d.X.Cols, a.views()
	if !a.changes() && views == 1 && neighbors(rows) {
		return s.inPlace(d, int(rows[0]), int(rows[0])+len(rows))
	}
	if cap(s.x) < chunk*cols {
		s.x = make([]float32, chunk*cols)
	}
	b := &s.batch
	count := len(rows) * views
	b.X.Rows, b.X.Cols, b.X.Stride, b.X.Data = count, cols, cols, s.x[:count*cols]
	b.Labels, b.Targets, b.Views = b.Labels[:0], b.Targets[:0], views
	if a.changes() && len(s.columns) < d.Shape[1] {
		s.columns = make([]int, d.Shape[1])
	}
	if !a.changes() {
		tensor.Gather(b.X, d.X, rows)
	}
	for i := range count {
		r := rows[i/views]
		if a.changes() {
			a.view(b.X.Row(i), d.X.Row(int(r)), d.Shape, sample, s.columns)
		}
		if d.Labels != nil {
			b.Labels = append(b.Labels, d.Labels[r])
		} else {
			b.Targets = append(b.Targets, d.Targets[r])
		}
	}
	return b
}

// neighbors reports whether each row is the one after the row before it.
func neighbors(rows []int32) bool {
	for i, r := range rows {
		if r != rows[0]+int32(i) {
			return false
		}
	}
	return len(rows) > 0
}

// inPlace is the batch of rows lo to hi of the data set itself.
func (s *scratch) inPlace(d *data.Dataset, lo, hi int) *model.Batch {
	b := &s.whole
	b.X, b.Labels, b.Targets, b.Views = d.X.Slice(lo, hi), nil, nil, 1
	if d.Labels != nil {
		b.Labels = d.Labels[lo:hi:hi]
	} else {
		b.Targets = d.Targets[lo:hi:hi]
	}
	return b
}

// vector is scratch memory of n values, whatever they are.
func (s *scratch) vector(n int) tensor.Vec {
	if cap(s.gradient) < n {
		s.gradient = make(tensor.Vec, n)
	}
	return s.gradient[:n]
}

// clipNorm is the query's own public clip, or that of the run.
func clipNorm(q *agent.Query, run float64) float64 {
	if q.Clip > 0 {
		return q.Clip
	}
	return run
}

// fullBatch is a release of one vector that reads all of an owner's records.
func fullBatch(oracle string, a account.Adjacency, u account.Unit, p account.Part, scale float64,
) account.Release {
	return account.Release{
		Oracle:    oracle,
		Adjacency: a,
		Unit:      u,
		Sampler:   account.Sampler{Kind: account.FullBatch},
		Parts:     []account.Part{p},
		Scale:     scale,
	}
}

// seen refuses fields that are not those of the release that Validate has described: what
// is evaluated follows them.
func seen(r *account.Release, clip, scale float64, n account.Norm, a account.Adjacency,
	u account.Unit) error {
	if len(r.Parts) == 1 && r.Adjacency == a && r.Unit == u && r.Scale == scale {
		if p := &r.Parts[0]; p.Clip == clip && p.Shift == shift(a) && p.Norm == n {
			return nil
		}
	}
	return errUnseen
}

var errUnseen = config.Bad("oracle", "fields that Validate has not seen",
	"those of the last Validate or Bind")

// shift is the sensitivity of a clipped sum over the clip (Opacus' convention is that of
// add-remove).
func shift(a account.Adjacency) float64 {
	if a == account.ReplaceOne {
		return 2
	}
	return 1
}

func checkRate(q float64) error {
	if !(q > 0 && q <= 1) {
		return config.Bad("sample_rate", q, "above 0 and at most 1")
	}
	return nil
}

func checkClip(c float64) error {
	if !(c > 0) {
		return config.Bad("max_grad_norm", c, "above 0")
	}
	return nil
}

func checkModel(m model.Model) error {
	if m == nil {
		return config.Bad("model", "none", "one: an answer has the length of its parameters")
	}
	return nil
}

func checkPoint(q *agent.Query, dim int) error {
	if len(q.At) != dim {
		return config.Bad("point", len(q.At), "as many values as the model has parameters")
	}
	return nil
}

func checkPositive(key string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return config.Bad(key, x, "above 0 and finite")
	}
	return nil
}
