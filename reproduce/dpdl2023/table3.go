package dpdl2023

import (
	"fmt"
	"maps"
	"slices"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// publishedHours is the MNIST half of Table 3, hours on four GeForce RTX 2080 cards: not
// private, private. The CIFAR-100 half has lost its rows in the paper's text.
var publishedHours = map[string][2]float64{"central": {.07, .1}, "dsgd": {1.1, 1.25}, "dsgt": {.84, 1.24},
	"dinno": {.9, 1.24}}

var withCentral = append([]string{centralRow}, methods...)

// table3Cells are sound runs on the complete graph, not private and at epsilon 1.
func table3Cells(small bool) []sweep.Cell {
	var runs []mnistRun
	for _, m := range withCentral {
		for _, b := range []string{"none", "1"} {
			runs = append(runs, timedRun(m, b))
		}
	}
	return overTrials(small, runs)
}

func timedRun(method, budget string) mnistRun {
	if method == centralRow {
		return mnistRun{mode: "sound", method: method, budget: budget}
	}
	return mnistRun{mode: "sound", fiedler: "1", overlap: "1", method: method, budget: budget}
}

// table3 sets seconds a run beside the published hours.
func table3(f *reproduce.Results) *reproduce.Document {
	d := &reproduce.Document{Header: slices.Concat(timesHeader,
		[]string{"published hours", "published private / not"})}
	w := watched{f: f, machines: map[string]bool{}}
	w.add(3, [2]string{"none", "1"}, func(line []string, m string, k int) {
		theirs := ""
		if line[len(line)-1] != "" {
			theirs = fmt.Sprintf("%.2f", publishedHours[m][1]/publishedHours[m][0])
		}
		d.Rows = append(d.Rows, append(line, fmt.Sprintf("%g", publishedHours[m][k]), theirs))
	})
	d.Notes = append(table3Notes(f.Scale), w.notes()...)
	return d
}

// timesHeader is of the columns that watched fills.
var timesHeader = []string{"method", "epsilon", "seconds a run", "gradients", "noise", "mixing", "evaluation",
	"rest", "private / not"}

// watched reads the times of a study's runs.
type watched struct {
	f        *reproduce.Results
	machines map[string]bool
	missing  int
}

// times are seconds of the runs of one method and budget, whose axes are column and the
// next, and their parts.
func (w *watched) times(column int, method, budget string) (total reproduce.Sample,
	split [5]reproduce.Sample) {
	for i := range w.f.Rows {
		r := &w.f.Rows[i]
		if r.Values[column] != method || r.Values[column+1] != budget {
			continue
		}
		t, ok := w.f.Time(r)
		if !ok {
			w.missing++
			continue
		}
		total = append(total, t.Seconds)
		for j, x := range []float64{t.Split.Gradients, t.Split.Noise, t.Split.Mixing, t.Split.Evaluation,
			t.Split.Rest} {
			split[j] = append(split[j], x)
		}
		w.machines[fmt.Sprintf("%d cores, %s kernels, arithmetic %s", t.Cores, t.Kernels,
			r.Arithmetic)] = true
	}
	return total, split
}

// add calls line with the columns of timesHeader for every method at each of the two
// budgets; the first is without privacy.
func (w *watched) add(column int, budgets [2]string, line func(cells []string, method string, k int)) {
	for _, m := range withCentral {
		var plain reproduce.Sample
		for k, b := range budgets {
			total, split := w.times(column, m, b)
			if len(total) == 0 {
				continue
			}
			cells := []string{m, b, total.String()}
			for j := range split {
				cells = append(cells, fmt.Sprintf("%.2f", split[j].Mean()))
			}
			ratio := ""
			if k == 0 {
				plain = total
			} else if len(plain) > 0 {
				ratio = fmt.Sprintf("%.2f", total.Mean()/plain.Mean())
			}
			line(append(cells, ratio), m, k)
		}
	}
}

// notes name the machines.
func (w *watched) notes() (n []string) {
	for _, m := range slices.Sorted(maps.Keys(w.machines)) {
		n = append(n, "measured on "+m)
	}
	if w.missing > 0 {
		n = append(n, fmt.Sprintf("%d finished runs have no time in times.csv and are left out", w.missing))
	}
	return n
}

// table3CNNRounds are rounds of the CIFAR-100 half: what a run of 25,000 takes is a
// hundred times as much.
var table3CNNRounds = map[reproduce.Scale]int{reproduce.Smoke: smokeRounds, reproduce.Full: 250}

// table3CNNCells are the runs of Table 4 with cnn at t = 1, not private and at epsilon
// 10, with fewer rounds.
func table3CNNCells(small bool) (cells []sweep.Cell) {
	scale := reproduce.Full
	if small {
		scale = reproduce.Smoke
	}
	for _, m := range withCentral {
		for _, b := range cifar100Budgets {
			for _, seed := range trials(small) {
				t := "1"
				if m == centralRow {
					t = ""
				}
				c := imageRun{"sound", t, m, b}.cnnCell(seed, scale)
				set := reproduce.Setter(&c.Set)
				set("rounds=%d", table3CNNRounds[scale])
				set("evaluate.every=%d", table3CNNRounds[scale])
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// table3CNN is the CIFAR-100 half of Table 3.
func table3CNN(f *reproduce.Results) *reproduce.Document {
	d := &reproduce.Document{Header: timesHeader}
	w := watched{f: f, machines: map[string]bool{}}
	w.add(2, [2]string(cifar100Budgets), func(line []string, _ string, _ int) {
		d.Rows = append(d.Rows, line)
	})
	d.Notes = append([]string{
		fmt.Sprintf("seconds: wall time of a run of %d rounds on one core, evaluated at its start and end, "+
			"mean and sd over seeds; then the mean time in its parts; runs at the same time share the "+
			"machine",
			table3CNNRounds[f.Scale]),
		"runs: those of seed000-table4-cnn at t = 1, not private and at epsilon 10 (zero-out); a run of " +
			"25,000 rounds takes as much longer as it has more rounds, evaluation apart",
		"the paper's rows for CIFAR-100 are lost in its text but for one figure, 2.1 hours beside central " +
			"private training of DPResNet9",
	}, w.notes()...)
	return d
}

func table3Notes(scale reproduce.Scale) []string {
	return append([]string{
		"seconds: wall time of a run of 2,000 rounds on one core, evaluated every 200 rounds on 10,000 " +
			"images, mean and sd over seeds; then the mean time in its parts; runs at the same time share " +
			"the machine",
		"published: mean GPU hours over the paper's experiments on four GeForce RTX 2080 (Bayrooti, Gao, " +
			"Prorok 2023, Table 3, MNIST); the paper evaluates every 20 rounds; the CIFAR-100 rows are " +
			"lost in the paper's text",
		"runs: the sound ones of Table 1 on the complete graph, not private and at epsilon 1 (zero-out)",
	}, smokeNotes(scale)...)
}
