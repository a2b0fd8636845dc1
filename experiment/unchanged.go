package experiment

import (
	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/experiment/runfile"
)

// settings are those of a run file that were checked, and what was found from them.
type settings struct {
	mech *Mechanism
	read *File // as it was decoded; nil until then
}

// section is one of a run file, with its parameters in a File.
type section struct {
	name   string
	params any
}

// sections are those that every run file has.
func sections(f *File) []section {
	return []section{
		{"", &f.Run}, {"topology", &f.Topology}, {"data", &f.Data}, {"model", &f.Model},
		{"algorithm", &f.Algorithm}, {"privacy", &f.Privacy}, {"evaluate", &f.Evaluate},
		{"faults", &f.Faults}, {"faults", &f.Adversaries}, {"replication", &f.Replication},
	}
}

// found is what follows from the algorithm's name and the rounds.
type found struct {
	algo.Spec
	Pace  agent.Pacing
	Steps uint64
}

// all are sections and what was found.
func all(f *File) []section {
	return append(sections(f), section{TunedSection, &f.Tuned}, section{"clock", &f.Clock},
		section{"token", &f.Token}, section{"algorithm", &found{f.Spec, f.Pacing, f.Steps}})
}

// Unchanged refuses a file some of whose fields a program has set since [Parse]: what was
// checked, decoded and planned does not follow them, and the configuration that is kept
// with a run's results would be another run's. Elements of a list that were changed in
// place are not seen. An error is a *config.Error.
func Unchanged(f *File) error {
	if f == nil || f.settings.read == nil {
		return config.Bad("run file", "none that was read", "one of experiment.Parse")
	}
	was := all(f.settings.read)
	for i, s := range all(f) {
		if err := runfile.Changed(s.name, was[i].params, s.params); err != nil {
			return f.At("", err)
		}
	}
	return nil
}

// settle sets what follows from other keys or from files in a run file that was read.
func settle(f *File, set func(f *File)) {
	if set(f); f.settings.read != nil {
		set(f.settings.read)
	}
}
