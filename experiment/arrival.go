package experiment

import (
	"fmt"

	"sotto/config"
	"sotto/rng"
	"sotto/sim"
)

// Arrivals are the keys of [data] for records that come during the run. A record that has
// not come counts as a null record: whatever an oracle divides by, and all that the
// algorithm knows of record counts, is fixed for the whole data set before the run, so
// that every record weighs the same from its arrival on. Under every adjacency one
// record, its time of arrival included, then moves a sum by no more than the charge
// states, and a ledger's epsilon is that of a record that was there from the start.
// Personal models with the default c_i and λ_i so have at all times the objective of the
// records that have come. With mechanism local-dp a perturbed record is out from its
// arrival on, whose time then shows. A fit, which is asked for once, sees what is there
// at the start.
type Arrivals struct {
	// Arrival "" (default): all records are there from the start. "uniform": every record
	// that is not there at the start arrives before one of the agent's own rounds 1 ..
	// ArrivalRounds-1, each with the same probability. In an asynchronous run, an agent's
	// own rounds are its wakes.
	Arrival string `toml:"arrival,omitempty"`
	// ArrivalStart is the probability that a record is there at the start, 0 to below 1.
	ArrivalStart float64 `toml:"arrival_start,omitempty"`
	// ArrivalRounds is the number of rounds after which all records have arrived;
	// default: those of the run, or the mean number of an agent's wakes.
	ArrivalRounds uint64 `toml:"arrival_rounds,omitempty" allowed:"2 to the length of the run"`
}

// validateArrival checks the keys and fills in arrival_rounds. It runs when the length of
// the run is known.
func validateArrival(f *File) error {
	p, most := &f.Data.Arrivals, f.Pace.length.each(f)
	switch {
	case p.Arrival == "" && (p.ArrivalStart != 0 || p.ArrivalRounds != 0):
		return config.Bad("arrival", "nothing", "uniform with arrival_start or arrival_rounds")
	case p.Arrival == "":
		return nil
	case p.Arrival != "uniform":
		return config.Bad("arrival", p.Arrival, "uniform, or nothing")
	case !(p.ArrivalStart >= 0 && p.ArrivalStart < 1):
		return config.Bad("arrival_start", p.ArrivalStart, "0 to below 1")
	case most < 2:
		return config.Bad("arrival", p.Arrival,
			"nothing in a run with fewer than two rounds, or wakes of each agent")
	case p.ArrivalRounds != 0 && (p.ArrivalRounds < 2 || p.ArrivalRounds > most):
		return config.Bad("arrival_rounds", p.ArrivalRounds,
			fmt.Sprintf("2 to %d, the length of the run", most))
	}
	if p.ArrivalRounds == 0 {
		p.ArrivalRounds = most
	}
	return nil
}

// drawArrivals draws the round before which each training record comes. Every record has
// coins of its own, which depend on the seed and its place in the data set, or, under
// add-remove, its contents, so that no record moves another's arrival.
func (e builder) drawArrivals() error {
	p := &e.File.Data.Arrivals
	if p.Arrival == "" {
		return nil
	}
	if d := e.Task.Split.Derived; d != "" {
		return e.File.At("data", config.Bad("arrival", p.Arrival,
			"nothing with "+d+": they would know records that have not come"))
	}
	e.Task.Arrivals = make([]uint32, e.Task.Split.Train.Len())
	coins := rng.Public(e.File.Run.Seed, "arrival of records")
	there, _ := rng.Threshold(p.ArrivalStart)
	for r := range e.Task.Arrivals {
		start, at := coins.Hit(there), 1+coins.Float64()*float64(p.ArrivalRounds-1)
		if e.File.Privacy.adjacency.HidesCount() { // one record more moves those behind it
			train, seed := e.Task.Split.Train, e.File.Run.Seed
			start = train.RecordCoin(seed, "records from the start", r) < p.ArrivalStart
			at = 1 + train.RecordCoin(seed, "arrival of records", r)*float64(p.ArrivalRounds-1)
		}
		if !start {
			e.Task.Arrivals[r] = uint32(min(at, float64(p.ArrivalRounds-1)))
		}
	}
	return nil
}

func arrivalsRemark(e *Experiment, _ sim.Stats) string {
	if e.Task.Arrivals == nil {
		return ""
	}
	return "records arrive during the run: one that has not come counts as a null record, and epsilon " +
		"is that of a record that was there from the start"
}
