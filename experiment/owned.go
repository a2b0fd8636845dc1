package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/experiment/plan"
	"sotto/topology"
)

// FileDigest is a roster's name of an experiment: the run file's SHA-256, hexadecimal.
func FileDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ScheduleFor builds the graphs of the run file with a public seed for the file's.
func (f *File) ScheduleFor(seed uint64) (topology.Schedule, error) {
	if _, similar := topology.Similarities[f.Topology.Graph]; similar {
		return nil, f.At("topology", config.Bad("graph", f.Topology.Graph,
			config.OneOf(topology.Graphs)+": the graphs of similar agents compare data"))
	}
	s, err := topology.Build(graphSpec(f, seed), f.Section("topology"))
	return s, f.At("topology", err)
}

// graphSpec describes the graphs of [topology].
func graphSpec(f *File, seed uint64) topology.Spec {
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

// Member names one agent of an experiment among others that this process does not know.
type Member struct {
	Self   agent.ID          // its number in the roster
	Data   data.OwnFile      // its own file
	Graphs topology.Schedule // not nil; that the signed roster states the whole of: see File.ScheduleFor
	// Seed is public and takes the place of the run file's: of the initial model and of
	// the records held out for tests.
	Seed uint64
}

// Join builds the part of one member: its own records and plan, and nobody else's. It
// returns the owner's file too. It sets the seed of f. Runs without noise, and with
// switches of [replication], are privacy.ErrRefused; other bad input is a *config.Error.
func (f *File) Join(m Member) (*Experiment, *data.Own, error) {
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
	settle(f, func(f *File) { f.Run.Seed = m.Seed })
	own, err := loadOwn(f, m)
	if err != nil {
		return nil, nil, f.At("data", err)
	}
	e := builder{&Experiment{File: f, Seats: Seats{Self: m.Self, Owned: true}}}
	e.Task.Split, e.Graphs.Schedule = own.Split, m.Graphs
	if err := e.ask(); err != nil {
		return nil, nil, err
	}
	if err := e.checkUnits(); err != nil {
		return nil, nil, err
	}
	if err = e.planner().prepare(); err != nil {
		return nil, nil, err
	}
	if err = e.planner().newFactory(); err != nil {
		return nil, nil, err
	}
	rows := make([]int32, e.Task.Split.Train.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	e.Task.Parts = [][]int32{rows}
	if err := e.ownModel(); err != nil {
		return nil, nil, err
	}
	if f.Privacy.Noise == "" {
		noise := map[bool]string{false: fastNoise, true: exactNoise}[f.Mechanism().Exact]
		settle(f, func(f *File) { f.Privacy.Noise = noise })
	}
	if err := e.planner().makePlans(); err != nil {
		return nil, nil, f.At("privacy", err)
	}
	if _, named := f.doc.Given("data.feature_columns"); !named && undescribed(own.Split.Train) {
		e.Notes.Warnings = append(e.Notes.Warnings, "features go by their position in the file, and nobody "+
			"sees whether members' files have the same columns in the same order; data.feature_columns "+
			"finds them by name")
	}
	if who := f.Adversaries.Text(); who != "" {
		e.Notes.Warnings = append(e.Notes.Warnings,
			"this experiment has members who attack, to rehearse with: "+who)
	}
	return e.Experiment, own, nil
}

// CheckAlgorithm refuses parameters that the run's algorithm does not take.
func CheckAlgorithm(f *File) error {
	e := planner{&Experiment{File: f}}
	if err := cmp.Or(e.prepare(), e.newFactory()); err != nil {
		return err
	}
	return f.doc.FinishSection("algorithm")
}

// ownModel builds model and initial parameters, which are the same for all members.
func (e builder) ownModel() error {
	f := e.File
	if err := e.newModel(); err != nil {
		return err
	}
	if err := checkPersonal(e.Experiment); err != nil {
		return err
	}
	whole := graphSpec(f, 0)
	whole.Dropout, whole.Window = 0, 0
	if _, err := topology.Build(whole, f.Section("topology")); err != nil { // its keys are known now
		return f.At("topology", err)
	}
	if err := f.doc.Finish(); err != nil {
		return err
	}
	return e.ready()
}

// OwnSteps is how many rounds a daemon's agent takes part in, or how often it wakes by
// its own clock, or how many steps every token makes.
func (f *File) OwnSteps() uint64 { return f.Pace.length.own(f) }

// planOf is agent i's plan: of another member's run the owner's own, which is the same
// where plans follow from the run file alone.
func planOf(e *Experiment, i int) *plan.Agent {
	if e.Seats.Owned {
		i = 0
	}
	return &e.Plans[i]
}

// seesAll says that all agents' records are here, as in a simulation.
func seesAll(e *Experiment) bool { return !e.Seats.Owned }

// others is a count that agents know of each other; an owner knows its own alone.
func (s Seats) others(count int) int {
	if s.Owned {
		return 0
	}
	return count
}
