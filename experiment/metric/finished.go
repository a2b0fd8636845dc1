package metric

import (
	"sotto/experiment/finishing"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/model/score"
	"sotto/tensor"
)

// Finished judges the models that every owner ends with on its own test records. finish
// makes those of an agent from the shared model that it has.
func (s *Scene) Finished(finish func(i int, shared tensor.Vec) (*finishing.Model, error)) (*rundir.Personal,
	error) {
	names := []string{"rmse", "r2"}
	if s.Tests.Classify {
		names = []string{"accuracy", "auroc", "log_loss"}
	} else if model.Counts(s.Model) {
		names = []string{"deviance", "rmse", "r2"}
	}
	out := &rundir.Personal{Figures: names, Models: append(finishing.Candidates[:], "own")}
	tested := s.Tests.Tested
	out.Lines = make([]rundir.PersonalLine, len(tested))
	err := s.Crew.Do(len(tested), func(k int, scratch *model.Workspace) error {
		i := tested[k]
		m, err := finish(i, s.Sim.Model(i))
		if err != nil {
			return err
		}
		out.Lines[k] = rundir.PersonalLine{Agent: i, Records: len(s.Records.Parts[i]),
			Tests: s.Tests.Batches[i].Len(), Weights: m.Weights}
		for _, theta := range append(m.Candidates[:], m.Theta) {
			values, err := s.figuresAt(i, theta, names, scratch)
			if err != nil {
				return err
			}
			out.Lines[k].Values = append(out.Lines[k].Values, values)
		}
		return nil
	})
	return out, err
}

// figuresAt are those of parameters on agent i's test records; nil for one that is
// undefined, as AUROC where one class has none.
func (s *Scene) figuresAt(i int, theta tensor.Vec, names []string, scratch *model.Workspace) ([]*float64,
	error) {
	of, err := s.scoredAt(i, theta, scratch)
	if err != nil {
		return nil, err
	}
	values := make([]*float64, len(names))
	for n, name := range names {
		if v, err := score.Of(of, name); err == nil {
			values[n] = &v
		}
	}
	return values, nil
}
