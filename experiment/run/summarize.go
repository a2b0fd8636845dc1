package run

import (
	"context"
	"math"
	"time"

	"sotto/experiment"
	"sotto/experiment/finishing"
	"sotto/experiment/forecast"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account"
	"sotto/tensor"
)

// diverged reports whether models that classify have no finite loss; others may have none
// to begin with.
func diverged(loss float64, accuracy *rundir.Stats) bool {
	return math.IsInf(loss, 0) || math.IsNaN(loss) && accuracy != nil && !math.IsNaN(accuracy.Mean)
}

// summarize fills all but Run and RunHash, which are known when the files are written.
func (r *Training) summarize() rundir.Summary {
	e := r.e
	last := r.evaluations[len(r.evaluations)-1]
	s := rundir.Summary{
		Name: e.File.Run.Name, Algorithm: e.File.Algorithm.Name, Dataset: e.File.Data.Dataset,
		Model:      e.File.Model.Name,
		Parameters: e.Task.Model.Dim(), Agents: e.File.Topology.Agents, Rounds: e.File.Steps,
		Seed: e.File.Run.Seed,
		Quality: rundir.Quality{Loss: jsonfloat.Float(last.Loss.Mean),
			ConsensusDistance: jsonfloat.Float(last.Consensus)},
		Privacy: r.privacyLines(), Noise: "simulated", Links: r.world.Sim.Stats(),
		ConfigDigest: e.Digest(), Engine: experiment.EngineVersion, Arithmetic: e.Arithmetic(),
		Notes: r.e.Remarks(r.world.Sim.Stats()), Names: experiment.NamesOf(r.e),
	}
	if diverged(last.Loss.Mean, last.Accuracy) {
		s.Notes = append(s.Notes,
			"warning: the loss is not finite: the models have diverged; take a smaller step_size")
	}
	if e.File.Evaluate.RMSE {
		of := rundir.StatsIn(r.rows[len(r.rows)-1], rundir.RMSE)
		s.RMSE = &of
	}
	for _, name := range e.File.Evaluate.Metrics {
		if s.Metrics == nil {
			s.Metrics = map[string]rundir.Stats{}
		}
		s.Metrics[name] = rundir.StatsIn(r.rows[len(r.rows)-1], name)
	}
	if e.File.Evaluate.Estimation {
		s.Estimation = rundir.EstimationIn(r.rows[len(r.rows)-1])
	}
	s.Adversaries = e.File.Adversaries.Text()
	s.Replication, s.Tuned = e.File.Replication.String(), e.File.Tuned.Text()
	s.Pacing, s.Tokens = e.File.Pace.Word, e.File.Token.Count
	for i := range e.Plans {
		s.ClaimedEpsilon = max(s.ClaimedEpsilon, jsonfloat.Float(e.Plans[i].Claim))
	}
	s.Topology = forecast.Graph(e)
	if last.Accuracy != nil {
		a := *last.Accuracy
		s.Accuracy = &a
	}
	if text := belowMajority(e, s.Accuracy); text != "" {
		s.Notes = append(s.Notes, text)
	}
	for i := range s.Agents {
		b := r.world.Sim.BytesSent(i)
		s.BytesSent = max(s.BytesSent, b)
		s.BytesSentTotal += b
	}
	s.Seconds = r.elapsed().Seconds()
	s.Split = r.world.watch.split(s.Agents, r.opt.Workers, time.Since(r.began))
	s.SecondsPerRound = s.Seconds / float64(s.Rounds)
	return s
}

// figures are those of final models, nil where nobody asks for them.
func (r *Training) figures() (*rundir.Figures, error) {
	if !r.e.File.Evaluate.Figures {
		return nil, nil
	}
	scene, err := r.world.Scene(r.opt.Workers)
	if err != nil {
		return nil, err
	}
	return scene.Figures()
}

// personal judges every owner's own model; nil where nobody asks for them.
func personal(ctx context.Context, r *Training) (*rundir.Personal, error) {
	if !r.e.File.Model.Personal.Enabled {
		return nil, nil
	}
	scene, err := r.world.Scene(r.opt.Workers)
	if err != nil {
		return nil, err
	}
	return scene.Finished(func(i int, shared tensor.Vec) (*finishing.Model, error) {
		return experiment.Finish(ctx, r.e, i, shared)
	})
}

// privacyLines lists agents, more than rundir.SummaryThreshold in groups of equal
// figures.
func (r *Training) privacyLines() []rundir.PrivacyLine {
	p, t := &r.e.File.Privacy, &r.e.Setup.Target
	line := func(i int) rundir.PrivacyLine {
		l := rundir.PrivacyLine{
			Epsilon: rundir.NewBounds(r.spent[i].Lower, r.spent[i].Upper), Delta: t.Delta,
			Adjacency: t.Adjacency.String(), Unit: t.Unit.String(), Accountant: p.Accountant,
			Charges: r.charges[i],
			Noise:   jsonfloat.Float(r.e.Plans[i].Noise), SampleRate: r.e.Plans[i].Public.SampleRate,
			Overrides: r.e.Notes.Overrides,
		}
		if r.e.File.Pace.OwnPlans {
			l.Target, l.Records = jsonfloat.Float(r.e.Plans[i].Epsilon), r.e.Plans[i].Public.Records
		}
		return l
	}
	if len(r.spent) <= rundir.SummaryThreshold {
		lines := make([]rundir.PrivacyLine, len(r.spent))
		for i := range lines {
			lines[i] = line(i)
			lines[i].Agent = i
		}
		return lines
	}
	type key struct {
		eps     account.Interval
		charges uint64
		noise   float64
		rate    float64
	}
	groups := map[key][]int{}
	var order []key
	for i := range r.spent {
		k := key{r.spent[i], r.charges[i], r.e.Plans[i].Noise, r.e.Plans[i].Public.SampleRate}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	var lines []rundir.PrivacyLine
	for _, k := range order {
		l := line(groups[k][0])
		l.Agent, l.Group, l.Members = groups[k][0], rundir.Ranges(groups[k]), len(groups[k])
		l.Records = 0 // they may differ
		lines = append(lines, l)
	}
	return lines
}
