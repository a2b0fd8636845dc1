package bench

import (
	"runtime"
	"slices"
	"time"

	"sotto/agent"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// owner is one agent: its records, its gate and what its steps write to.
type owner struct {
	query   agent.Query
	answer  tensor.Vec
	gate    *privacy.Gate
	samples int // that the gate's model has seen

	index []int32
	at    int // next record of the non-private step
}

// counted counts the samples of an owner's steps: a Poisson batch has no fixed size.
type counted struct {
	model.Model
	samples *int
}

func (c counted) ClippedGradientSum(dst, theta tensor.Vec, b *model.Batch, clip float64,
	w *model.Workspace) model.Stats {
	*c.samples += b.Len()
	return c.Model.ClippedGradientSum(dst, theta, b, clip, w)
}

func (c counted) ClippedGradientGrid(dst []int64, theta tensor.Vec, b *model.Batch, clip, step float64,
	w *model.Workspace) model.Stats {
	*c.samples += b.Len()
	return c.Model.(model.GridModel).ClippedGradientGrid(dst, theta, b, clip, step, w)
}

// workload is one model with the records of all agents.
type workload struct {
	model model.Model
	data  *data.Dataset
	pool  *oracle.Pool
	theta tensor.Vec
	parts [][]int32
}

// An agent holds eight batches of records, fewer but at least two where all agents' would
// take more than dataBytes.
const (
	recordsEach = 8 * batchSize
	dataBytes   = 64 << 20
)

func (c *Case) workload() (*workload, error) {
	m, err := c.build()
	if err != nil {
		return nil, err
	}
	features := c.Shape.Features()
	records := min(max(dataBytes/(4*features)/agents, 2*batchSize), recordsEach)
	d := &data.Dataset{Name: "noise", X: tensor.NewMat(agents*records, features), Classes: c.Shape.Classes,
		Shape: [3]int{c.Shape.Height, c.Shape.Width, c.Shape.Channels}, Labels: make([]int32, agents*records)}
	r := rng.Public(1, "bench data")
	for i := range d.X.Data {
		d.X.Data[i] = float32(int32(r.Uint64())) / (1 << 31)
	}
	l := &workload{
		model: m,
		data:  d,
		pool:  oracle.NewPool(),
		theta: make(tensor.Vec, m.Dim()),
		parts: make([][]int32, agents),
	}
	for i := range d.Labels {
		d.Labels[i] = int32(r.Below(uint64(c.Shape.Classes)))
	}
	m.Init(l.theta, r)
	for i := range l.parts {
		for k := range records { // in random order, so that a batch is gathered from anywhere
			l.parts[i] = append(l.parts[i], int32(i*records+k))
			j := int(r.Below(uint64(k + 1)))
			l.parts[i][k], l.parts[i][j] = l.parts[i][j], l.parts[i][k]
		}
	}
	return l, nil
}

// owners returns a queue of count agents whose gates use the mechanism; none for steps
// without one.
func (l *workload) owners(count int, m privacy.Mechanism, integers bool) chan *owner {
	q := make(chan *owner, count)
	for i := range count {
		o := &owner{answer: make(tensor.Vec, l.model.Dim()), index: l.parts[i],
			query: agent.Query{Oracle: "grad", At: l.theta}}
		if m != nil {
			grad := &oracle.Gradient{
				Model:             counted{l.model, &o.samples},
				Records:           oracle.Records{Data: l.data, Index: o.index},
				SampleRate:        batchSize / float64(len(o.index)),
				ExpectedBatchSize: batchSize,
				ClipNorm:          1,
				Adjacency:         account.AddRemove,
				Unit:              account.Record(),
				Pool:              l.pool,
				Sums:              oracle.Sums{Exact: integers, Uncharged: true}, // counted hides the model
			}
			o.gate = privacy.NewGate(ledger.NewMemory(nil), m, map[string]privacy.Oracle{"grad": grad})
		}
		q <- o
	}
	return q
}

// private answers one query through the gate of the next free agent and returns its
// samples.
func private(q chan *owner) float64 {
	o := <-q
	before := o.samples
	if err := o.gate.Answer(&o.query, o.answer); err != nil {
		panic(err) // a fixed query, without a budget
	}
	n := o.samples - before
	q <- o
	return float64(n)
}

// plain is the non-private step of the next free agent: gather a batch, sum its
// gradients, scale the sum.
type plain struct {
	work  model.Workspace
	batch model.Batch
}

func (p *plain) step(l *workload, q chan *owner) float64 {
	o := <-q
	b, cols := &p.batch, l.data.X.Cols
	if b.X.Rows == 0 {
		b.X, b.Labels = tensor.NewMat(batchSize, cols), make([]int32, batchSize)
	}
	if o.at+batchSize > len(o.index) {
		o.at = 0
	}
	rows := o.index[o.at : o.at+batchSize]
	o.at += batchSize
	tensor.Gather(b.X, l.data.X, rows)
	for i, r := range rows {
		b.Labels[i] = l.data.Labels[r]
	}
	o.answer.Zero()
	l.model.(model.Plain).GradientSum(o.answer, l.theta, b, &p.work)
	o.answer.Scale(1./batchSize, o.answer)
	q <- o
	return batchSize
}

type measured struct {
	ModelReport
	peak float64
}

// measure takes private, non-private and integer slots in turn.
func (c *Case) measure(o Options, top float64) (*measured, error) {
	l, err := c.workload()
	if err != nil {
		return nil, err
	}
	r := &measured{ModelReport: ModelReport{Name: c.Name, Parameters: l.model.Dim(),
		DataMB: float64(4*len(l.data.X.Data)) / 1e6}}
	if o.Explain {
		r.Layers = model.Explain(l.model)
	}
	before := live()
	noisy := l.owners(agents, privacy.Gaussian{NoiseMultiplier: 1}, false)
	slot := time.Duration(o.Seconds / (3 * turns) * float64(time.Second))
	step := func(int) float64 { return private(noisy) }
	began := time.Now()
	rate(o.Workers, slot, step)
	slow := time.Since(began) > 5*slot
	r.MemoryMB = float64(live()-before) / 1e6

	free := l.owners(agents, nil, false)
	loops := make([]plain, o.Workers)
	unprotected := func(w int) float64 { return loops[w].step(l, free) }
	if !slow {
		rate(o.Workers, slot, unprotected)
	}
	var privates, plains, prices []float64
	for turn := range turns {
		if slow && turn == 3 {
			break
		}
		var a, b float64
		if turn%2 == 0 {
			a = rate(o.Workers, slot, step)
			b = rate(o.Workers, slot, unprotected)
		} else {
			b = rate(o.Workers, slot, unprotected)
			a = rate(o.Workers, slot, step)
		}
		privates, plains, prices = append(privates, a), append(plains, b), append(prices, b/a)
		top = max(top, peak(o.Workers, slot/5))
	}
	r.Private, r.Plain, r.Price = median(privates), median(plains), median(prices)
	r.PriceMin, r.PriceMax = slices.Min(prices), slices.Max(prices)
	r.peak = top
	work := 0. // operations of one sample
	for _, x := range model.Explain(l.model) {
		work += 2 * (x.MACs + x.GradientMACs)
	}
	r.Share, r.PlainShare = work*r.Private/(top*1e9), work*r.Plain/(top*1e9)
	if _, ok := l.model.(model.GridModel); ok {
		r.Integer = l.integer(o.Workers, slot, slow)
		r.IntegerPrice = r.Plain / r.Integer
	}
	return r, nil
}

// integer measures the integer path, with as many agents as workers: their integers take
// twice the memory.
func (l *workload) integer(workers int, slot time.Duration, slow bool) float64 {
	q := l.owners(min(agents, workers), privacy.DiscreteGaussian{NoiseMultiplier: 1}, true)
	step := func(int) float64 { return private(q) }
	first := rate(workers, slot, step)
	if slow {
		return first
	}
	var rates []float64
	for range turns {
		rates = append(rates, rate(workers, slot, step))
	}
	return median(rates)
}

// live returns the bytes of live objects.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
