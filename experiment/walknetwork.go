package experiment

import (
	"fmt"

	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
)

// maxWalkers bounds the agents of a run whose walk is looked at, by the links of a
// complete graph.
const maxWalkers = 4096

// checkAmplified refuses accounting "network" where nothing is proved for it.
func (e planner) checkAmplified() error {
	if e.File.Token.Accounting != "network" {
		return nil
	}
	if err := e.Amplified(); err != nil {
		return fmt.Errorf("%w: %w", privacy.ErrRefused, err)
	}
	return nil
}

// Amplified names the first thing that the run lacks of what amplification by iteration
// on a hidden walk is proved under (Cyffers, Bellet 2022; Feldman, Mironov, Talwar,
// Thakurta 2018): every step is a contraction with noise, all of one size, and no
// observer knows who held the token before.
func (e *Experiment) Amplified() error {
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
	case f.Privacy.unit != account.Owner() && f.Privacy.adjacency.HidesCount():
		return f.At("privacy", config.Bad("adjacency", f.Privacy.Adjacency,
			"zero-out or replace-one with unit record and accounting network: nothing bounds the slope of "+
				"a step by a sum of privately many gradients over batch_size, and a step above 2/β "+
				"stretches what it should hide"))
	case f.Replication.Stated():
		return f.At("replication", config.Bad("replication", f.Replication.String(),
			"nothing with accounting network"))
	case f.Faults.Drop != 0 || f.Faults.Churn != 0:
		return f.At("faults", config.Bad("drop", f.Faults.Drop,
			"0, without churn, with accounting network: when a token comes late its way is known better"))
	case !f.Mechanism().ExactView:
		return f.At("privacy", config.Bad("mechanism", f.Privacy.Mechanism,
			"gaussian with accounting network: only sums of normal noise are as if of one draw"))
	case f.Topology.Agents > maxWalkers || f.Topology.Agents < 2:
		return f.At("topology", config.Bad("agents", f.Topology.Agents,
			fmt.Sprintf("2 to %d with accounting network", maxWalkers)))
	case f.Model.InitFrom != "":
		return f.At("model", config.Bad("init_from", f.Model.InitFrom,
			"nothing with accounting network: beside values that are large enough a token's float32 loses "+
				"the noise of a step, which then hides nothing"))
	case f.Model.Precision == "bf16":
		return f.At("model", config.Bad("precision", f.Model.Precision,
			"float32 with accounting network: rounded products are no gradient of a convex function"))
	case !w.Blurs():
		return f.At("algorithm", config.Bad("after", "nothing",
			"noise with accounting network: every step has to add noise"))
	}
	size := e.Task.Lifted(x)
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
