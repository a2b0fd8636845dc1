package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/rng"
	"sotto/tensor"
)

// initialise sets the parameters that all agents start from: of init_from, or random.
func (e builder) initialise() error {
	p := &e.File.Model
	e.Task.Init = make(tensor.Vec, e.Task.Model.Dim())
	if p.InitFrom == "" {
		if p.InitDigest != "" {
			return config.Bad("init_digest", p.InitDigest, "no value without init_from")
		}
		e.Task.Model.Init(e.Task.Init, rng.Public(e.File.Run.Seed, "initial model"))
		return nil
	}
	b, err := readInitial(p.InitFrom)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	digest := hex.EncodeToString(sum[:])
	if p.InitDigest != "" && !strings.EqualFold(p.InitDigest, digest) {
		return config.Bad("init_digest", p.InitDigest,
			fmt.Sprintf("%s, the SHA-256 of %s", digest, p.InitFrom))
	}
	settle(e.File, func(f *File) { f.Model.InitDigest = digest })
	meta, tensors, err := model.DecodeSafetensors(b)
	if err != nil {
		return config.Bad("init_from", fmt.Sprintf("%q: %v", p.InitFrom, err),
			"a safetensors file of float32 values")
	}
	if rundir.IsOwn(p.InitFrom, meta) && e.File.Privacy.Mechanism != "none" {
		return ownModel("init_from", p.InitFrom, "public parameters")
	}
	if meta["layout"] == model.LayersLayout {
		flat, err := model.FromLayers(e.Task.Model, tensors)
		if err != nil {
			return config.Bad("init_from", fmt.Sprintf("%q: %v", p.InitFrom, err), "the layers of this model")
		}
		tensors = []model.NamedVec{{Name: "parameters", Vec: flat}}
	}
	if found, allowed := joinTensors(e.Task.Init, tensors); found != "" {
		return config.Bad("init_from", fmt.Sprintf("%q: %s", p.InitFrom, found), allowed)
	}
	if e.File.Privacy.Mechanism != "none" {
		e.Notes.Warnings = append(e.Notes.Warnings,
			fmt.Sprintf("initial parameters come from %s: they must be public, nothing is charged for them",
				p.InitFrom))
	}
	return nil
}

// joinTensors fills dst from the tensors of a file: one tensor of every agent of a run,
// whose mean is taken, or tensors that together hold the parameters in order. Where they
// do not fit it says what was found and what is allowed.
func joinTensors(dst tensor.Vec, tensors []model.NamedVec) (found, allowed string) {
	total, runs := 0, len(tensors) > 0
	for _, t := range tensors {
		total += len(t.Vec)
		runs = runs && len(t.Vec) == len(dst) && strings.HasPrefix(t.Name, "agent.")
		if !t.Vec.Finite() {
			return fmt.Sprintf("tensor %q holds a value that is not finite", t.Name), "finite values"
		}
	}
	switch {
	case runs:
		weights, vectors := make([]float64, len(tensors)), make([]tensor.Vec, len(tensors))
		for i, t := range tensors {
			weights[i], vectors[i] = 1/float64(len(tensors)), t.Vec
		}
		tensor.WeightedSum(dst, weights, vectors)
	case total == len(dst):
		at := 0
		for _, t := range tensors {
			at += copy(dst[at:], t.Vec)
		}
	default:
		return fmt.Sprintf("%d values in %d tensors", total, len(tensors)),
			fmt.Sprintf("%d values, the model's parameters in order, or as many in each of the tensors "+
				"agent.0, agent.1, ...", len(dst))
	}
	return "", ""
}
