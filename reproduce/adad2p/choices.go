package adad2p

// choices is what "sotto reproduce seed002-search --scale full" found
// (docs/results/seed002-search); a test compares them.
var choices = []adaptiveChoice{
	{"1", "", 3, 0.1},
	{"1", "falling 0.1", 3, 0.3},
	{"1", "schedule 0.3", 0.3, 0.3},
	{"1", "quantile", 3, 0.1},
	{"1", "released", 3, 1},
	{"3", "", 3, 0.3},
	{"3", "falling 0.1", 3, 1},
	{"3", "schedule 0.1", 3, 1},
	{"3", "quantile", 0.3, 0.1},
	{"3", "released", 3, 1},
	{"10", "", 3, 1},
	{"10", "falling 0.1", 3, 1},
	{"10", "schedule 0.3", 3, 1},
	{"10", "quantile", 0.3, 0.3},
	{"10", "released", 3, 1},
}
