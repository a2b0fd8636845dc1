package experiment

import (
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
	p.Fill()
	return nil
}

// checkPersonal wants a model that can be finished.
func checkPersonal(e *Experiment) error {
	f := e.File
	if !f.Model.Personal.Enabled {
		return nil
	}
	if _, ok := model.Linear(e.Task.Model); !ok || e.Task.Split.Train.Classes > 2 {
		return f.At("model", config.Bad("name", f.Model.Name,
			"logistic, least-squares, huber or poisson, of at most two classes, with [personal]"))
	}
	return nil
}

// Finish makes the own model of the agent at a place of this process from the shared one
// that it ends with; nil where the run does not ask for it. It reads the agent's training
// records, releases nothing and charges nothing: what it returns is the owner's alone.
func Finish(e *Experiment, place int, shared tensor.Vec) (*finishing.Model, error) {
	p := e.File.Model.Personal
	if !p.Enabled {
		return nil, nil
	}
	glm, ok := model.Linear(e.Task.Model)
	if !ok || len(shared) != e.Task.Model.Dim() {
		return nil, fmt.Errorf("experiment: model %s cannot be finished", e.File.Model.Name)
	}
	return finishing.Fit(&finishing.Own{GLM: glm, Shared: shared, Data: e.Task.Split.Train,
		Rows: e.Task.Parts[place], Seed: e.File.Run.Seed}, p), nil
}
