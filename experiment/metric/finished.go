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
	}
	out := &rundir.Personal{Figures: names, Models: append(finishing.Candidates[:], "own")}
	scratch := new(model.Workspace)
	for _, i := range s.Tests.Tested {
		shared := s.Sim.Model(i)
		m, err := finish(i, shared)
		if err != nil {
			return nil, err
		}
		line := rundir.PersonalLine{Agent: i, Records: len(s.Records.Parts[i]),
			Tests: s.Tests.Batches[i].Len(), Weights: m.Weights}
		for _, theta := range append(m.Candidates[:], m.Theta) {
			of, err := s.scoredAt(i, theta, scratch)
			if err != nil {
				return nil, err
			}
			var values []*float64
			for _, name := range names {
				v, err := score.Of(of, name)
				if err != nil { // as AUROC where one class has no test records
					values = append(values, nil)
					continue
				}
				values = append(values, &v)
			}
			line.Values = append(line.Values, values)
		}
		out.Lines = append(out.Lines, line)
	}
	return out, nil
}
