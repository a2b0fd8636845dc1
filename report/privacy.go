package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// privacySection lists what every agent has spent, agents with equal figures in one row.
func privacySection(groups []*group) Section {
	t := plot.Table{Header: []string{"setting", "seed", "agents", "epsilon upper", "epsilon lower", "delta",
		"adjacency", "unit", "accountant", "noise", "noise multiplier", "sample rate", "charges",
		"claimed epsilon"}}
	for _, s := range groups {
		for _, r := range s.runs {
			claimed := "none"
			if r.Summary.ClaimedEpsilon > 0 {
				claimed = rundir.FormatEpsilon(float64(r.Summary.ClaimedEpsilon)) + " (no guarantee)"
			}
			for _, p := range distinctLines(r.Summary.Privacy, isSingle(groups)) {
				lower, upper := p.bounds()
				t.Rows = append(t.Rows, []string{s.label, strconv.FormatUint(r.Summary.Seed, 10),
					p.agents(&r.Summary.Names), upper, lower, number(p.Delta), p.Adjacency, p.Unit,
					p.Accountant, r.Summary.Noise, rangeText(p.noise), rangeText(p.rate),
					strconv.FormatUint(p.Charges, 10), claimed})
			}
		}
	}
	text := []string{"The upper bound is the guarantee that the same run with secret noise would have; " +
		"the exact value for these releases is not below the lower one. Statements in words are in " +
		"privacy.json of every run."}
	if same := withoutConstants(&t); same != "" {
		text = append(text, "The same in all rows: "+same+".")
	}
	return Section{Title: "Privacy", Tables: []plot.Table{t}, Text: text}
}

// withoutConstants takes the columns out of a table that have one value in all of several
// rows, and says which; the first column and epsilon stay.
func withoutConstants(t *plot.Table) string {
	if len(t.Rows) < 2 {
		return ""
	}
	var kept []int
	var same []string
	for k, name := range t.Header {
		constant := k > 0 && !strings.HasPrefix(name, "epsilon") && !slices.ContainsFunc(t.Rows,
			func(row []string) bool { return row[k] != t.Rows[0][k] })
		if constant {
			same = append(same, name+" "+t.Rows[0][k])
		} else {
			kept = append(kept, k)
		}
	}
	pick := func(row []string) (out []string) {
		for _, k := range kept {
			out = append(out, row[k])
		}
		return out
	}
	t.Header = pick(t.Header)
	for i, row := range t.Rows {
		t.Rows[i] = pick(row)
	}
	return strings.Join(same, ", ")
}

// distinctLines joins agents whose epsilon is the same, with the range of their noise
// multipliers and sampling rates. Agents stay apart where those differ when each is asked
// for; else an epsilon within half a percent of another is the same.
func distinctLines(all []rundir.PrivacyLine, each bool) []privacyRow {
	var rows []privacyRow
	for _, p := range all {
		row := privacyRow{PrivacyLine: p}
		lower, upper := row.bounds()
		row.key = fmt.Sprint(p.Delta, p.Adjacency, p.Unit, p.Accountant, p.Charges, p.Group)
		row.about = p.Epsilon
		if each {
			row.key += fmt.Sprint(upper, lower, p.Noise, p.SampleRate)
		}
		k := slices.IndexFunc(rows, func(r privacyRow) bool {
			return r.key == row.key && near(float64(r.about.Upper), float64(p.Epsilon.Upper)) &&
				near(float64(r.about.Lower), float64(p.Epsilon.Lower))
		})
		if k < 0 {
			k, rows = len(rows), append(rows, row)
		}
		r := &rows[k]
		r.Epsilon.Upper, r.Epsilon.Lower = max(r.Epsilon.Upper, p.Epsilon.Upper),
			min(r.Epsilon.Lower, p.Epsilon.Lower)
		r.members, r.noise, r.rate = append(r.members, p.Agent), append(r.noise, float64(p.Noise)),
			append(r.rate, p.SampleRate)
	}
	return rows
}

// near says that two epsilons differ by no more than a reader minds.
func near(a, b float64) bool { return a == b || math.Abs(a-b) <= .005*math.Abs(a) }

// privacyRow is a line of the privacy table and what its agents do not have in common.
type privacyRow struct {
	rundir.PrivacyLine
	key         string        // what agents of one row have in common
	about       rundir.Bounds // epsilon of the first
	members     []int
	noise, rate []float64
}

// bounds are those of epsilon as they are printed.
func (r *privacyRow) bounds() (lower, upper string) {
	return rundir.FormatBound(float64(r.Epsilon.Lower), 4, false),
		rundir.FormatEpsilon(float64(r.Epsilon.Upper))
}

func (r *privacyRow) agents(names *rundir.Names) string {
	if r.Group != "" {
		return names.List(r.Group)
	}
	return names.List(rundir.Ranges(r.members))
}

// rangeText prints the lowest and the highest value, once where they are the same.
func rangeText(xs []float64) string {
	low, high := strconv.FormatFloat(slices.Min(xs), 'g', 5, 64),
		strconv.FormatFloat(slices.Max(xs), 'g', 5, 64)
	if low == high {
		return low
	}
	return low + " to " + high
}

// isSingle says that the report is on one run.
func isSingle(groups []*group) bool { return len(groups) == 1 && len(groups[0].runs) == 1 }

// againSection holds what is needed to make the runs again and to compare the results.
func againSection(groups []*group) Section {
	var commands, configs []Listing
	hashes := plot.Table{Header: []string{"run", "engine", "run hash"}}
	var lines []string
	single := isSingle(groups)
	for _, s := range groups {
		for i, r := range s.runs {
			lines = append(lines, r.Command)
			hashes.Rows = append(hashes.Rows,
				[]string{filepath.Base(r.Dir), r.Summary.Engine, r.Summary.RunHash})
			if i == 0 {
				title := "Configuration in force: " + s.label
				if len(s.runs) > 1 {
					title += fmt.Sprintf(", seed %d", r.Summary.Seed)
				}
				if single {
					title = "Configuration in force"
				}
				configs = append(configs, Listing{Title: title, Text: string(r.Config)})
			}
		}
	}
	commands = []Listing{{Text: strings.Join(lines, "\n")}}
	out := Section{
		Title:    "Run it again",
		Tables:   []plot.Table{hashes},
		Listings: append(commands, configs...),
		Text: []string{"The same engine on the same data gives the same run hash, whatever the number of " +
			"workers. SOTTO_DATA or --data-dir names the folder of data sets."},
	}
	if single {
		t := plot.Table{Header: []string{"ledger of agents", "records", "head"}}
		names := &groups[0].runs[0].Summary.Names
		for _, l := range groups[0].runs[0].Ledgers {
			t.Rows = append(t.Rows, []string{names.List(l.Agents), strconv.Itoa(l.Records), l.Head})
		}
		out.Tables = append(out.Tables, t)
	}
	return out
}
