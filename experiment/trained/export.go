package trained

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/model"
)

// producer is what files for other programs say that they come from.
const producer = "sotto"

// format is how a model is written for other programs.
type format struct {
	ending string
	write  func(*Model) ([]byte, error)
}

// exports are the formats by name. The first of an ending, by name, is not meant: see
// ExportFormat.
var exports = map[string]format{
	"onnx":             {".onnx", (*Model).ONNX},
	"onnx-features":    {".onnx", (*Model).FeaturesONNX},
	"npz":              {".npz", layersNPZ},
	"flat-npz":         {".npz", flatNPZ},
	"safetensors":      {".safetensors", layersSafetensors},
	"flat-safetensors": {".safetensors", flatSafetensors},
	"json":             {".json", asJSON},
}

// ExportFormats are the names of all formats, sorted.
func ExportFormats() []string { return slices.Sorted(maps.Keys(exports)) }

// ExportFormat is the format of a file called out: the given one, or where that is "" the
// one that the file's ending names; onnx without a file.
func ExportFormat(out, given string) (string, error) {
	ending := strings.ToLower(filepath.Ext(out))
	switch f, ok := exports[given]; {
	case given != "" && !ok:
		return "", config.Bad("format", given, config.OneOf(exports))
	case given != "":
		if f.ending != ending && isEnding(ending) {
			return "", config.Bad("out", out, "a name that ends in "+f.ending+", the format being "+given)
		}
		return given, nil
	case out == "":
		return "onnx", nil
	}
	if _, ok := exports[strings.TrimPrefix(ending, ".")]; !ok || ending == "" {
		return "", config.Bad("out", out,
			"a name that ends in .json, .npz, .onnx or .safetensors, or a stated format")
	}
	return ending[1:], nil
}

func isEnding(ending string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(exports)), func(f format) bool {
		return f.ending == ending
	})
}

// Export writes the model for other programs:
//
//	onnx              a graph from raw columns to probabilities, see ONNX
//	onnx-features     a graph from features to the model's outputs, see FeaturesONNX
//	npz, safetensors  the parameters of each layer by name, see model.Layers
//	flat-npz, flat-safetensors  all parameters as one vector
//	json              names of features and classes, and the parameters of each layer
func (m *Model) Export(format string) ([]byte, error) {
	f, ok := exports[format]
	if !ok {
		return nil, config.Bad("format", format, config.OneOf(exports))
	}
	return f.write(m)
}

func layersNPZ(m *Model) ([]byte, error) {
	layers, err := model.Layers(m.net, m.theta)
	if err != nil {
		return nil, err
	}
	return model.EncodeNPZ(layers)
}

func layersSafetensors(m *Model) ([]byte, error) {
	layers, err := model.Layers(m.net, m.theta)
	if err != nil {
		return nil, err
	}
	meta := map[string]string{"layout": model.LayersLayout, "producer": producer}
	return safetensors(m, meta, layers)
}

func flat(m *Model) []model.NamedVec {
	return []model.NamedVec{{Name: "parameters", Vec: m.theta}}
}

func flatNPZ(m *Model) ([]byte, error) { return model.EncodeNPZ(flat(m)) }

func flatSafetensors(m *Model) ([]byte, error) { return safetensors(m, map[string]string{}, flat(m)) }

// safetensors marks an owner's own model as such.
func safetensors(m *Model, meta map[string]string, tensors []model.NamedVec) ([]byte, error) {
	own, err := m.Own()
	if err != nil {
		return nil, err
	}
	if own {
		rundir.MarkOwn(meta)
	}
	return model.EncodeSafetensors(meta, tensors)
}

// FeaturesONNX is an ONNX graph from features, input "x", to the model's own outputs,
// "y": preprocessing, probabilities and units are left to the caller.
func (m *Model) FeaturesONNX() ([]byte, error) {
	return model.EncodeONNX(m.net, m.theta, producer, experiment.EngineVersion)
}

// layer is the parameters of one name, as JSON has them.
type layer struct {
	Name   string    `json:"name"`
	Shape  []int     `json:"shape"`
	Values []float32 `json:"values"` // row-major
}

// scale is from what a regression was trained on to the target's own unit.
type scale struct {
	Offset float64 `json:"offset"`
	Slope  float64 `json:"slope"`
}

func asJSON(m *Model) ([]byte, error) {
	tensors, err := model.Layers(m.net, m.theta)
	if err != nil {
		return nil, err
	}
	name, unit := m.Target()
	out := struct {
		Model    string   `json:"model"`
		Outputs  Kind     `json:"outputs"`
		Features []string `json:"features"`
		Classes  []string `json:"classes,omitempty"`
		Target   string   `json:"target,omitempty"`
		Link     string   `json:"link,omitempty"` // what the layers give: log, of the value
		Unit     string   `json:"unit,omitempty"`
		// Scale is there where a schema scales the target: the value in Unit is offset
		// and slope times what the layers give, after the link is undone.
		Scale  *scale  `json:"scale,omitempty"`
		Layers []layer `json:"layers"`
	}{m.file.Model.Name, m.Kind(), m.Features(), m.Classes(), name, "", unit, nil, nil}
	if model.Counts(m.net) {
		out.Link = "log"
	}
	if slope, offset := unscale(m.schema); slope != 1 || offset != 0 {
		out.Scale = &scale{offset, slope}
	}
	for _, t := range tensors {
		out.Layers = append(out.Layers, layer{t.Name, t.Dims, t.Vec})
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(b, '\n'), err
}
