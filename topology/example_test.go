package topology_test

import (
	"fmt"

	"sotto/topology"
)

func Example() {
	noParams := func(any) error { return nil }
	schedule, err := topology.New("star", "metropolis", 10, 1, noParams)
	if err != nil {
		fmt.Println(err)
		return
	}
	g, _ := schedule.At(0)
	info, _ := topology.Analyze(g)
	fmt.Printf("degrees %d to %d, gap %.3f, fiedler %.3f, mixes in %d rounds\n",
		info.DegreeMin, info.DegreeMax, info.Gap, info.NormalizedFiedler, info.MixingTime)
	_, err = topology.New("star", "uniform", 10, 1, noParams)
	fmt.Println(err != nil)
	// Output:
	// degrees 1 to 9, gap 0.100, fiedler 0.100, mixes in 10 rounds
	// true
}
