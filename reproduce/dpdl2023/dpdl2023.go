// Package dpdl2023 reproduces "Differentially Private Decentralized Deep Learning with
// Consensus Algorithms" (Bayrooti, Gao, Prorok 2023, arXiv 2306.13892).
package dpdl2023

import "sotto/reproduce"

// Paper has its studies.
var Paper = reproduce.Paper{
	Name: "dpdl2023",
	Key:  "seed000",
	Studies: map[string]reproduce.Study{
		"convergence": {
			Title: "the bound (23) beside the measured distance to the optimum, strongly convex problems",
			Make:  convergence},
		"fairness": {
			Title: "accuracy by class and by agent over epsilon, MNIST, one digit an agent",
			Axes:  mnistAxes, Base: mnistBase, Cells: reproduce.TwoSizes(fairCells),
			Report: fairness, Curves: true, Agents: true, Classes: true},
		"fairness-hospitals": {
			Title: "accuracy by class and by hospital over epsilon, heart disease",
			Axes:  hospitalAxes, Base: hospitalBase, Cells: reproduce.TwoSizes(hospitalCells),
			Report: hospitals, Curves: true, Agents: true, Classes: true},
		"features": {
			Title: "linear models of features that nobody trained, at true epsilons; the whole of " +
				"CIFAR-100, which you unpack",
			Axes: featureAxes, Base: featureBase, Cells: reproduce.TwoSizes(featureCells),
			Report: features},
		"figure1": {Title: "accuracy over the normalised Fiedler value (the rows of table 1)",
			Axes: mnistAxes, Base: mnistBase, Cells: reproduce.TwoSizes(table1Cells),
			Report: figure1},
		"figure2": {
			Title: "range of accuracy over the overlap of the agents' data (the rows of table 4)",
			Axes:  cifar100Axes, Base: cifar100Base, Cells: table4Cells, Report: figure2, Short: true},
		"lr": {
			Title: "accuracy over step sizes, three algorithms, MNIST, complete graph, epsilon 1",
			Axes:  mnistAxes, Base: mnistBase, Cells: reproduce.TwoSizes(stepCells),
			Report: stepSizes},
		"recipe": {
			Title: "a recipe beside the best published cell of table 1, MNIST, one digit an agent",
			Axes:  recipeAxes, Base: recipeBase, Cells: reproduce.TwoSizes(recipeCells),
			Report: recipe},
		"representation": {
			Title: "autoencoders of MNIST over epsilon: their error, and accuracy of a linear classifier",
			Make:  representation},
		"table1": {Title: "accuracy over graphs, algorithms and budgets, MNIST, one digit an agent",
			Axes: mnistAxes, Base: mnistBase, Cells: reproduce.TwoSizes(table1Cells),
			Report: table1},
		"table2": {Title: "accuracy over the overlap of the agents' data, MNIST, Fiedler value .06",
			Axes: mnistAxes, Base: mnistBase, Cells: reproduce.TwoSizes(table2Cells),
			Report: table2},
		"table3": {Title: "seconds a run, private and not, MNIST", Axes: mnistAxes,
			Base: mnistBase, Cells: reproduce.TwoSizes(table3Cells), Report: table3},
		"table3-cnn": {
			Title: "seconds a run, private and not, whole CIFAR-100 (which you unpack), cnn",
			Axes:  cifar100Axes, Base: cnnBase, Cells: reproduce.TwoSizes(table3CNNCells),
			Report: table3CNN},
		"table4": {Title: "accuracy over the overlap of the agents' data, CIFAR-100, DPResNet9",
			Axes: cifar100Axes, Base: cifar100Base, Cells: table4Cells, Report: table4, Short: true},
		"table4-cnn": {
			Title: "accuracy over the overlap of the agents' data, whole CIFAR-100 (which you unpack), cnn",
			Axes:  cifar100Axes, Base: cnnBase, Cells: cnnCells, Report: table4CNN, Short: true},
		"table5": {
			Title: "membership inference on a blank image, digits 0 to 2, three agents, epsilon 1, " +
				"delta 1e-2",
			Make: table5},
		"table5-published": {
			Title: "the attack of table 5 on models trained as the paper's text implies",
			Make:  table5Published, Short: true},
		"theorem51": {Title: "the error floor over noise and dimension, strongly convex problems",
			Make: theorem51},
	},
}
