package experiment

import (
	"context"
	"fmt"

	"sotto/config"
	"sotto/experiment/finishing"
	"sotto/model"
	"sotto/tensor"
)

// PersonalSection is what every owner does with the shared model at the end of the run.
const PersonalSection = "personal"

func readPersonal(f *File) error {
	if !f.doc.Has(PersonalSection) {
		return nil
	}
	p := &f.Model.Personal
	if err := f.doc.Read(PersonalSection, p); err != nil {
		return err
	}
	if err := p.Validate(); err != nil || !p.Enabled {
		return f.At(PersonalSection, err)
	}
	network := !model.LinearNames[f.Model.Name]
	if p.Layers != "" && !network {
		return f.At(PersonalSection, config.Bad("layers", p.Layers,
			"nothing with model "+f.Model.Name+", which has one layer"))
	}
	p.Fill(network)
	return nil
}

// checkPersonal wants a model that can be finished.
func checkPersonal(e *Experiment) error {
	f := e.File
	if !f.Model.Personal.Enabled {
		return nil
	}
	if m := e.Task.Model; model.Reconstructs(m) || m.Outputs() > 1 && e.Task.Split.Train.Classes == 0 {
		return f.At("model", config.Bad("name", f.Model.Name,
			"a model that predicts classes or a number, with [personal]"))
	}
	return nil
}

// Finish makes the own model of the agent at a place of this process from the shared one
// that it ends with; nil where the run does not ask for it. It reads the agent's training
// records, releases nothing and charges nothing: what it returns is the owner's alone. It
// ends with ctx.
func Finish(ctx context.Context, e *Experiment, place int, shared tensor.Vec) (*finishing.Model, error) {
	p := e.File.Model.Personal
	if !p.Enabled {
		return nil, nil
	}
	if len(shared) != e.Task.Model.Dim() {
		return nil, fmt.Errorf("experiment: model %s cannot be finished", e.File.Model.Name)
	}
	glm, ok := model.Linear(e.Task.Model)
	if !ok {
		return finishing.FitNetwork(ctx, &finishing.Network{Model: e.Task.Model, Init: e.Task.Init,
			Shared: shared, Data: e.Task.Split.Train, Rows: e.Task.Parts[place], Seed: e.File.Run.Seed}, p)
	}
	return finishing.Fit(ctx, &finishing.Own{GLM: glm, Shared: shared, Data: e.Task.Split.Train,
		Rows: e.Task.Parts[place], Seed: e.File.Run.Seed}, p)
}
