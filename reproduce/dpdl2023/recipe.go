package dpdl2023

import (
	"cmp"
	"fmt"
	"slices"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// The recipe: a small convolutional network that was trained on public images turns the
// agents' images into features, and the agents train a linear classifier of them by
// gossip SGD: 200 private steps on all records of an agent, with ten rounds of
// accelerated averaging after each. Its hyper-parameters were chosen on Fashion-MNIST
// with the features of "glyphs", none on MNIST. Budgets hold under add-remove, as the
// accountant of the published runs has them, or under the paper's replace-one.

var recipeAxes = []string{"adjacency", "features", "fiedler", "budget", "seed"}

// What a budget holds for; the other one is underDefinition.
const underAccountant = "add-remove"

// recipeSteps are step sizes by budget.
var recipeSteps = map[string]float64{"none": 1, "100": 30, "10": 30, "1": 10, "0.5": 5}

const recipeBase = `
name = "seed000-recipe"
rounds = 2001

[topology]
agents = 10
graph = "er-fiedler"

[data]
dataset = "mnist"
partition = "a"

[model]
name = "layers"
train_layers = 1
layers = [
  {kind = "conv2d", filters = 16, kernel = 5, stride = 2, padding = 2},
  {kind = "groupnorm", groups = 4},
  {kind = "relu"},
  {kind = "conv2d", filters = 32, kernel = 3, padding = 1},
  {kind = "groupnorm", groups = 4},
  {kind = "relu"},
  {kind = "maxpool", kernel = 2},
  {kind = "conv2d", filters = 64, kernel = 3, padding = 1},
  {kind = "groupnorm", groups = 8},
  {kind = "relu"},
  {kind = "adaptive-avgpool", size = 3},
  {kind = "flatten"},
  {kind = "layernorm"},
  {kind = "linear", units = 10},
]

[algorithm]
name = "gossip-sgd"
gossip = 10
acceleration = "chebyshev-ns"
schedule = "cosine"
step_size_final = 0.01

[privacy]
adjacency = "add-remove"
sample_rate = 1.0
batch_size = 6000
target_delta = 1e-5

[evaluate]
every = 500
`

// recipeRun is one run of the recipe; budget untrained takes no step.
type recipeRun struct {
	adjacency, features, fiedler, budget string
	seed                                 int
}

const untrained = "untrained"

// values are those of recipeAxes.
func (r recipeRun) values() []string {
	return []string{r.adjacency, r.features, r.fiedler, r.budget, fmt.Sprint(r.seed)}
}

func (r recipeRun) cell(small bool) sweep.Cell {
	c := sweep.Cell{Values: r.values()}
	set := reproduce.Setter(&c.Set)
	set("seed=%d", r.seed)
	set("model.init_from=%q", "builtin:"+r.features)
	set("topology.target=%s", r.fiedler)
	set("algorithm.step_size=%g", max(recipeSteps[r.budget], .01))
	if r.adjacency != underAccountant {
		set("privacy.adjacency=%q", r.adjacency)
	}
	switch r.budget {
	case untrained: // the last round asks nothing
		set("rounds=1")
		set("privacy.mechanism=\"none\"")
	case "none":
		set("privacy.mechanism=\"none\"")
	default:
		set("privacy.target_epsilon=%s", r.budget)
		set("privacy.max_grad_norm=1.0")
	}
	if small {
		if r.budget != untrained {
			set("rounds=11")
		}
		set("evaluate.limit=500")
	}
	return c
}

// recipeCells are the recipe on every graph with the features of glyphs for the three
// smallest budgets, on the complete one for all, and on the best and the worst connected
// one with those of Fashion-MNIST, which know nothing of digits; and the same for budgets
// under replace-one.
func recipeCells(small bool) []sweep.Cell {
	var cells []sweep.Cell
	for _, adjacency := range []string{underAccountant, underDefinition} {
		for _, features := range []string{"glyphs", "fashion-mnist"} {
			if adjacency == underAccountant {
				cells = append(cells, recipeRun{adjacency, features, "1", untrained, 1331}.cell(small))
			}
			for _, f := range fiedlers {
				if (small || features != "glyphs") && f != "1" && f != "0.06" {
					continue
				}
				for _, b := range reproduce.Ends(budgets, small) {
					if !recipeRuns(adjacency, features, f, b) {
						continue
					}
					for _, seed := range trials(small) {
						cells = append(cells, recipeRun{adjacency, features, f, b, seed}.cell(small))
					}
				}
			}
		}
	}
	return cells
}

// recipeRuns says whether a budget is run: what little privacy costs is seen on the
// complete graph.
func recipeRuns(adjacency, features, fiedler, budget string) bool {
	much := budget == "none" || budget == "100"
	return !much || adjacency == underAccountant && features == "glyphs" && fiedler == "1"
}

// recipe sets the recipe beside the best published decentralized cell of its graph and
// budget, and beside Central.
func recipe(f *reproduce.Results) *reproduce.Document {
	g := reproduce.Group(f, recipeRun.values)
	d := &reproduce.Document{Header: []string{"features from", "λ2/n", "epsilon", "best published", "method",
		"recipe", "points above", "published central", "points above", "its epsilon, add-remove",
		"its epsilon, replace-one", "recipe, budget for replace-one", "points above best published",
		"its epsilon, replace-one"}}
	var failed error
	for _, features := range []string{"glyphs", "fashion-mnist"} {
		first := recipeRun{underAccountant, features, "1", untrained, 0}
		if s := g.Accuracy(first); len(s) > 0 {
			d.Add(features, "", untrained, "", "", s, "", "", "", "0", "0", "", "", "")
		}
		for i, fiedler := range fiedlers {
			for j, b := range budgets {
				r := recipeRun{underAccountant, features, fiedler, b, 0}
				s := g.Accuracy(r)
				if len(s) == 0 {
					continue
				}
				m := bestMethod(i, j)
				best, central := publishedTable1[i][m][j], publishedCentral[j]
				other, err := wholeBatches(&g.Of(r)[0])
				failed = cmp.Or(failed, err)
				cells := []any{features, fiedler, b, best, methodNames[methods[m]], s,
					fmt.Sprintf("%+.2f", s.Mean()-best.mean), central,
					fmt.Sprintf("%+.2f", s.Mean()-central.mean), g.Epsilon(r), other, "", "", ""}
				r.adjacency = underDefinition
				if s := g.Accuracy(r); len(s) > 0 {
					above := fmt.Sprintf("%+.2f", s.Mean()-best.mean)
					copy(cells[len(cells)-3:], []any{s, above, g.Epsilon(r)})
				}
				d.Add(cells...)
			}
		}
	}
	d.Notes = []string{
		"accuracy in percent: mean over the ten agents' own models on the MNIST test images after the " +
			"last round, then mean and sd over seeds; published: Bayrooti, Gao, Prorok 2023 (arXiv " +
			"2306.13892), Table 1, one digit an agent",
		"epsilons are PLD upper ends at delta 1e-5: 200 steps on all records of an agent, clip norm 1, " +
			"sum divided by the public constant 6000. The first recipe holds the budget under add-remove, " +
			"as the accountant of the published runs has it, the second one under replace-one, the " +
			"adjacency of the paper's Definition 4.1; published runs with budgets of .5, 1, 10 and 100 " +
			"cost .968, 1.95, 18.1 and 124 there",
		"features: what the last layer of a network of 30,698 parameters is given, which was trained on " +
			"public images (examples/pretrain-glyphs.toml, pretrain-fashion-mnist.toml) and is not " +
			"changed; the 5,770 parameters of that layer are trained and sent, from their public values on",
		"glyphs is a generator of digits: untrained, its network classifies MNIST as the first row says, " +
			"without any of the agents' data. Fashion-MNIST shows clothes: its features know nothing of " +
			"digits",
		"hyper-parameters (clip norm, step sizes by budget, 200 steps, 10 rounds of averaging) were " +
			"chosen on Fashion-MNIST with the features of glyphs, none on MNIST; graphs are drawn anew " +
			"for each seed",
	}
	d.Notes = append(d.Notes, smokeNotes(f.Scale)...)
	if failed != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("an epsilon is missing: %v", failed))
	}
	return d
}

// bestMethod is the method with the highest published mean of a graph and budget.
func bestMethod(graph, budget int) int {
	means := make([]float64, len(methods))
	for m := range methods {
		means[m] = publishedTable1[graph][m][budget].mean
	}
	return slices.Index(means, slices.Max(means))
}
