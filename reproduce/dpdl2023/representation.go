package dpdl2023

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/reproduce"
	"sotto/tensor"
)

// The paper names cooperative representation learning as future work. Here ten agents on
// a ring learn one autoencoder of MNIST from images without labels: its error on the test
// images, and what a linear classifier of its code reaches.

// codeWidth is the width of the code, and the number of principal components beside it.
const codeWidth = 16

// codeBase holds what the runs share: examples/autoencoder.toml on MNIST.
const codeBase = `
name = "seed000-representation"
rounds = 150

[topology]
graph = "ring"
agents = 10

[data]
dataset = "mnist"
partition = "iid"

[model]
name = "autoencoder"
hidden = [64, 16]
activation = "tanh"

[algorithm]
schedule = "geometric"

[privacy]
target_delta = 1e-5
max_grad_norm = 0.05
batch_size = 128

[evaluate]
every = 150
`

// codeSteps were chosen on generated images (data set "glyphs", seed 1): at epsilon 4 for
// no privacy and 10, at .5 for 1 and .5.
var codeSteps = map[string][2]step{
	"central": {{20, 7}, {7, 2}},
	"dsgd":    {{60, 20}, {7, 2}},
	"dsgt":    {{60, 20}, {7, 2}},
	"dinno":   {{.01, .003}, {.01, .003}},
}

var codeBudgets = []string{"none", "10", "1", "0.5"}

// codeSize is how much of the study is run.
type codeSize struct {
	seeds int
	fit   int // training images that the linear classifiers and the components are fitted on
	extra []string
}

var codeSizes = map[reproduce.Scale]codeSize{
	reproduce.Smoke: {seeds: 1, fit: 500, extra: []string{"rounds=3", "data.limit=1000",
		"data.test_limit=200", "privacy.batch_size=32", "evaluate.every=3"}},
	reproduce.Full: {seeds: 5, fit: 10_000},
}

// codeRun is one run of the study.
type codeRun struct {
	method, budget string
	seed           int
}

func (r codeRun) settings(size codeSize) []string {
	var settings []string
	set := reproduce.Setter(&settings)
	set("seed=%d", r.seed)
	set("algorithm.name=%q", r.method)
	s := codeSteps[r.method][slices.Index(codeBudgets, r.budget)/2]
	set("algorithm.step_size=%g", s.first)
	set("algorithm.step_size_final=%g", s.final)
	if r.budget == "none" {
		set("privacy.mechanism=\"none\"")
	} else {
		set("privacy.target_epsilon=%s", r.budget)
	}
	settings = append(settings, size.extra...)
	switch r.method {
	case "dinno":
		set("algorithm.rho_scale=1.0003")
	case centralRow:
		set("topology.agents=1")
		set("topology.graph=\"complete\"")
		set("algorithm.momentum=0.9")
		if len(size.extra) == 0 {
			set("privacy.batch_size=1280")
		}
	}
	return settings
}

// representation trains the autoencoders and sets them beside the mean image, principal
// components and an autoencoder that has learned nothing.
func representation(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	size := codeSizes[opt.Scale]
	dir, err := os.MkdirTemp("", "sotto-representation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &codes{size: size, opt: opt, dir: dir, cache: data.NewCache(),
		d: reproduce.NewTable("method", "budget", "reconstruction error", "accuracy of a linear classifier",
			"epsilon, zero-out")}
	if err := s.baselines(); err != nil {
		return nil, err
	}
	for _, m := range withCentral {
		for _, b := range reproduce.Ends(codeBudgets, opt.Scale == reproduce.Smoke) {
			if err := s.row(ctx, m, b); err != nil {
				return nil, err
			}
		}
	}
	s.d.Notes = append(codeNotes(size.fit), reproduce.RowNote)
	if opt.Scale == reproduce.Smoke {
		s.d.Notes = append(s.d.Notes, "scale smoke: three rounds; the figures show only that everything runs")
	}
	return s.d, nil
}

func codeNotes(fit int) []string {
	return []string{
		"reconstruction error: mean squared error of a pixel of the test images (normalised with the usual " +
			"mean and deviation of MNIST's pixels), mean over agents, then mean and sd over seeds",
		fmt.Sprintf("accuracy in percent on the test images: the first agent's encoder turns images into %d "+
			"numbers, and least squares with an intercept fits the ten labels on the first %d training "+
			"images; this fit uses labels, is not private, and measures the code only", codeWidth, fit),
		"mean image and principal components: of the same images as the fit, not private; " +
			"untrained: the start of the runs",
		"settings: examples/autoencoder.toml with MNIST in place of generated images; runs without noise " +
			"clip gradients too; central: one agent, batch 1,280; step sizes chosen on generated images " +
			"with one seed, at epsilon 4 for no privacy and 10, at .5 for 1 and .5, of three or four for " +
			"each method but of two for central and, at .5, one for DP-DiNNO",
		"epsilon: the PLD upper end from the ledgers at delta 1e-5, the largest over agents and seeds; the " +
			"normalisation of pixels and the number of records of each agent are public",
	}
}

// codes makes the rows.
type codes struct {
	size  codeSize
	opt   reproduce.Options
	dir   string // of run directories
	cache *data.Cache
	d     *reproduce.Document
}

func (s *codes) build(r codeRun) (*experiment.Experiment, error) {
	f, err := experiment.Parse("study", []byte(codeBase), r.settings(s.size))
	if err != nil {
		return nil, err
	}
	return f.BuildWith(s.opt.Sweep.DataDir, s.cache)
}

// row trains one method at one budget with all seeds.
func (s *codes) row(ctx context.Context, method, budget string) error {
	var loss, accuracy reproduce.Sample
	worst := 0.
	for k := range s.size.seeds {
		e, err := s.build(codeRun{method, budget, 1331 + k})
		if err != nil {
			return err
		}
		res, err := run.Run(ctx, e, run.Options{Out: s.dir, Workers: s.opt.Sweep.Workers})
		if err != nil {
			return err
		}
		theta, _, err := rundir.ReadModel(res.Dir, "0")
		if err != nil {
			return err
		}
		right, err := s.probe(e, theta)
		if err != nil {
			return err
		}
		loss = append(loss, float64(res.Summary.Loss))
		accuracy = append(accuracy, right)
		for _, l := range res.Summary.Privacy {
			worst = max(worst, float64(l.Epsilon.Upper))
		}
		if err := os.RemoveAll(res.Dir); err != nil {
			return err
		}
	}
	s.add(method, budget, codeRun{method, budget, 0}.settings(s.size)[1:], s.size.seeds, loss, accuracy,
		reproduce.Epsilon(worst))
	return nil
}

// add appends a row with the seeds from 1331 on.
func (s *codes) add(method, budget string, settings []string, seeds int, loss, accuracy reproduce.Sample,
	epsilon string) {
	named := "1331"
	if seeds > 1 {
		named = fmt.Sprintf("1331 to %d", 1330+seeds)
	}
	s.d.AddRow([]string{method, budget, loss.Format("%.4f", "%.4f"), accuracy.String(), epsilon}, named,
		fmt.Sprintf("%s%q fit %d code %d", codeBase, settings, s.size.fit, codeWidth),
		slices.Concat(loss, accuracy)...)
}

// baselines are rows of what needs no training.
func (s *codes) baselines() error {
	e, err := s.build(codeRun{"dsgd", "none", 1331})
	if err != nil {
		return err
	}
	split := e.Task.Split
	fit := split.Train.X.Slice(0, min(s.size.fit, split.Train.Len()))
	p, err := newComponents(fit, codeWidth)
	if err != nil {
		return err
	}
	for _, k := range []int{0, codeWidth} {
		name, accuracy := "mean image", reproduce.Sample(nil)
		if k > 0 {
			name = fmt.Sprintf("%d principal components", k)
			right, err := probe(p.code(fit), split.Train.Labels[:fit.Rows], p.code(split.Test.X),
				split.Test.Labels)
			if err != nil {
				return err
			}
			accuracy = reproduce.Sample{right}
		}
		s.add(name, "none", []string{name}, 1, reproduce.Sample{p.loss(split.Test.X, k)}, accuracy,
			reproduce.Epsilon(1e301))
	}
	var loss, accuracy reproduce.Sample
	for k := range s.size.seeds {
		if e, err = s.build(codeRun{"dsgd", "none", 1331 + k}); err != nil {
			return err
		}
		right, err := s.probe(e, e.Task.Init)
		if err != nil {
			return err
		}
		loss = append(loss, e.Task.Model.Loss(e.Task.Init, &model.Batch{X: split.Test.X,
			Labels: split.Test.Labels}, new(model.Workspace)))
		accuracy = append(accuracy, right)
	}
	s.add(untrained, "", []string{untrained}, s.size.seeds, loss, accuracy, "0")
	return nil
}

// probe is the accuracy of a linear classifier of the code of an autoencoder.
func (s *codes) probe(e *experiment.Experiment, theta tensor.Vec) (float64, error) {
	train, test := e.Task.Split.Train, e.Task.Split.Test
	fit := train.X.Slice(0, min(s.size.fit, train.Len()))
	encoder, err := encoderOf(cmp.Or(train.Shape[0], 1), cmp.Or(train.Shape[1], 1), cmp.Or(train.Shape[2], 1))
	if err != nil {
		return 0, err
	}
	code := func(x tensor.Mat) tensor.Mat {
		out := tensor.NewMat(x.Rows, codeWidth)
		encoder.Predict(out, theta[:encoder.Dim()], x, new(model.Workspace))
		return out
	}
	return probe(code(fit), train.Labels[:fit.Rows], code(test.X), test.Labels)
}

// encoderOf is the first half of the autoencoder of codeBase: an MLP whose outputs are
// the code, with the parameters that come first.
func encoderOf(height, width, channels int) (model.Model, error) {
	return model.New("mlp", model.Shape{Height: height, Width: width, Channels: channels, Classes: codeWidth},
		func(params any) error {
			p := params.(*model.MLPParams)
			p.Hidden, p.Activation = []int{64}, "tanh"
			return nil
		})
}
