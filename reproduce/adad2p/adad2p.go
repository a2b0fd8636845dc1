// Package adad2p reproduces "Sensitivity-Aware Differentially Private Decentralized
// Learning with Adaptive Noise", whose algorithm is AdaD2P.
package adad2p

import "sotto/reproduce"

// Paper has its studies.
var Paper = reproduce.Paper{
	Name: "adad2p",
	Key:  "seed002",
	Studies: map[string]reproduce.Study{
		"adaptive": {Title: "sound adaptive forms against constant clips at equal true epsilon, MNIST",
			Axes: pushAxes, Base: pushBase, Cells: adaptiveCells, Report: adaptive, Curves: true},
		"bounds": {
			Title: "the bounds (11) and (13) on the runs' own gradient norms (the rows of figure 4)",
			Axes:  pushAxes, Base: pushBase, Cells: pushCells(figure4Pushes), Report: boundsReport,
			Curves: true},
		"cnn": {
			Title: "figures 1 to 3 with a small network in place of ResNet-18, single records, CIFAR-10",
			Axes:  pushAxes, Base: pushBase, Cells: pushCells(cnnPushes),
			Report: cnnReport("cnn", cnnPushes, cnnSigmas...), Curves: true},
		"cnn64": {
			Title: "figures 2 and 3(c) with a small network in place of ResNet-18, batches of 64, CIFAR-10",
			Axes:  pushAxes, Base: pushBase, Cells: pushCells(cnnBatchPushes),
			Report: cnnReport("cnn64", cnnBatchPushes, cnnSigmas...), Curves: true},
		"directed": {
			Title: "figure 4 with batches of 64 on a directed graph that is not doubly stochastic",
			Axes:  directedAxes, Base: pushBase, Cells: directedCells, Report: directed, Curves: true,
			Agents: true},
		"figure1": {Title: "gradient norms of AdaD2P, ConstD2P and ClipD2P, ResNet-18, CIFAR-10",
			Axes: pushAxes, Base: pushBase, Cells: pushCells(figure1Pushes),
			Report: pushReport("figure1", figure1Pushes), Short: true, Curves: true},
		"figure2": {Title: "AdaD2P, ConstD2P and ClipD2P at equal noise scales, ResNet-18, CIFAR-10",
			Axes: pushAxes, Base: pushBase, Cells: pushCells(figure2Pushes),
			Report: pushReport("figure2", figure2Pushes), Short: true, Curves: true},
		"figure3": {
			Title: "AdaD2P over noise scales, and all methods at the least, ResNet-18, CIFAR-10",
			Axes:  pushAxes, Base: pushBase, Cells: pushCells(figure3Pushes),
			Report: scaleReport("figure3", figure3Pushes, "0.001"), Short: true, Curves: true},
		"figure4": {
			Title: "AdaD2P, ConstD2P and ClipD2P at equal noise scales, two-layer network, MNIST",
			Axes:  pushAxes, Base: pushBase, Cells: pushCells(figure4Pushes),
			Report: pushReport("figure4", figure4Pushes), Curves: true},
		"norms": {Title: "the procedure for G: the largest gradient norm of five runs without noise",
			Make: norms},
		"orders": {Title: "Table 1: utility over agents and records",
			Axes: ordersAxes, Base: ordersBase, Cells: reproduce.TwoSizes(ordersCells), Report: orders,
			Curves: true},
		"orders-bounds": {
			Title: "the whole of (11) and (13) beside the measured gradient norm (the rows of orders)",
			Axes:  ordersAxes, Base: ordersBase, Cells: reproduce.TwoSizes(ordersCells),
			Report: ordersWhole, Curves: true},
		"search": {Title: "clips and steps of sound adaptive forms, chosen on Fashion-MNIST",
			Axes: pushAxes, Base: pushBase, Cells: searchCells, Report: search, Curves: true},
	},
}
