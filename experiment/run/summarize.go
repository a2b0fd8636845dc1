package run

import (
	"fmt"
	"time"

	"sotto/algo"
	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/metric"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account"
)

// summarize fills all but Run and RunHash, which are known when the files are written.
func (r *Training) summarize() rundir.Summary {
	e := r.e
	last := r.evaluations[len(r.evaluations)-1]
	s := rundir.Summary{
		Name: e.File.Run.Name, Algorithm: e.File.Algorithm.Name, Dataset: e.File.Data.Dataset,
		Model:      e.File.Model.Name,
		Parameters: e.Task.Model.Dim(), Agents: e.File.Topology.Agents, Rounds: e.File.Steps,
		Seed: e.File.Run.Seed,
		Loss: jsonfloat.Float(last.Loss.Mean), ConsensusDistance: jsonfloat.Float(last.Consensus),
		Privacy: r.privacyLines(), Noise: "simulated", Links: r.world.Sim.Stats(),
		ConfigDigest: e.Digest(), Engine: experiment.EngineVersion, Arithmetic: e.Arithmetic(),
		Notes: r.notes(),
	}
	if e.File.Evaluate.RMSE {
		of := rundir.StatsIn(r.rows[len(r.rows)-1], rundir.RMSE)
		s.RMSE = &of
	}
	if rows := r.rows[len(r.rows)-1]; e.File.Evaluate.Estimation {
		s.Estimation = rundir.NewEstimation(rundir.StatsIn(rows, rundir.EstimationRMSE))
		for _, row := range rows {
			if row.Metric == rundir.EstimationRMSE && row.Agent == "all" {
				s.Estimation.MeanModel = jsonfloat.Float(row.Value)
			}
			if row.Metric == metric.NoiseFree {
				s.Estimation.NoiseFree = (*jsonfloat.Float)(&row.Value)
			}
		}
	}
	s.Adversaries = e.File.Adversaries.Text()
	s.Replication, s.Tuned = e.File.Replication.String(), e.File.Tuned.Text()
	if !e.File.InRounds() {
		s.Pacing = e.File.Pacing.String()
	}
	s.Tokens = e.File.Token.Count
	for i := range e.Plans {
		s.ClaimedEpsilon = max(s.ClaimedEpsilon, jsonfloat.Float(e.Plans[i].Claim))
	}
	s.Topology = forecast.Graph(e)
	if last.Accuracy != nil {
		a := *last.Accuracy
		s.Accuracy = &a
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

// privacyLines lists agents, above manyAgents in groups of equal figures.
func (r *Training) privacyLines() []rundir.PrivacyLine {
	p, t := &r.e.File.Privacy, &r.e.Setup.Target
	line := func(i int) rundir.PrivacyLine {
		l := rundir.PrivacyLine{
			Epsilon: rundir.NewBounds(r.spent[i].Lower, r.spent[i].Upper), Delta: p.TargetDelta,
			Adjacency: t.Adjacency.String(), Unit: t.Unit.String(), Accountant: p.Accountant,
			Charges: r.charges[i],
			Noise:   jsonfloat.Float(r.e.Plans[i].Noise), SampleRate: r.e.Plans[i].Public.SampleRate,
			Overrides: r.e.Notes.Overrides,
		}
		if r.e.File.Clocked() {
			l.Target = jsonfloat.Float(r.e.Plans[i].Epsilon)
		}
		return l
	}
	if len(r.spent) <= rundir.SummaryThreshold {
		lines := make([]rundir.PrivacyLine, len(r.spent))
		for i := range lines {
			lines[i] = line(i)
			lines[i].Agent = i
			if r.e.File.Clocked() {
				lines[i].Records = r.e.Plans[i].Public.Records
			}
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
		lines = append(lines, l)
	}
	return lines
}

// notes says what a reader must know before believing the figures.
func (r *Training) notes() []string {
	n := []string{"noise is simulated: its streams are derived from the seed, so this run protects " +
		"nobody; epsilon is what the same run with secret noise would cost"}
	switch {
	case r.e.Sealed():
		n = append(n,
			"no message leaves an agent, so nothing is charged; the models themselves are trained without "+
				"noise and must not be published")
	case !r.e.File.Private():
		n = append(n, "not private: no noise is added")
	}
	if r.e.File.Has(algo.Central) {
		n = append(n, "central, not decentralized: one trusted site holds all data")
	}
	if on := r.e.File.Replication.String(); on != "" {
		n = append(n, "replication of a published procedure that is not sound: "+on)
	}
	if who := r.e.File.Adversaries.Text(); who != "" {
		n = append(n, "adversaries to rehearse with, "+who+
			": accuracy, loss and consensus distance are of the other agents; epsilon covers all")
	}
	if t := r.e.File.Token.Count; t > 0 {
		n = append(n,
			fmt.Sprintf("%d tokens carry the models: accuracy and loss are of what they hold, epsilon is "+
				"each agent's, against who sees all messages", t))
	}
	if r.e.File.Pacing.Clocked() && r.e.File.Private() {
		n = append(n,
			"metric objective is computed from training records without noise: the simulation sees it, no "+
				"agent does")
	}
	if r.e.Task.Arrivals != nil {
		n = append(n,
			"records arrive during the run: one that has not come counts as a null record, and epsilon is "+
				"that of a record that was there from the start")
	}
	if s := r.world.Sim.Stats(); s.OneSided > 0 {
		n = append(n,
			fmt.Sprintf(
				"%d links lost one direction of a round: the mean of all models is then not preserved",
				s.OneSided))
	}
	if r.e.File.Evaluate.On == "validation" {
		n = append(n, "accuracy and loss are of records held out from training, not of the test set")
	}
	if t := r.e.File.Tuned.Text(); t != "" {
		n = append(n, t)
	}
	for _, w := range r.e.Notes.Warnings {
		n = append(n, "warning: "+w)
	}
	for _, o := range r.e.Notes.Overrides {
		n = append(n, "override: "+o)
	}
	return n
}
