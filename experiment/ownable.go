package experiment

import (
	"fmt"

	"sotto/algo"
	"sotto/config"
	"sotto/privacy"
	"sotto/sim"
)

// ownable refuses what a daemon does not run.
func (f *File) ownable() error {
	noisy := f.priv.Mechanism == "gaussian" || f.priv.Mechanism == decorMechanism ||
		f.priv.Mechanism == "laplace" && f.pacing != algo.Rounds
	switch {
	case f.alg.Name == "central":
		return f.at("algorithm", config.Bad("name", f.alg.Name, "an algorithm among agents"))
	case f.pacing == algo.Tokens && f.tokn.Hops != "secret":
		return f.at("token", config.Bad("hops", f.tokn.Hops,
			"secret: every daemon draws the hops of its own visits"))
	case f.pacing == algo.Tokens && f.tokn.Accounting != "local":
		return f.at("token", config.Bad("accounting", f.tokn.Accounting,
			"local: a daemon shows its final tokens to all members, who are no observers of single visits "+
				"then"))
	case f.clck.Replay != "":
		return f.at("clock", config.Bad("replay", f.clck.Replay, "nothing: daemons wake by their own clocks"))
	case f.data.Arrival != "":
		return f.at("data", config.Bad("arrival", f.data.Arrival, "nothing: it is for simulations"))
	case !noisy:
		return fmt.Errorf("%w: %w", privacy.ErrRefused,
			f.at("privacy", config.Bad("mechanism", f.priv.Mechanism,
				"gaussian, decor, or laplace with an algorithm of personal models: a daemon releases "+
					"nothing without noise")))
	case f.priv.Mechanism == decorMechanism && f.priv.NoiseMultiplier == 0:
		return f.at("privacy", config.Bad("noise_multiplier", f.priv.NoiseMultiplier,
			"above 0 with mechanism decor among daemons: no member knows what the others' targets need, "+
				"and noise that they share must be equal"))
	case f.repl != (replicationParams{}):
		return fmt.Errorf("%w: %w", privacy.ErrRefused,
			f.at("replication", config.Bad("replication", f.repl.switches(),
				"nothing: a daemon does not do what is not sound")))
	case f.data.Partition != "natural":
		return f.at("data", config.Bad("partition", f.data.Partition,
			"natural: every owner holds its own records"))
	case f.eval.Validation != 0 || f.eval.Score != "":
		return f.at("evaluate", config.Bad("validation", f.eval.Validation,
			"0, and no score: they are for simulations"))
	case f.eval.Gradients != 0:
		return f.at("evaluate", config.Bad("gradients", f.eval.Gradients,
			"0: no owner sees the records of others"))
	case f.eval.Network:
		return f.at("evaluate", config.Bad("network", true,
			"false: it is for simulations, and for sotto account network --roster"))
	case f.eval.Estimation:
		return f.at("evaluate", config.Bad("estimation", true,
			"false: an owner's data have no hidden vector"))
	case f.flts != sim.DefaultFaults():
		return f.at("faults", config.Bad("faults", "faults to inject",
			"no section [faults]: a network has its own"))
	case len(f.priv.IUnderstand) > 0:
		return fmt.Errorf("%w: %w", privacy.ErrRefused,
			f.at("privacy", config.Bad("i_understand", f.priv.IUnderstand,
				"nothing: an owner's policy has no overrides")))
	}
	return nil
}
