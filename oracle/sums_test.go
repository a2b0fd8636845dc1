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
	"sotto/rng"
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

// In float32 one sum of many clipped gradients moves by several clips when one record is
// added, which a bound of the rounding of one sum covers. What an oracle releases is
// summed in bins and moves by no more than it charges, about one clip.
func TestSumsMoveWithinWhatIsCharged(t *testing.T) {
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
		plain := func(from int) float64 {
			sum := tensor.Vec{0}
			var w model.Workspace
			for lo := from; lo <= records; lo += 320 {
				hi := min(lo+320, records+1)
				x := tensor.Mat{Rows: hi - lo, Cols: 1, Stride: 1, Data: d.X.Data[lo:hi]}
				m.ClippedGradientSum(sum, query.At, &model.Batch{X: x, Targets: d.Targets[lo:hi]}, 1, &w)
			}
			return float64(sum[0])
		}
		moved, bound := math.Abs(plain(0)-plain(1)), 1+2*model.SumError(m, records+1, 320, 1, 1)
		t.Logf("%d records in one sum: moves by %.4g clips, bound %.4g", records, moved, bound)
		if !(moved > 2) || moved > bound {
			t.Errorf("%d records in one sum: it moves by %g clips, bound %g", records, moved, bound)
		}
		for _, adjacency := range []account.Adjacency{account.AddRemove, account.ZeroOut} {
			f := &oracle.Full{Model: m, Normaliser: float64(records), ClipNorm: 1, Norm: account.L2,
				Adjacency: adjacency, Unit: account.Record(), Pool: oracle.NewPool(),
				Records: oracle.Records{Data: d}}
			if err := f.Validate(); err != nil {
				t.Fatal(err)
			}
			value := func(from int) (sum, grid float64) {
				f.Records.Index = f.Records.Index[:0]
				for r := from; r <= records; r++ {
					f.Records.Index = append(f.Records.Index, int32(r))
				}
				v := privacy.Value{Float: tensor.Vec{0}}
				sample := rng.Public(1, "bins")
				if from > 0 { // the draw of the record that is gone
					sample.Uint64()
				}
				f.Evaluate(&v, &query, sample)
				if len(v.Wide) == 0 {
					t.Fatalf("%d records are one sum", records)
				}
				steps := []int64{0}
				f.EvaluateGrid(steps, &query, nil)
				return v.Wide[0], float64(steps[0]) * privacy.GridStep(1)
			}
			with, exactWith := value(0)
			without, exactWithout := value(1)
			r, err := f.Describe(&query)
			if err != nil {
				t.Fatal(err)
			}
			moved, exact := math.Abs(with-without), math.Abs(exactWith-exactWithout)
			charged := r.Parts[0].Movement()
			t.Logf("%d records, %v: moves by %.7f clips, charged %.7f; integers move by %.4g", records,
				adjacency, moved, charged, exact)
			if !(moved <= charged) || charged > 1.01 || r.SumsUncharged {
				t.Errorf("%d records: the sum moves by %g clips, charged are %g", records, moved, charged)
			}
			if exact > 1 {
				t.Errorf("%d records: the sum of integers moves by %g clips", records, exact)
			}
		}
	}
}

// Releases carry the rounding of their sums; integers have none. Only where it is asked
// for is a model taken whose sums have no bound, and the release says so. An owner with
// more records than are charged for is refused.
func TestSumErrorOfOracles(t *testing.T) {
	m, err := model.New("logistic", model.Shape{Height: 1, Width: 3, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"grad", oracle.FullName, oracle.FullL1Name} {
		public := oracle.Public{Model: m, SampleRate: .1, ExpectedBatchSize: 100, ClipNorm: 1,
			Adjacency: account.AddRemove, Unit: account.Record(), Sums: oracle.Sums{MaxRecords: 1000}}
		query := &agent.Query{Oracle: name}
		for _, c := range []struct {
			model            model.Model
			exact, uncharged bool
			error, refused   bool
		}{
			{m, false, false, true, false}, {m, true, false, false, false}, {m, false, true, true, false},
			{foreign{m}, false, false, true, true}, {foreign{m}, false, true, false, false},
		} {
			public.Model, public.Sums.Exact, public.Sums.Uncharged = c.model, c.exact, c.uncharged
			_, unbounded := c.model.(foreign)
			if c.exact || unbounded && name == oracle.FullL1Name {
				continue // in L1 every model is summed in double precision
			}
			r, err := oracle.Describe(&public, query)
			if err != nil {
				t.Fatal(err)
			}
			e := r.Parts[0].SumError
			if (e > 0) != c.error || math.IsInf(e, 1) != c.refused || !c.refused && e > .01 ||
				r.SumsUncharged != (unbounded && c.uncharged) {
				t.Errorf("%s, %+v: %+v", name, c, r)
			}
			left, err := oracle.Uncharged(&public, query)
			if err != nil || left != r.SumsUncharged {
				t.Errorf("%s, %+v: uncharged %v: %v", name, c, left, err)
			}
		}
		public.Model, public.Sums.Exact = m, false
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

// foreign is a model from elsewhere: nothing is known of its sums.
type foreign struct{ model.Model }
