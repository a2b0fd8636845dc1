package bellet2018

import (
	"fmt"
	"slices"
	"strings"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// movieLensAxes are the axes of the study of MovieLens-100K ("Personalized and Private
// Peer-to-Peer Machine Learning", section 5.2).
var movieLensAxes = []string{"mode", "method", "budget", "seed"}

// movieLensBase holds what its runs share. The publication states 20 features, λ_i =
// 1/m_i, μ = .04, ten neighbors and a clip of 10; it states no scale of the features (5
// is ours) and no number of updates. Λ_i is twice the squared bound on a record, with the
// intercept's 1 in sound runs.
const movieLensBase = `
name = "seed001-movielens"

[data]
dataset = "movielens"
partition = "natural"
feature_norm = 5

[model]
name = "least-squares"

[algorithm]
mu = 0.04
smoothness = 50

[privacy]
adjacency = "replace-one"
mechanism = "none"

[evaluate]
on = "own"
rmse = true
`

// standInBase is movieLensBase on ratings that are made.
var standInBase = strings.Replace(strings.Replace(movieLensBase, "seed001-movielens",
	"seed001-movielens-standin", 1), `"movielens"`, `"made-ratings"`, 1)

// crowd is how many users there are, and how many of them make the features of sound
// runs.
type crowd struct{ users, public int }

var movieLensModes = []string{"sound", "replication"}

var movieLensCrowd = crowd{943, 100}

const (
	movieLensWakes = 40 // of each agent, in runs without noise
	movieLensDelta = "1e-3"
	publishedDelta = "0.006737946999085467" // exp(-5)
)

// publishedMovieLens are the published root mean squared errors, mean over users.
var publishedMovieLens = []struct{ method, budget, rmse string }{
	{"local-fit", "none", "1.2834"},
	{"bcd", "none", "0.9502"},
	{"bcd", "1", "0.9527"},
	{"bcd", "0.5", "0.9545"},
	{"bcd", "0.1", "0.9855"},
}

func movieLensCells(small bool) []sweep.Cell { return movieLensCrowd.cells(small) }

// standInAxes say of every row what data it has: it cannot be taken for one of
// movieLensAxes.
var standInAxes = append([]string{"data"}, movieLensAxes...)

func standInCells(small bool) []sweep.Cell {
	cells := movieLensCells(small)
	for k := range cells {
		cells[k].Values = append([]string{"made-ratings"}, cells[k].Values...)
	}
	return cells
}

func (w crowd) cells(small bool) []sweep.Cell {
	var cells []sweep.Cell
	seeds := []int{1, 2, 3, 4, 5}
	if small {
		seeds = seeds[:1]
	}
	for _, mode := range movieLensModes {
		for _, p := range publishedMovieLens {
			if small && (p.budget == "0.5" || p.budget == "0.1") {
				continue
			}
			for _, seed := range seeds {
				cells = append(cells, w.cell(mode, p.method, p.budget, seed, small))
			}
		}
	}
	return cells
}

// cell is one run. Sound: features from users who gave their ratings openly and are left
// out, a graph drawn without looking at ratings, ratings less the middle of the scale,
// each user's level learned with the rest through charged gradients. Replication:
// features, means and graph from everybody's ratings, Laplace noise for gradients of L1
// norm at most 10.
func (w crowd) cell(mode, method, budget string, seed int, small bool) sweep.Cell {
	c := sweep.Cell{Values: []string{mode, method, budget, fmt.Sprint(seed)}}
	set := reproduce.Setter(&c.Set)
	set("seed=%d", seed)
	set("algorithm.name=%q", method)
	agents, each := w.users, movieLensWakes
	if mode == "sound" {
		agents -= w.public
		set("data.public_users=%d", w.public)
		set("model.intercept=true")
		set("algorithm.smoothness=52")
		set("topology.graph=\"regular\"")
		set("topology.degree=10")
	} else {
		set("data.public_users=0")
		set("data.features=\"all-users\"")
		set("data.user_mean=true")
		set("topology.graph=\"knn\"")
		set("topology.vectors=\"data\"")
	}
	set("topology.agents=%d", agents)
	if budget != "none" {
		updates := movieLensUpdates(mode, budget)
		each = 3 * updates // enough for nearly every agent
		set("algorithm.updates=%d", updates)
		set("privacy.target_epsilon=%s", budget)
		set("privacy.max_grad_norm=10")
		if mode == "sound" {
			set("privacy.mechanism=\"gaussian\"")
			set("privacy.target_delta=%s", movieLensDelta)
		} else {
			set("privacy.mechanism=\"laplace\"")
			set("algorithm.norm=\"l1\"")
			set("privacy.accountant=\"kov\"")
			set("privacy.target_delta=%s", publishedDelta)
			set("privacy.i_understand=[\"delta\"]")
			set("replication.uncharged=true")
		}
	}
	if method == "local-fit" {
		each = 1
	} else if small {
		each = 3
	}
	set("clock.wakes=%d", each*agents)
	return c
}

// movieLensUpdates is the number of noisy updates of each user. Replication takes that of
// the publication's other experiments. Sound runs take what served best, of 1 to 160, on
// made ratings with the spread of published ones: small steps, whose noise the graph
// averages, as long as the budget bears them.
func movieLensUpdates(mode, budget string) int {
	switch {
	case mode == "replication":
		return 4
	case budget == "0.1":
		return 10
	}
	return 40
}

// ratingRun is one run without its seed.
type ratingRun struct{ mode, method, budget string }

func (r ratingRun) values() []string { return []string{r.mode, r.method, r.budget, ""} }

func movieLens(f *reproduce.Results) *reproduce.Document {
	return ratingsTable(f, "published", movieLensNotes(f.Scale == reproduce.Smoke))
}

// standIn is the table of runs on made ratings.
func standIn(f *reproduce.Results) *reproduce.Document {
	rows := slices.Clone(f.Rows)
	for k := range rows {
		rows[k].Values = rows[k].Values[1:]
	}
	made := &reproduce.Results{Rows: rows, Scale: f.Scale}
	d := ratingsTable(made, "published, on MovieLens-100K", append([]string{
		"GENERATED STAND-IN: all runs are on data set made-ratings, drawn anew with every seed, not on " +
			"MovieLens-100K, which may not be redistributed; only numbers of ratings and shares of their " +
			"values are that data set's, so that columns compare with each other and not with the " +
			"published one; with the file: sotto reproduce seed001-movielens --scale full"},
		movieLensNotes(f.Scale == reproduce.Smoke)...))
	d.Header = append([]string{"data"}, d.Header...)
	for k := range d.Rows {
		d.Rows[k] = append([]string{"generated stand-in"}, d.Rows[k]...)
	}
	return d
}

func ratingsTable(f *reproduce.Results, published string, notes []string) *reproduce.Document {
	r := reproduce.Group(f, ratingRun.values)
	d := &reproduce.Document{Header: []string{"method", "epsilon", published, "sound",
		"true epsilon (replace-one)", "replication", "claimed epsilon", "true epsilon (replace-one)"},
		Notes: notes}
	for _, p := range publishedMovieLens {
		sound, again := ratingRun{"sound", p.method, p.budget}, ratingRun{"replication", p.method, p.budget}
		rmse := func(run ratingRun) string {
			s := r.Sample(run, func(c *sweep.Row) float64 { return c.RMSE })
			return s.Format("%.4f", "%.4f")
		}
		if len(r.Of(sound))+len(r.Of(again)) > 0 {
			d.Add(p.method, p.budget, p.rmse, rmse(sound), r.Epsilon(sound), rmse(again), p.budget,
				r.Epsilon(again))
		}
	}
	return d
}

func movieLensNotes(small bool) []string {
	n := []string{
		"root mean squared error in stars over each user's held-out ratings (20 %), mean over users, then " +
			"mean and sd over seeds; published: Bellet, Guerraoui, Taziki, Tommasi 2018 (arXiv 1705.08435)",
		"sound: features by least squares from 100 users drawn as public and left out, a random " +
			"10-regular graph, ratings less 3, an intercept that is learned through charged gradients; " +
			"Gaussian noise at delta 1e-3, which is below 1/m of every user; epsilon from the ledgers",
		"replication: features and means from everybody's training ratings and the 10-nearest-neighbor " +
			"graph of these, Laplace noise for gradients clipped to L1 norm 10 (the norm is not stated), " +
			"KOV composition at delta exp(-5), which exceeds 1/m of users with more than 148 ratings; " +
			"nothing pays for features, means and graph, so that the true epsilon is infinite",
		"sound runs train and test the 843 users who are not public, not 943",
		"features are factorised with regularisation 10 and scaled to norm at most 5, and every user " +
			"updates 4 times with noise, in sound runs 40 times (10 at epsilon 0.1); the publication " +
			"states none of these. They were chosen on made ratings, not on MovieLens",
		"local-fit and bcd without noise protect nobody; local-fit sends nothing",
	}
	if small {
		n = append(n, "scale smoke: three wakes of each user; the figures show only that everything runs")
	}
	return n
}
