package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// clockParams is the [clock] section of algorithms without rounds.
type clockParams struct {
	// Wakes is the length of the run, of all agents together; 0 means rounds for each
	// agent.
	Wakes uint64 `toml:"wakes,omitempty"`
	// Replay is a file with a recorded list of wakes, which takes the place of the drawn
	// ones; Record writes the list of this run into its directory.
	Replay string `toml:"replay,omitempty"`
	Record bool   `toml:"record,omitempty"`
	// Interval is the mean time in seconds between two wakes of an agent where daemons
	// run; 0 means 1. Simulations count time in it.
	Interval float64 `toml:"interval,omitempty"`
	// ReplayDigest is the file's SHA-256 in hex, filled in; a given one is checked.
	ReplayDigest string `toml:"replay_digest,omitempty"`
}

// PersonalPrivacy are the keys of [privacy] that belong to algorithms which ask for full
// gradients and fits.
type PersonalPrivacy struct {
	// AgentEpsilon gives agents budgets of their own in place of target_epsilon: agent i
	// has number i mod length.
	AgentEpsilon []float64 `toml:"agent_epsilon,omitempty"`
	// WarmEpsilon is what the fit of a warm start may cost alone, a part of the target;
	// without it a fit shares the noise multiplier of the gradients. WarmMechanism is
	// gaussian (default) or k-norm.
	WarmEpsilon   float64 `toml:"warm_epsilon,omitempty"`
	WarmMechanism string  `toml:"warm_mechanism,omitempty"`
	// FeatureNorm is the public bound X that a private fit scales features to; default 1.
	FeatureNorm float64 `toml:"feature_norm,omitempty"`
}

func (q *PersonalPrivacy) validate(p *privacyParams, personal bool) error {
	private := personal && p.Mechanism != "none"
	switch {
	case len(q.AgentEpsilon) > 0 && (!private || p.TargetEpsilon != 0 || p.NoiseMultiplier != 0):
		return config.Bad("agent_epsilon", q.AgentEpsilon,
			"nothing beside target_epsilon, noise_multiplier or mechanism none, and only with an "+
				"algorithm of personal models")
	case q.WarmEpsilon != 0 && (!private || !(q.WarmEpsilon > 0) || math.IsInf(q.WarmEpsilon, 1)):
		return config.Bad("warm_epsilon", q.WarmEpsilon,
			"above 0 and finite, with noise and an algorithm of personal models")
	case q.WarmMechanism != "" && (q.WarmEpsilon == 0 || q.WarmMechanism != "gaussian" &&
		q.WarmMechanism != "k-norm"):
		return config.Bad("warm_mechanism", q.WarmMechanism, "gaussian or k-norm, with warm_epsilon")
	case q.FeatureNorm != 0 && (!private || !(q.FeatureNorm > 0) || math.IsInf(q.FeatureNorm, 1)):
		return config.Bad("feature_norm", q.FeatureNorm,
			"above 0 and finite, with noise and an algorithm of personal models")
	case personal && p.TargetEpsilon != 0 && p.NoiseMultiplier != 0:
		return config.Bad("noise_multiplier", p.NoiseMultiplier,
			"nothing beside target_epsilon with an algorithm of personal models")
	}
	for _, eps := range q.AgentEpsilon {
		if !(eps > 0) || math.IsInf(eps, 1) {
			return config.Bad("agent_epsilon", eps, "values above 0 and finite")
		}
	}
	return nil
}

// validateFullBatch is validateBatch for algorithms that use all records each time.
func (p *privacyParams) validateFullBatch() error {
	switch {
	case p.SampleRate != 0:
		return config.Bad("sample_rate", p.SampleRate, "nothing: this algorithm uses all records each time")
	case p.adjacency == account.AddRemove && (!(p.BatchSize > 0) || math.IsInf(p.BatchSize, 1)):
		return config.Bad("batch_size", p.BatchSize,
			"a public normaliser above 0: under add-remove the number of records is private")
	case p.adjacency != account.AddRemove && p.BatchSize != 0:
		return config.Bad("batch_size", p.BatchSize,
			"nothing: the public number of records divides their sum")
	case p.MinRecords < 0 || p.MinRecords > 0 && p.adjacency != account.AddRemove:
		return config.Bad("min_records", p.MinRecords,
			"at least 1, and only under add-remove: elsewhere record counts are public")
	}
	return nil
}

// mostWakes bounds a run's length.
const mostWakes = 1 << 40

func (f *File) validatePersonal() error {
	f.steps = f.clck.Wakes
	if f.steps == 0 {
		f.steps = f.root.Rounds * uint64(max(1, f.topo.Agents))
	}
	if f.steps > mostWakes {
		return f.at("clock", config.Bad("wakes", f.steps, "1 to 2^40"))
	}
	if x := f.clck.Interval; x != 0 && !(x >= .001 && x <= 86400) {
		return f.at("clock", config.Bad("interval", x, "0.001 to 86400 seconds"))
	}
	switch f.topo.Weights {
	case "":
		f.topo.Weights = "objective"
	case "objective":
	default:
		return f.at("topology", config.Bad("weights", f.topo.Weights,
			"objective with algorithm "+f.alg.Name+", whose weights are those of its objective"))
	}
	if f.topo.Vectors != "" && f.topo.Vectors != "hidden" && f.topo.Vectors != "data" {
		return f.at("topology", config.Bad("vectors", f.topo.Vectors, "one of data, hidden"))
	}
	if f.data.Augmentation != (oracle.Augmentation{}) {
		return f.at("data", config.Bad("augmentations", f.data.Augmentation.Views,
			"none with algorithm "+f.alg.Name))
	}
	others := f.repl
	others.Uncharged = false
	if on := others.switches(); on != "" {
		return f.at("replication", config.Bad("", on, "no switch but uncharged with algorithm "+f.alg.Name))
	}
	if f.repl.Uncharged && f.priv.Mechanism == localMechanism {
		return f.at("replication", config.Bad("uncharged", true, "false with mechanism "+localMechanism))
	}
	return nil
}

// readReplay loads the recorded wakes.
func (e *Experiment) readReplay() error {
	p := &e.file.clck
	if p.Replay == "" {
		if p.ReplayDigest != "" {
			return config.Bad("replay_digest", p.ReplayDigest, "no value without replay")
		}
		return nil
	}
	b, err := os.ReadFile(p.Replay)
	if err != nil {
		return fmt.Errorf("clock.replay: %w", err)
	}
	sum := sha256.Sum256(b)
	digest := hex.EncodeToString(sum[:])
	if p.ReplayDigest != "" && !strings.EqualFold(p.ReplayDigest, digest) {
		return config.Bad("replay_digest", p.ReplayDigest,
			fmt.Sprintf("%s, the SHA-256 of %s", digest, p.Replay))
	}
	p.ReplayDigest = digest
	pairs, err := e.pairGraph()
	if err != nil {
		return err
	}
	e.replay, err = sim.ParseWakes(b, e.file.topo.Agents, pairs)
	var bad *config.Error
	if errors.As(err, &bad) {
		bad.File = p.Replay
	}
	if err == nil && uint64(len(e.replay)) < e.file.steps {
		return config.Bad("wakes", e.file.steps,
			fmt.Sprintf("at most %d, the length of %s", len(e.replay), p.Replay))
	}
	return err
}

func (e *Experiment) pairGraph() (*topology.Graph, error) {
	if e.file.pacing != algo.Pairs {
		return nil, nil
	}
	return e.schedule.At(0)
}

// clock rings as the run's own does.
func (e *Experiment) clock() (*sim.Clock, error) {
	if e.replay != nil {
		return sim.Replay(e.replay), nil
	}
	pairs, err := e.pairGraph()
	return sim.NewClock(e.file.root.Seed, e.file.topo.Agents, pairs), err
}

// wakes lists the run's wakes.
func (e *Experiment) wakes() ([]sim.Wake, error) {
	c, err := e.clock()
	if err != nil {
		return nil, err
	}
	list := make([]sim.Wake, 0, e.file.steps)
	for range e.file.steps {
		w, _ := c.Next()
		list = append(list, w)
	}
	return list, nil
}

func (e *Experiment) startWakes(w *world, agents []sim.Agent, workers int) error {
	g, err := e.schedule.At(0)
	if err != nil {
		return err
	}
	w.sim, err = sim.NewAsync(sim.AsyncConfig{
		Agents:  agents,
		Graph:   g,
		Dim:     e.model.Dim(),
		Wakes:   e.file.steps,
		Pairs:   e.file.pacing == algo.Pairs,
		Workers: workers,
		Seed:    e.file.root.Seed,
		Faults:  e.file.flts,
		Replay:  e.replay,
	})
	return e.file.at("faults", err)
}

// personalOracles are what agent i's plan asks for.
func (e *Experiment) personalOracles(i int, pool *oracle.Pool,
	trained *data.Dataset) (map[string]privacy.Oracle, error) {
	p := &e.plans[i]
	records := oracle.Records{Data: trained, Index: e.parts[i]}
	m := map[string]privacy.Oracle{}
	for _, a := range p.personal.asks {
		if m[a.oracle] != nil {
			continue
		}
		if a.oracle == oracle.FitName {
			fit := e.fit(p, p.personal.lambda)
			fit.Records = records
			if err := fit.Validate(); err != nil {
				return nil, err
			}
			m[a.oracle] = fit
			continue
		}
		full := e.full(p, a.oracle)
		full.Records, full.Pool = records, pool
		if err := full.Validate(); err != nil {
			return nil, err
		}
		m[a.oracle] = full
	}
	return m, nil
}

// full is the oracle of full gradients without its records.
func (e *Experiment) full(p *plan, name string) *oracle.Full {
	g := &oracle.Full{Model: e.model, Normaliser: p.batch, Clip: e.file.priv.MaxGradNorm, Norm: account.L2,
		Adjacency: e.file.priv.adjacency, Unit: account.Record()}
	if name == oracle.GradFullL1 {
		g.Norm = account.L1
	}
	return g
}

// fit is the oracle of local minimisers without its records.
func (e *Experiment) fit(p *plan, lambda float64) *oracle.Fit {
	glm, _ := model.Linear(e.model) // planPersonal has refused others
	radius := math.Inf(1)
	if p := e.file.priv.Mechanism; p != "none" && p != localMechanism {
		if radius = e.file.priv.FeatureNorm; radius == 0 {
			radius = 1
		}
	}
	return &oracle.Fit{
		GLM:        glm,
		Normaliser: p.batch,
		Lambda:     lambda,
		Radius:     radius,
		Adjacency:  e.file.priv.adjacency,
		Unit:       account.Record(),
		Dim:        e.model.Dim(),
	}
}

// objective is Q over all agents: half the weighted squared distances of neighbors'
// models, and every agent's own loss on its training records. It is a figure for whoever
// sees all data, as the simulation does: nobody is told of it.
func (e *Experiment) objective(w *world, workers int) float64 {
	g, err := e.schedule.At(0)
	if err != nil {
		return math.NaN()
	}
	terms := make([]float64, len(e.parts))
	each(len(terms), workers, func(i int, scratch *model.Workspace) {
		theta := w.sim.Params(i)
		degree, apart := 0., 0.
		for _, nb := range g.In(agent.ID(i)) {
			degree += nb.Weight
			s := 0.
			for k, x := range w.sim.Params(int(nb.ID)) {
				d := float64(theta[k]) - float64(x)
				s += d * d
			}
			apart += nb.Weight * s
		}
		weight, lambda := w.agents[i].Algorithm.(personal).Objective()
		loss := lambda * theta.Dot(theta)
		if rows := e.parts[i]; len(rows) > 0 {
			loss += e.model.Loss(theta, e.trainBatch(rows), scratch)
		}
		terms[i] = apart/4 + degree*weight*loss // each pair is met from both ends
	})
	sum := 0.
	for _, t := range terms {
		sum += t
	}
	return sum
}

// personal is an algorithm of personal models.
type personal interface {
	Objective() (weight, lambda float64) // μ c_i and λ_i
	FitLambda() float64
}

func (e *Experiment) trainBatch(rows []int32) *model.Batch {
	if lo, n := int(rows[0]), len(rows); int(rows[n-1])-lo == n-1 {
		d := e.split.Train
		b := &model.Batch{X: tensor.Mat{
			Rows:   n,
			Cols:   d.X.Cols,
			Stride: d.X.Stride,
			Data:   d.X.Data[lo*d.X.Stride : (lo+n-1)*d.X.Stride+d.X.Cols],
		}}
		if d.Labels != nil {
			b.Labels = d.Labels[lo : lo+n]
		} else {
			b.Targets = d.Targets[lo : lo+n]
		}
		return b
	}
	return batchOf(e.split.Train.Select(rows))
}
