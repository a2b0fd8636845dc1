package dpdl2023

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/reproduce"
)

// checkedModels of each world are those that the smallest size trains; whoever checks a
// row trains them again.
const checkedModels = 20

// FirstHashColumn of Table 5 is the SHA-256 of the scores of the first checkedModels of
// each world.
const FirstHashColumn = "hash of the first models"

// FirstModelsOf are the studies whose rows are checked by FirstModels.
var FirstModelsOf = []string{"seed000-table5", "seed000-table5-published"}

// attackStream names the seeds of the table's models.
const attackStream = "table 5 "

// settings are what the row's digest is of.
func (a *attacked) settings() string {
	if a.published {
		return fmt.Sprintf("engine %s method %s step %g to %g rounds %d clip %g rate %g batch %g epsilon %g "+
			"delta %g seed %d black blank first start data %s", experiment.EngineVersion, a.method,
			a.step.first, a.step.final, attackRounds, attackClip, attackRate, attackBatch, attackEpsilon,
			attackDelta, attackSeed, a.train.Digest)
	}
	return fmt.Sprintf("engine %s method %s step %g rounds %d clip %g rate %g batch %g epsilon %g delta "+
		"%g seed %d white blank start %d sgd steps data %s", experiment.EngineVersion, a.method, a.step.first,
		attackRounds,
		attackClip, attackRate, attackBatch, attackEpsilon, attackDelta, attackSeed, a.start, a.train.Digest)
}

// row attacks the algorithm and adds what comes of it.
func (a *attacked) row(ctx context.Context, d *reproduce.Document, size attackSize) error {
	s, err := a.scores(ctx, size.models, size.followed, attackStream)
	if err != nil {
		return err
	}
	rule := audit.Rule{Kind: audit.Split, Part: attackPart}
	b := s.loss.ByClopperPearson(rule, attackBeta, attackDelta)
	answers := s.answers.ByClopperPearson(rule, attackBeta, attackDelta)
	plan := account.DPSGD(account.AddRemove, attackRate, a.answers)
	plan.NoiseMultiplier = a.noise
	truth, err := account.Epsilon(plan, attackDelta)
	if err != nil {
		return err
	}
	white, err := a.whiteBox(plan, size)
	if err != nil {
		return err
	}
	d.Add(methodNames[a.method], fmt.Sprintf("%g", attackEpsilon),
		fmt.Sprintf("%.3f", publishedTable5[a.method]), fmt.Sprintf("%.3f", b.Epsilon), -b.Threshold,
		fmt.Sprintf("%g", 1-attackBeta), fmt.Sprintf("%d + %d", size.models, size.models),
		fmt.Sprintf("%.3f", answers.Epsilon), fmt.Sprintf("%.3f", white),
		fmt.Sprintf("%.4f to %.4f", truth.Lower, truth.Upper), a.step.text(), a.answers,
		fmt.Sprintf("%.4f", a.noise), attackSeed, reproduce.Engine(), reproduce.HashText(a.settings()),
		hashScores(s, size.models), hashScores(s, checkedModels))
	d.Figures = append(d.Figures, histogram("figure3-"+a.method, methodNames[a.method]+", epsilon 1",
		&s.loss))
	return nil
}

// hashScores is the SHA-256 of the scores of the first models of each world, in order.
func hashScores(s *attacks, models int) string {
	var lists [][]float64
	for _, x := range [][]float64{s.loss.Out, s.loss.In, s.answers.Out, s.answers.In} {
		lists = append(lists, x[:min(models, len(x))])
	}
	return reproduce.HashFigures(lists...)
}

// FirstModels trains the first models of a row of Table 5 again, some seconds, and
// returns the row's config digest and what FirstHashColumn has. study is one of
// FirstModelsOf, method the row's first cell.
func FirstModels(ctx context.Context, study, method, dataDir string) (digest, hash string, err error) {
	k := slices.IndexFunc(withCentral, func(m string) bool { return methodNames[m] == method })
	if k < 0 {
		return "", "", config.Bad("method", method,
			"one of "+strings.Join(slices.Sorted(maps.Values(methodNames)), ", "))
	}
	how := tightAttack
	if study == FirstModelsOf[1] {
		how = publishedAttack(withCentral[k])
	}
	a, err := newAttacked(withCentral[k], how, attackImages, dataDir)
	if err != nil {
		return "", "", err
	}
	return a.firstModels(ctx)
}

func (a *attacked) firstModels(ctx context.Context) (digest, hash string, err error) {
	if err := a.calibrate(ctx); err != nil {
		return "", "", err
	}
	followed := checkedModels
	if a.published {
		followed = 0
	}
	s, err := a.scores(ctx, checkedModels, followed, attackStream)
	return reproduce.HashText(a.settings()), hashScores(s, checkedModels), err
}
