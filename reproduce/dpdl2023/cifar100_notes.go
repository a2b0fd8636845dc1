package dpdl2023

import (
	"fmt"

	"sotto/reproduce"
)

// cifar100Notes say what the CIFAR-100 runs are, and what differs from the publication.
func cifar100Notes(scale reproduce.Scale) []string {
	n := []string{
		"accuracy in percent: mean over the ten agents' own models after the last round, then mean and sd " +
			"over seeds; published: Bayrooti, Gao, Prorok 2023 (arXiv 2306.13892), Table 4, three trials; " +
			"its rows at epsilon 10 are printed with the paper's claim, which does not hold",
		"sound: one Poisson batch under each noise draw (250 of 5,000 images; DP-DiNNO 50 for each of its " +
			"two primal steps, both charged), noise and epsilon by PLD under zero-out at delta 1e-5",
		"replication: five Poisson micro-batches under one noise draw, charged as one of them; DP-DiNNO's " +
			"second primal step not charged; mixing in place, gradients after mixing (DP-DSGD); noise by " +
			"RDP as the paper's code; the true epsilon is the ledgers', by PLD under zero-out",
		"data: the stratified subset of CIFAR-100 with 5,000 training and 2,000 test images, 500 for each " +
			"agent at the paper's sampling rates; complete graph; from t below 1 to t = 1 the assignment " +
			"of classes changes from striding to runs of ten",
	}
	switch scale {
	case reproduce.Smoke:
		n = append(n,
			"scale smoke: two rounds, two agents, 200 images; the figures show only that everything runs")
	case reproduce.Short:
		n = append(n,
			fmt.Sprintf("scale short: %d of 25,000 rounds, one trial, %d test images: too few for any "+
				"accuracy but chance, 1 %%, and no difference in sd is given; epsilons are exact for the "+
				"rounds that were run", shortRounds,
				shortTestImages))
	}
	return n
}

// duration says how long the paper's size would take.
func duration(g images) []string {
	var n []string
	for _, m := range withCentral {
		if s := g.seconds(imageRun{"sound", "0", m, "10"}); len(s) > 0 {
			n = append(n,
				fmt.Sprintf("full size, %s: %.3g s a round on one core x 25,000 rounds = %.3g days a run, "+
					"evaluation apart", methodNames[m], s.Mean(), s.Mean()*cifar100Rounds/86400))
		}
	}
	return n
}

// fullAccounting says what the replicated runs claim and cost at the paper's size.
func fullAccounting() []string {
	var n []string
	for _, m := range []string{centralRow, "dsgd", "dinno"} {
		claim, truth, noise, err := claimedAndTrue(m, cifar100Rounds)
		name := methodNames[m]
		if m == "dsgd" {
			name += " and DP-DSGT" // which asks for one gradient less
		}
		if err != nil {
			n = append(n, fmt.Sprintf("replication at full size, %s: epsilon not computed: %v", name, err))
			continue
		}
		n = append(n,
			fmt.Sprintf("replication at full size, %s: noise multiplier %.4g, claimed epsilon %.4g, true "+
				"epsilon %.4g", name, noise, claim, truth))
	}
	return n
}
