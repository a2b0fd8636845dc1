package dpdl2023

import (
	"context"
	"fmt"

	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/reproduce"
)

// publishedAttack trains with the learning rates of the paper's code for MNIST at epsilon
// 1 and all that goes with attack.published.
func publishedAttack(method string) attack {
	return attack{step: publishedSteps[method][3], published: true}
}

// publishedSizes are models in each world, for each algorithm.
var publishedSizes = map[reproduce.Scale]int{reproduce.Smoke: checkedModels, reproduce.Short: 1000,
	reproduce.Full: 5000}

// table5Published is the attack of table5 on models that are trained as the paper's text
// implies.
func table5Published(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	models := publishedSizes[opt.Scale]
	d := &reproduce.Document{Header: []string{"method", "nominal epsilon", "published bound", "bound",
		"threshold", "confidence", "models", "true epsilon, add-remove", "step size", "answers",
		"noise multiplier", reproduce.SeedColumn, reproduce.EngineColumn, reproduce.DigestColumn,
		reproduce.HashColumn, FirstHashColumn}}
	for _, m := range withCentral {
		a, err := newAttacked(m, publishedAttack(m), attackImages, opt.Sweep.DataDir)
		if err != nil {
			return nil, err
		}
		if err := a.calibrate(ctx); err != nil {
			return nil, err
		}
		if err := a.publishedRow(ctx, d, models); err != nil {
			return nil, err
		}
	}
	d.Notes = []string{
		fmt.Sprintf("as the paper implies where its text is silent about this experiment: its code's "+
			"learning rates for MNIST at epsilon 1, falling over the %d rounds, a black page for the blank "+
			"image, the first random start for all models, Adam in DP-DiNNO's primal steps; the settings of "+
			"seed000-table5 were chosen for tight attacks", attackRounds),
		fmt.Sprintf("ours in both: expected batch %g an agent (central: %g), Metropolis weights on the "+
			"complete graph of three agents, gradient before mixing, the first 100 images of each digit, "+
			"add-remove, noise calibrated by PLD at delta %g", attackBatch, 3*attackBatch, attackDelta),
		"bound: the first fifth of the models chooses the threshold of the loss, Clopper-Pearson limits on " +
			"the others, the better of both directions",
		fmt.Sprintf("the override %q is recorded in every ledger; config digest, run hash and hash of the "+
			"first models as in seed000-table5", attackOverride),
	}
	if opt.Scale != reproduce.Full {
		d.Notes = append(d.Notes, fmt.Sprintf("scale %s: %d + %d models, 5,000 + 5,000 in the paper; fewer "+
			"models give lower bounds", opt.Scale, models, models))
	}
	return d, nil
}

// publishedRow attacks the algorithm and adds what comes of it.
func (a *attacked) publishedRow(ctx context.Context, d *reproduce.Document, models int) error {
	s, err := a.scores(ctx, models, 0, attackStream)
	if err != nil {
		return err
	}
	b := s.loss.ByClopperPearson(audit.Rule{Kind: audit.Split, Part: attackPart}, attackBeta, attackDelta)
	plan := account.DPSGD(account.AddRemove, attackRate, a.answers)
	plan.NoiseMultiplier = a.noise
	truth, err := account.Epsilon(plan, attackDelta)
	if err != nil {
		return err
	}
	d.Add(methodNames[a.method], fmt.Sprintf("%g", attackEpsilon),
		fmt.Sprintf("%.3f", publishedTable5[a.method]), fmt.Sprintf("%.3f", b.Epsilon), -b.Threshold,
		fmt.Sprintf("%g", 1-attackBeta), fmt.Sprintf("%d + %d", models, models),
		fmt.Sprintf("%.4f to %.4f", truth.Lower, truth.Upper), a.step.text(), a.answers,
		fmt.Sprintf("%.4f", a.noise), attackSeed, reproduce.Engine(), reproduce.HashText(a.settings()),
		hashScores(s, models), hashScores(s, checkedModels))
	d.Figures = append(d.Figures, histogram("figure3-"+a.method, methodNames[a.method]+", epsilon 1",
		&s.loss))
	return nil
}
