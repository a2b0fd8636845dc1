package dpdl2023

import (
	"context"
	"math"
	"slices"

	"sotto/agent"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/internal/parallel"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/reproduce"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// attackBase is what the models of all algorithms share.
const attackBase = `
name = "seed000-table5"

[topology]
graph = "complete"

[data]
partition = "iid"

[model]
name = "convnet"

[algorithm]
schedule = "const"

[privacy]
adjacency = "add-remove"
mechanism = "none"
`

// attackImages are the settings of the images.
var attackImages = []string{`data.dataset="mnist"`, "data.resize=32"}

// attack is how the models under attack are trained.
type attack struct {
	step step // final 0: constant

	// published: what the paper's text implies where it is silent about this
	// experiment, namely its learning rates for MNIST at epsilon 1, a black page, the
	// first random start and Adam in DP-DiNNO's primal steps. Otherwise a white page, the
	// start where its gradient is longest, and primal steps along the gradient, with
	// which attacks are tight.
	published bool
}

// attacked is one algorithm under the membership attack.
type attacked struct {
	attack
	method    string
	e         *experiment.Experiment // without noise
	train     *data.Dataset          // digits 0, 1 and 2 in order, 100 of each, and the blank image
	start     uint64                 // number of the first model among attackStarts
	answers   int                    // of each agent
	noise     float64                // multiplier; 0: none
	mechanism privacy.Mechanism      // with that noise; nil: none
	pool      *oracle.Pool
}

// newAttacked sets an algorithm up without noise.
func newAttacked(method string, how attack, images []string, dataDir string) (*attacked, error) {
	a := &attacked{attack: how, method: method, pool: oracle.NewPool()}
	settings := slices.Clone(images)
	set := reproduce.Setter(&settings)
	set("seed=%d", attackSeed)
	set("rounds=%d", attackRounds)
	set("topology.agents=%d", a.agents())
	set("algorithm.name=%q", method)
	set("algorithm.step_size=%s", reproduce.Exactly(a.step.first))
	if a.step.final > 0 {
		set("algorithm.schedule=\"geometric\"")
		set("algorithm.step_size_final=%s", reproduce.Exactly(a.step.final))
	}
	set("privacy.sample_rate=%g", attackRate)
	set("privacy.batch_size=%g", a.batch())
	set("privacy.max_grad_norm=%g", attackClip)
	switch method {
	case "central":
		set("algorithm.momentum=0.9")
	case "dinno":
		set("algorithm.rho_scale=1.0003")
		if !a.published {
			set(`algorithm.optimizer="sgd"`)
		}
	}
	var err error
	if a.e, err = reproduce.Build(attackBase, settings, dataDir); err != nil {
		return nil, err
	}
	if a.train, err = attackData(a.e.Task.Split.Train, a.published); err != nil {
		return nil, err
	}
	a.e.Task.Split = &data.Split{Train: a.train} // the others are no longer needed
	if a.published {
		a.e.Task.Model.Init(a.e.Task.Init, rng.Public(attackSeed, "init", 0))
	} else {
		a.choose()
	}
	return a, nil
}

// choose takes the start where the blank image's gradient is longest.
func (a *attacked) choose() {
	net, init := a.e.Task.Model, a.e.Task.Init
	g := make(tensor.Vec, net.Dim())
	var longest float64
	for k := range uint64(attackStarts) {
		net.Init(init, rng.Public(attackSeed, "init", k))
		clear(g)
		net.ClippedGradientSum(g, init, a.blank(), math.Inf(1), new(model.Workspace))
		var length float64
		for _, x := range g {
			length += float64(float64(x) * float64(x))
		}
		if length > longest {
			longest, a.start = length, k
		}
	}
	net.Init(init, rng.Public(attackSeed, "init", a.start))
}

func (a *attacked) agents() int {
	if a.method == "central" {
		return 1
	}
	return 3
}

// calibrate counts the answers of a run and finds the noise for the nominal epsilon.
func (a *attacked) calibrate(ctx context.Context) error {
	t, err := a.run(ctx, false, false, 0)
	if err != nil {
		return err
	}
	for rec, err := range t.ledger.Records() {
		if err != nil {
			return err
		}
		if rec.Kind == ledger.Charge {
			a.answers += int(rec.Count)
		}
	}
	found, err := account.Noise(account.DPSGD(account.AddRemove, attackRate, a.answers),
		account.Budget{Epsilon: attackEpsilon, Delta: attackDelta})
	if err != nil {
		return err
	}
	a.noise = found.NoiseMultiplier
	a.mechanism, err = privacy.NewMechanism("gaussian", a.noise)
	return err
}

// trained is what one run leaves.
type trained struct {
	loss       float64 // of agent 0's model on the blank image
	likelihood float64 // ratio, logarithmic, of the answers that agent 0 got: see follower
	ledger     *ledger.Memory
}

// run trains one model, with the blank image or without; one that is followed has its
// likelihood.
func (a *attacked) run(ctx context.Context, with, followed bool, seed uint64) (t trained, err error) {
	var agents []sim.Agent
	var follow follower
	for i := range a.agents() {
		l := ledger.NewMemory(nil)
		if err := l.Override(attackOverride); err != nil {
			return t, err
		}
		p, err := a.e.Party(experiment.Seat{
			Self:      agent.ID(i),
			Records:   a.records(i, with),
			Ledger:    l,
			Keys:      privacy.SimulatedKeys(seed),
			Pool:      a.pool,
			Mechanism: a.mechanism,
		})
		if err != nil {
			return t, err
		}
		one := sim.Agent{Algorithm: p.Algorithm, Gate: p.Gate}
		if i == 0 {
			t.ledger = l
			if followed {
				follow = a.follower(p.Gate)
				one.Gate = &follow
			}
		}
		agents = append(agents, one)
	}
	s, err := run.NewRuntime(a.e, agents, seed, 1)
	if err == nil {
		err = s.Run(ctx, a.e.File.Steps)
	}
	if err != nil {
		return t, err
	}
	t.likelihood = follow.ratio
	t.loss = a.e.Task.Model.Loss(s.Model(0), a.blank(), new(model.Workspace))
	if math.IsNaN(t.loss) {
		t.loss = math.MaxFloat64 // worse than any
	}
	return t, nil
}

// blank is the attacked image.
func (a *attacked) blank() *model.Batch {
	return &model.Batch{X: a.train.X.Slice(300, 301), Labels: a.train.Labels[300:301]}
}

// batch is the expected batch of agent 0.
func (a *attacked) batch() float64 {
	if a.method == "central" {
		return 3 * attackBatch
	}
	return attackBatch
}

// records are agent i's digit, or all of them, and the blank image at agent 0.
func (a *attacked) records(i int, with bool) oracle.Records {
	r := oracle.Records{Data: a.train}
	first, last := 100*i, 100*(i+1)
	if a.method == "central" {
		last = 300
	}
	for row := first; row < last; row++ {
		r.Index = append(r.Index, int32(row))
	}
	if with && i == 0 {
		r.Index = append(r.Index, 300)
	}
	return r
}

// attacks are scores of models: by the published attack, and of the first of them by all
// answers of agent 0.
type attacks struct{ loss, answers audit.Scores }

// scores trains models in both worlds, on as many goroutines as there are processors; the
// order is that of the seeds.
func (a *attacked) scores(ctx context.Context, models, followed int, stream string) (*attacks, error) {
	all := make([]trained, 2*models)
	err := parallel.For(len(all), 0, func(k int) (err error) {
		all[k], err = a.run(ctx, k%2 == 1, k < 2*followed,
			rng.Public(attackSeed, stream+a.method, uint64(k)).Uint64())
		all[k].ledger = nil
		return err
	})
	s := &attacks{}
	for k, t := range all {
		loss, answers := &s.loss.Out, &s.answers.Out
		if k%2 == 1 {
			loss, answers = &s.loss.In, &s.answers.In
		}
		*loss = append(*loss, -t.loss)
		if k < 2*followed {
			*answers = append(*answers, t.likelihood)
		}
	}
	return s, err
}
