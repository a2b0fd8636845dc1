package attack

import (
	"context"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/internal/jsonfloat"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// InvertOptions say whose image is taken from what it sends.
type InvertOptions struct {
	Dataset, DataDir string    // mnist, fashion-mnist, glyphs: images of one channel
	Record           int       // of the training file
	Model            string    // convnet or mlp
	Noise            []float64 // multipliers, each a row; 0: none
	Seed             uint64
}

// Reconstruction is what an observer makes of one message.
type Reconstruction struct {
	Noise float64 `json:"noise_multiplier"`
	// of the one release, at delta 1e-5, when a record is added
	Epsilon     jsonfloat.Float `json:"epsilon"`
	Label       int             `json:"label"` // as the observer reads it
	Correlation float64         `json:"correlation"`
	Error       float64         `json:"rms_error"` // of pixels, over their range
	Image       []float64       `json:"-"`         // pixels from 0 to 1, row by row
}

// InvertReport is the demonstration: images before and after noise.
type InvertReport struct {
	Model    string           `json:"model"`
	Dataset  string           `json:"dataset"`
	Record   int              `json:"record"`
	Label    int              `json:"true_label"`
	Height   int              `json:"height"`
	Width    int              `json:"width"`
	Original []float64        `json:"-"`
	Rows     []Reconstruction `json:"rows"`
	Method   string           `json:"method"`
}

const invertDelta = 1e-5

// Invert lets an owner of one image take one step of DP-DSGT, takes the gradient from its
// message, and makes the image from it. The gradient is clipped to norm 1 in all rows: it
// is its direction that tells, so that clipping protects nothing.
func Invert(ctx context.Context, o InvertOptions) (*InvertReport, error) {
	if _, ok := data.Datasets[o.Dataset]; !ok {
		return nil, config.Bad("dataset", o.Dataset, config.OneOf(data.Datasets))
	}
	split, err := data.Load(o.Dataset, o.DataDir, o.Seed, func(any) error { return nil })
	if err != nil {
		return nil, err
	}
	d := split.Train
	switch {
	case d.Shape[2] != 1 || d.Shape[0] < 6 || d.Shape[1] < 6 || d.Labels == nil:
		return nil, config.Bad("dataset", o.Dataset, "images of one channel, with labels")
	case o.Record < 0 || o.Record >= d.Len():
		return nil, config.Bad("record", o.Record, fmt.Sprintf("0 to %d", d.Len()-1))
	case o.Model != "convnet" && o.Model != "mlp":
		return nil, config.Bad("model", o.Model, "convnet or mlp")
	}
	m, err := model.New(o.Model, model.Shape{Height: d.Shape[0], Width: d.Shape[1], Channels: 1,
		Classes: d.Classes}, nil)
	if err != nil {
		return nil, err
	}
	theta := make(tensor.Vec, m.Dim())
	m.Init(theta, rng.Public(o.Seed, "init"))
	r := &InvertReport{
		Model:   o.Model,
		Dataset: o.Dataset,
		Record:  o.Record,
		Label:   int(d.Labels[o.Record]),
		Height:  d.Shape[0],
		Width:   d.Shape[1],
	}
	v := newGradientInversion(o.Model, theta, d)
	r.Method, r.Original = v.method(), v.pixels(widened(d.X.Row(o.Record)))
	for _, noise := range o.Noise {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sent, err := sentGradient(ctx, m, theta, d, o, noise)
		if err != nil {
			return nil, err
		}
		row := Reconstruction{
			Noise:   noise,
			Epsilon: jsonfloat.Float(math.Inf(1)),
			Label:   v.label(sent),
			Image:   v.pixels(v.image(sent)),
		}
		if noise > 0 {
			row.Epsilon = jsonfloat.Float(gdp.Epsilon(1/noise, invertDelta))
		}
		row.Correlation, row.Error = correlation(r.Original, row.Image), rmse(r.Original, row.Image)
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// sentGradient is the gradient of one record in the first message of DP-DSGT that follows
// from an answer: its second half.
func sentGradient(ctx context.Context, m model.Model, theta tensor.Vec, d *data.Dataset, o InvertOptions,
	noise float64) (tensor.Vec, error) {
	name := "gaussian"
	if noise == 0 {
		name = "none"
	}
	mechanism, err := privacy.NewMechanism(name, noise)
	if err != nil {
		return nil, config.Bad("noise", noise, "at least 0 and finite")
	}
	schedule, err := topology.New("complete", "", 2, o.Seed, func(any) error { return nil })
	if err != nil {
		return nil, err
	}
	factory, err := algo.New("dsgt", func(any) error { return nil })
	if err != nil {
		return nil, err
	}
	grad := &oracle.Gradient{
		Model:             m,
		Records:           oracle.Records{Data: d, Index: []int32{int32(o.Record)}},
		SampleRate:        1,
		ExpectedBatchSize: 1,
		ClipNorm:          1,
		Adjacency:         account.AddRemove,
		Unit:              account.Record(),
		Pool:              oracle.NewPool(),
	}
	if err := grad.Validate(); err != nil {
		return nil, err
	}
	cfg := sim.Config{Schedule: schedule, Dim: m.Dim(), Steps: 2, Workers: 1, Seed: o.Seed}
	var owner *sentRecorder
	for i := range 2 {
		alg, err := factory(agent.Env{
			Self:   agent.ID(i),
			Agents: 2,
			Dim:    m.Dim(),
			Rounds: 2,
			Init:   theta,
			Graph:  agent.Graph{MinNeighbors: 1},
		})
		if err != nil {
			return nil, err
		}
		a := sim.Agent{Algorithm: alg, Gate: audit.Silent()}
		if i == 0 {
			owner = &sentRecorder{Algorithm: alg}
			a = sim.Agent{Algorithm: owner, Gate: privacy.NewSimulatedGate(ledger.NewMemory(nil), mechanism,
				map[string]privacy.Oracle{"grad": grad}, o.Seed, 0)}
		}
		cfg.Agents = append(cfg.Agents, a)
	}
	s, err := sim.New(cfg)
	if err == nil {
		err = s.Run(ctx, 1)
	}
	if err != nil {
		return nil, err
	}
	return owner.sent[m.Dim():], nil
}

// sentRecorder keeps what an algorithm sends after its first answer, as its bytes say.
type sentRecorder struct {
	agent.Algorithm
	sent tensor.Vec
}

// Step is the algorithm's.
func (w *sentRecorder) Step(in *agent.Input, out *agent.Output) error {
	if err := w.Algorithm.Step(in, out); err != nil || w.sent != nil || in.Kind != agent.Answer {
		return err
	}
	var m agent.Message
	_, err := agent.DecodeMessage(agent.AppendMessage(nil, &out.Outbox[0]), len(out.Outbox[0].Body), &m)
	w.sent = m.Body
	return err
}

// correlation is that of the pixels of two images; 0 where one has a single grey.
func correlation(a, b []float64) float64 {
	n := float64(len(a))
	ma, mb, aa, bb, ab := 0., 0., 0., 0., 0.
	for i := range a {
		ma += a[i] / n
		mb += b[i] / n
	}
	for i := range a {
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
		ab += (a[i] - ma) * (b[i] - mb)
	}
	if aa > 0 && bb > 0 {
		return ab / math.Sqrt(aa*bb)
	}
	return 0
}

// rmse is the root mean square difference of the pixels of two images.
func rmse(a, b []float64) float64 {
	sum := 0.
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i]) / float64(len(a))
	}
	return math.Sqrt(sum)
}

func widened(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}
