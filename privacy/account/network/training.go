package network

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"sotto/config"
)

// Training is gossip SGD taken as linear: in each of Steps every agent releases an update
// with fresh noise, and the network then averages as Gossip says, all of it a sum of the
// updates.
type Training struct {
	Gossip Gossip // agents, rounds after each step, method and noise
	Steps  int    // at least 1
}

// EstimateLabel goes with every figure of [Training] for an adversary that does not see
// all messages.
const EstimateLabel = "estimate (linearised), not a guarantee"

// TrainingView is what an adversary would learn if no agent's update depended on what
// others sent.
type TrainingView struct {
	Adversary Adversary
	// Share is for each agent the loss mu^2 of all its updates over that of one update
	// against everyone: 0 to Steps. For members it is Steps.
	Share []float64
	// Provenance is Proved for who sees all messages, and else Claimed. Where every
	// release can be told from what is seen in its own step, every update is a function
	// of the view (Denisov et al. 2022). Elsewhere, as with secure sums, an agent's later
	// updates may show what its own model kept: Share is then Steps, which is what all
	// updates cost in the open.
	Provenance string
	Label      string // EstimateLabel where it is claimed
}

// maxUpdates bounds agents times steps.
const maxUpdates = 4096

// View stacks what the adversary receives over all steps. With P the projector on the
// space of these rows, in units of the noise, and P_u its block of one agent's updates,
//
//	mu^2 <= (sensitivity/s)^2 sum over t, t' of |(P_u)_{tt'}|,
//
// signs of vector updates being anyone's, and never above Steps. It is rigorous for
// updates that are given beforehand. In training other agents' updates react to an
// agent's through messages that a partial observer never saw, so that its figure is an
// estimate.
func (t *Training) View(a Adversary) (*TrainingView, error) {
	g := &t.Gossip
	if err := g.validate(); err != nil {
		return nil, err
	}
	if err := a.validate(g.Agents); err != nil {
		return nil, err
	}
	if t.Steps < 1 || t.Steps > maxUpdates/g.Agents {
		return nil, config.Bad("steps", t.Steps,
			fmt.Sprintf("1 to %d for %d agents", maxUpdates/g.Agents, g.Agents))
	}
	b, told := t.stack(a)
	v := &TrainingView{
		Adversary:  a,
		Share:      make([]float64, g.Agents),
		Provenance: Claimed,
		Label:      EstimateLabel,
	}
	if a.kind != members {
		v.Provenance, v.Label = Proved, ""
	}
	for u := range v.Share {
		if v.Share[u] = float64(t.Steps); a.has(u) || b.full() {
			continue
		}
		// what never leaves an agent tells nothing, whatever the others' updates react to
		if share := t.block(b, u); a.kind == members || told || share == 0 {
			v.Share[u] = math.Min(v.Share[u], share)
		}
	}
	return v, nil
}

// column is that of agent u's update of a step.
func (t *Training) column(u, step int) int { return u*t.Steps + step }

// stack returns the space of all rows that the adversary receives, and whether they tell
// every release in its own step, but for the last, to which no update reacts.
func (t *Training) stack(a Adversary) (b *basis, told bool) {
	g := &t.Gossip
	var own []int
	for _, m := range a.members {
		for s := range t.Steps {
			own = append(own, t.column(m, s))
		}
	}
	b, told = newBasis(g.Agents*t.Steps, own), true
	now := make([][]float64, g.Agents)
	for i := range now {
		now[i] = make([]float64, len(b.known))
	}
	method := g.method()
	for s := range t.Steps {
		for i, x := range now {
			x[t.column(i, s)] += g.noise(i)
		}
		released, longest := slices.Clone(now), 0.
		for _, x := range now {
			longest = math.Max(longest, floats.Norm(x, 2))
		}
		before := make([][]float64, g.Agents)
		for i := range before {
			before[i] = make([]float64, len(b.known))
		}
		for k, m := range g.Rounds {
			scale := 0.
			for _, x := range now {
				scale = math.Max(scale, floats.Norm(x, 2))
			}
			g.observed(a, k, func(sum []Link) {
				x := make([]float64, len(b.known))
				for _, l := range sum {
					floats.AddScaled(x, l.Weight.Value, now[l.From])
				}
				b.add(x, scale)
			})
			c1, c2, c3 := method.Step(k)
			now, before = advanced(m, now, before, c1, c2, c3), now
		}
		told = told && (s == t.Steps-1 ||
			!slices.ContainsFunc(released, func(x []float64) bool { return !b.holds(x, longest) }))
	}
	return b, told
}

// advanced is a W now + b now - c before.
func advanced(m *Matrix, now, before [][]float64, a, b, c float64) [][]float64 {
	next := make([][]float64, len(now))
	for i, x := range now {
		if row, has := m.row(i); has {
			next[i] = mixed(row, now)
		} else {
			next[i] = slices.Clone(x)
		}
		floats.Scale(a, next[i])
		floats.AddScaled(next[i], b, x)
		floats.AddScaled(next[i], -c, before[i])
	}
	return next
}

// block is the sum of the absolute elements of the projector's block of agent u.
func (t *Training) block(b *basis, u int) float64 {
	sum := 0.
	lo, hi := t.column(u, 0), t.column(u, t.Steps)
	for s := lo; s < hi; s++ {
		for r := lo; r < hi; r++ {
			x := 0.
			for _, q := range b.rows {
				x += q[s] * q[r]
			}
			sum += math.Abs(x)
		}
	}
	return sum
}
