package bench

import (
	"fmt"
	"sync"
	"time"

	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// rate runs f again and again in each of workers goroutines for at least d and returns
// the work done per second. f returns the work of one call. A worker's last call may
// outlast d: its own time divides its own work.
func rate(workers int, d time.Duration, f func(worker int) float64) float64 {
	var wg sync.WaitGroup
	rates := make([]float64, workers)
	for w := range workers {
		wg.Go(func() {
			began, work, elapsed := time.Now(), 0., time.Duration(0)
			for elapsed < d || work == 0 {
				work += f(w)
				elapsed = time.Since(began)
			}
			rates[w] = work / elapsed.Seconds()
		})
	}
	wg.Wait()
	sum := 0.
	for _, r := range rates {
		sum += r
	}
	return sum
}

// best is the largest of several short rates: what the machine can do when nothing
// disturbs it.
func best(workers int, d time.Duration, f func(worker int) float64) (top float64) {
	for range 5 {
		top = max(top, rate(workers, d/5, f))
	}
	return top
}

// peak returns the multiply-adds of workers processors in GFLOP/s, two operations each.
func peak(workers int, d time.Duration) float64 {
	return best(workers, d, func(int) float64 { return float64(tensor.SpinFMA(5000)) }) / 1e9
}

// triad returns the memory bandwidth in GB/s of a = b + s c on vectors of 32 MB for each
// worker, 24 bytes an element (McCalpin's STREAM; what a write reads beforehand is not
// counted).
func triad(workers int, d time.Duration) float64 {
	const n = 1 << 22
	type vectors struct{ a, b, c []float64 }
	v := make([]vectors, workers)
	for w := range v {
		v[w] = vectors{make([]float64, n), make([]float64, n), make([]float64, n)}
	}
	pass := func(w int) float64 {
		a, b, c := v[w].a, v[w].b[:n], v[w].c[:n]
		for i := range a {
			a[i] = b[i] + 3*c[i]
		}
		return 24 * n
	}
	rate(workers, 0, pass) // maps the pages
	return best(workers, d, pass) / 1e9
}

// products measures the shapes that the models multiply, one core.
func products(d time.Duration) []Product {
	var out []Product
	for _, p := range []struct {
		kind    string
		mul     func(dst, a, b tensor.Mat, add bool)
		m, k, n int
	}{
		{"NN", tensor.MulNN, 256, 784, 64}, {"NN", tensor.MulNN, 256, 784, 256},
		{"TN", tensor.MulTN, 784, 256, 64}, {"TN", tensor.MulTN, 784, 256, 256},
		{"NT", tensor.MulNT, 256, 64, 784}, {"NT", tensor.MulNT, 256, 256, 784},
		{"NN", tensor.MulNN, 1024, 1024, 1024},
	} {
		a, b, dst := tensor.NewMat(p.m, p.k), tensor.NewMat(p.k, p.n), tensor.NewMat(p.m, p.n)
		switch p.kind {
		case "TN":
			a = tensor.NewMat(p.k, p.m)
		case "NT":
			b = tensor.NewMat(p.n, p.k)
		}
		top := peak(1, d/5)
		work := best(1, d, func(int) float64 {
			p.mul(dst, a, b, false)
			return 2 * float64(p.m) * float64(p.k) * float64(p.n)
		}) / 1e9
		top = max(top, peak(1, d/5))
		out = append(out, Product{fmt.Sprintf("%s %dx%dx%d", p.kind, p.m, p.k, p.n), work, work / top})
	}
	return out
}

// vectorDim is the length of the vectors that noise and mixing are measured on: the
// ConvNet's.
const vectorDim = 38_424

// noise measures both samplers as the gate uses them: value in, release out.
func noise(d time.Duration) NoiseReport {
	r := account.Release{Oracle: "grad", Adjacency: account.AddRemove, Unit: account.Record(), Scale: 1,
		Parts: []account.Part{{Name: "gradient", Clip: 1, Shift: 1, Norm: account.L2, Dim: vectorDim}}}
	cost := func(m privacy.Mechanism, v privacy.Value) float64 {
		k := rng.NewKey()
		s := rng.NewStream(&k, rng.Noise)
		return 1e9 / best(1, d, func(int) float64 {
			m.Perturb(&v, r, privacy.Charge{Noise: s})
			return vectorDim
		})
	}
	float := make(tensor.Vec, vectorDim)
	return NoiseReport{
		Normal: cost(privacy.Gaussian{NoiseMultiplier: 1}, privacy.Value{Float: float}),
		Integer: cost(privacy.DiscreteGaussian{NoiseMultiplier: 1},
			privacy.Value{Float: float, Grid: make([]int64, vectorDim), Step: privacy.GridStep(1)}),
	}
}

// mixing measures the weighted sums of all agents' vectors, in GB/s read and written.
func mixing(workers int, d time.Duration) float64 {
	weights, vectors := make([]float64, agents), make([]tensor.Vec, agents)
	for i := range vectors {
		weights[i], vectors[i] = 1./agents, make(tensor.Vec, vectorDim)
	}
	dst := make([]tensor.Vec, workers)
	for i := range dst {
		dst[i] = make(tensor.Vec, vectorDim)
	}
	own := make([][]tensor.Vec, workers) // WeightedSum may shorten its list's elements
	for i := range own {
		own[i] = append([]tensor.Vec(nil), vectors...)
	}
	return best(workers, d, func(w int) float64 {
		tensor.WeightedSum(dst[w], weights, own[w])
		return 4 * vectorDim * (agents + 1)
	}) / 1e9
}
