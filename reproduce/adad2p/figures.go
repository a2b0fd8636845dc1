package adad2p

import (
	"fmt"

	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/report/plot"
	"sotto/reproduce"
)

// compared are SGP without noise and the three methods of the paper at noise scales:
// ConstD2P with the authors' G, and with what single records reach where that is known,
// ClipD2P at every clip.
func compared(data, form string, sigmas []string) []push {
	s := setups[data]
	base := push{mode: "replication", data: data, form: form, step: s.step}
	with := func(method, noise string, clip float64) push {
		p := base
		p.method, p.noise, p.clip = method, noise, clip
		return p
	}
	list := []push{with("sgp", "none", 0)}
	for _, sigma := range sigmas {
		noise := "sigma " + sigma
		list = append(list, with("adad2p", noise, 0), with("constd2p", noise, s.bound))
		if form == "" && s.seen > 0 {
			list = append(list, with("constd2p", noise, s.seen))
		}
		for _, c := range s.clips {
			list = append(list, with("clipd2p", noise, c))
		}
	}
	return list
}

// name is p in plots and tables.
func (p push) name() string {
	switch p.method {
	case "clipd2p":
		return fmt.Sprintf("%s, C = %g", methodNames[p.method], p.clip)
	case "constd2p":
		return fmt.Sprintf("%s, G = %g", methodNames[p.method], p.clip)
	}
	return methodNames[p.method]
}

// figure1Pushes are the three methods of figure 1, at figure 2's smaller noise scale: the
// paper does not state figure 1's.
func figure1Pushes() []push { return compared("cifar-10", "", []string{"0.002"}) }

func figure2Pushes() []push { return compared("cifar-10", "", []string{"0.002", "0.04"}) }

// figure3Pushes are AdaD2P at every noise scale, and all methods at the least.
func figure3Pushes() []push {
	s := setups["cifar-10"]
	list := compared("cifar-10", "", s.sigmas[:1])
	for _, sigma := range s.sigmas[1:] {
		list = append(list, push{
			mode:   "replication",
			data:   "cifar-10",
			method: "adad2p",
			noise:  "sigma " + sigma,
			step:   s.step,
		})
	}
	return list
}

// figure4Pushes are the methods with one record a round, then with batches.
func figure4Pushes() []push {
	sigmas := setups["mnist"].sigmas
	return append(compared("mnist", "", sigmas), compared("mnist", batched, sigmas)...)
}

// pushCells makes the cells of a study from its runs; the smallest size has the first two
// and the last two.
func pushCells(runs func() []push) func(reproduce.Scale) []sweep.Cell {
	return func(scale reproduce.Scale) []sweep.Cell {
		list := runs()
		if scale == reproduce.Smoke && len(list) > 4 {
			list = append(list[:2:2], list[len(list)-2:]...)
		}
		return overTrials(scale, list)
	}
}

// pushReport tables the runs of a study with claimed and true epsilon, and draws gradient
// norm, training loss and accuracy for each noise scale.
func pushReport(figure string, runs func() []push) func(*reproduce.Results) *reproduce.Document {
	return func(f *reproduce.Results) *reproduce.Document {
		r := collectPush(f)
		d := &reproduce.Document{Header: []string{"records a round", "noise scale", "method", "accuracy",
			"training loss", "norm of the mean gradient", "root mean square norm of a record's gradient",
			"claimed epsilon", "true epsilon"}}
		scales := map[string][]push{}
		var order []string
		for _, p := range runs() {
			rows := r.Of(p)
			if len(rows) == 0 {
				continue
			}
			last := func(metric string) string { return three(r.Last(p, metric, "all")) }
			d.Add(p.records(), p.noise, p.name(), r.Accuracy(p), last("train_loss"), last("gradient_norm"),
				last("gradient_rms"), p.claim(f.Scale), r.Epsilon(p))
			key := p.noise + p.form
			if p.noise != "none" && scales[key] == nil {
				order = append(order, key)
			}
			scales[key] = append(scales[key], p)
		}
		for _, key := range order {
			list := scales[key]
			plain := scales["none"+list[0].form]
			d.Figures = append(d.Figures, r.drawn(figure, append(plain[:len(plain):len(plain)], list...))...)
			d.Notes = append(d.Notes, r.comparisons(list)...)
		}
		d.Notes = append(d.Notes,
			"1 record: one uniform record of each agent in a round, as in the paper's Algorithm 1; 64: "+
				"Poisson batches; norms and training loss are of training records of all agents at the "+
				"mean of their models",
			"the paper states no epsilon for these runs and leaves the constants of its Proposition 2 "+
				"open; claimed: of the accountant that its proof refers to, for Gaussian noise of this "+
				"scale at the rate of the batches, under add-remove. True: of the ledger, with delta 1e-5, "+
				"under replace-one with 1 record and add-remove with batches; the noise of AdaD2P and "+
				"ConstD2P follows private gradients that nothing bounds, which has no epsilon")
		d.Notes = append(d.Notes, smokeNotes(f.Scale, runs()[0].data)...)
		if runs()[0].data == "cifar-10" && f.Scale != reproduce.Smoke { // ResNet-18
			p := setups["cifar-10"]
			n := p.size(f.Scale, "cifar-10")
			d.Notes = append(d.Notes,
				fmt.Sprintf("scale %s: %d of %d rounds and one of five files of images, one seed; %d "+
					"test images, models of %d agents; published: 3,500 rounds, 50,000 images", f.Scale,
					n.rounds, p.rounds, n.limit, n.agents))
		}
		return d
	}
}

// claim is what the accountant that the paper's proof refers to gives for Gaussian noise
// of p's scale: RDP under add-remove at the rate of p's batches, as if the mean gradient
// had sensitivity 1/batch of what σ multiplies.
func (p push) claim(scale reproduce.Scale) string {
	if p.noise == "none" {
		return ""
	}
	batch := 1.
	if p.form == batched {
		batch = batchSize
	}
	s := setups[p.data]
	plan := account.DPSGD(account.AddRemove, batch/s.records, s.size(scale, p.data).rounds)
	plan.Accountant, plan.NoiseMultiplier = "rdp", batch*reproduce.Number(p.noise[len("sigma "):])
	e, err := account.Epsilon(plan, 1e-5)
	if err != nil {
		panic(err) // of constants of this package
	}
	return reproduce.Epsilon(e.Upper)
}

// records is what a round of p takes from an agent.
func (p push) records() string {
	if p.form == batched {
		return "64, Poisson"
	}
	return "1"
}

// three writes a sample with three digits behind the point.
func three(s reproduce.Sample) string { return s.Format("%.3f", "%.3f") }

// drawn are the three plots of a noise scale.
func (r pushRows) drawn(figure string, list []push) []plot.Figure {
	one := list[len(list)-1]
	sigma, title := one.noise[len("sigma "):], "noise scale "+one.noise[len("sigma "):]
	file := sigma
	if one.form == batched {
		file, title = sigma+"-batch", title+", batches of 64"
	}
	var out []plot.Figure
	for _, m := range []struct{ metric, agent, title, unit string }{
		{"gradient_norm", "all", "Norm of the mean gradient", "norm"},
		{"train_loss", "all", "Training loss", "loss"},
		{"accuracy", "mean", "Test accuracy", "mean accuracy of the agents (%)"},
	} {
		f := plot.Figure{
			Name:    figure + "-" + m.metric + "-" + file,
			Title:   m.title + ", " + title,
			XLabel:  "round",
			YLabel:  m.unit,
			Percent: m.metric == "accuracy",
			Caption: "Mean over seeds; band: one standard deviation.",
		}
		f.LogY = m.metric == "train_loss"
		for _, p := range list {
			f.Curves = append(f.Curves, plot.Curve{Name: p.name(),
				Points: r.Over(p, m.metric, m.agent, false)})
		}
		out = append(out, f)
	}
	return out
}

// comparisons are paired tests of the published methods' accuracies at one noise scale.
func (r pushRows) comparisons(list []push) []string {
	var notes []string
	for i, p := range list {
		for _, q := range list[i+1:] {
			notes = append(notes, r.difference(p, q)...)
		}
	}
	return notes
}

// losses are paired tests of what noise costs each method against SGP without noise,
// which figure 3(c) is about.
func (r pushRows) losses(list []push) []string {
	var notes []string
	for _, p := range list {
		for _, q := range list {
			if p.noise != "none" && q.noise == "none" && p.form == q.form {
				notes = append(notes, r.difference(p, q)...)
			}
		}
	}
	return notes
}

// difference is one paired test, or none where there are too few pairs.
func (r pushRows) difference(p, q push) []string {
	diff := r.AccuracyLess(p, q)
	prob, ok := twoSided(diff)
	if !ok {
		return nil
	}
	return []string{fmt.Sprintf("%s, %s a round: %s less %s is %+.2f ± %.2f points over %d seeds, "+
		"two-sided p %s of a paired t test", p.noise,
		map[bool]string{true: "64 records", false: "1 record"}[p.form == batched], p.name(),
		q.name(), diff.Mean(), diff.SD(), len(diff), prob)}
}

// scaleReport draws AdaD2P over noise scales, then all methods at some of them, as in
// figure 3.
func scaleReport(figure string, runs func() []push, compared ...string) func(
	*reproduce.Results) *reproduce.Document {
	return func(f *reproduce.Results) *reproduce.Document {
		d := pushReport(figure, runs)(f)
		d.Figures = nil
		r := collectPush(f)
		var over []push
		at := map[string][]push{}
		for _, p := range runs() {
			if p.method == "adad2p" {
				over = append(over, p)
			}
			for _, sigma := range compared {
				if p.noise == "none" || p.noise == "sigma "+sigma {
					at[sigma] = append(at[sigma], p)
				}
			}
		}
		for _, m := range []struct{ metric, agent, title, unit string }{
			{"train_loss", "all", "AdaD2P: training loss", "loss"},
			{"accuracy", "mean", "AdaD2P: test accuracy", "mean accuracy of the agents (%)"},
		} {
			fig := plot.Figure{
				Name:    figure + "-scales-" + m.metric,
				Title:   m.title,
				XLabel:  "round",
				YLabel:  m.unit,
				Percent: m.metric == "accuracy",
			}
			for _, p := range over {
				fig.Curves = append(fig.Curves, plot.Curve{Name: "noise scale " + p.noise[len("sigma "):],
					Points: r.Over(p, m.metric, m.agent, false)})
			}
			d.Figures = append(d.Figures, fig)
		}
		for _, sigma := range compared {
			d.Figures = append(d.Figures, r.drawn(figure, at[sigma])...)
		}
		return d
	}
}
