package dpdl2023

import (
	"fmt"
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
	d := &reproduce.Document{Header: []string{"method", "epsilon", "seconds a run", "gradients", "noise",
		"mixing", "evaluation", "rest", "private / not", "published hours", "published private / not"}}
	machines := map[string]bool{}
	missing := 0
	for _, m := range withCentral {
		var plain reproduce.Sample
		for k, b := range []string{"none", "1"} {
			var total reproduce.Sample
			var split [5]reproduce.Sample
			for i := range f.Rows {
				r := &f.Rows[i]
				if r.Values[3] != m || r.Values[4] != b {
					continue
				}
				t, ok := f.Time(r)
				if !ok {
					missing++
					continue
				}
				total = append(total, t.Seconds)
				for j, x := range []float64{t.Split.Gradients, t.Split.Noise, t.Split.Mixing,
					t.Split.Evaluation, t.Split.Rest} {
					split[j] = append(split[j], x)
				}
				machines[fmt.Sprintf("%d cores, %s kernels, arithmetic %s", t.Cores, t.Kernels,
					r.Arithmetic)] = true
			}
			if len(total) == 0 {
				continue
			}
			line := []string{m, b, total.String()}
			for j := range 5 {
				line = append(line, fmt.Sprintf("%.2f", split[j].Mean()))
			}
			ours, theirs := "", ""
			if k == 0 {
				plain = total
			} else if len(plain) > 0 {
				ours, theirs = fmt.Sprintf("%.2f", total.Mean()/plain.Mean()),
					fmt.Sprintf("%.2f", publishedHours[m][1]/publishedHours[m][0])
			}
			d.Rows = append(d.Rows, append(line, ours, fmt.Sprintf("%g", publishedHours[m][k]), theirs))
		}
	}
	d.Notes = table3Notes(f.Scale == reproduce.Smoke, machines, missing)
	return d
}

func table3Notes(small bool, machines map[string]bool, missing int) []string {
	n := []string{
		"seconds: wall time of a run of 2,000 rounds on one core, evaluated every 200 rounds on 10,000 " +
			"images, mean and sd over seeds; then the mean time in its parts; runs at the same time share " +
			"the machine",
		"published: mean GPU hours over the paper's experiments on four GeForce RTX 2080 (Bayrooti, Gao, " +
			"Prorok 2023, Table 3, MNIST); the paper evaluates every 20 rounds; the CIFAR-100 rows are " +
			"lost in the paper's text",
	}
	var names []string
	for m := range machines {
		names = append(names, m)
	}
	slices.Sort(names)
	for _, m := range names {
		n = append(n, "measured on "+m)
	}
	if missing > 0 {
		n = append(n, fmt.Sprintf("%d finished runs have no time in times.csv and are left out", missing))
	}
	if small {
		n = append(n,
			"scale smoke: ten rounds and 500 test images; the figures show only that everything runs")
	}
	return n
}
