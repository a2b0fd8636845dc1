package experiment

import (
	"sotto/config"
	"sotto/data"
	"sotto/data/memory"
)

// BuildOn is File.Build on records that the program has in memory, as memory.Split makes
// them, for a run file whose data set is "memory". Records that were changed since, and
// another data set in the run file, are a *config.Error. A run that was interrupted goes
// on with the same records and run.ResumeOn.
func BuildOn(f *File, records *data.Split) (*Experiment, error) {
	if err := Unchanged(f); err != nil {
		return nil, err
	}
	if f.Data.Dataset != memory.Name {
		return nil, f.At("data", config.Bad("dataset", f.Data.Dataset,
			memory.Name+", for records of a program"))
	}
	if err := memory.Check(records); err != nil {
		return nil, err
	}
	f.Data.memory = records
	return f.Build("")
}

// inMemory is the data set of BuildOn.
func inMemory(f *File) (*data.Split, error) {
	if f.Data.memory == nil {
		return nil, config.Bad("dataset", memory.Name, "a data set that is read from files or generated: "+
			"these records are in the memory of a program, which runs on them with experiment.BuildOn "+
			"and goes on with run.ResumeOn")
	}
	return f.Data.memory, nil
}
