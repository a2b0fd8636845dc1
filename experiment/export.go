package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/model"
	"sotto/tensor"
)

// exporters write the parameters of one model by format.
var exporters = map[string]func(f *File, shape model.Shape, theta tensor.Vec) ([]byte, error){
	"safetensors": func(_ *File, _ model.Shape, theta tensor.Vec) ([]byte, error) {
		return model.EncodeSafetensors(nil, []model.NamedVec{{Name: "parameters", Vec: theta}})
	},
	"npz": func(_ *File, _ model.Shape, theta tensor.Vec) ([]byte, error) {
		return model.EncodeNPZ([]model.NamedVec{{Name: "parameters", Vec: theta}})
	},
	"onnx": func(f *File, shape model.Shape, theta tensor.Vec) ([]byte, error) {
		m, err := model.New(f.Model.Name, shape, f.Section("model"))
		if err != nil {
			return nil, f.At("model", err)
		}
		if m.Dim() != len(theta) {
			return nil, fmt.Errorf("the run holds %d parameters, its configuration gives a model of %d",
				len(theta), m.Dim())
		}
		return model.EncodeONNX(m, theta, "sotto", EngineVersion)
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
	f, err := Read(filepath.Join(dir, configFile), nil)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, modelFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	meta, tensors, err := model.DecodeSafetensors(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	theta, err := choose(tensors, agent)
	if err != nil {
		return nil, err
	}
	shape, err := parseShape(meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return write(f, shape, theta)
}

// choose returns the parameters of one agent, or the mean of all.
func choose(tensors []model.NamedVec, agent string) (tensor.Vec, error) {
	name := agent
	if _, err := strconv.ParseUint(agent, 10, 32); err == nil && len(tensors) > 0 {
		name = tensors[0].Name[:strings.IndexByte(tensors[0].Name, '.')+1] + agent
	}
	if i := slices.IndexFunc(tensors, func(t model.NamedVec) bool { return t.Name == name }); i >= 0 {
		return tensors[i].Vec, nil
	}
	if name != "mean" || len(tensors) == 0 {
		names := make([]string, len(tensors))
		for i, t := range tensors {
			names[i] = t.Name[strings.IndexByte(t.Name, '.')+1:]
		}
		return nil, config.Bad("agent", agent, "mean, or one of "+strings.Join(names, ", "))
	}
	weights, vectors := make([]float64, len(tensors)), make([]tensor.Vec, len(tensors))
	for i, t := range tensors {
		if len(t.Vec) != len(tensors[0].Vec) {
			return nil, fmt.Errorf("tensor %s has %d values, %s has %d", t.Name, len(t.Vec), tensors[0].Name,
				len(tensors[0].Vec))
		}
		weights[i], vectors[i] = 1/float64(len(tensors)), t.Vec
	}
	mean := make(tensor.Vec, len(tensors[0].Vec))
	tensor.WeightedSum(mean, weights, vectors)
	return mean, nil
}

// FormatShape is how a run's model file names the samples that its model takes.
func FormatShape(s model.Shape) string {
	return fmt.Sprintf("%dx%dx%d, %d classes", s.Height, s.Width, s.Channels, s.Classes)
}

func parseShape(meta map[string]string) (s model.Shape, err error) {
	if _, err = fmt.Sscanf(meta["samples"], "%dx%dx%d, %d classes", &s.Height, &s.Width, &s.Channels,
		&s.Classes); err != nil {
		return s,
			errors.New("it does not say which samples its model takes: it was written by another version")
	}
	return s, nil
}
