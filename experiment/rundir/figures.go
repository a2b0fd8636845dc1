package rundir

import (
	"fmt"
	"strings"

	"sotto/internal/jsonfloat"
)

// Quality says how good the models are, by the test records.
type Quality struct {
	Accuracy *Stats          `json:"accuracy,omitempty"` // absent for regression
	Loss     jsonfloat.Float `json:"loss"`               // mean over agents, test records
	// of the agents' root mean squared errors, where asked for
	RMSE *Stats `json:"rmse,omitempty"`
	// distances from the hidden vector of generated data, where asked for
	Estimation        *Estimation     `json:"estimation_rmse,omitempty"`
	ConsensusDistance jsonfloat.Float `json:"consensus_distance"`
	// of the metrics that [evaluate] metrics names
	Metrics map[string]Stats `json:"metrics,omitempty"`
	// noisy accuracy or mean loss of held-out records, charged
	Score *jsonfloat.Float `json:"score,omitempty"`
	// where [evaluate] figures asks for them
	Figures *Figures `json:"figures,omitempty"`
	// where [personal] asks for owners' own models
	Personal *Personal `json:"personal,omitempty"`
}

// Figures are those of package model/score, of every agent's final model on its test
// records, beside a baseline that knows nothing but the labels of the training records.
type Figures struct {
	// Records are the test records of all tested agents, once where they share them.
	Records    int          `json:"records"`
	Shared     bool         `json:"shared"` // all agents are tested on the same records
	Tested     int          `json:"tested"` // agents, or tokens
	BaselineOf string       `json:"baseline_of"`
	Lines      []FigureLine `json:"figures"`
	// Level is that of the intervals; 0: there are none, because agents have test records
	// of their own, or there are too many predictions to resample.
	Level float64 `json:"level,omitempty"`
	// Persons of whom some have several test records were drawn for the intervals, in the
	// place of records; 0: records were.
	Persons int `json:"persons,omitempty"`
	// Confusion counts records of all tested agents' models: a row for each class, a
	// column for each that is predicted. Left out with more than 20 classes.
	Confusion [][]int `json:"confusion,omitempty"`
	// Reliability is the curve of all tested agents' predictions together.
	Reliability []ReliabilityBin `json:"calibration,omitempty"`
}

// FigureLine is one figure over agents.
type FigureLine struct {
	Name   string `json:"name"`
	Agents int    `json:"agents"` // that have it; where none has, Undefined says why
	Over   *Stats `json:"over_agents,omitempty"`
	// Interval is of the mean over agents, by a bootstrap of the test records or persons.
	Interval  *[2]float64 `json:"interval,omitempty"`
	Baseline  *float64    `json:"baseline,omitempty"` // mean over the agents' test records
	Undefined string      `json:"undefined,omitempty"`
	// ByAgent has a value for each tested agent, up to SummaryThreshold of them; null
	// where it is undefined.
	ByAgent []*float64 `json:"by_agent,omitempty"`
}

// ReliabilityBin is the predictions of Low <= p < High, the last one with p = 1 too.
type ReliabilityBin struct {
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Records int     `json:"records"`
	Mean    float64 `json:"predicted"` // mean p
	Share   float64 `json:"observed"`
}

// Text is the figure in words.
func (l *FigureLine) Text(level float64) string {
	if l.Over == nil {
		return "undefined: " + l.Undefined
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%.4f mean", l.Over.Mean)
	if l.Interval != nil {
		fmt.Fprintf(&b, " (%.4f to %.4f at level %g)", l.Interval[0], l.Interval[1], level)
	}
	fmt.Fprintf(&b, ", %.4f min, %.4f max; baseline ", l.Over.Min, l.Over.Max)
	if l.Baseline == nil {
		b.WriteString("undefined")
	} else {
		fmt.Fprintf(&b, "%.4f", *l.Baseline)
	}
	return b.String()
}

// write prints the figures below those that every run has.
func (f *Figures) write(t textTable, who string) {
	t.row("figures", "of %d test records, over %d %s; the baseline knows %s", f.Records, f.Tested,
		who, f.BaselineOf)
	for i := range f.Lines {
		l := &f.Lines[i]
		text := l.Text(f.Level)
		if l.Agents < f.Tested && l.Over != nil {
			text += fmt.Sprintf("; undefined at %d of %d %s: %s", f.Tested-l.Agents, f.Tested,
				who, l.Undefined)
		}
		t.row("  "+strings.ReplaceAll(l.Name, "_", " "), "%s", text)
	}
}
