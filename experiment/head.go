package experiment

import (
	"runtime"
	"slices"
	"sync"

	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/tensor"
)

// backbone is the model of a run that trains only its last layers.
type backbone struct {
	shape model.Shape // of a sample
	body  tensor.Vec  // the parameters that stay
}

// trainHead replaces the model by its last layers and the records by what the layers
// before make of them. These have the public parameters of init_from, so that the
// features of a record depend on that record alone: adjacency, clipping and charges are
// those of a run on the features.
func (e builder) trainHead() error {
	p := &e.File.Model
	if p.InitFrom == "" {
		return e.File.At("model", config.Bad("train_layers", p.TrainLayers,
			"0 without init_from: layers that are not trained must have public values"))
	}
	if a := e.File.Data.Augmentation; a.Views > 0 {
		return e.File.At("data", config.Bad("augmentations", a.Views,
			"no value with train_layers: features are computed once for each record"))
	}
	body, head, err := model.SplitHead(e.Task.Model, p.TrainLayers)
	if err != nil {
		return e.File.At("model", err)
	}
	at := body.Dim()
	e.Task.Backbone = &backbone{shape: e.Task.shape(), body: e.Task.Init[:at:at]}
	e.Task.Split = &data.Split{Train: bodyOutputs(e.Task.Split.Train, body, e.Task.Backbone.body),
		Test:        bodyOutputs(e.Task.Split.Test, body, e.Task.Backbone.body),
		GroundTruth: e.Task.Split.GroundTruth}
	e.Task.Validation = bodyOutputs(e.Task.Validation, body, e.Task.Backbone.body)
	e.Task.Model, e.Task.Init = head, e.Task.Init[at:]
	return nil
}

// bodyOutputs returns d with the body's outputs in place of its records. The digest is
// that of the records: what was made of them follows from the configuration.
func bodyOutputs(d *data.Dataset, body *model.Body, theta tensor.Vec) *data.Dataset {
	if d == nil {
		return nil
	}
	f := *d
	f.X, f.Shape = tensor.NewMat(d.Len(), body.Features()), [3]int{1, 1, body.Features()}
	f.RowNorm = 0 // a bound of the records is none of the outputs
	const each = 512
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for lo := 0; lo < d.Len(); lo += each {
		slots <- struct{}{}
		wait.Go(func() {
			hi := min(lo+each, d.Len())
			body.Apply(f.X.Slice(lo, hi), theta, d.X.Slice(lo, hi), new(model.Workspace))
			<-slots
		})
	}
	wait.Wait()
	return &f
}

// SampleShape is the shape of a record of the data set.
func (t *Task) SampleShape() model.Shape {
	if t.Backbone != nil {
		return t.Backbone.shape
	}
	s := t.shape()
	if _, curves := model.CurvesOf(t.Model); !curves {
		s.Numbers = ""
	}
	return s
}

// Expand puts the parameters that stay before those that are trained.
func (t *Task) Expand(theta tensor.Vec) tensor.Vec {
	if t.Backbone == nil {
		return theta
	}
	return slices.Concat(t.Backbone.body, theta)
}
