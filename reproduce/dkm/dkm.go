// Package dkm reproduces "A General Differentially Private Learning Framework for
// Decentralized Data", whose algorithm is a private Krasnosel'skiĭ-Mann iteration.
package dkm

import "sotto/reproduce"

// Paper has its studies.
var Paper = reproduce.Paper{
	Name: "dkm",
	Key:  "seed003",
	Studies: map[string]reproduce.Study{
		"figure1": {Title: "noise families over budgets, least squares, five agents, complete graph",
			Axes: iterationAxes, Base: iterationBase,
			Cells:  reproduce.TwoSizes(iterationCells("seed003-figure1")),
			Report: iterationTable("seed003-figure1"), Curves: true},
		"figure2": {Title: "error over rounds by graph, loss and method, epsilon .5, delta 1e-3",
			Axes: iterationAxes, Base: iterationBase,
			Cells:  reproduce.TwoSizes(iterationCells("seed003-figure2")),
			Report: iterationTable("seed003-figure2"), Curves: true},
		"figure3": {
			Title: "error over the number of agents by graph and loss, epsilon .5, delta 1e-3",
			Axes:  iterationAxes,
			Base:  iterationBase, Cells: reproduce.TwoSizes(iterationCells("seed003-figure3")),
			Report: iterationTable("seed003-figure3"), Curves: true},
		"heart": {Title: "DP-dKM beside DP-DSGD on the heart disease data of four hospitals",
			Axes: heartAxes, Base: heartBase, Cells: reproduce.TwoSizes(heartCells), Report: heartTable},
		"lambda": {
			Title: "λ chosen by a grid search on other instances, beside the fixed one, epsilon .5",
			Axes:  lambdaAxes, Base: iterationBase, Cells: reproduce.TwoSizes(lambdaCells),
			Report: lambdaTable, Curves: true},
		"shapes": {Title: "noise of the general shape b (Eq. 3), figure 1 at epsilon .5, delta 1e-3",
			Axes: shapeAxes, Base: iterationBase, Cells: reproduce.TwoSizes(shapeCells), Report: shapeTable,
			Curves: true},
		"scan": {
			Title: "figure 1 at epsilon .5 over step sizes α, rounds and λ, which the paper does not state",
			Axes:  scanAxes, Base: iterationBase, Cells: reproduce.TwoSizes(scanCells), Report: scanTable,
			Curves: true},
		"theorems": {
			Title: "Theorems 1, 2, 3 and 5 beside measured sensitivity, generalisation gap and error",
			Make:  theorems},
	},
}
