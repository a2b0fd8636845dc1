package experiment

import "sotto/config"

// pushAlgorithm needs no more of a graph than columns that sum to 1.
const pushAlgorithm = "sgp"

// validatePush refuses what would lose mass.
func (f *File) validatePush() error {
	if f.flts.Late == "use" && f.flts.Delay > 0 {
		return f.at("faults", config.Bad("late", f.flts.Late,
			"discard with algorithm sgp: the mass of a message that a newer one replaces would be lost"))
	}
	if f.repl.Mix == "gauss-seidel" {
		return f.at("replication", config.Bad("mix", f.repl.Mix,
			"snapshot with algorithm sgp: mass is kept only in simultaneous rounds"))
	}
	return nil
}
