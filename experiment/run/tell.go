package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"sotto/experiment"
	"sotto/experiment/metric"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/live/event"
	"sotto/sim"
	"sotto/topology"
)

// Limits of what a run says.
const (
	sayEvery      = 250 * time.Millisecond // progress
	lookEvery     = time.Second            // what agents know, and where time goes
	sayPart       = 240                    // of the time so far passes between two of either
	sayAtLeast    = 10 * time.Second       // but never more than this
	mostSaid      = 2000                   // evaluations
	mostLinks     = 2000                   // of a graph
	mostRounds    = 64                     // whose graphs are looked at for links
	mostPlaced    = 64                     // agents with places
	mostNamedSaid = 1000
)

// teller says how a run goes. It reads what is there and changes nothing; its times are
// those of the clock, and no result depends on it.
type teller struct {
	of     *Training
	to     *event.Stream
	every  uint64    // evaluations that are said: each every-th
	seen   uint64    // evaluations
	said   time.Time // of the last progress
	looked time.Time // of the last look
	from   uint64    // where this process has begun
	began  time.Time
	tally  *sim.Tally
	// due says the last evaluation, which is told once its checkpoint is on disk: whoever
	// hears it may hold the run up. nil: it was told.
	due func()
}

// flush tells what is due.
func (t *teller) flush() {
	if t.due != nil {
		t.due()
		t.due = nil
	}
}

// newTeller opens the run's stream in its directory.
func newTeller(r *Training) error {
	s := r.opt.Events
	if s == nil {
		s = event.NewStream(event.Simulated)
	}
	t := &teller{of: r, to: s, from: r.world.Sim.Done(), began: time.Now()}
	r.teller = t
	if err := s.Keep(filepath.Join(r.dir.Path, event.File), 0o644); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	f := r.e.File
	t.every = max(1, (f.Steps/f.Evaluate.Every+mostSaid-1)/mostSaid)
	what := event.OfRun
	if experiment.Asks(f) {
		what = event.OfQuery
	}
	s.Emit(&event.Begin{What: what, Name: f.Run.Name, Command: r.opt.Command,
		Dir: filepath.ToSlash(r.dir.Path), Unit: cmp.Or(strings.TrimSuffix(f.Pace.Word, "s"), "round"),
		Of: f.Steps, From: t.from,
		Engine: experiment.EngineVersion})
	setup, err := t.setup()
	if err != nil {
		return err
	}
	s.Emit(setup)
	return nil
}

// setup is what is trained on what. It places the agents, and finds the links.
func (t *teller) setup() (*event.Setup, error) {
	r, e := t.of, t.of.e
	f, names := e.File, experiment.NamesOf(e)
	s := &event.Setup{Algorithm: f.Algorithm.Name, Dataset: f.Data.Dataset,
		Model:  event.Model{Name: f.Model.Name, Parameters: e.Task.Model.Dim()},
		Agents: event.Agents{Number: f.Topology.Agents, Names: names.Agents, Classes: names.Classes},
		Noise:  "simulated"}
	target := &e.Setup.Target
	s.Budget = event.Budget{Epsilon: jsonfloat.Float(math.Inf(1)), Delta: target.Delta,
		Adjacency: target.Adjacency.String(), Unit: target.Unit.String()}
	if budget := t.budget(); budget > 0 {
		s.Budget.Epsilon = jsonfloat.Float(budget)
	}
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return nil, err
	}
	s.Graph.Name = g.Name()
	if g.Agents() > mostNamedSaid {
		return s, nil
	}
	if s.Graph.Links, err = t.linked(g); err != nil {
		return nil, err
	}
	if len(s.Graph.Links) > 0 {
		t.tally = r.world.Sim.Count(s.Graph.Links)
	}
	if g.Agents() <= mostPlaced {
		s.Graph.At = placed(g)
	}
	return s, nil
}

// linked are the links that rounds have, by their ends: of all rounds where the graph
// stays, else of the first ones. nil: they are too many to draw.
func (t *teller) linked(first *topology.Graph) (links [][2]int, err error) {
	f := t.of.e.File
	seen, last := map[[2]int]bool{}, (*topology.Graph)(nil)
	for round := range max(1, min(f.Steps, mostRounds)) {
		g := first
		if round > 0 && f.Pace.Word == "" {
			if g, err = t.of.e.Graphs.Schedule.At(round); err != nil {
				return nil, err
			}
		}
		if g == last {
			break
		}
		if last = g; g.Links() > mostLinks {
			return nil, nil
		}
		for x := range g.Edges() {
			ends := [2]int{min(int(x.I), int(x.J)), max(int(x.I), int(x.J))}
			if ends[0] != ends[1] && !seen[ends] {
				seen[ends] = true
				links = append(links, ends)
			}
		}
		if len(links) > mostLinks {
			return nil, nil
		}
	}
	return links, nil
}

// budget is what the agent with the largest one may spend; 0: none.
func (t *teller) budget() float64 {
	r := t.of
	most := r.e.File.Privacy.TargetEpsilon
	for i := range r.e.Plans {
		most = max(most, r.e.Plans[i].Epsilon)
	}
	return most
}

// step says how far the run is, now and then.
func (t *teller) step() {
	if now := time.Now(); now.Sub(t.said) >= t.pause(now, sayEvery) {
		t.said = now
		t.progress()
	}
}

// pause is how long nothing is said that is only a larger number: longer for what takes
// long.
func (t *teller) pause(now time.Time, least time.Duration) time.Duration {
	return min(max(least, now.Sub(t.began)/sayPart), max(least, sayAtLeast))
}

func (t *teller) progress() {
	r := t.of
	done, of := r.world.Sim.Done(), r.e.File.Steps
	left := 0.
	if did := done - t.from; did > 0 {
		left = time.Since(t.began).Seconds() / float64(did) * float64(of-done)
	}
	t.to.Emit(&event.Progress{Done: done, Of: of, Left: math.Round(10*left) / 10})
}

// evaluated says what an evaluation has found, and what follows from it.
func (t *teller) evaluated(rows []rundir.Row, worst rundir.Bounds, scene *metric.Scene) {
	r := t.of
	done, last := r.world.Sim.Done(), r.world.Sim.Done() == r.e.File.Steps
	t.seen++
	if t.seen%t.every != 1%t.every && !last {
		return
	}
	ev := Evaluation{Rows: rows}
	said := &event.Evaluation{Done: done, Metrics: map[string]event.Stats{},
		Words: r.evaluations[len(r.evaluations)-1].String()}
	for name, s := range ev.Metrics() {
		said.Metrics[name] = event.Stats{Mean: jsonfloat.Float(s.Mean), Min: jsonfloat.Float(s.Min),
			Max: jsonfloat.Float(s.Max)}
	}
	t.to.Emit(said)
	t.to.Emit(&event.Spent{Done: done, Lower: worst.Lower, Upper: worst.Upper,
		Projected: jsonfloat.Float(t.budget())})
	if now := time.Now(); last || t.seen > 1 && now.Sub(t.looked) >= t.pause(now, lookEvery) {
		t.looked = now
		t.look(done, scene)
	}
}

// look says what agents know, what went over the links and where time goes.
func (t *teller) look(done uint64, scene *metric.Scene) {
	r := t.of
	if knows := scene.Knows(); knows != nil {
		t.to.Emit(&event.Knows{Done: done, Percent: knows})
	}
	stats, n := r.world.Sim.Stats(), r.e.File.Topology.Agents
	traffic := &event.Traffic{Done: done, Sent: stats.Sent, Dropped: stats.Dropped, Late: stats.Late}
	for _, c := range t.tally.Links() {
		traffic.ByLink = append(traffic.ByLink, [3]uint64{c.Lost, c.Late, c.Sent})
		traffic.BytesByLink = append(traffic.BytesByLink, c.Bytes)
	}
	for i := range n {
		traffic.Bytes += r.world.Sim.BytesSent(i)
	}
	t.to.Emit(traffic)
	batch := 0.
	for i := range r.e.Plans {
		batch += r.e.Plans[i].Public.ExpectedBatchSize
	}
	if r.e.File.Pace.Word != "" {
		batch /= float64(n)
	}
	elapsed := time.Since(t.began).Seconds()
	w := r.world.watch.split(n, r.opt.Workers, time.Since(r.began))
	round := func(x float64) float64 { return math.Round(1e4*x) / 1e4 }
	t.to.Emit(&event.Time{Done: done, Elapsed: round(r.elapsed().Seconds()),
		Rate:      math.Round(batch * float64(done-t.from) / max(elapsed, 1e-3)),
		Gradients: round(w.Gradients), Noise: round(w.Noise), Mixing: round(w.Mixing),
		Evaluation: round(w.Evaluation), Rest: round(w.Rest)})
}

// ended says how the run has ended, and closes its file: the directory is about to get
// its final name.
func (t *teller) ended(end *event.End) error {
	t.progress()
	t.to.Emit(end)
	return t.to.Close()
}

// gaveUp says that the run ends without a result.
func (t *teller) gaveUp(err error) {
	end := &event.End{State: event.Failed, Text: err.Error(), Dir: filepath.ToSlash(t.of.dir.Path)}
	if i := (*Interrupted)(nil); errors.As(err, &i) {
		end.State = event.Interrupted
	}
	_ = t.ended(end) // the error of the run comes first
}

// hold waits while somebody has paused the run; its time does not count.
func (t *teller) hold(ctx context.Context) {
	r := t.of
	if r.opt.Hold == nil {
		return
	}
	began := time.Now()
	r.opt.Hold(ctx)
	if paused := time.Since(began); paused > time.Millisecond {
		r.began, t.began = r.began.Add(paused), t.began.Add(paused)
	}
}
