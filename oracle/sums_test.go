package oracle_test

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
)

// rounder is a data set of 1 + records for one feature and least squares at 0, where a
// record's gradient is -2y: each is a multiple of 2^-19 and at most 1. Chunks of 32 from
// the second record on sum to half an ulp of the running sum's last binade and 2^-19
// more, chunks from the first record on to half an ulp and 2^-19 less, because the last
// gradient of a chunk rises by 2^-18 from chunk to chunk, and its first one falls by as
// much. With the first record every addition of the last binade therefore rounds down,
// without it up.
func rounder(records int) *data.Dataset {
	const grid, mean = 1 << 19, .92 // steps of a unit; of all gradients
	ulp := math.Exp2(math.Floor(math.Log2(mean*float64(records))) - 23)
	half := int(ulp / 2 * grid)
	want := (int(math.Round(mean*32*grid))/half|1)*half + 1 // of a chunk, in steps of the grid
	d := &data.Dataset{X: tensor.NewMat(records+1, 1), Targets: make([]float32, records+1),
		Shape: [3]int{1, 1, 1}}
	put := func(record, steps int) {
		d.X.Data[record], d.Targets[record] = 1, float32(-float64(steps)/grid/2)
	}
	middle := want / 32
	put(0, middle)
	for j := range records / 32 {
		last := middle + 2*j - records/32
		put(1+32*j, want-30*middle-last)
		for k := range 30 {
			put(2+32*j+k, middle)
		}
		put(32+32*j, last)
	}
	return d
}

// In float32 the sum of many clipped gradients moves by several clips when one record is
// added; what is charged for it covers that. The same sums in integers move by one.
func TestFloatSumsMoveWithinWhatIsCharged(t *testing.T) {
	sizes := []int{64_000}
	if !testing.Short() {
		sizes = append(sizes, 1_000_000)
	}
	for _, records := range sizes {
		d := rounder(records)
		m, err := model.New("least-squares", model.Shape{Height: 1, Width: 1, Channels: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		query := agent.Query{At: tensor.Vec{0}}
		value := func(from int) (sum, grid float64) {
			f := &oracle.Full{Model: m, Normaliser: float64(records), ClipNorm: 1, Norm: account.L2,
				Adjacency: account.AddRemove, Unit: account.Record(), Pool: oracle.NewPool(),
				Sums: oracle.Sums{MaxRecords: records + 1}, Records: oracle.Records{Data: d}}
			for r := from; r <= records; r++ {
				f.Records.Index = append(f.Records.Index, int32(r))
			}
			v := privacy.Value{Float: tensor.Vec{0}}
			f.Evaluate(&v, &query, nil)
			steps := []int64{0}
			f.EvaluateGrid(steps, &query, nil)
			return float64(v.Float[0]), float64(steps[0]) * privacy.GridStep(1)
		}
		with, exactWith := value(0)
		without, exactWithout := value(1)
		f := &oracle.Full{Model: m, Normaliser: 1, ClipNorm: 1, Norm: account.L2,
			Adjacency: account.AddRemove, Unit: account.Record(), Sums: oracle.Sums{MaxRecords: records + 1}}
		if err := f.Validate(); err != nil {
			t.Fatal(err)
		}
		r, err := f.Describe(&query)
		if err != nil {
			t.Fatal(err)
		}
		moved, exact := math.Abs(with-without), math.Abs(exactWith-exactWithout)
		charged := r.Parts[0].Movement()
		t.Logf("%d records: moves by %.4g clips, charged %.4g; integers move by %.4g", records, moved,
			charged, exact)
		if !(moved > 2) {
			t.Errorf("%d records: the sum moves by %g clips only: the construction no longer shows the error",
				records, moved)
		}
		if moved > charged || r.SumsUncharged {
			t.Errorf("%d records: the sum moves by %g clips, charged are %g", records, moved, charged)
		}
		if exact > 1 {
			t.Errorf("%d records: the sum of integers moves by %g clips", records, exact)
		}
	}
}

// With max_records releases carry the rounding of their sums; without it they say that
// nothing does. Integers have none, and an owner with more records is refused.
func TestSumErrorOfOracles(t *testing.T) {
	m, err := model.New("logistic", model.Shape{Height: 1, Width: 3, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"grad", oracle.FullName, oracle.FullL1Name} {
		public := oracle.Public{Model: m, SampleRate: .1, ExpectedBatchSize: 100, ClipNorm: 1,
			Adjacency: account.AddRemove, Unit: account.Record()}
		query := &agent.Query{Oracle: name}
		for _, c := range []struct {
			exact, charged bool
		}{{false, false}, {false, true}, {true, false}, {true, true}} {
			if public.Sums.Exact, public.Sums.MaxRecords = c.exact, 0; c.charged {
				public.Sums.MaxRecords = 1000
			}
			r, err := oracle.Describe(&public, query)
			if err != nil {
				t.Fatal(err)
			}
			e := r.Parts[0].SumError
			if r.SumsUncharged != (!c.exact && !c.charged) || (e > 0) != (!c.exact && c.charged) || e > .2 {
				t.Errorf("%s, %+v: %+v", name, c, r)
			}
			u, err := oracle.Uncharged(&public, query)
			if err != nil || (u.SumError > 0) != (!c.exact && !c.charged) {
				t.Errorf("%s, %+v: %+v: %v", name, c, u, err)
			}
			if u.SumError > 0 && (u.Drawn != (name == "grad") || !u.Drawn && u.Records != 100) {
				t.Errorf("%s: %+v", name, u)
			}
		}
		public.Sums.Exact = false
		o, err := oracle.New(&public, query)
		if err != nil {
			t.Fatal(err)
		}
		d := &data.Dataset{X: tensor.NewMat(1001, 3), Labels: make([]int32, 1001), Shape: [3]int{1, 1, 3}}
		all := oracle.Records{Data: d, Index: make([]int32, 1001)}
		var bad *config.Error
		if err := o.Bind(all, oracle.NewPool()); !errors.As(err, &bad) || bad.Key != "max_records" {
			t.Errorf("%s with 1001 records: %v", name, err)
		}
		all.Index = all.Index[:1000]
		if err := o.Bind(all, oracle.NewPool()); err != nil {
			t.Errorf("%s with 1000 records: %v", name, err)
		}
	}
}

// Poisson batches have more records than are counted with in less than one of 10^12: the
// exact tail of the binomial law, summed from its logarithms.
func TestRoundingCountsLargeBatches(t *testing.T) {
	m, err := model.New("logistic", model.Shape{Height: 1, Width: 3, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n    int
		rate float64
	}{{50, .1}, {1000, .001}, {1000, .25}, {60_000, 256. / 60_000}, {100, .99}} {
		public := oracle.Public{Model: m, SampleRate: c.rate, ExpectedBatchSize: c.rate * float64(c.n),
			ClipNorm: 1, Adjacency: account.AddRemove, Unit: account.Record()}
		u, err := oracle.Uncharged(&public, &agent.Query{Oracle: "grad"})
		if err != nil {
			t.Fatal(err)
		}
		tail, n := 0., float64(c.n)
		for k := u.Records + 1; k <= c.n; k++ {
			all, _ := math.Lgamma(n + 1)
			in, _ := math.Lgamma(float64(k) + 1)
			out, _ := math.Lgamma(n - float64(k) + 1)
			log := float64(k)*math.Log(c.rate) + (n-float64(k))*math.Log1p(-c.rate)
			tail += math.Exp(all - in - out + log)
		}
		mean := public.ExpectedBatchSize
		if !(tail <= oracle.Beyond) || float64(u.Records) > mean+60+10*math.Sqrt(mean) {
			t.Errorf("%+v: more than %d records with probability %g", c, u.Records, tail)
		}
	}
}
