package sim

import "sotto/agent"

// Fate says what becomes of the messages of a round on a link: lost, or late.
type Fate func(round uint64, from, to agent.ID) (dropped, late bool)

// Fates are those of a synchronous run with these faults, by its public seed; nil without
// faults. They are what the run itself does, and cost a hash each.
func Fates(f Faults, seed uint64) (Fate, error) {
	p, err := newFaultPlan(f, seed)
	if err != nil || p == nil {
		return nil, err
	}
	return func(round uint64, from, to agent.ID) (dropped, late bool) {
		what, _ := p.fate(round, from, to)
		return what == lost, what == delayed
	}, nil
}
