package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"sotto/agent"
	"sotto/config"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// ClockParams is the [clock] section of algorithms without rounds.
type ClockParams struct {
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

func (q *PersonalPrivacy) validate(p *PrivacyParams, noisy, personal bool) error {
	private := personal && noisy
	switch {
	case len(q.AgentEpsilon) > 0 && (!private || p.TargetEpsilon != 0 || p.NoiseMultiplier != 0):
		return config.Bad("agent_epsilon", q.AgentEpsilon,
			"nothing beside target_epsilon, noise_multiplier or mechanism none, and only with an "+
				"algorithm of personal models")
	case q.WarmEpsilon != 0 && (!private || !finiteAbove0(q.WarmEpsilon)):
		return config.Bad("warm_epsilon", q.WarmEpsilon,
			"above 0 and finite, with noise and an algorithm of personal models")
	case q.WarmMechanism != "" && (q.WarmEpsilon == 0 || q.WarmMechanism != "gaussian" &&
		q.WarmMechanism != "k-norm"):
		return config.Bad("warm_mechanism", q.WarmMechanism, "gaussian or k-norm, with warm_epsilon")
	case q.FeatureNorm != 0 && (!private || !finiteAbove0(q.FeatureNorm)):
		return config.Bad("feature_norm", q.FeatureNorm,
			"above 0 and finite, with noise and an algorithm of personal models")
	case personal && p.TargetEpsilon != 0 && p.NoiseMultiplier != 0:
		return config.Bad("noise_multiplier", p.NoiseMultiplier,
			"nothing beside target_epsilon with an algorithm of personal models")
	}
	for _, eps := range q.AgentEpsilon {
		if !finiteAbove0(eps) {
			return config.Bad("agent_epsilon", eps, "values above 0 and finite")
		}
	}
	return nil
}

// featureNorm is the bound in force.
func (q *PersonalPrivacy) featureNorm() float64 { return cmp.Or(q.FeatureNorm, 1) }

// maxWakes bounds a run's length.
const maxWakes = 1 << 40

// objectiveWeights are those of the objective of personal models, in place of mixing.
const objectiveWeights = "objective"

func (p *ClockParams) validate() error {
	if x := p.Interval; x != 0 && !(x >= .001 && x <= 86400) {
		return config.Bad("interval", x, "0.001 to 86400 seconds")
	}
	return nil
}

// readReplay loads the recorded wakes.
func (e *Experiment) readReplay() error {
	p := &e.File.Clock
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
	e.Clock.Replay, err = sim.ParseWakes(b, e.File.Topology.Agents, pairs)
	var bad *config.Error
	if errors.As(err, &bad) {
		bad.File = p.Replay
	}
	if err == nil && uint64(len(e.Clock.Replay)) < e.File.Steps {
		return config.Bad("wakes", e.File.Steps,
			fmt.Sprintf("at most %d, the length of %s", len(e.Clock.Replay), p.Replay))
	}
	return err
}

func (e *Experiment) pairGraph() (*topology.Graph, error) {
	if e.File.Pacing != agent.PacingPairs {
		return nil, nil
	}
	return e.Graphs.Schedule.At(0)
}

// clock rings as the run's own does.
func (e *Experiment) clock() (*sim.Clock, error) {
	if e.Clock.Replay != nil {
		return sim.Replay(e.Clock.Replay), nil
	}
	pairs, err := e.pairGraph()
	return sim.NewClock(e.File.Run.Seed, e.File.Topology.Agents, pairs), err
}

// Wakes lists the run's wakes.
func (e *Experiment) Wakes() ([]sim.Wake, error) {
	c, err := e.clock()
	if err != nil {
		return nil, err
	}
	list := make([]sim.Wake, 0, e.File.Steps)
	for range e.File.Steps {
		w, _ := c.Next()
		list = append(list, w)
	}
	return list, nil
}

// countWakes returns how often each agent is going to wake, and where the algorithm wants
// to know it, fills wakesOf.
func (e *Experiment) countWakes() ([]uint64, error) {
	counts := make([]uint64, len(e.Plans))
	env := e.Env(0)
	env.Dim, env.Init = 1, tensor.Vec{0}
	first, err := e.Factory(env)
	if err != nil {
		return nil, err
	}
	a, ok := first.(interface{ PlansWakes() bool })
	if plans := ok && a.PlansWakes(); e.Seats.Owned && plans {
		return nil, config.Bad("alloc", "one that needs the numbers of an agent's wakes",
			"equal or expected: nobody knows beforehand when daemons wake")
	} else if e.Seats.Owned {
		own, err := e.ownWakes()
		return []uint64{own}, err
	} else if plans {
		e.Clock.WakesOf = make([][]uint64, len(e.Plans))
	}
	c, err := e.clock()
	if err != nil {
		return nil, err
	}
	for t := range e.File.Steps {
		w, _ := c.Next()
		counts[w.Agent]++
		if w.Peer != agent.Broadcast {
			counts[w.Peer]++
		}
		if e.Clock.WakesOf != nil {
			e.Clock.WakesOf[w.Agent] = append(e.Clock.WakesOf[w.Agent], t)
		}
	}
	return counts, nil
}
