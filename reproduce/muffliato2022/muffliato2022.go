// Package muffliato2022 reproduces "Muffliato: Peer-to-Peer Privacy Amplification for
// Decentralized Optimization and Averaging" (Cyffers, Even, Bellet, Massoulié 2022, arXiv
// 2206.05091), and what its authors presented beside it: random walks (arXiv 2402.07471).
// Noise that neighbors share is set beside both.
package muffliato2022

import "sotto/reproduce"

// Paper has its studies.
var Paper = reproduce.Paper{
	Name: "muffliato2022",
	Key:  "seed004",
	Studies: map[string]reproduce.Study{
		"decor": {
			Title: "noise that neighbors share beside central and own noise at one epsilon, MNIST, ring and" +
				" 4-regular graph", Axes: decorAxes, Base: decorBase, Cells: reproduce.TwoSizes(decorCells),
			Report: decorTable},
		"figa": {
			Title: "private gossip averaging: the published pairwise loss beside the exact one, over " +
				"distance",
			Make: figureA},
		"figb": {Title: "the same on a social graph (SNAP ego-Facebook 1912, which you supply)",
			Make: figureB},
		"figc": {Title: "gossip gradient descent on houses: accuracy of 2,000 and 4,000 agents",
			Make: descentAccuracy},
		"gd": {Title: "gossip gradient descent: losses of pairs on one graph and on fresh ones",
			Make: gradientDescent},
		"sgd": {
			Title: "strongly convex gossip SGD beside its theorem, noise by the published formula and by " +
				"exact leaks", Make: gossipSGD},
		"table": {
			Title: "utility of private averages on complete graph, expander, arbitrary graph and ring " +
				"against " +
				"central and local noise", Make: averageTable},
		"walkn": {Title: "privacy of random-walk SGD over the number of agents: published figure, exact " +
			"composition, mixture", Make: walkOverAgents},
		"walk": {
			Title: "random-walk SGD on houses: central, network and local noise, complete, hypercube, " +
				"geometric graph", Axes: walkAxes, Base: walkBase, Cells: reproduce.TwoSizes(walkCells),
			Report: walkTable, Curves: true},
	},
}
