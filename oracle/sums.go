package oracle

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// Sums says how an oracle adds the gradients of records.
type Sums struct {
	Exact bool // in integers: the gate is going to ask for them
	// Uncharged accepts a model for whose sums nothing proven bounds the rounding, and
	// leaves it out of the release, which says so.
	Uncharged bool
	// MaxRecords bounds the records of a sum, those of several batches counted together;
	// Bind refuses more. 0 stands for the constant MaxRecords. What is charged grows with
	// its square, and is 2^-12 of the clip there.
	MaxRecords int
	// Moving says that an owner's list may lose or gain a record besides the one that a
	// neighbor's differs in, as lists do whose records arrive: bins are then drawn.
	Moving bool
	// Persons says what one person adds, in the unit of a person.
	Persons Persons
	people  people // of the records, in that unit

	layout  layout  // of the oracle that has these, once it is known
	clip    float64 // which charged is for
	charged float64
}

// Sums in float32 of up to inOne records are one sum. Others are cut into bins of about
// perBin records, whose sums are added in double precision: a record then moves the
// rounding of its own bin alone. Where that is large, because a model sums positions of
// records together, fewer records are one sum.
const (
	inOne, perBin           = 1024, 256
	inOneLarge, perBinLarge = 96, 32
	large                   = 1. / 64 // of a sum of perBin records
)

// MaxRecords is how many records a sum has at most where Sums does not say.
const MaxRecords = 1 << 20

// layout is how a sum is cut into bins. It follows from public constants. A record's bin
// depends on that record alone: all are in one, or it is the record's place in the
// owner's list, or it is drawn for each record by itself.
type layout struct {
	bins  int // 1; others are drawn uniformly among so many; 0: by place, chunk after chunk
	most  int // records of a bin that are summed in float32; a larger one is in double precision
	each  int // records that a model is handed at a time
	views int
	wide  float64 // bounds the rounding of all additions in double precision, over the clip
}

// layout of a sum of so many of m's gradients, expected or, where that is certain,
// exactly. By place wants lists in which nobody's place depends on others.
func newLayout(m model.Model, expected float64, certain, byPlace bool, views int, s Sums) layout {
	l := layout{bins: 1, each: chunk / views, views: views, wide: s.wide()}
	one, per := inOne, perBin
	if e := model.SumError(m, perBin, l.each, views, 1); e > large && !math.IsInf(e, 1) {
		one, per = inOneLarge, perBinLarge
	}
	if l.most = int(math.Ceil(min(expected, MaxRecords))); !certain {
		l.most = mostDrawn(min(expected, MaxRecords))
	}
	switch {
	case l.most <= one:
	case byPlace:
		if per == perBinLarge {
			l.each = max(1, per/views)
		}
		l.bins, l.most = 0, l.each
	default:
		l.bins = int(math.Ceil(min(expected, MaxRecords) / float64(per)))
		l.most = mostDrawn(min(expected, MaxRecords) / float64(l.bins))
	}
	return l
}

// sumError bounds by how much more than the shift, over the clip, one record moves a sum
// of m's clipped gradients that is cut so. docs/exact.md has the proof.
func (l layout) sumError(m model.Model, shift, clip float64) float64 {
	one := model.SumError(m, 1, 1, l.views, clip)
	bin := model.SumError(m, l.most, l.each, l.views, clip) + float64(l.most)*one
	if l.bins == 1 { // all in float32, or all in double precision
		bin = max(bin, l.wide)
	} else {
		bin += l.wide
	}
	e := (shift*one + 2*bin) * (1 + 1e-9)
	if l.most > 1 {
		e = max(e, leastCharged)
	}
	return twoBits(e)
}

// leastCharged, and two binary digits, are what charges are rounded up to, so that owners
// of about as many records have the same events.
const leastCharged = 0x1p-10

// twoBits rounds x > 0 up to 2 or 3 times a power of two.
func twoBits(x float64) float64 {
	f, e := math.Frexp(x) // [1/2, 1)
	return math.Ldexp(math.Ceil(4*f), e-2)
}

// wide bounds the rounding of all additions in double precision: each is off by at most
// 2^-53 of a sum of n clips at most.
func (s Sums) wide() float64 {
	n := float64(s.most())
	return n * n * 0x1p-53
}

func (s Sums) most() int {
	if s.MaxRecords > 0 {
		return s.MaxRecords
	}
	return MaxRecords
}

// inPlaces reports whether bins are made by place, which Moving excludes.
func (s *Sums) inPlaces(f func() layout) bool { return !s.Exact && s.laidOut(f).bins == 0 }

// laidOut is the layout, which f makes once.
func (s *Sums) laidOut(f func() layout) layout {
	if s.layout.each == 0 {
		s.layout, s.clip = f(), 0
	}
	return s.layout
}

// sumError is layout.sumError, remembered for one clip.
func (s *Sums) sumError(l layout, m model.Model, shift, clip float64) float64 {
	if s.clip != clip {
		s.clip, s.charged = clip, l.sumError(m, shift, clip)
	}
	return s.charged
}

// charge sets what rounding adds to a part, or that it is uncharged.
func (s Sums) charge(r *account.Release, sumError float64) {
	switch {
	case s.Exact:
	case s.Uncharged && math.IsInf(sumError, 1):
		r.SumsUncharged = true
	default:
		r.Parts[0].SumError = sumError
	}
}

// check refuses more records than are charged for. The error does not say how many there
// are. It forgets what was laid out for other fields of the oracle.
func (s *Sums) check(records int) error {
	s.layout = layout{}
	if s.MaxRecords < 0 || records > s.most() {
		return config.Bad("max_records", s.MaxRecords,
			"at least the number of an owner's records in one sum; 0 stands for 1048576")
	}
	return nil
}

// adder adds the clipped gradients of records at a point.
type adder struct {
	*scratch
	model model.Model
	at    tensor.Vec
	clip  float64
	// batch hands out so many records, the rows of the data set.
	batch func(rows []int32) *model.Batch
	stats func(model.Stats)
}

// add is the sum over rows, the first d coordinates of a value of n.
func (a *adder) add(dst *privacy.Value, n int, l layout, rows []int32, sample *rng.Stream) {
	d := a.model.Dim()
	if l.bins == 1 && len(rows) <= l.most {
		a.inFloats(dst.Float[:d], l, rows)
		return
	}
	wide := dst.Widen(n)[:d]
	sum := a.vector(d)
	ends := a.deal(l, rows, sample)
	lo := 0
	for _, hi := range ends {
		bin := a.dealt[lo:hi]
		if lo = hi; len(bin) <= l.most {
			sum.Zero()
			a.inFloats(sum, l, bin)
			tensor.AddWide(wide, sum)
			continue
		}
		for k := range bin { // each record's own gradient
			sum.Zero()
			a.inFloats(sum, l, bin[k:k+1])
			tensor.AddWide(wide, sum)
		}
	}
	sum.Zero()
	if a.clip > 1e20 { // only then may a sum be beyond float32
		for i, x := range wide {
			wide[i] = max(-math.MaxFloat32, min(math.MaxFloat32, x))
		}
	}
}

// inFloats adds the gradients of rows to sum in float32.
func (a *adder) inFloats(sum tensor.Vec, l layout, rows []int32) {
	for lo := 0; lo < len(rows); lo += l.each {
		b := a.batch(rows[lo:min(lo+l.each, len(rows))])
		a.stats(a.model.ClippedGradientSum(sum, a.at, b, a.clip, &a.work))
	}
	finite(sum, a.clip)
}

// deal sorts rows into bins, as scratch.dealt, and returns where each bin ends.
func (a *adder) deal(l layout, rows []int32, sample *rng.Stream) []int {
	a.dealt, a.ends = append(a.dealt[:0], rows...), a.ends[:0]
	switch {
	case l.bins == 1:
		return append(a.ends, len(rows))
	case l.bins == 0:
		for lo := 0; lo < len(rows); lo += l.each {
			a.ends = append(a.ends, min(lo+l.each, len(rows)))
		}
		return a.ends
	}
	a.ends = append(a.ends, make([]int, l.bins+1)...)
	a.bin = a.bin[:0]
	for range rows {
		b := sample.Below(uint64(l.bins))
		a.bin = append(a.bin, uint32(b))
		a.ends[b+1]++
	}
	for b := range l.bins {
		a.ends[b+1] += a.ends[b]
	}
	for k, r := range rows { // afterwards ends[b] is the end of bin b
		to := &a.ends[a.bin[k]]
		a.dealt[*to] = r
		*to++
	}
	return a.ends[:l.bins]
}

// Uncharged reports that the release which q asks for leaves the rounding of its sums
// uncharged. An error is that of the oracle's public constants.
func Uncharged(p *Public, q *agent.Query) (bool, error) {
	r, err := Describe(p, q)
	return r.SumsUncharged, err
}

// beyond bounds the probability that a bin has more records than mostDrawn, which only
// makes them slower to add.
const beyond = 1e-12

// mostDrawn is a number that a sum of independent coins with the given mean exceeds with
// a probability of at most beyond: exp(n - mean - n ln(n/mean)) bounds it (Chernoff
// 1952).
func mostDrawn(mean float64) int {
	n := math.Ceil(mean) + 1
	for n*math.Log(n/mean)-n+mean < -math.Log(beyond) {
		n++
	}
	return int(n)
}
