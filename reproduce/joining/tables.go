package joining

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"sotto/experiment/rundir"
	"sotto/report/plot"
	"sotto/reproduce"
)

// figured are the figures of the models that the owners of one run end with, by owner and
// metric.
type figured map[string]map[string]float64

// figuresOf reads them among the kept metrics of a run.
func figuresOf(kept []rundir.Row) figured {
	all := figured{}
	for _, r := range kept {
		if _, err := strconv.Atoi(r.Agent); err != nil {
			continue
		}
		if all[r.Agent] == nil {
			all[r.Agent] = map[string]float64{}
		}
		all[r.Agent][r.Metric] = r.Value
	}
	return all
}

// mean is over the owners that have the figure; false: none has.
func (f figured) mean(model, figure string) (float64, bool) {
	sum, n := 0., 0
	for _, owner := range slices.Sorted(maps.Keys(f)) {
		if v, ok := f[owner][reproduce.PersonalMetric(model, figure)]; ok {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n), n > 0
}

// sampleOf is a model's figure in each of a run's splits: of one owner, or for "" on the
// mean of all.
func sampleOf(g *reproduce.Groups[run], r run, model, figure, owner string) (s reproduce.Sample) {
	rows := g.Of(r)
	for i := range rows {
		f := figuresOf(g.Kept(&rows[i]))
		if owner != "" {
			f = figured{owner: f[owner]}
		}
		if v, ok := f.mean(model, figure); ok {
			s = append(s, v)
		}
	}
	return s
}

// better says whether a larger value of a figure is the better one.
func better(figure string) bool { return figure != "rmse" }

// gain is what an owner's own model is better than its model alone, in each split.
func gain(g *reproduce.Groups[run], r run, figure, owner string) reproduce.Sample {
	own, alone := sampleOf(g, r, "own", figure, owner), sampleOf(g, r, "alone", figure, owner)
	if better(figure) {
		return own.Less(alone)
	}
	return alone.Less(own)
}

// half is half the width of the 95 % interval of a mean over splits by Student's t.
func half(s reproduce.Sample) float64 {
	if len(s) < 2 {
		return math.NaN()
	}
	e, law := s.Student()
	return e * law.Quantile(.975)
}

// interval is "mean ± half of the 95 % interval".
func interval(s reproduce.Sample) string {
	if len(s) == 0 {
		return ""
	}
	return fmt.Sprintf("%+.4f ± %.4f", s.Mean(), half(s))
}

func fixed(s reproduce.Sample) string { return s.Format("%.3f", "%.3f") }

// collect groups the rows of a study.
func collect(f *reproduce.Results) *reproduce.Groups[run] {
	return reproduce.Group(f, run.values)
}

// sized names a group with its size.
func (r run) sized() string {
	if r.records == 0 {
		return fmt.Sprintf("%s, %d owners", r.group.name, r.owners)
	}
	return fmt.Sprintf("%s, %d owners of %d", r.group.name, r.owners, r.records)
}

// pays is the table of all groups.
func pays(f *reproduce.Results) *reproduce.Document {
	g := collect(f)
	d := &reproduce.Document{Header: []string{"owners", "noise", "epsilon", "figure", "alone",
		"shared", "own",
		"own less alone", "central, private", "central, not private"}}
	worse, better, lines := 0, 0, 0
	for _, r := range paysRuns(false) {
		if r.noise == central || len(g.Of(r)) == 0 {
			continue
		}
		at := r.pooled()
		plain := at
		plain.budget = budgets[len(budgets)-1]
		for k, figure := range r.group.figures {
			gained := gain(g, r, figure, "")
			d.Rows = append(d.Rows, []string{r.sized(), r.noise, epsilonText(g, r), figure,
				fixed(sampleOf(g, r, "alone", figure, "")), fixed(sampleOf(g, r, "shared", figure, "")),
				fixed(sampleOf(g, r, "own", figure, "")), interval(gained),
				fixed(sampleOf(g, at, "shared", figure, "")), fixed(sampleOf(g, plain, "alone", figure, ""))})
			if k > 0 || r.noise == "none" || len(gained) < 2 {
				continue
			}
			lines++
			switch h := half(gained); {
			case gained.Mean() < -h:
				worse++
			case gained.Mean() > h:
				better++
			}
		}
	}
	d.Notes = append([]string{fmt.Sprintf("of %d groups, noises and epsilons, by the first figure of each, "+
		"owners end above what they have alone in %d, below it in %d, by more than the 95 %% interval", lines,
		better, worse)}, notes(f)...)
	return d
}

// epsilonText is what the ledgers cost, the largest over agents and splits.
func epsilonText(g *reproduce.Groups[run], r run) string {
	if r.noise == plain {
		return "∞"
	}
	return g.Epsilon(r)
}

func notes(f *reproduce.Results) []string {
	n := []string{
		"alone: a fit of the owner's own records, without noise, its prior by cross-validation; shared: " +
			"what all have trained by private Newton steps; own: what the owner ends with, a mixture of " +
			"alone, shared and a fit around the shared one, chosen by cross-validation on the owner's " +
			"own training records ([personal]). Nothing of the last step is sent",
		"noise: own, each owner's own; shared, that of one trusted curator for all, which nobody is " +
			"curious enough to take apart; none, not private. Central: one owner of all records, tested " +
			"on all test records at once, so that its AUROC also ranks records of different owners",
		"mean ± sd over splits of the mean over owners, on records that were not trained on; own less " +
			"alone: mean ± half of the 95 % interval over splits by Student's t, positive where own is " +
			"better. Splits draw from one data set, so that the interval says nothing of another one",
		"owners that are looked at are evenly spaced, and means over owners are over them: all of a data " +
			"set's own owners, of others as many as have 2,000 records together, but 3 to 20, of clothes 4",
		"epsilon: the PLD upper end from the ledgers under zero-out at delta 1e-4 (1e-5 of a curator with " +
			"more than 9,000 records); of a patient's voice for all recordings of the person",
	}
	if f.Scale == reproduce.Smoke {
		n = append(n, "scale smoke: one split of few groups; the figures show only that everything runs")
	}
	return n
}

// listed is how many owners of a group have lines of their own, where they are the same
// in all splits.
const listed = 10

// owners is the table by owner.
func owners(f *reproduce.Results) *reproduce.Document {
	g := collect(f)
	d := &reproduce.Document{Header: []string{"owners", "owner", "epsilon", "figure", "alone",
		"shared", "own",
		"own less alone"}}
	for _, r := range paysRuns(false) {
		rows := g.Of(r)
		if r.noise != ownNoise || r.owners > listed || !r.group.same() || len(rows) == 0 {
			continue
		}
		for i := range r.owners {
			owner := strconv.Itoa(i)
			for _, figure := range r.group.figures {
				if len(sampleOf(g, r, "alone", figure, owner)) == 0 { // it is not looked at
					continue
				}
				s := func(model string) string { return fixed(sampleOf(g, r, model, figure, owner)) }
				d.Rows = append(d.Rows, []string{r.sized(), r.group.owner(i), g.Epsilon(r), figure,
					s("alone"),
					s("shared"), s("own"), interval(gain(g, r, figure, owner))})
			}
		}
	}
	d.Notes = notes(f)
	return d
}

// same says that an owner is the same in all splits.
func (g *group) same() bool { return g.natural || g.figures[0] == numbers[0] }

// hospitals are the owners of the first group.
var hospitals = []string{"cleveland", "hungarian", "switzerland", "va"}

// owner names owner i.
func (g *group) owner(i int) string {
	if g.natural && i < len(hospitals) {
		return hospitals[i]
	}
	return strconv.Itoa(i + 1)
}

// worthMap is the table of joining-map: what own models gain, by owners and records.
func worthMap(f *reproduce.Results) *reproduce.Document {
	g := collect(f)
	d := &reproduce.Document{Header: []string{"epsilon", "owners", "records of each", "alone",
		"shared", "own",
		"own less alone", "shared less alone"}}
	for _, r := range mapRuns(false) {
		if len(g.Of(r)) == 0 {
			continue
		}
		figure := r.group.figures[0]
		alone, common := sampleOf(g, r, "alone", figure, ""), sampleOf(g, r, "shared", figure, "")
		d.Rows = append(d.Rows, []string{g.Epsilon(r), strconv.Itoa(r.owners), strconv.Itoa(r.records),
			fixed(alone), fixed(common), fixed(sampleOf(g, r, "own", figure, "")),
			interval(gain(g, r, figure, "")), interval(common.Less(alone))})
	}
	d.Notes = append([]string{"AUROC of income, census records dealt at random"}, notes(f)...)
	d.Maps = worthMaps(g)
	return d
}

// worthMaps draw what own models gain over owners and records, a map for each epsilon.
func worthMaps(g *reproduce.Groups[run]) (all []plot.HeatMap) {
	at := map[string]*plot.HeatMap{}
	for _, r := range mapRuns(false) {
		m := at[r.budget]
		if m == nil {
			m = &plot.HeatMap{Name: "joining-map-" + r.budget, Title: "AUROC gained at epsilon " + r.budget,
				XLabel: "records of each owner", YLabel: "owners", Signed: true,
				Caption: "AUROC of owners' own models less that of their models alone, in hundredths"}
			for _, n := range mapRecords {
				m.Columns = append(m.Columns, strconv.Itoa(n))
			}
			for _, n := range mapOwners {
				m.Rows = append(m.Rows, strconv.Itoa(n))
				empty := make([]float64, len(mapRecords))
				for k := range empty {
					empty[k] = math.NaN()
				}
				m.Values = append(m.Values, empty)
			}
			at[r.budget] = m
		}
		if gained := gain(g, r, r.group.figures[0], ""); len(gained) > 0 {
			m.Values[slices.Index(mapOwners, r.owners)][slices.Index(mapRecords, r.records)] = gained.Mean()
		}
	}
	for _, b := range slices.Sorted(maps.Keys(at)) {
		all = append(all, *at[b])
	}
	return all
}
