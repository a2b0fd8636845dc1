// Package bench measures the engine on the machine it runs on: what the processor and its
// memory can do, what the engine makes of them, and what privacy costs. Everything that
// is compared is measured in one run, in turn, so that ratios hold where absolute figures
// do not.
package bench

import (
	"runtime"
	"time"

	"sotto/config"
	"sotto/internal/parallel"
	"sotto/model"
	"sotto/tensor"
)

// Options says what to measure. Zero values are the defaults.
type Options struct {
	Models []string // names of Cases; none: all that this program can build
	// for each model, and a third of it for each other figure; default 2. A step that
	// takes longer is finished
	Seconds float64
	Workers int  // default one for each processor
	Explain bool // list the layers of each model
}

// Report is what was measured. Rates are medians, shares are over the peak of the same
// run.
type Report struct {
	Kernels string  `json:"kernels"`
	Workers int     `json:"workers"`
	Seconds float64 `json:"seconds"`
	// multiply-adds on registers, all workers, two operations each
	PeakGFLOPS      float64       `json:"peak_gflops"`
	PeakGFLOPSOne   float64       `json:"peak_gflops_one_core"`
	BandwidthGBs    float64       `json:"bandwidth_gbs"` // triad, all workers
	BandwidthGBsOne float64       `json:"bandwidth_gbs_one_core"`
	Products        []Product     `json:"gemm"`
	Models          []ModelReport `json:"models"`
	Noise           NoiseReport   `json:"noise_ns"`
	MixingGBs       float64       `json:"mixing_gbs"` // read and written by weighted sums, all workers
	PeakMemoryMB    float64       `json:"peak_memory_mb"`
	MeasuredSeconds float64       `json:"measured_seconds"`
	Agents          int           `json:"agents"`
	BatchSize       int           `json:"batch_size"`
}

// Product is one matrix product on one core.
type Product struct {
	Name   string  `json:"name"` // NN, TN or NT, and rows x inner x columns
	GFLOPS float64 `json:"gflops"`
	Share  float64 `json:"share_of_peak"` // of one core's
}

// NoiseReport is the cost of noise on one core, in nanoseconds for each coordinate, key
// stream and rounding included.
type NoiseReport struct {
	Normal  float64 `json:"normal"`  // as runs use it
	Integer float64 `json:"integer"` // the discrete Gaussian
}

// ModelReport is one model's samples a second, all workers together.
type ModelReport struct {
	Name       string  `json:"name"`
	Parameters int     `json:"parameters"`
	Private    float64 `json:"private_samples_per_s"` // sampled, gathered, clipped, noised and charged
	Plain      float64 `json:"nonprivate_samples_per_s"`
	Price      float64 `json:"price"` // non-private over private: median over turns
	PriceMin   float64 `json:"price_min"`
	PriceMax   float64 `json:"price_max"`
	Share      float64 `json:"share_of_peak"` // of the private step's multiply-adds
	PlainShare float64 `json:"nonprivate_share_of_peak"`
	// integer gradients and noise, which tests compare with, where the model has them
	Integer      float64 `json:"integer_samples_per_s,omitempty"`
	IntegerPrice float64 `json:"integer_price,omitempty"` // non-private over integer
	// of all agents' private steps, besides the data
	MemoryMB float64 `json:"memory_mb"`
	DataMB   float64 `json:"data_mb"`

	Layers []model.LayerInfo `json:"layers,omitempty"`
}

const (
	agents    = 10
	batchSize = 256
	turns     = 5 // alternations of private and non-private slots
)

// Run measures. note, when not nil, is told what comes next. Unknown models and
// impossible options are config.Errors.
func Run(o Options, note func(what string)) (*Report, error) {
	if o.Seconds == 0 {
		o.Seconds = 2
	}
	if !(o.Seconds > 0 && o.Seconds <= 3600) {
		return nil, config.Bad("seconds", o.Seconds, "above 0 and at most 3600")
	}
	if err := parallel.Check(o.Workers); err != nil {
		return nil, err
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	cases, err := pick(o.Models)
	if err != nil {
		return nil, err
	}
	if note == nil {
		note = func(string) {}
	}
	began := time.Now()
	r := &Report{
		Kernels:   tensor.Kernels(),
		Workers:   o.Workers,
		Seconds:   o.Seconds,
		Agents:    agents,
		BatchSize: batchSize,
		Models:    []ModelReport{},
	}
	note("processor and memory")
	slot := time.Duration(o.Seconds / 3 * float64(time.Second))
	r.PeakGFLOPSOne, r.PeakGFLOPS = peak(1, slot/2), peak(o.Workers, slot/2)
	r.BandwidthGBsOne, r.BandwidthGBs = triad(1, slot/2), triad(o.Workers, slot/2)
	note("matrix products")
	r.Products = products(slot / 2)
	note("noise and mixing")
	r.Noise = noise(slot / 2)
	r.MixingGBs = mixing(o.Workers, slot/2)
	for _, c := range cases {
		note(c.announced(Look()))
		m, err := c.measure(o, r.PeakGFLOPS)
		if err != nil {
			return nil, err
		}
		r.PeakGFLOPS = max(r.PeakGFLOPS, m.peak)
		r.Models = append(r.Models, m.ModelReport)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	r.PeakMemoryMB = float64(mem.Sys) / 1e6
	r.MeasuredSeconds = time.Since(began).Seconds()
	return r, nil
}
