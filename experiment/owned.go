package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/topology"
)

// FileDigest is what a roster names an experiment by: the SHA-256 of the run file's
// bytes, hexadecimal.
func FileDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Agents returns how many agents the run file asks for.
func (f *File) Agents() int { return f.Topology.Agents }

// ScheduleFor builds the graphs of the run file with a public seed in place of the
// file's.
func (f *File) ScheduleFor(seed uint64) (topology.Schedule, error) {
	if _, similar := topology.Similarities[f.Topology.Graph]; similar {
		return nil, f.At("topology", config.Bad("graph", f.Topology.Graph,
			config.OneOf(topology.Graphs)+": the graphs of similar agents compare data"))
	}
	s, err := topology.Build(f.graphSpec(seed), f.Section("topology"))
	return s, f.At("topology", err)
}

// graphSpec describes the graphs of [topology].
func (f *File) graphSpec(seed uint64) topology.Spec {
	return topology.Spec{
		Graph:    f.Topology.Graph,
		Weights:  f.Topology.Weights,
		Agents:   f.Topology.Agents,
		Seed:     seed,
		Push:     f.Has(algo.Mass),
		Dropout:  f.Topology.Dropout,
		Window:   f.Topology.Window,
		Rounds:   f.Run.Rounds,
		Pairwise: f.Topology.Wake == pairWake,
	}
}

// GraphFor is the whole of ScheduleFor: what a roster states. Where graphs change from
// round to round it says who hears whom in some round.
func (f *File) GraphFor(seed uint64) (*topology.Graph, error) {
	s, err := f.ScheduleFor(seed)
	if err != nil {
		return nil, err
	}
	return topology.Union(s)
}

// WakesEach is how often each agent wakes where daemons run: its share of the run's
// wakes, since every node counts its own.
func (f *File) WakesEach() uint64 {
	n := uint64(max(1, f.Topology.Agents))
	return (f.Steps + n - 1) / n
}

// ownWakes is how often the owner's agent steps: at its own wakes and, in pairs, those of
// its neighbors at which they draw it, as many as are to be expected. What comes beyond
// is refused by the run's filter: the agent goes on without answers.
func (e *Experiment) ownWakes() (uint64, error) {
	each := e.File.WakesEach()
	if e.File.Pacing != agent.PacingPairs {
		return each, nil
	}
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return 0, err
	}
	called := 0.
	for _, nb := range g.In(e.Seats.Self) {
		called += float64(each) / float64(len(g.In(nb.ID)))
	}
	return each + uint64(math.Ceil(called)), nil
}

// Interval is the mean time between two wakes of a daemon's agent; 0 for algorithms of
// rounds.
func (f *File) Interval() time.Duration {
	switch {
	case !f.Clocked():
		return 0
	case f.Clock.Interval == 0:
		return time.Second
	}
	return time.Duration(f.Clock.Interval * float64(time.Second))
}

// Member names one agent of an experiment among others that this process does not know.
type Member struct {
	Self   agent.ID
	Data   string            // the owner's file
	Graphs topology.Schedule // that the signed roster states the whole of: see File.ScheduleFor
	// Seed is public and takes the place of the run file's: of the initial model and of
	// the records held out for tests.
	Seed uint64
}

// Join builds the part of one member: its own records and plan, and nobody else's. It
// returns the raw lines of the owner's file too. Runs without noise, and with switches of
// [replication], are refused.
func (f *File) Join(m Member) (*Experiment, [][]byte, error) {
	if err := f.CheckDeployable(); err != nil {
		return nil, nil, err
	}
	first, err := m.Graphs.At(0)
	if err != nil {
		return nil, nil, err
	}
	if first.Agents() != f.Topology.Agents {
		return nil, nil, f.Refuse("topology.agents", f.Topology.Agents,
			fmt.Sprintf("%d, the members of the roster", first.Agents()))
	}
	f.Run.Seed = m.Seed
	own, err := data.LoadOwn(f.Data.Dataset, m.Data, m.Seed, f.Section("data"))
	if err != nil {
		return nil, nil, f.At("data", err)
	}
	e := &Experiment{File: f, Seats: Seats{Self: m.Self, Owned: true}}
	e.Task.Split, e.Graphs.Schedule = own.Split, m.Graphs
	if err = e.prepare(); err != nil {
		return nil, nil, err
	}
	if err = e.newFactory(); err != nil {
		return nil, nil, err
	}
	rows := make([]int32, own.Split.Train.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	e.Task.Parts = [][]int32{rows}
	if err := e.ownModel(); err != nil {
		return nil, nil, err
	}
	if f.Privacy.Noise == "" {
		f.Privacy.Noise = fastNoise
		_, integers := e.Task.Model.(model.GridModel)
		if integers && f.InRounds() && f.Kind().Exact && f.Mechanism().Integers {
			// Nobody waits for a daemon: its noise is the one that rests on fewer
			// assumptions.
			f.Privacy.Noise = exactNoise
		}
	}
	if err := e.makePlans(); err != nil {
		return nil, nil, f.At("privacy", err)
	}
	if who := f.Adversaries.Text(); who != "" {
		e.Notes.Warnings = append(e.Notes.Warnings,
			"this experiment has members who attack, to rehearse with: "+who)
	}
	return e, own.Records, nil
}

// ownModel builds model and initial parameters, which are the same for all members.
func (e *Experiment) ownModel() error {
	f := e.File
	if err := e.newModel(); err != nil {
		return err
	}
	whole := f.graphSpec(0)
	whole.Dropout, whole.Window = 0, 0
	if _, err := topology.Build(whole, f.Section("topology")); err != nil { // its keys are known now
		return f.At("topology", err)
	}
	if err := f.doc.Finish(); err != nil {
		return err
	}
	return e.ready()
}
