package experiment

import (
	"sotto/config"
	"sotto/data"
	"sotto/data/memory"
)

// BuildOn is File.Build on records that the program has in memory, for a run file whose
// data set is "memory": see package data/memory. A run that was interrupted goes on with
// the same records and run.ResumeOn.
func BuildOn(f *File, records *data.Split) (*Experiment, error) {
	f.Data.memory = records
	return f.Build("")
}

// inMemory is the data set of BuildOn.
func inMemory(f *File) (*data.Split, error) {
	if f.Data.memory == nil {
		return nil, config.Bad("dataset", memory.Name, "a data set that is read from files or generated: "+
			"these records are in the memory of the program that runs on them")
	}
	return f.Data.memory, nil
}
