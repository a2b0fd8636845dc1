package model_test

import (
	"testing"

	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// unit returns a number uniform in [-1, 1).
func unit(s *modeltest.Source) float32 { return float32(int32(s.Uint64()>>32)) / (1 << 31) }

// task is one model with a shape; classes 0 is a regression.
type task struct {
	name   string
	kind   string
	shape  model.Shape
	params any // copied into what the constructor decodes
	dim    int
	low    bool // lower the biases of the convolution, so that the smallest pre-activations win the pool
}

var (
	logistic100 = task{"logistic-100", "logistic",
		model.Shape{Height: 1, Width: 100, Channels: 1, Classes: 2}, model.LinearParams{Intercept: true}, 101,
		false}
	mlp64 = task{"mlp-784-64-10", "mlp", model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10},
		nil, 50890, false}
	mlp256 = task{"mlp-784-256-10", "mlp", model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10},
		model.MLPParams{Hidden: []int{256}, Activation: "relu"}, 203530, false}
	cnn = task{"cnn", "cnn", model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}, nil, 26010,
		false}
	dpresnet9 = task{"dpresnet9", "dpresnet9",
		model.Shape{Height: 32, Width: 32, Channels: 3, Classes: 100}, nil, 7802724, false}
	resnet18 = task{"resnet18", "resnet18", model.Shape{Height: 32, Width: 32, Channels: 3, Classes: 10},
		nil, 11173962, false}
	convnet = task{"convnet", "convnet", model.Shape{Height: 32, Width: 32, Channels: 1, Classes: 10},
		nil, 38424, false}
)

func (k task) build(t testing.TB) model.Model {
	t.Helper()
	m, err := model.New(k.kind, k.shape, decoder(k.params))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// decoder copies params into the constructor's struct.
func decoder(params any) func(any) error {
	return func(dst any) error {
		switch dst := dst.(type) {
		case *model.LayersParams:
			if p, ok := params.(model.LayersParams); ok {
				*dst = p
			}
		case *model.AutoencoderParams:
			if p, ok := params.(model.AutoencoderParams); ok {
				*dst = p
			}
		case *model.CNNParams:
			if p, ok := params.(model.CNNParams); ok {
				*dst = p
			}
		case *model.MLPParams:
			if p, ok := params.(model.MLPParams); ok {
				*dst = p
			}
		case *model.PoissonParams:
			if p, ok := params.(model.PoissonParams); ok {
				*dst = p
			}
		case *model.LinearParams:
			if p, ok := params.(model.LinearParams); ok {
				*dst = p
			}
		}
		return nil
	}
}

// batch draws n samples with elements in [-1, 1) and random labels or targets.
func (k task) batch(n int, seed uint64) *model.Batch {
	r := modeltest.Source(seed)
	b := &model.Batch{X: tensor.NewMat(n, k.shape.Features())}
	for i := range b.X.Data {
		b.X.Data[i] = unit(&r)
	}
	for range n {
		if k.shape.Classes == 0 {
			b.Targets = append(b.Targets, unit(&r))
		} else {
			b.Labels = append(b.Labels, int32(r.Uint64()%uint64(k.shape.Classes)))
		}
	}
	return b
}

// start returns initial parameters.
func (k task) start(m model.Model, seed uint64) tensor.Vec {
	theta := start(m, seed)
	if first := 75 * k.shape.Channels; k.low {
		for f := range 3 {
			theta[first+f] -= 2.5
		}
	}
	return theta
}

func start(m model.Model, seed uint64) tensor.Vec {
	theta := make(tensor.Vec, m.Dim())
	r := modeltest.Source(seed)
	m.Init(theta, &r)
	return theta
}
