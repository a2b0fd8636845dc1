package sweep

import (
	"fmt"
	"strings"

	"sotto/config"
)

// failure is why a cell has no row.
type failure struct {
	cell int
	of   string // its settings
	err  error
}

func (f *failure) Error() string { return fmt.Sprintf("cell %d (%s): %v", f.cell, f.of, f.err) }

func (f *failure) Unwrap() error { return f.err }

const (
	// mostFailures is after how many failures a sweep ends that has no row at all.
	mostFailures = 8
	// mostTold is how many failures an error tells.
	mostTold = 4
)

// failures is the error of a sweep some cells of which failed, in their order.
type failures []*failure

func (all failures) Error() string {
	if len(all) == 1 {
		return all[0].Error()
	}
	var texts []string
	for _, f := range all[:min(len(all), mostTold)] {
		texts = append(texts, f.Error())
	}
	if more := len(all) - mostTold; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s without a row: %s", config.Count(len(all), "cell"), strings.Join(texts, "; "))
}

// Unwrap has the first failure decide what kind of error it is.
func (all failures) Unwrap() error { return all[0] }
