package oracle

import (
	"cmp"

	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ privacy.GridOracle = (*Gradient)(nil)

// Gradient is the oracle "grad": over a Poisson batch of the owner's records, the sum of
// per-record gradients of the loss at the query's point, each scaled to L2 norm at most
// ClipNorm; with Augment, of means over the record's views; in the unit of a person, of
// the mean or sum over a person's records (Sums.Persons), with "record" read as "person".
// The gate adds noise to the sum and divides by ExpectedBatchSize (Abadi et al. 2016 with
// a public normaliser).
//
// SampleRate and ExpectedBatchSize are public constants. Under add-remove adjacency the
// number of records is private, so neither may be derived from it; the drawn batch size
// never enters.
type Gradient struct {
	Model             model.Model
	Records           Records
	SampleRate        float64 // q in (0, 1]: each record is drawn independently
	ExpectedBatchSize float64 // L > 0, finite
	ClipNorm          float64 // C > 0; +Inf switches clipping off, for runs that are not private
	Adjacency         account.Adjacency
	Unit              account.Unit
	Pool              *Pool
	Sums              Sums
	Draws             int // Poisson batches under one noise draw, at most 65,536; 0 means 1
	// One > 0 makes the batch one record, drawn uniformly from a number of records that
	// is public and must be One; SampleRate is not used. Under add-remove no event covers
	// that.
	One     int
	Augment Augmentation
	// Rescale releases gradients that a query's own clip C bounds times ClipNorm/C, and
	// multiplies the answer by C/ClipNorm: the noise is that of clip C, and all releases
	// of a run are one event, whatever the clips.
	Rescale bool
	// Count releases beside the gradient, from the same batch and as part "count", the
	// number of drawn records whose gradient is within the clip less half of all drawn;
	// one record moves it by 1/2 (Andrew, Thakkar, McMahan, Ramaswamy 2021). The answer
	// has one value more, times the release's Scale as the others.
	Count bool
}

// CountPart is the name of the part that Count adds.
const CountPart = "count"

// Validate names the first field that cannot be used. It looks at the shape and number of
// the records, not at the records.
func (g *Gradient) Validate() error {
	if err := checkRate(g.SampleRate); err != nil {
		return err
	}
	if err := checkPositive("batch_size", g.ExpectedBatchSize); err != nil {
		return err
	}
	if err := cmp.Or(checkModel(g.Model), checkClip(g.ClipNorm)); err != nil {
		return err
	}
	if _, ok := g.Model.(model.GridModel); g.Sums.Exact && !ok {
		return config.Bad("noise", "exact", "fast: this model has no exact integer gradients")
	}
	if g.Draws < 0 {
		return config.Bad("microbatches", g.Draws, "at least 0")
	}
	if g.One < 0 || g.One > 0 && g.Records.Data != nil && g.One != len(g.Records.Index) {
		return config.Bad("one", g.One, "0, or the number of records")
	}
	if d := g.Records.Data; d != nil {
		if err := g.Augment.Validate(d.Shape, g.Model); err != nil {
			return err
		}
	}
	if g.Unit != account.Record() && !g.perPerson() {
		return config.Bad("unit", g.Unit,
			"record or person: clipping bounds the contribution of one of them")
	}
	if err := g.validatePersons(); err != nil {
		return err
	}
	return g.Sums.check(g.count() * max(1, g.Draws))
}

// Describe states the release. A query's own public clip takes the place of ClipNorm.
func (g *Gradient) Describe(q *agent.Query) (account.Release, error) {
	if err := checkPoint(q, g.Model.Dim()); err != nil {
		return account.Release{}, err
	}
	clip, scale := clipNorm(q, g.ClipNorm), 1/g.ExpectedBatchSize
	if g.Rescale {
		clip, scale = g.ClipNorm, scale*(clip/g.ClipNorm)
	}
	parts := []account.Part{{
		Name: "gradient", Clip: clip, Shift: shift(g.Adjacency), Norm: account.L2, Dim: g.Model.Dim(),
	}}
	if g.Count {
		parts = append(parts, account.Part{
			Name:  CountPart,
			Clip:  .5,
			Shift: shift(g.Adjacency),
			Norm:  account.L2,
			Dim:   1,
		})
	}
	r := account.Release{
		Oracle:    "grad",
		Adjacency: g.Adjacency,
		Unit:      g.Unit,
		Sampler:   g.sampler(),
		Parts:     parts,
		Scale:     scale,
		Draws:     g.Draws,
	}
	if !g.Sums.Exact {
		g.Sums.charge(&r, g.SumError(clipNorm(q, g.ClipNorm)))
	}
	return r, nil
}

// layout is how the sum is cut.
func (g *Gradient) layout() layout { return g.Sums.laidOut(g.cut) }

func (g *Gradient) cut() layout {
	if g.One > 0 {
		return newLayout(g.Model, 1, true, true, g.Augment.views(), Sums{MaxRecords: 1})
	}
	all := g.SampleRate == 1 && g.Draws <= 1 && g.Adjacency != account.AddRemove
	return newLayout(g.Model, g.ExpectedBatchSize, all, all && !g.Sums.Moving, g.Augment.views(), g.Sums)
}

func (g *Gradient) inPlaces() bool { return g.Sums.inPlaces(g.cut) }

// SumError bounds by how much more than the clip, over it, rounding lets one record move
// the sum.
func (g *Gradient) SumError(clip float64) float64 {
	if g.perPerson() {
		return g.personSumError()
	}
	l := g.layout()
	e := g.Sums.sumError(l, g.Model, shift(g.Adjacency), clip)
	if g.Rescale { // a sum in float32 is rounded once more
		e += 0x1p-23 * (float64(l.most) + e) * (1 + 1e-9)
	}
	return e
}

func (g *Gradient) sampler() account.Sampler {
	if g.One > 0 {
		return account.Sampler{Kind: account.FixedSize, Population: g.One, BatchSize: 1}
	}
	return account.Sampler{Kind: account.Poisson, SampleRate: g.SampleRate}
}

// Evaluate draws the batch, one Bernoulli variable for each record, and adds the clipped
// gradients.
func (g *Gradient) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	d, n := g.Model.Dim(), g.Model.Dim()
	if g.Count {
		n++
	}
	var halves int
	clip := clipNorm(q, g.ClipNorm)
	if g.perPerson() {
		halves = g.addPersons(dst, n, q, sample)
	} else {
		halves = g.addRecords(dst, n, q, sample)
	}
	if g.Rescale && clip != g.ClipNorm {
		dst.Float[:d].Scale(g.ClipNorm/clip, dst.Float[:d])
		for i := range dst.Wide[:min(d, len(dst.Wide))] {
			dst.Wide[i] *= g.ClipNorm / clip
		}
	}
	if !g.Count {
		return
	}
	if len(dst.Wide) > 0 {
		dst.Wide[d] += float64(halves) / 2
	} else {
		dst.Float[d] += float32(halves) / 2
	}
}

// addRecords is Evaluate over records, and returns what within is of the batch.
func (g *Gradient) addRecords(dst *privacy.Value, n int, q *agent.Query, sample *rng.Stream) (halves int) {
	s := g.Pool.get()
	defer g.Pool.put(s)
	s.draw(g, sample)
	a := adder{scratch: s, model: g.Model, at: q.At, clip: clipNorm(q, g.ClipNorm),
		batch: func(rows []int32) *model.Batch { return s.gather(g.Records.Data, rows, &g.Augment, sample) },
		stats: func(t model.Stats) { halves += within(t) }}
	a.add(dst, n, g.layout(), s.rows, sample)
	return halves
}

// within is the number of a batch's records within the clip less that of the others. What
// has no finite gradient is not within it.
func within(s model.Stats) int { return s.Samples - 2*(s.Clipped+s.NonFinite) }

// EvaluateGrid is Evaluate in exact integers: each clipped gradient is truncated to the
// grid on its own (privacy.GridOracle). A model without that path contributes nothing, as
// an owner without records does; Validate refuses it beforehand where it is needed. Steps
// are relative to the clip, so that Rescale changes none of them.
func (g *Gradient) EvaluateGrid(dst []int64, q *agent.Query, sample *rng.Stream) {
	m, ok := g.Model.(model.GridModel)
	if !ok {
		return
	}
	d := g.Model.Dim()
	clip, halves := clipNorm(q, g.ClipNorm), 0
	if g.perPerson() {
		halves = g.addPersonsOnGrid(dst[:d], q, privacy.GridStep(clip), sample)
	} else {
		g.batches(sample, func(b *model.Batch, w *model.Workspace) {
			halves += within(m.ClippedGradientGrid(dst[:d], q.At, b, clip, privacy.GridStep(clip), w))
		})
	}
	if g.Count {
		dst[d] += int64(halves) * int64(.5/privacy.GridStep(.5))
	}
}

// batches draws the batch, or several that become one, and hands it out in chunks.
func (g *Gradient) batches(sample *rng.Stream, f func(b *model.Batch, w *model.Workspace)) {
	s := g.Pool.get()
	defer g.Pool.put(s)
	s.draw(g, sample)
	size := chunk / g.Augment.views()
	for lo := 0; lo < len(s.rows); lo += size {
		f(s.gather(g.Records.Data, s.rows[lo:min(lo+size, len(s.rows))], &g.Augment, sample), &s.work)
	}
}

// draw draws the rows of the batch.
func (s *scratch) draw(g *Gradient, sample *rng.Stream) {
	s.rows = s.rows[:0]
	if g.One > 0 {
		s.rows = append(s.rows, g.Records.Index[sample.Below(uint64(g.One))])
		return
	}
	for range max(1, g.Draws) {
		s.rows = poisson(s.rows, g.Records.Index, g.SampleRate, sample)
	}
}

// poisson appends the records that a Poisson sample of the given rate keeps.
func poisson(rows, index []int32, rate float64, sample *rng.Stream) []int32 {
	t, all := rng.Threshold(rate)
	if all {
		return append(rows, index...)
	}
	return sample.Select(rows, index, t)
}
