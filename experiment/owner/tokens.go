package owner

import (
	"fmt"

	"sotto/agent"
	"sotto/experiment"
	"sotto/model"
	"sotto/rng"
	"sotto/tensor"
)

// holders says where each token starts among daemons: the same for all members, from the
// public seed. Nothing that is printed of their privacy rests on it.
func holders(f *experiment.File) []agent.ID {
	if f.Token.Count == 0 {
		return nil
	}
	all := make([]agent.ID, f.Token.Count)
	for k := range all {
		all[k] = agent.ID(rng.Public(f.Run.Seed, "token start", uint64(k)).Below(uint64(f.Topology.Agents)))
	}
	return all
}

// EncodeTokens is EncodeModel of a run whose models walk: all final tokens.
func (o *Owner) EncodeTokens(tokens []tensor.Vec, run string) ([]byte, error) {
	var tensors []model.NamedVec
	for k, v := range tokens {
		tensors = append(tensors, model.NamedVec{Name: fmt.Sprintf("token.%d", k), Vec: o.e.Task.Expand(v)})
	}
	return model.EncodeSafetensors(metadata(o.e, run), tensors)
}

// steps is how many steps the owner's own model makes, and of what batch: as many
// as are taken with its records if tokens visit all members alike, each with all of them.
func (o alone) steps() (steps uint64, batch float64) {
	f, p := o.e.File, o.plan()
	if f.Token.Count == 0 {
		return f.Steps, p.Public.ExpectedBatchSize
	}
	n := uint64(f.Topology.Agents)
	return (f.Steps*uint64(f.Token.Count) + n - 1) / n, float64(max(1, len(o.e.Task.Parts[0])))
}
