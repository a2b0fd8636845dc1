//go:build operator

package run

import (
	"errors"

	"sotto/experiment/rundir"
	"sotto/topology"
)

// A program for owners draws nothing: it simulates only to say what joining would bring,
// which leaves no files.

func pagesOf(*rundir.Run) (page []byte, plots []plotFile, err error) {
	return nil, nil, errors.New("run: a program for owners makes no pages")
}

func placed(*topology.Graph) [][2]float32 { return nil }
