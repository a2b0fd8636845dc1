package experiment

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/experiment/exposure"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
)

// maxWalkers bounds the agents of a run whose walk is looked at, by the links of a
// complete graph.
const maxWalkers = 4096

// walkFigures computes what [token] accounting = "network" asks for, nil where it asks
// for nothing.
func (e *Experiment) walkFigures() (*rundir.WalkFigures, error) {
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
	w, err := e.mixture(hops[0])
	if err != nil {
		return nil, err
	}
	local, err := e.Plans[0].Cost(&e.Setup.Target, e.Plans[0].Charges())
	if err != nil {
		return nil, err
	}
	return exposure.Walk(g, w, f.Privacy.TargetDelta, local)
}

// mixture describes the run's walk to the accountant. Where owners' record counts differ,
// and with them sensitivity and noise, it is that of the largest sensitivity among the
// least noise.
func (e *Experiment) mixture(hops *network.Matrix) (*network.WalkMixture, error) {
	f := e.File
	walk, err := e.Walking()
	if err != nil {
		return nil, err
	}
	shift, noise, visits := 0., math.Inf(1), 0
	for i := range e.Plans {
		p := &e.Plans[i]
		shift = max(shift, account.ClipShift(f.Privacy.adjacency)/p.Public.ExpectedBatch)
		noise = min(noise, p.Noise/p.Public.ExpectedBatch)
		visits = max(visits, p.Charges())
	}
	glm, _ := model.Linear(e.Task.Model)
	size := e.Lifted(e.Task.Split.Train.RowNorm)
	return &network.WalkMixture{
		Agents:      f.Topology.Agents,
		Hops:        hops,
		Steps:       int(f.Steps),
		Visits:      visits,
		Mu:          shift / noise,
		Convex:      true,
		Smoothness:  glm.Curvature * size * size,
		StepSize:    walk.LargestStep(),
		SecretHops:  f.Token.Hops == "secret",
		Contraction: 1,
		LocalSteps:  1,
	}, nil
}

// checkAmplified refuses accounting "network" where nothing is proved for it.
func (e *Experiment) checkAmplified() error {
	if e.File.Token.Accounting != "network" {
		return nil
	}
	if err := e.amplified(); err != nil {
		return fmt.Errorf("%w: %w", privacy.ErrRefused, err)
	}
	return nil
}

// amplified names the first thing that the run lacks of what amplification by iteration
// on a hidden walk is proved under (Cyffers, Bellet 2022; Feldman, Mironov, Talwar,
// Thakurta 2018): every step is a contraction with noise, all of one size, and no
// observer knows who held the token before.
func (e *Experiment) amplified() error {
	f := e.File
	glm, linear := model.Linear(e.Task.Model)
	x := e.Task.Split.Train.RowNorm
	w, err := e.Walking()
	if err != nil {
		return err
	}
	switch {
	case f.Token.Hops != "secret":
		return f.At("token", config.Bad("hops", f.Token.Hops,
			"secret with accounting network: whoever computes the hops knows who held the token, and only "+
				"the local figure holds"))
	case !linear:
		return f.At("model", config.Bad("name", f.Model.Name,
			"a convex model with accounting network, huber, least-squares or logistic with two classes: "+
				"no step of another is known to contract, and only the local figure holds"))
	case x == 0:
		return f.At("data", config.Bad("dataset", f.Data.Dataset,
			"one whose rows have a public bound, such as houses, with accounting network: without it no "+
				"smoothness is known"))
	case f.Replication.Stated():
		return f.At("replication", config.Bad("replication", f.Replication.String(),
			"nothing with accounting network"))
	case f.Faults.Drop != 0 || f.Faults.Churn != 0:
		return f.At("faults", config.Bad("drop", f.Faults.Drop,
			"0, without churn, with accounting network: when a token comes late its way is known better"))
	case !f.Mechanism().ExactView || f.Privacy.Noise == exactNoise:
		return f.At("privacy", config.Bad("noise", f.Privacy.Noise,
			"fast, with mechanism gaussian and accounting network: only sums of normal noise are as if of "+
				"one draw"))
	case f.Topology.Agents > maxWalkers || f.Topology.Agents < 2:
		return f.At("topology", config.Bad("agents", f.Topology.Agents,
			fmt.Sprintf("2 to %d with accounting network", maxWalkers)))
	case !w.Blurs():
		return f.At("algorithm", config.Bad("after", "nothing",
			"noise with accounting network: every step has to add noise"))
	}
	size := e.Lifted(x)
	if slope := glm.Slope * size; f.Privacy.unit == account.Owner() && f.Privacy.MaxGradNorm < slope {
		return f.At("privacy", config.Bad("max_grad_norm", f.Privacy.MaxGradNorm,
			fmt.Sprintf("at least %.6g with accounting network: the clip of a mean of several gradients "+
				"is no gradient of a convex function; with unit record each gradient is clipped, which "+
				"is one", slope)))
	}
	if most := 2 / (glm.Curvature * size * size); w.LargestStep() > most {
		return f.At("algorithm", config.Bad("step_size", w.LargestStep(),
			fmt.Sprintf("at most 2/β = %.6g with accounting network", most)))
	}
	if w.SmallestStep() < w.LargestStep() {
		return f.At("algorithm", config.Bad("schedule", "steps of different sizes",
			"const, without warmup, with accounting network: noise of a shorter step hides less of a "+
				"longer one"))
	}
	return nil
}
