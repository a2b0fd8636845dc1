// Package bellet2018 reproduces "Fast and Differentially Private Algorithms for
// Decentralized Collaborative Machine Learning" (Bellet, Guerraoui, Taziki, Tommasi 2018,
// arXiv 1705.08435), and the experiment on MovieLens of its longer version.
package bellet2018

import "sotto/reproduce"

// Paper has its studies.
var Paper = reproduce.Paper{
	Name: "bellet2018",
	Key:  "seed001",
	Studies: map[string]reproduce.Study{
		"allocation": {Title: "allocations of a budget over wakes beside what C17 predicts",
			Axes: taskAxes, Base: taskBase, Cells: reproduce.TwoSizes(allocationCells),
			Report: sized(allocation),
			Curves: true},
		"arrival": {Title: "accuracy while records arrive", Axes: taskAxes, Base: taskBase,
			Cells:  reproduce.TwoSizes(unequalCells(arrivalTasks, "clock.wakes=2000")),
			Report: sized(arrivalTable), Curves: true},
		"budgets": {Title: "agents with budgets, and numbers of updates, of their own", Axes: taskAxes,
			Base: taskBase, Cells: reproduce.TwoSizes(unequalCells(ownBudgetTasks)),
			Report: sized(ownBudgets),
			Curves: true, Agents: true},
		"churn": {Title: "accuracy while agents are away", Axes: taskAxes, Base: taskBase,
			Cells: reproduce.TwoSizes(churnCells), Report: sized(churn), Curves: true},
		"figure1": {Title: "coordinate descent and ADMM without privacy, linear tasks, p = 100",
			Axes: taskAxes, Base: taskBase, Cells: reproduce.TwoSizes(figure1Cells), Report: sized(figure1),
			Curves: true},
		"figure2a": {Title: "private coordinate descent from zero, over the number of updates",
			Axes: taskAxes, Base: taskBase, Cells: reproduce.TwoSizes(figure2Cells("")),
			Report: sized(figure2("")),
			Curves: true},
		"figure2b": {Title: "private coordinate descent after a private warm start", Axes: taskAxes,
			Base: taskBase, Cells: reproduce.TwoSizes(figure2Cells("warm")), Report: sized(figure2("warm")),
			Curves: true},
		"figure2c": {Title: "accuracy over dimensions and budgets", Axes: taskAxes,
			Base: taskBase, Cells: reproduce.TwoSizes(figure2cCells), Report: sized(figure2c)},
		"figure3": {Title: "gain over local-only training by local data size", Axes: taskAxes,
			Base: taskBase, Cells: reproduce.TwoSizes(figure3Cells), Report: sized(figure3), Curves: true,
			Agents: true},
		"figure4": {
			Title: "records perturbed before training, the baseline of local differential privacy",
			Axes:  taskAxes, Base: taskBase, Cells: reproduce.TwoSizes(figure4Cells), Report: sized(figure4)},
		"movielens": {
			Title: "root mean squared error of personal models, MovieLens-100K (which you supply)",
			Axes:  movieLensAxes, Base: movieLensBase, Cells: reproduce.TwoSizes(movieLensCells),
			Report: movieLens},
		"movielens-standin": {
			Title: "the runs of seed001-movielens on a generated stand-in, which is not MovieLens",
			Axes:  standInAxes, Base: standInBase, Cells: reproduce.TwoSizes(standInCells), Report: standIn},
		"remark1": {Title: "the rate without strong convexity beside the O(1/t) bound", Axes: taskAxes,
			Base: taskBase, Cells: reproduce.TwoSizes(remark1Cells), Report: sized(remark1), Curves: true},
		"theorem2": {Title: "the bound of Theorem 2, corrected, beside the measured error",
			Axes: taskAxes, Base: taskBase, Cells: reproduce.TwoSizes(theorem2Cells), Report: sized(theorem2),
			Curves: true},
		"tuning": {Title: "the search for hyper-parameters, linear tasks, validation instances",
			Axes: taskAxes, Base: taskBase, Cells: reproduce.TwoSizes(tuningCells),
			Report: tuning},
	},
}
