package dpdl2023

import (
	"cmp"
	"fmt"
	"slices"

	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/reproduce"
)

// Features that nobody has trained: scattering coefficients, whitened by images that were
// drawn, under a linear classifier. Ten owners, each with noise of its own, beside one
// curator, at epsilons that are true; beside them the published decentralized figures of
// CIFAR-100 (Table 4) and the central ones of Tramer and Boneh for the same kind of
// features.

var featureAxes = []string{"data", "owners", "overlap", "epsilon", "seed"}

const featureBase = `
name = "seed000-features"
rounds = 40

[topology]
graph = "complete"

[data]
features = "scattering"
feature_norm = 1.0
feature_whiten = 0.66
feature_size = 1000

[model]
name = "logistic"

[algorithm]
name = "dsgd"
order = "mix-then-grad"
schedule = "cosine"

[privacy]
adjacency = "zero-out"
target_delta = 1e-5
max_grad_norm = 1.0
sample_rate = 1.0

[evaluate]
every = 10
`

var (
	featureData     = []string{"mnist", "fashion-mnist", "cifar-10", "cifar-100"}
	featureEpsilons = []string{"0.5", "1", "3", "10"}
)

// featureSteps are first step sizes by data set and epsilon; the last is a hundredth.
var featureSteps = map[string][4]float64{
	"mnist":         {40, 70, 120, 200},
	"fashion-mnist": {40, 70, 120, 200},
	"cifar-10":      {8, 15, 60, 200},
	"cifar-100":     {80, 180, 450, 1200},
}

// tramerBoneh are central figures at epsilon 3, delta 1e-5 (add-remove) of linear models
// of scattering features and of small networks of them: Tramer and Boneh, ICLR 2021, the
// table of main results of their public code.
var tramerBoneh = map[string]string{"mnist": "98.7, 98.7", "fashion-mnist": "89.7, 89.0",
	"cifar-10": "67.0, 69.3 (50,000 images)"}

// featureRun is a run, seeds apart. overlap is t of the paper's equation (8), for which
// owners have classes of their own at 1; "" deals records at random.
type featureRun struct{ data, owners, overlap, epsilon string }

// values are those of featureAxes, less the seed.
func (r featureRun) values() []string { return []string{r.data, r.owners, r.overlap, r.epsilon, ""} }

// cell writes r as settings of featureBase.
func (r featureRun) cell(seed int, small bool) sweep.Cell {
	c := sweep.Cell{Values: []string{r.data, r.owners, r.overlap, r.epsilon, fmt.Sprint(seed)}}
	set := reproduce.Setter(&c.Set)
	first := featureSteps[r.data][slices.Index(featureEpsilons, r.epsilon)]
	set("seed=%d", seed)
	set("topology.agents=%s", r.owners)
	set("data.dataset=%q", r.data)
	if r.overlap != "" {
		set("data.partition=\"a\"")
		set("data.t=%s", r.overlap)
	}
	set("algorithm.step_size=%g", first)
	set("algorithm.step_size_final=%g", first/100)
	set("privacy.target_epsilon=%s", r.epsilon)
	switch {
	case small:
		if r.overlap != "" { // 200 records are two of each class
			set("topology.agents=2")
		}
		set("data.limit=200")
		set("data.test_limit=100")
		set("rounds=2")
	case r.data == "cifar-10":
		set("data.batches=1")
	case r.data == "cifar-100":
		set("data.full=%q", cnnFolder)
	default:
		set("rounds=100")
	}
	return c
}

// featureRuns are all runs, seeds apart.
func featureRuns(small bool) []featureRun {
	var runs []featureRun
	for _, d := range reproduce.Ends(featureData, small) {
		for _, owners := range []string{"10", "1"} {
			for _, e := range reproduce.Ends(featureEpsilons, small) {
				runs = append(runs, featureRun{d, owners, "", e})
			}
		}
	}
	for _, t := range []string{"0", "1"} {
		runs = append(runs, featureRun{"cifar-100", "10", t, "10"})
	}
	return runs
}

func featureCells(small bool) []sweep.Cell {
	seeds := trials(small)
	if !small {
		seeds = seeds[:3]
	}
	var cells []sweep.Cell
	for _, r := range featureRuns(small) {
		for _, seed := range seeds {
			cells = append(cells, r.cell(seed, small))
		}
	}
	return cells
}

// features sets the runs beside published ones.
func features(f *reproduce.Results) *reproduce.Document {
	g := reproduce.Group(f, featureRun.values)
	d := &reproduce.Document{Header: []string{"data", "owners", "overlap t", "epsilon, zero-out", "accuracy",
		"points below one curator", "epsilon, replace-one", "published, decentralized", "published, central"}}
	var failed error
	for _, r := range featureRuns(f.Scale == reproduce.Smoke) {
		s := g.Accuracy(r)
		if len(s) == 0 {
			continue
		}
		below, curator := "", r
		curator.owners, curator.overlap = "1", ""
		if c := g.Accuracy(curator); r != curator && len(c) > 0 {
			below = fmt.Sprintf("%.2f", c.Mean()-s.Mean())
		}
		other, err := wholeBatches(&g.Of(r)[0])
		failed = cmp.Or(failed, err)
		decentralized, central := "", ""
		if at := publishedTable4["10"]; r.overlap != "" {
			t := slices.Index(overlaps, r.overlap)
			decentralized = fmt.Sprintf("DP-DSGD %v, DP-DSGT %v, DP-DiNNO %v", at[1][t], at[2][t], at[3][t])
			central = fmt.Sprint(at[0][0])
		}
		if r.epsilon == "3" {
			central = tramerBoneh[r.data]
		}
		d.Add(r.data, r.owners, r.overlap, g.Epsilon(r), s, below, other, decentralized, central)
	}
	d.Notes = featureNotes(f.Scale)
	if failed != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("an epsilon is missing: %v", failed))
	}
	return d
}

// wholeBatches is the PLD upper end under replace-one of a run whose every step has all
// records: there every record's gradient changes by up to twice the clip.
func wholeBatches(row *sweep.Row) (string, error) {
	plan := account.DPSGD(account.ReplaceOne, 1, int(row.Charges))
	plan.NoiseMultiplier = row.Noise
	spent, err := account.Epsilon(plan, 1e-5)
	if err != nil {
		return "", fmt.Errorf("row %d, replace-one: %w", row.Cell, err)
	}
	return reproduce.Epsilon(spent.Upper), nil
}

// featureNotes say what was run and how settings were chosen.
func featureNotes(scale reproduce.Scale) []string {
	n := []string{
		"accuracy in percent on the whole test part: mean over the owners' own models after 100 rounds " +
			"(CIFAR: 40), then mean and sd over seeds; every step has all records of an owner, clip norm 1",
		"owners: 10 on the complete graph, each with Gaussian noise of its own (DP-DSGD, gradients at the " +
			"mean of the models); 1: one curator with all records and one noise, the same settings. " +
			"Records are dealt at random, or by the paper's equation (8) with overlap t",
		"features: scattering coefficients, a function of one image and of public constants, scaled to " +
			"norm 1, whitened with power .66 by 2,048 drawn images of dead leaves, of whose components the " +
			"1,000 of largest variance are kept. Nothing was trained on images",
		"settings: rounds, whitening and step sizes were chosen on held-out tenths of the training records " +
			"of the same data sets with one seed, which are public: no epsilon counts that",
		"epsilons: PLD upper ends at delta 1e-5, zero-out from the ledgers, replace-one from the same " +
			"noise and number of charges",
		"published, decentralized: Bayrooti, Gao, Prorok 2023, Table 4, a claimed epsilon of 10 that is " +
			"82.3 for DP-DSGD and DP-DSGT and 43.6 for central (zero-out). Published, central, at epsilon " +
			"3: Tramer and Boneh 2021, a linear model of scattering features, then a small network of them " +
			"(add-remove)",
		"cifar-10: 10,000 of its 50,000 training images, the first of five files, so that the figure of " +
			"Tramer and Boneh is one of five times as many records; cifar-100: the whole set",
	}
	if scale == reproduce.Smoke {
		n = append(n, "scale smoke: two rounds, 200 images; the figures show only that everything runs")
	}
	return n
}
