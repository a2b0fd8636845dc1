package bench

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"sotto/config"
	"sotto/model"
	"sotto/privacy"
)

// TestParameters: the models are those of the engine's table.
func TestParameters(t *testing.T) {
	for i := range Cases {
		c := &Cases[i]
		if !c.available() {
			t.Logf("%s: this program does not have it", c.Name)
			continue
		}
		m, err := c.build()
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		} else if c.Parameters != 0 && m.Dim() != c.Parameters {
			t.Errorf("%s has %d parameters, want %d", c.Name, m.Dim(), c.Parameters)
		}
	}
}

// TestReport runs the smallest measurement and checks what figures must satisfy on any
// machine: positive and finite, shares of the peak below 1 (with a tenth for a peak that
// others disturbed), the price between its bounds, layers that add up.
func TestReport(t *testing.T) {
	var told []string
	r, err := Run(Options{
		Models:  []string{"mlp-64", "logistic-100"},
		Seconds: .03,
		Workers: 2,
		Explain: true,
	}, func(s string) {
		told = append(told, s)
	})
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]float64{"peak": r.PeakGFLOPS, "peak of one": r.PeakGFLOPSOne,
		"bandwidth": r.BandwidthGBs, "bandwidth of one": r.BandwidthGBsOne,
		"noise": r.Noise.Normal, "integer noise": r.Noise.Integer, "mixing": r.MixingGBs,
		"memory": r.PeakMemoryMB, "seconds": r.MeasuredSeconds}
	for _, p := range r.Products {
		figures[p.Name], figures[p.Name+" share"] = p.GFLOPS, p.Share
	}
	if len(r.Models) != 2 || r.Models[0].Name != "logistic-100" || r.Models[1].Name != "mlp-64" {
		t.Fatalf("models %+v", r.Models)
	}
	for _, m := range r.Models {
		figures[m.Name+" private"], figures[m.Name+" plain"], figures[m.Name+" integer"] = m.Private, m.Plain,
			m.Integer
		figures[m.Name+" share"], figures[m.Name+" plain share"] = m.Share, m.PlainShare
		if !(m.PriceMin <= m.Price && m.Price <= m.PriceMax) {
			t.Errorf("%+v", m)
		}
		parameters := 0
		for _, l := range m.Layers {
			parameters += l.Params
		}
		if parameters != m.Parameters || m.Parameters == 0 {
			t.Errorf("%s: %d parameters in %d layers, %d in all", m.Name, parameters, len(m.Layers),
				m.Parameters)
		}
	}
	for name, x := range figures {
		if !(x > 0) || math.IsInf(x, 1) {
			t.Errorf("%s is %g", name, x)
		}
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kernels", "NN 256x784x64", "logistic-100", "layers of mlp-64",
		"closed form"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &table)
		}
	}
	if fmt.Sprint(told) != "[processor and memory matrix products noise and mixing logistic-100 mlp-64]" {
		t.Errorf("told %q", told)
	}
}

func TestRefusals(t *testing.T) {
	for key, o := range map[string]Options{
		"models":  {Models: []string{"mlp-64", "vgg"}},
		"seconds": {Seconds: math.NaN()},
		"workers": {Workers: -1},
	} {
		var e *config.Error
		if _, err := Run(o, nil); !errors.As(err, &e) || e.Key != key || e.Allowed == "" {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// A case in bfloat16 is announced as slow where the machine has no products for it.
func TestAnnounced(t *testing.T) {
	c := Case{Name: "net", Precision: "bf16"}
	if got := c.announced(Machine{}); !strings.HasPrefix(got, "net, slower than float32") {
		t.Errorf("announced as %q", got)
	}
	full := Case{Name: "net"}
	for _, got := range []string{c.announced(Machine{AMX: true}), c.announced(Machine{Dot: true}),
		full.announced(Machine{})} {
		if got != "net" {
			t.Errorf("announced as %q", got)
		}
	}
}

// A worker's rate is its work over its own time, and the workers' rates add up.
func TestRate(t *testing.T) {
	const pause = 20 * time.Millisecond
	got := rate(3, 0, func(int) float64 { time.Sleep(pause); return 2 })
	if most := 3 * 2 / pause.Seconds(); got > most || got < most/20 {
		t.Errorf("three workers do %g a second, want at most %g and not much less", got, most)
	}
}

func TestMedian(t *testing.T) {
	for want, x := range map[float64][]float64{2: {3, 1, 2}, 2.5: {4, 1, 2, 3}, 7: {7}} {
		if got := median(x); got != want {
			t.Errorf("median of %v is %g", x, got)
		}
	}
}

// TestStepsUseTheirBatch: a private step sees a Poisson batch of the expected size
// (within 6 standard errors over 400 steps, a false-reject rate of 2e-9), a non-private
// one exactly the batch.
func TestStepsUseTheirBatch(t *testing.T) {
	l, err := Cases[0].workload()
	if err != nil {
		t.Fatal(err)
	}
	q, n := l.owners(2, privacy.Gaussian{NoiseMultiplier: 1}, false), 0.
	for range 400 {
		n += private(q)
	}
	if math.Abs(n/400-batchSize) > 6*math.Sqrt(batchSize/400.) {
		t.Errorf("%g samples a step", n/400)
	}
	var p plain
	if n := p.step(l, l.owners(1, nil, false)); n != batchSize {
		t.Errorf("%g samples in a non-private step", n)
	}
	if _, ok := l.model.(model.Plain); !ok {
		t.Error("no non-private step")
	}
}

// BenchmarkStep measures one agent's private and non-private step from end to end:
// sampling, gathering, clipping, noise, the charge. It needs one processor; sotto bench
// measures all of them and the ratio within turns.
func BenchmarkStep(b *testing.B) {
	for i := range Cases {
		c := &Cases[i]
		if !c.available() {
			continue
		}
		l, err := c.workload()
		if err != nil {
			b.Fatal(err)
		}
		fast, free := l.owners(agents, privacy.Gaussian{NoiseMultiplier: 1}, false),
			l.owners(agents, nil, false)
		var loop plain
		for name, step := range map[string]func() float64{
			"private": func() float64 { return private(fast) }, "nonprivate": func() float64 {
				return loop.step(l, free)
			},
		} {
			b.Run(c.Name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				step()
				samples := 0.
				for b.Loop() {
					samples += step()
				}
				b.ReportMetric(samples/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}
