package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"

	"sotto/data/memory"
	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/rundir"
	"sotto/experiment/shapes"
	"sotto/live/event"
	"sotto/model"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// finish writes every file of the run and gives the directory its final name. Until that
// rename the checkpoint stays, so that a full disk costs nothing but the writing.
func (r *Training) finish(ctx context.Context) (*Result, error) {
	r.world.erase()
	var rows []rundir.Row
	for _, part := range r.rows {
		rows = append(rows, part...)
	}
	metrics := rundir.EncodeMetrics(rows)
	score, err := r.score()
	if err != nil {
		return nil, err
	}
	if r.spent, r.charges, err = r.accounts.spentBy(r.Ledgers, false); err != nil {
		return nil, err
	}
	s := r.summarize()
	s.Score = score
	if s.Figures, err = r.figures(); err != nil {
		return nil, err
	}
	if s.Personal, err = personal(ctx, r); err != nil {
		return nil, orInterrupted(ctx, r, err)
	}
	if s.Network, err = forecast.Network(r.e); err != nil {
		return nil, err
	}
	if r.walk, err = forecast.Walk(r.e); err != nil {
		return nil, err
	}
	s.Walk = r.walk
	s.Run = r.dir.Out + "/" + r.dir.Name
	h := sha256.New()
	h.Write(metrics)
	if err := r.WriteModel(h); err != nil {
		return nil, err
	}
	s.RunHash = hex.EncodeToString(h.Sum(nil))

	graph, err := r.e.Graphs.Schedule.At(0)
	if err != nil {
		return nil, err
	}
	answers, shapes, err := learned(r)
	if err != nil {
		return nil, err
	}
	files, err := r.artifacts(&s, metrics, graph)
	if err != nil {
		return nil, err
	}
	if err := r.dir.Stream(rundir.ModelFile, r.WriteModel); err != nil {
		return nil, r.kept(err)
	}
	files = append(files, found(rundir.ShapesFile, shapes)...)
	files = append(files, found(rundir.AnswersFile, answers)...)
	for _, f := range files {
		b, err := f.make()
		if err == nil {
			err = r.dir.Put(f.name, b)
		}
		if err != nil {
			return nil, r.kept(err)
		}
	}
	if err := r.writeReport(s, rows, graph, answers, shapes); err != nil {
		return nil, r.kept(err)
	}
	b, err := rundir.Indent(s)
	if err == nil {
		err = r.dir.Put(rundir.SummaryFile, b)
	}
	if err != nil {
		return nil, r.kept(err)
	}
	if s.Run, err = closeRun(r, &s); err != nil {
		return nil, r.kept(err)
	}
	return &Result{Dir: s.Run, Summary: s}, nil
}

// learned are answers.json and shapes.json; nil where there is none.
func learned(r *Training) (answers, shapes []byte, err error) {
	if answers, err = r.answers(); err != nil {
		return nil, nil, err
	}
	shapes, err = shapesOf(r)
	return answers, shapes, err
}

// closeRun ends the stream and gives the directory its final name.
func closeRun(r *Training, s *rundir.Summary) (string, error) {
	if err := r.teller.ended(&event.End{State: event.Done, Dir: s.Run, Page: rundir.ReportFile,
		Facts: []event.Fact{{Name: "run hash", Value: s.RunHash}}}); err != nil {
		return "", err
	}
	return r.dir.Finish()
}

// answers are answers.json, of the mean of all agents' models; nil where the run asks
// nothing.
func (r *Training) answers() ([]byte, error) {
	if !experiment.Asks(r.e.File) {
		return nil, nil
	}
	a, err := experiment.AnswersOf(r.e, meanModel(r))
	if err != nil {
		return nil, err
	}
	return rundir.Indent(a)
}

// meanModel is the mean of all honest agents' models.
func meanModel(r *Training) tensor.Vec {
	mean := make([]float64, r.e.Task.Model.Dim())
	agents := r.e.Honest()
	for _, i := range agents {
		for k, x := range r.world.Sim.Model(i) {
			mean[k] += float64(x) / float64(len(agents))
		}
	}
	theta := make(tensor.Vec, len(mean))
	for k, x := range mean {
		theta[k] = float32(x)
	}
	return theta
}

// shapesOf are shapes.json, of the mean of all agents' models and what the first knows of
// the noise; nil where the model has none.
func shapesOf(r *Training) ([]byte, error) {
	all := shapes.Of(r.e, meanModel(r), r.world.agents[r.e.Honest()[0]].Algorithm)
	if all == nil {
		return nil, nil
	}
	return rundir.Indent(all)
}

// artifacts are the files beside model, report and summary.
func (r *Training) artifacts(s *rundir.Summary, metrics []byte, graph *topology.Graph) ([]artifact, error) {
	files := []artifact{
		{rundir.MetricsFile, func() ([]byte, error) { return metrics, nil }},
		{rundir.TopologyFile, func() ([]byte, error) { return rundir.Indent(graph) }},
		{rundir.LedgerFile, r.EncodeLedgers},
		{rundir.PrivacyFile, r.encodeStatements},
		{rundir.ManifestFile, func() ([]byte, error) { return rundir.Indent(r.manifest()) }},
	}
	if !s.Names.None() {
		files = append(files, artifact{rundir.NamesFile, func() ([]byte, error) {
			return rundir.Indent(s.Names)
		}})
	}
	if r.e.File.Clock.Record {
		files = append(files, artifact{rundir.WakesFile, r.encodeWakes})
	}
	return files, nil
}

// artifact is a file of the run directory and how its bytes are made.
type artifact struct {
	name string
	make func() ([]byte, error)
}

// found is the file of that name; none without bytes.
func found(name string, b []byte) []artifact {
	if b == nil {
		return nil
	}
	return []artifact{{name, func() ([]byte, error) { return b, nil }}}
}

// encodeWakes writes the run's wakes, for clock.replay.
func (r *Training) encodeWakes() ([]byte, error) {
	list, err := r.e.Wakes()
	return sim.AppendWakes(nil, list), err
}

// kept says how to go on after a file could not be written.
func (r *Training) kept(err error) error {
	if !r.saved {
		return err
	}
	return fmt.Errorf("%w; the last checkpoint stands, go on from it with: %s", err, r.goOn())
}

// goOn says what resumes the run.
func (r *Training) goOn() string {
	if r.e.File.Data.Dataset == memory.Name {
		return "run.ResumeOn of " + r.dir.Path + ", in a program that has the same records"
	}
	return "sotto run --resume " + r.dir.Path
}

// WriteModel writes every agent's parameters, of more than rundir.SummaryThreshold the
// mean of the honest ones.
func (r *Training) WriteModel(w io.Writer) error {
	n, holder := r.e.File.Models()
	meta := map[string]string{"config_digest": r.e.Digest(), "engine": experiment.EngineVersion,
		"model": r.e.File.Model.Name, "noise": "simulated",
		"samples": rundir.FormatShape(r.e.Task.SampleShape())}
	var tensors []model.NamedVec
	if n <= rundir.SummaryThreshold {
		for i := range n {
			tensors = append(tensors, model.NamedVec{Name: fmt.Sprintf("%s.%d", holder, i),
				Vec: r.e.Task.Expand(r.world.Sim.Model(i))})
		}
		return model.WriteSafetensors(w, meta, tensors)
	}
	sum := make([]float64, r.e.Task.Model.Dim())
	agents := r.e.Honest()
	for _, i := range agents {
		for k, x := range r.world.Sim.Model(i) {
			sum[k] += float64(x)
		}
	}
	mean := make(tensor.Vec, len(sum))
	for k := range mean {
		mean[k] = float32(sum[k] / float64(len(agents)))
	}
	return model.WriteSafetensors(w, meta, []model.NamedVec{{Name: "mean", Vec: r.e.Task.Expand(mean)}})
}

func (r *Training) manifest() map[string]any {
	return map[string]any{
		"engine": experiment.EngineVersion, "accountant": account.Version, "config_digest": r.e.Digest(),
		"identity": r.e.Identity(),
		"seed":     r.e.File.Run.Seed, "train_digest": r.e.Task.Split.Train.Digest,
		"test_digest": r.e.Task.Split.Test.Digest,
		"go":          runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		"kernels":      tensor.Kernels(),
		"processors":   runtime.NumCPU(),
		"wall_seconds": r.elapsed().Seconds(),
	}
}

// plotFile is a plot of a run's page.
type plotFile struct {
	Name  string
	Bytes []byte
}

// writeReport writes the page and the plots as "sotto report" does for the finished run.
func (r *Training) writeReport(s rundir.Summary, rows []rundir.Row, graph *topology.Graph,
	answers, shapes []byte) error {
	f := &rundir.Run{
		Dir:     s.Run,
		Command: cmp.Or(r.opt.Command, s.Again(s.Run)),
		Summary: s,
		Rows:    rows,
		Graph:   graph,
		Config:  r.e.Effective,
		Answers: answers,
		Shapes:  shapes,
	}
	err := r.ByLedger(func(agents string, l *ledger.Memory) error {
		head := rundir.LedgerHead{Agents: agents, Head: l.Head().String()}
		for _, err := range l.Records() {
			if err != nil {
				return err
			}
			head.Records++
		}
		f.Ledgers = append(f.Ledgers, head)
		return nil
	})
	if err != nil {
		return err
	}
	page, plots, err := pagesOf(f)
	if err != nil {
		return err
	}
	for _, p := range plots {
		if err := r.dir.Put("plots/"+p.Name, p.Bytes); err != nil {
			return err
		}
	}
	return r.dir.Put(rundir.ReportFile, page)
}
