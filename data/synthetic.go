package data

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"sotto/config"
	"sotto/tensor"
)

// LinearTasksParams are the parameters of "linear-tasks".
type LinearTasksParams struct {
	Agents     int     `toml:"agents"`      // groups, 1 to 1,000,000; default 100
	Dim        int     `toml:"dim"`         // features, 2 to 10,000; default 100
	MinRecords int     `toml:"records_min"` // fewest training records of an agent, 1 to 100,000; default 10
	MaxRecords int     `toml:"records_max"` // most of them, up to 100,000: drawn uniformly; default 100
	Flip       float64 `toml:"flip"`        // probability that a label is wrong, 0 to .5; default .05
	Test       int     `toml:"test"`        // test records of each agent, 1 to 100,000; default 100
	// Points is how features are drawn: uniform on the unit "sphere" (default), or in the
	// "cube" [-1, 1]^dim.
	Points string `toml:"points,omitempty"`
	// TestFlip is the probability, 0 to .5, that a label of the test part is wrong;
	// without it flip holds there too.
	TestFlip *float64 `toml:"test_flip,omitempty"`
	// TestAgents gives test records to that many agents only, evenly spaced: i n/k for i
	// = 0 .. k-1. 0: to all.
	TestAgents int `toml:"test_agents,omitempty"`
}

// GoString is what digests cover: without the later keys as it was before there were such
// keys.
func (p LinearTasksParams) GoString() string {
	s := fmt.Sprintf("data.LinearTasksParams{Agents:%d, Dim:%d, MinRecords:%d, MaxRecords:%d, Flip:%#v, "+
		"Test:%d", p.Agents, p.Dim, p.MinRecords, p.MaxRecords, p.Flip, p.Test)
	if p.TestAgents > 0 {
		s += fmt.Sprintf(", TestAgents:%d", p.TestAgents)
	}
	if p.Points == "cube" {
		s += ", Points:\"cube\""
	}
	if p.TestFlip != nil {
		s += fmt.Sprintf(", TestFlip:%#v", *p.TestFlip)
	}
	return s + "}"
}

// generatedCells bounds the numbers of a generated part: 4 GiB.
const generatedCells = 1 << 30

func (p *LinearTasksParams) validate() error {
	switch {
	case p.Agents < 1 || p.Agents > 1_000_000:
		return config.Bad("agents", p.Agents, "1 to 1,000,000")
	case p.Dim < 2 || p.Dim > 10_000:
		return config.Bad("dim", p.Dim, "2 to 10,000")
	case p.MinRecords < 1:
		return config.Bad("records_min", p.MinRecords, "at least 1")
	case p.MaxRecords < p.MinRecords || p.MaxRecords > 100_000:
		return config.Bad("records_max", p.MaxRecords, "records_min to 100,000")
	case !(p.Flip >= 0 && p.Flip <= .5):
		return config.Bad("flip", p.Flip, "0 to .5")
	case p.Test < 1 || p.Test > 100_000:
		return config.Bad("test", p.Test, "1 to 100,000")
	case p.Points != "" && p.Points != "sphere" && p.Points != "cube":
		return config.Bad("points", p.Points, "one of cube, sphere")
	case p.TestFlip != nil && !(*p.TestFlip >= 0 && *p.TestFlip <= .5):
		return config.Bad("test_flip", *p.TestFlip, "0 to .5")
	}
	if p.TestAgents < 0 || p.TestAgents > p.Agents {
		return config.Bad("test_agents", p.TestAgents, "0 (all) to the number of agents")
	}
	tested := p.TestAgents
	if tested == 0 {
		tested = p.Agents
	}
	return affordable("agents", p.Agents, max(p.Agents*p.MaxRecords, tested*p.Test), p.Dim, generatedCells)
}

func affordable(key string, found, records, dim, most int) error {
	if records > most/dim {
		return config.Bad(key, found, fmt.Sprintf("values that give at most %d numbers in all", most))
	}
	return nil
}

// linearTasks draws a linear classification task for each agent (Bellet, Guerraoui,
// Taziki, Tommasi 2018): hidden vectors whose first two entries are N(0, 1) and the
// others 0, points uniform on the unit sphere (the paper says "uniformly around the
// origin"; the sphere is our reading), labels by the side of the true parameter vector,
// each flipped with probability flip in both parts. In the cube, another reading of the
// paper, the public bound on a point's norm is sqrt(dim). Groups are the agents;
// Split.GroundTruth has the true parameter vector of each.
func linearTasks(decode func(any) error, src Source) (*Split, error) {
	p := LinearTasksParams{Agents: 100, Dim: 100, MinRecords: 10, MaxRecords: 100, Flip: .05, Test: 100}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	tested := p.TestAgents
	if tested == 0 {
		tested = p.Agents
	}
	r := rand.New(rand.NewPCG(src.Seed, 0x6c696e656172))
	truth := tensor.NewMat(p.Agents, p.Dim)
	sizes := make([]int, p.Agents)
	tests := make([]int, p.Agents)
	for i := range p.Agents {
		truth.Row(i)[0], truth.Row(i)[1] = float32(r.NormFloat64()), float32(r.NormFloat64())
		sizes[i] = p.MinRecords + r.IntN(p.MaxRecords-p.MinRecords+1)
	}
	for k := range tested {
		tests[k*p.Agents/tested] = p.Test
	}
	wrong := p.Flip
	if p.TestFlip != nil {
		wrong = *p.TestFlip
	}
	draw := onSphere
	if p.Points == "cube" {
		draw = inCube
	}
	split := &Split{Train: sided(r, draw, truth, sizes, p.Flip), Test: sided(r, draw, truth, tests, wrong),
		GroundTruth: truth}
	return split.seal(p, src.Seed, nil), nil
}

// onSphere draws a point uniform on the unit sphere.
func onSphere(r *rand.Rand, x tensor.Vec) {
	for c := range x {
		x[c] = float32(r.NormFloat64())
	}
	x.Scale(1/x.Norm(), x)
}

// inCube draws a point uniform in [-1, 1]^dim.
func inCube(r *rand.Rand, x tensor.Vec) {
	for c := range x {
		x[c] = float32(2*r.Float64() - 1)
	}
}

// sided draws sizes[i] points for each true parameter vector, with labels by its side.
func sided(r *rand.Rand, draw func(*rand.Rand, tensor.Vec), truth tensor.Mat, sizes []int,
	flip float64) *Dataset {
	n := 0
	for _, m := range sizes {
		n += m
	}
	d := flat("linear-tasks", tensor.NewMat(n, truth.Cols))
	d.Labels, d.Groups = make([]int32, n), make([]int32, n)
	d.Classes, d.ClassNames = 2, []string{"-1", "+1"}
	d.GroupNames = numberedNames("agent ", len(sizes))
	k := 0
	for i, m := range sizes {
		for range m {
			x := d.X.Row(k)
			draw(r, x)
			if (x.Dot(truth.Row(i)) > 0) != (r.Float64() < flip) {
				d.Labels[k] = 1
			}
			d.Groups[k] = int32(i)
			k++
		}
	}
	return d
}

func numberedNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}

// LeastSquaresParams are the parameters of "least-squares".
type LeastSquaresParams struct {
	Agents  int     `toml:"agents"`  // groups, 1 to 100,000; default 5
	Records int     `toml:"records"` // training records of each agent, 1 to 1,000,000; default 100
	Dim     int     `toml:"dim"`     // 1 to 10,000; default 10
	Noise   float64 `toml:"noise"`   // standard deviation added to targets, 0 to 100; default 0
	Test    int     `toml:"test"`    // test records in all, 1 to 1,000,000; default 1000
	// entries of the true parameter vector that are 0, the last ones; 0 to dim
	Zeros int `toml:"zeros,omitempty"`
}

// GoString is what digests cover: without the later key as it was before there was one.
func (p LeastSquaresParams) GoString() string {
	s := fmt.Sprintf("data.LeastSquaresParams{Agents:%d, Records:%d, Dim:%d, Noise:%#v, Test:%d", p.Agents,
		p.Records, p.Dim, p.Noise, p.Test)
	if p.Zeros > 0 {
		s += fmt.Sprintf(", Zeros:%d", p.Zeros)
	}
	return s + "}"
}

func (p *LeastSquaresParams) validate() error {
	switch {
	case p.Agents < 1 || p.Agents > 100_000:
		return config.Bad("agents", p.Agents, "1 to 100,000")
	case p.Records < 1 || p.Records > 1_000_000:
		return config.Bad("records", p.Records, "1 to 1,000,000")
	case p.Dim < 1 || p.Dim > 10_000:
		return config.Bad("dim", p.Dim, "1 to 10,000")
	case !(p.Noise >= 0 && p.Noise <= 100):
		return config.Bad("noise", p.Noise, "0 to 100")
	case p.Test < 1 || p.Test > 1_000_000:
		return config.Bad("test", p.Test, "1 to 1,000,000")
	case p.Zeros < 0 || p.Zeros > p.Dim:
		return config.Bad("zeros", p.Zeros, "0 to dim")
	}
	return affordable("agents", p.Agents, max(p.Agents*p.Records, p.Test), p.Dim, maxCells)
}

// leastSquares draws a common regression task: features and the true parameter vector
// N(0, 1), targets their inner product plus noise. Groups are the agents; the test part
// has none. Split.GroundTruth has the true parameter vector. The sizes of "A General
// Differentially Private Learning Framework for Decentralized Data" are the defaults; it
// states no dimension (10 is our choice) and no noise.
func leastSquares(decode func(any) error, src Source) (*Split, error) {
	p := LeastSquaresParams{Agents: 5, Records: 100, Dim: 10, Test: 1000}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(src.Seed, 0x73717561726573))
	truth := p.groundTruth(r)
	split := &Split{Train: regression(r, truth.Row(0), p.Agents*p.Records, p.Noise),
		Test: regression(r, truth.Row(0), p.Test, p.Noise), GroundTruth: truth}
	p.group(split.Train)
	return split.seal(p, src.Seed, nil), nil
}

// groundTruth draws the true parameter vector.
func (p *LeastSquaresParams) groundTruth(r *rand.Rand) tensor.Mat {
	truth := tensor.NewMat(1, p.Dim)
	for c := range p.Dim - p.Zeros {
		truth.Data[c] = float32(r.NormFloat64())
	}
	return truth
}

// group gives each agent as many records in a row.
func (p *LeastSquaresParams) group(d *Dataset) {
	d.Groups = make([]int32, d.Len())
	for i := range d.Groups {
		d.Groups[i] = int32(i / p.Records)
	}
	d.GroupNames = numberedNames("agent ", p.Agents)
}

func regression(r *rand.Rand, truth tensor.Vec, n int, noise float64) *Dataset {
	d := flat("least-squares", tensor.NewMat(n, len(truth)))
	d.Targets = make([]float32, n)
	for i := range n {
		x := d.X.Row(i)
		for c := range x {
			x[c] = float32(r.NormFloat64())
		}
		y := x.Dot(truth)
		if noise > 0 {
			y += noise * r.NormFloat64()
		}
		d.Targets[i] = float32(y)
	}
	return d
}
