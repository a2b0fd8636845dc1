package forecast

import (
	"math"
	"slices"

	"sotto/experiment"
	"sotto/experiment/exposure"
	"sotto/experiment/plan"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
)

// Walk computes what [token] accounting = "network" asks for, nil where it asks
// for nothing.
func Walk(e *experiment.Experiment) (*rundir.WalkFigures, error) {
	f := e.File
	if f.Token.Accounting != "network" || !f.Private() {
		return nil, nil
	}
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return nil, err
	}
	hops, err := exposure.Mixing(e.Graphs.Schedule, 1)
	if err != nil {
		return nil, err
	}
	w, err := mixture(e, hops[0])
	if err != nil {
		return nil, err
	}
	local, err := dearest(e)
	if err != nil {
		return nil, err
	}
	return exposure.Walk(g, w, f.Privacy.TargetDelta, local)
}

// dearest is the cost of the agent whose whole plan costs most.
func dearest(e *experiment.Experiment) (most account.Interval, err error) {
	var known []plan.Cost
	for i := range e.Plans {
		p := &e.Plans[i]
		c := plan.Cost{Event: p.Events[0], Times: p.Charges()}
		if slices.ContainsFunc(known, func(k plan.Cost) bool {
			return k.Times == c.Times && k.Event.Equal(c.Event)
		}) {
			continue
		}
		known = append(known, c)
		cost, err := p.Cost(&e.Setup.Target, c.Times)
		if err != nil {
			return most, err
		}
		most.Lower, most.Upper = max(most.Lower, cost.Lower), max(most.Upper, cost.Upper)
	}
	return most, nil
}

// mixture describes the run's walk to the accountant. Where owners' record counts differ,
// and with them sensitivity and noise, it is that of the largest sensitivity among the
// least noise.
func mixture(e *experiment.Experiment, hops *network.Matrix) (*network.WalkMixture, error) {
	f := e.File
	walk, err := e.Walking()
	if err != nil {
		return nil, err
	}
	shift, noise, visits := 0., math.Inf(1), 0
	for i := range e.Plans {
		p := &e.Plans[i]
		m, err := p.Movement()
		if err != nil {
			return nil, err
		}
		shift = max(shift, m/p.Public.ExpectedBatchSize)
		noise = min(noise, p.Noise/p.Public.ExpectedBatchSize)
		visits = max(visits, p.Charges())
	}
	glm, _ := model.Linear(e.Task.Model)
	size := e.Task.Lifted(e.Task.Split.Train.RowNorm)
	return &network.WalkMixture{
		Agents: f.Topology.Agents,
		Hops:   hops,
		Steps:  int(f.Steps),
		Visits: visits,
		Mu:     shift / noise,
		Conditions: network.Conditions{
			Convex:     true,
			Smoothness: glm.Curvature * size * size,
			StepSize:   walk.LargestStep(),
			SecretHops: f.Token.Hops == "secret",
		},
		Contraction: 1,
		LocalSteps:  1,
	}, nil
}
