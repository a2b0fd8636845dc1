package rundir

import (
	"encoding/json"
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

// ReadModel returns the parameters of an agent of a finished run, and the shape of the
// samples that its model takes. agent is an agent's number, or "mean" for the mean of all
// agents' models.
func ReadModel(dir, agent string) (tensor.Vec, model.Shape, error) {
	none := model.Shape{}
	path := filepath.Join(dir, ModelFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, none, err
	}
	meta, tensors, err := model.DecodeSafetensors(b)
	if err != nil {
		return nil, none, fmt.Errorf("%s: %w", path, err)
	}
	theta, err := choose(tensors, agent)
	if err != nil {
		return nil, none, err
	}
	shape, err := parseShape(meta)
	if err != nil {
		return nil, none, fmt.Errorf("%s: %w", path, err)
	}
	return theta, shape, nil
}

// MarkOwn writes into a model file's metadata that it is made of an owner's records
// without noise.
func MarkOwn(meta map[string]string) { meta["own"], meta["noise"] = "true", "none" }

// IsOwn reports whether the model file at path, which says meta of itself, is of an
// owner's own model, which is for that owner alone. Older files do not say so: it is
// known by its place in a node's state directory.
func IsOwn(path string, meta map[string]string) bool {
	if meta["own"] == "true" {
		return true
	}
	path, err := filepath.Abs(path)
	dir := filepath.Dir(path)
	return err == nil && filepath.Base(dir) == PersonalDir && IsNode(filepath.Dir(dir))
}

// Metadata is what the model's file in a folder says of itself.
func Metadata(dir string) (map[string]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, ModelFile))
	if err != nil {
		return nil, err
	}
	meta, _, err := model.DecodeSafetensors(b)
	return meta, err
}

// TestDigest is that of the records which the finished run in dir held out for tests.
func TestDigest(dir string) (string, error) {
	var held struct {
		Test string `json:"test_digest"`
	}
	b, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err == nil {
		err = json.Unmarshal(b, &held)
	}
	return held.Test, err
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
	text := fmt.Sprintf("%dx%dx%d, %d classes", s.Height, s.Width, s.Channels, s.Classes)
	if s.Numbers != "" {
		text += numbersMark + s.Numbers
	}
	return text
}

// numbersMark is before Shape.Numbers, of models that read it.
const numbersMark = ", numbers "

func parseShape(meta map[string]string) (s model.Shape, err error) {
	text, numbers, _ := strings.Cut(meta["samples"], numbersMark)
	s.Numbers = numbers
	if _, err = fmt.Sscanf(text, "%dx%dx%d, %d classes", &s.Height, &s.Width, &s.Channels,
		&s.Classes); err != nil {
		return s,
			errors.New("it does not say which samples its model takes: it was written by another version")
	}
	return s, nil
}
