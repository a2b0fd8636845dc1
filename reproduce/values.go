package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sotto/experiment"
	"sotto/experiment/sweep"
)

// Number reads a value of an axis that is a number.
func Number(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// Epsilon writes one for people.
func Epsilon(x float64) string {
	if x > 1e300 {
		return "∞"
	}
	return fmt.Sprintf("%.4g", x)
}

// Ends returns the part of a list that a small study runs: the first and the last.
func Ends(list []string, small bool) []string {
	if small && len(list) > 2 {
		return []string{list[0], list[len(list)-1]}
	}
	return list
}

// Exactly writes x so that it reads back the same.
func Exactly(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Distinct drops cells that a smoke run makes equal.
func Distinct(cells []sweep.Cell) []sweep.Cell {
	seen := map[string]bool{}
	return slices.DeleteFunc(cells, func(c sweep.Cell) bool {
		k := fmt.Sprint(c.Values)
		again := seen[k]
		seen[k] = true
		return again
	})
}

// Setter returns what adds to the settings of a run, as fmt.Sprintf writes them.
func Setter(settings *[]string) func(format string, args ...any) {
	return func(format string, args ...any) { *settings = append(*settings, fmt.Sprintf(format, args...)) }
}

// Build makes an experiment from a run file and settings that replace its own.
func Build(base string, settings []string, dataDir string) (*experiment.Experiment, error) {
	f, err := experiment.Parse("study", []byte(base), settings)
	if err != nil {
		return nil, err
	}
	return f.Build(dataDir)
}
