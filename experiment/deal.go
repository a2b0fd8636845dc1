package experiment

import "sotto/data"

// Deal deals all records of the run's data set to its agents: see data.Deal.
func (e *Experiment) Deal(dataDir string) (files [][]byte, records []int, err error) {
	f := e.File
	files, records, err = data.Shard(f.Data.Dataset, dataDir, f.Data.Partition, f.Topology.Agents, f.Run.Seed,
		f.Section("data"))
	return files, records, f.At("data", err)
}

// Partition is the run's.
func (e *Experiment) Partition() string { return e.File.Data.Partition }
