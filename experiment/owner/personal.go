package owner

import (
	"context"
	"os"
	"path/filepath"

	"sotto/data/schema"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/tensor"
)

// PersonalDir is the folder in a state directory with the owner's own model, a model like
// any other: config, parameters and schema.
const PersonalDir = rundir.PersonalDir

// Personal is the owner's own model, which [personal] makes of the shared one and of the
// owner's records. For the owner alone.
type Personal struct {
	// Weights are those of the model alone, the shared one and the one around it.
	Weights [3]float64 `json:"weights"`
	// Strengths are how many records the priors of the model alone and of the one around
	// the shared one count as.
	Strengths [2]float64 `json:"strengths"`
	// Scores are of the own model, beside the one that is fitted alone in the same way.
	Scores *Scores `json:"scores"`
}

// personal makes the owner's own model and leaves it in the state directory; nil where
// the run does not ask for it.
func personal(ctx context.Context, p *process, shared tensor.Vec) (*Personal, error) {
	m, err := experiment.Finish(ctx, p.e, 0, shared)
	if m == nil || err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(p.State, PersonalDir), 0o700); err != nil {
		return nil, err
	}
	meta := metadata(p.e, p.run())
	rundir.MarkOwn(meta)
	b, err := model.EncodeSafetensors(meta, p.tensors(m.Theta))
	if err != nil {
		return nil, err
	}
	if err := p.write(filepath.Join(PersonalDir, ModelFile), b); err != nil {
		return nil, err
	}
	for _, name := range []string{rundir.ConfigFile, rundir.NamesFile, schema.FileName} {
		b, err := os.ReadFile(filepath.Join(p.State, name))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = p.write(filepath.Join(PersonalDir, name), b)
		}
		if err != nil {
			return nil, err
		}
	}
	out := &Personal{Weights: m.Weights, Strengths: m.Strengths}
	// what is wrong with private records stands in no error: the model is there
	out.Scores, _ = ScoresOf(p.Owner, []tensor.Vec{m.Theta}, m.Candidates[0])
	return out, nil
}
