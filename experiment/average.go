package experiment

import (
	"math"

	"sotto/config"
	"sotto/oracle"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
)

// averageAlgorithm asks every owner for one value, not for gradients; its model is
// "mean".
const averageAlgorithm = "gossip-average"

// pairWake is randomised pairwise gossip.
const pairWake = "pair"

// averages says that the run's only queries are for values.
func (f *File) averages() bool { return f.alg.Name == averageAlgorithm }

// validateAverage refuses what values are not made for.
func (f *File) validateAverage() error {
	switch {
	case f.mod.Name != "mean":
		return f.at("model", config.Bad("name", f.mod.Name, "mean with algorithm "+averageAlgorithm))
	case f.data.Arrival != "":
		return f.at("data", config.Bad("arrival", f.data.Arrival, "nothing with algorithm "+averageAlgorithm))
	case f.data.Augmentation != (oracle.Augmentation{}):
		return f.at("data", config.Bad("augmentations", f.data.Augmentation.Views,
			"none with algorithm "+averageAlgorithm))
	case f.mod.InitFrom != "":
		return f.at("model", config.Bad("init_from", f.mod.InitFrom,
			"nothing with algorithm "+averageAlgorithm))
	case f.topo.Wake == pairWake && f.priv.Mechanism == decorMechanism:
		return f.at("topology", config.Bad("wake", f.topo.Wake,
			"nothing with mechanism "+decorMechanism+", whose noise neighbors of all rounds share"))
	}
	others := f.repl
	others.ZeroStart, others.UnbalancedWeights = false, false
	if on := others.switches(); on != "" {
		return f.at("replication", config.Bad("", on,
			"no switch with algorithm "+averageAlgorithm+" but zero_start and unbalanced_weights"))
	}
	return nil
}

// validateAverage checks the keys of [privacy] that a value has, and fills in the others.
func (p *privacyParams) validateAverage() error {
	switch {
	case p.adjacency == account.AddRemove:
		return config.Bad("adjacency", p.Adjacency, "replace-one or zero-out with algorithm "+
			averageAlgorithm+": the number of owners, and of records in a mean, is public")
	case p.SampleRate != 0:
		return config.Bad("sample_rate", p.SampleRate,
			"nothing with algorithm "+averageAlgorithm+", which reads all records")
	case p.BatchSize != 0:
		return config.Bad("batch_size", p.BatchSize,
			"nothing with algorithm "+averageAlgorithm+", which reads all records")
	case p.MinRecords != 0:
		return config.Bad("min_records", p.MinRecords, "nothing with algorithm "+averageAlgorithm)
	case p.Noise == "exact":
		return config.Bad("noise", p.Noise, "fast with algorithm "+averageAlgorithm+
			": values are no sums of integers")
	case p.Adaptive():
		return config.Bad("clipping", p.Kind, "constant with algorithm "+averageAlgorithm)
	}
	return p.Clipping.Complete(p.MaxGradNorm, 0)
}

// planAverage is planPrivacy for values: every record is read once.
func (e *Experiment) planAverage() error {
	p := &e.file.priv
	queries, err := e.countQueries()
	if err != nil {
		return err
	}
	e.plans = make([]plan, len(e.parts))
	smallest := math.Inf(1)
	for i := range e.plans {
		pl := &e.plans[i]
		pl.queries, pl.rate, pl.batch, pl.records = queries, 1, 1, len(e.parts[i])
		if p.unit == account.Record() {
			pl.batch = float64(max(1, pl.records))
			smallest = min(smallest, pl.batch)
		}
	}
	if e.file.topo.Wake == pairWake {
		if m, err := e.averaging(); err == nil && m.Name != network.Plain().Name {
			return e.file.at("algorithm", config.Bad("acceleration", "an accelerated one",
				"plain where agents wake in pairs: the others are for one matrix"))
		}
	}
	who := "smallest owner"
	if p.unit == account.Owner() {
		smallest, who = float64(e.file.topo.Agents), "set of owners, each of which is a unit"
	}
	if p.Mechanism == "none" {
		return nil
	}
	if err := e.checkDelta(smallest, who); err != nil {
		return err
	}
	return e.calibrate()
}

// value is the oracle of an owner's value.
func (e *Experiment) value(pl *plan, records oracle.Records) (*oracle.Value, error) {
	p := &e.file.priv
	v := &oracle.Value{
		Records:    records,
		Clip:       p.MaxGradNorm,
		Normaliser: pl.batch,
		Adjacency:  p.adjacency,
		Unit:       p.unit,
		Dim:        e.model.Dim(),
	}
	return v, v.Validate()
}
