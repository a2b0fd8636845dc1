package run

import (
	"fmt"
	"path/filepath"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/tensor"
)

// exporters write the parameters of one model by format.
var exporters = map[string]func(f *experiment.File, shape model.Shape, theta tensor.Vec) ([]byte, error){
	"safetensors": func(_ *experiment.File, _ model.Shape, theta tensor.Vec) ([]byte, error) {
		return model.EncodeSafetensors(nil, []model.NamedVec{{Name: "parameters", Vec: theta}})
	},
	"npz": func(_ *experiment.File, _ model.Shape, theta tensor.Vec) ([]byte, error) {
		return model.EncodeNPZ([]model.NamedVec{{Name: "parameters", Vec: theta}})
	},
	"onnx": func(f *experiment.File, shape model.Shape, theta tensor.Vec) ([]byte, error) {
		m, err := model.New(f.Model.Name, shape, f.Section("model"))
		if err != nil {
			return nil, f.At("model", err)
		}
		if m.Dim() != len(theta) {
			return nil, fmt.Errorf("the run holds %d parameters, its configuration gives a model of %d",
				len(theta), m.Dim())
		}
		return model.EncodeONNX(m, theta, "sotto", experiment.EngineVersion)
	},
}

// Export returns the model of a finished run in another format: "onnx", "npz" or
// "safetensors". agent is an agent's number, or "mean" for the mean of all agents'
// models. It needs no data set.
func Export(dir, agent, format string) ([]byte, error) {
	write, ok := exporters[format]
	if !ok {
		return nil, config.Bad("format", format, config.OneOf(exporters))
	}
	f, err := experiment.Read(filepath.Join(dir, rundir.ConfigFile), nil)
	if err != nil {
		return nil, err
	}
	theta, shape, err := rundir.ReadModel(dir, agent)
	if err != nil {
		return nil, err
	}
	return write(f, shape, theta)
}
