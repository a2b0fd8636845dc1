package bellet2018

import (
	"fmt"
	"math"
	"slices"

	"sotto/algo"
	"sotto/experiment/sweep"
	"sotto/reproduce"
	"sotto/sim"
)

// Ten agents whose own losses weigh most, so that a wake contracts the error visibly: λ =
// 1, c = 1, μ = 5. Each updates 20 times in 300 wakes.
const (
	allocAgents  = 10
	allocUpdates = 20
	allocWakes   = 300
	allocC       = .92 // 1 - σ/(n B), σ/B = μ 2λ/(1 + μ(1/4 + 2λ)) = .816 where degrees are equal
)

var allocs = []string{"equal", "late", "expected", "paper"}

// allocTask is a run with one allocation of the budget, or with alloc "optimum" a long
// one without noise.
func allocTask(alloc string) task {
	t := task{
		mode:    "sound",
		method:  "alloc",
		points:  "sphere",
		dim:     10,
		budget:  "1.05",
		updates: allocUpdates,
		knob:    5,
		other:   alloc,
		span:    span{allocWakes, allocWakes},
	}
	switch alloc {
	case "paper":
		t.mode = "replication"
	case "optimum":
		t.budget, t.updates, t.wakes, t.every = "none", 0, 20_000, 20_000
	}
	return t
}

// allocated writes the settings of a run with an allocation.
func (t task) allocated(set func(format string, args ...any)) {
	set("topology.agents=%d", allocAgents)
	set("data.agents=%d", allocAgents)
	set(`algorithm.name="bcd"`)
	set("algorithm.mu=%g", t.knob)
	set("algorithm.lambda=1.0")
	set("algorithm.confidence=1.0")
	set("privacy.target_delta=%s", reproduce.Exactly(paperDelta))
	if t.other == "optimum" {
		set(`privacy.mechanism="none"`)
		return
	}
	set("algorithm.updates=%d", t.updates)
	if t.other != "equal" {
		set("algorithm.alloc=%q", t.other)
		set("algorithm.contraction=%g", allocC)
		set("algorithm.alloc_root=4.0")
	}
	set(`privacy.mechanism="gaussian"`)
	set(`privacy.accountant="gdp"`)
	set(`privacy.adjacency="replace-one"`)
	set("privacy.target_epsilon=%s", t.budget)
	set("privacy.max_grad_norm=1.0")
}

// allocationSeed is the first seed that is tried.
const allocationSeed = 1

func allocationSeeds(small bool) []int {
	if small {
		return linkedSeeds(allocAgents, allocationSeed, 2)
	}
	return linkedSeeds(allocAgents, allocationSeed, 20)
}

// linkedSeeds are the first n seeds from first on whose instances leave no agent without
// a neighbor: a run refuses others, which are not rare among few agents.
func linkedSeeds(agents, first, n int) []int {
	var seeds []int
	for seed := first; len(seeds) < n; seed++ {
		p, err := newLinearProblem(agents, uint64(seed))
		if err != nil {
			panic(err) // its parameters are written in this package
		}
		if !slices.Contains(p.degrees, 0) {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

func allocationCells(small bool) []sweep.Cell {
	var cells []sweep.Cell
	seeds := allocationSeeds(small)
	for _, alloc := range append([]string{"optimum"}, allocs...) {
		for _, seed := range seeds {
			t := allocTask(alloc)
			t.seed = seed
			cells = append(cells, t.cell(small))
		}
	}
	return cells
}

// predictedRatio is Σ C^(T-1-t) s_t² over the updates of all agents of an instance,
// relative to an equal split of the same Gaussian budgets: Σ_t 1/s_t² of each agent is
// the same.
func predictedRatio(alloc string, row *sweep.Row) (float64, error) {
	seed, err := instanceOf(row)
	if err != nil {
		return 0, err
	}
	clock := sim.NewClock(seed, allocAgents, nil)
	wakes := make([][]uint64, allocAgents)
	for t := range uint64(allocWakes) {
		if w, _ := clock.Next(); len(wakes[w.Agent]) < allocUpdates {
			wakes[w.Agent] = append(wakes[w.Agent], t)
		}
	}
	a := algo.Allocation{Alloc: alloc, Contraction: allocC, Root: 4}
	own, equal := 0., 0.
	for _, list := range wakes {
		factors, budget := a.Factors(len(list), list, allocAgents, allocWakes), 0.
		for _, x := range factors {
			budget += 1 / (x * x)
		}
		for r, x := range factors {
			weight := math.Pow(allocC, float64(allocWakes-1)-float64(list[r]))
			own += weight * x * x * budget
			equal += weight * float64(len(list))
		}
	}
	return own / equal, nil
}

func allocation(f *reproduce.Results) *reproduce.Document {
	r := collectTasks(f)
	d := &reproduce.Document{Header: []string{"allocation", "seeds", "mean of Q(T) - Q*", "relative to equal",
		"predicted", "seeds on which it is lower", "p-value, paired t-test, one-sided"}}
	optimum, even := allocTask("optimum"), allocTask("equal")
	for _, alloc := range allocs {
		both := r.shared(optimum, even, allocTask(alloc))
		gaps := func(t task) reproduce.Sample {
			return both.Last(t, "objective", "all").Less(both.Last(optimum, "objective", "all"))
		}
		s, equal := gaps(allocTask(alloc)), gaps(even)
		if len(s) == 0 || len(s) != len(equal) {
			continue
		}
		row := reproduce.Cells(alloc, len(s), s.Mean(), fmt.Sprintf("%.3f", s.Mean()/equal.Mean()), 1, "", "")
		if alloc != "equal" {
			var ratios reproduce.Sample
			for _, cell := range both.Of(allocTask(alloc)) {
				if x, err := predictedRatio(alloc, &cell); err == nil {
					ratios = append(ratios, x)
				}
			}
			diff, lower := equal.Less(s), 0
			for _, x := range diff {
				if x > 0 {
					lower++
				}
			}
			row[4], row[5] = fmt.Sprintf("%.3f", ratios.Mean()), fmt.Sprintf("%d of %d", lower, len(s))
			if len(diff) > 2 {
				se, law := diff.Student()
				row[6] = fmt.Sprintf("%.2g", 1-law.CDF(diff.Mean()/se))
			}
		}
		d.Rows = append(d.Rows, row)
	}
	d.Notes = []string{
		fmt.Sprintf("10 agents, p = 10, λ = 1, c = 1, μ = 5, %d updates each in %d wakes, Gaussian noise "+
			"at epsilon 1.05 and delta exp(-5) for each agent in every row, C = %g", allocUpdates, allocWakes,
			allocC),
		"predicted: Σ C^(T-1-t) s_t² over each agent's updates, of the agents together; a run has a part " +
			"of the error that is not noise, and forgets noise faster than the bound C says",
		"late gives early updates more noise, expected does so by the expected numbers of wakes, paper is " +
			"Proposition 2 as published, the wrong way round (C17)",
	}
	return d
}
