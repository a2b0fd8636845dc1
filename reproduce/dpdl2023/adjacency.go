package dpdl2023

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sotto/data"
	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/reproduce"
	"sotto/tensor"
)

// A run's rows hold epsilon under the adjacency that it was charged under: replace-one
// (the paper's Definition 4.1) for replicated runs and those of the mode of that name,
// zero-out for the others. What it costs
// under the other follows from the noise that its budget gives. Every agent has a rate
// and a noise of its own; at one budget the agent with the fewest records, whose rate is
// the highest, costs most under the other adjacency.

// trainingImages are the training images of MNIST of each digit: public.
var trainingImages = []int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}

const (
	expectedBatch = 256.
	mnistDelta    = 1e-5
)

// costs are the epsilons that have been computed.
type costs struct {
	epsilon map[costKey]float64
	fewest  map[string]int // records of the smallest agent, by overlap
	err     error          // the first one
}

type costKey struct {
	adjacency    account.Adjacency
	mode, budget string
	records      int
	steps        uint64
}

func newCosts() *costs { return &costs{epsilon: map[costKey]float64{}, fewest: map[string]int{}} }

// under is the upper end of a run's epsilon under an adjacency, the largest over agents,
// as text; nothing without rows.
func (c *costs) under(a account.Adjacency, r mnistRun, rows []sweep.Row) string {
	switch {
	case len(rows) == 0:
		return ""
	case r.budget == "none":
		return reproduce.Epsilon(math.Inf(1))
	}
	n, err := c.smallest(r)
	k := costKey{a, r.mode, r.budget, n, rows[0].Charges}
	eps, ok := c.epsilon[k]
	if err == nil && !ok {
		eps, err = k.compute()
		c.epsilon[k] = eps
	}
	if err != nil {
		if c.err == nil {
			c.err = fmt.Errorf("row %d, %v: %w", rows[0].Cell, a, err)
		}
		return ""
	}
	return reproduce.Epsilon(eps)
}

// compute is the epsilon of an agent with so many records.
func (k *costKey) compute() (float64, error) {
	noise, err := noiseOf(k.mode, k.budget, k.records, k.steps)
	if err != nil {
		return 0, err
	}
	plan := account.DPSGD(k.adjacency, expectedBatch/float64(k.records), int(k.steps))
	plan.NoiseMultiplier = noise
	spent, err := account.Epsilon(plan, mnistDelta)
	return spent.Upper, err
}

// noiseOf is the noise multiplier of an agent with so many records: sound runs hold the
// budget by PLD under zero-out, or under replace-one in the mode of that name, replicated
// ones claim it by RDP under add-remove.
func noiseOf(mode, budget string, records int, steps uint64) (float64, error) {
	target, err := strconv.ParseFloat(budget, 64)
	if err != nil {
		return 0, err
	}
	adjacency, accountant := account.ZeroOut, "pld"
	switch mode {
	case "replication":
		adjacency, accountant = account.AddRemove, "rdp"
	case underDefinition:
		adjacency = account.ReplaceOne
	}
	plan := account.DPSGD(adjacency, expectedBatch/float64(records), int(steps))
	plan.Accountant = accountant
	res, err := account.Noise(plan, account.Budget{Epsilon: target, Delta: mnistDelta})
	return res.NoiseMultiplier, err
}

// smallest is the number of records of the agent with the fewest.
func (c *costs) smallest(r mnistRun) (int, error) {
	if r.method == centralRow {
		n := 0
		for _, count := range trainingImages {
			n += count
		}
		return n, nil
	}
	if n, ok := c.fewest[r.overlap]; ok {
		return n, nil
	}
	sizes, err := agentSizes(r.overlap)
	if err != nil {
		return 0, err
	}
	c.fewest[r.overlap] = slices.Min(sizes)
	return c.fewest[r.overlap], nil
}

// agentSizes are the numbers of records of ten agents at an overlap t; at t = 1 seeds
// order them otherwise.
func agentSizes(overlap string) ([]int, error) {
	t, err := strconv.ParseFloat(overlap, 64)
	if err != nil {
		return nil, err
	}
	d := &data.Dataset{Name: "mnist", Shape: [3]int{1, 1, 1}, Classes: len(trainingImages)}
	for class, n := range trainingImages {
		for range n {
			d.Labels = append(d.Labels, int32(class))
		}
	}
	d.X = tensor.NewMat(len(d.Labels), 1)
	parts, err := data.Partition("a", d, 10, 1, func(params any) error {
		params.(*data.OverlapParams).T = t
		return nil
	})
	var sizes []int
	for _, p := range parts {
		sizes = append(sizes, len(p))
	}
	return sizes, err
}
