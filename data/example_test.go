package data_test

import (
	"fmt"

	"sotto/data"
)

func Example() {
	defaults := func(any) error { return nil }
	split, err := data.Load("glyphs", "", 1, defaults)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Ten agents, one digit each.
	onlyDigit := func(params any) error { params.(*data.OverlapParams).T = 1; return nil }
	rows, err := data.Partition("a", split.Train, 10, 1, onlyDigit)
	if err != nil {
		fmt.Println(err)
		return
	}
	records := 0
	for _, r := range rows {
		records += len(r)
	}
	fmt.Println(len(rows), "agents hold", records, "records of", split.Train.Shape)
	// Output: 10 agents hold 6000 records of [28 28 1]
}
