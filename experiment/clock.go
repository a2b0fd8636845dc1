package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// Agents that wake by their own clocks, and such as meet a neighbor then.

// clocked is their pace; a wake steps so many agents.
func clocked(p agent.Pacing, steps uint64) *Pace {
	return &Pace{
		Word:     p.String(),
		OwnPlans: true,
		keys: paceKeys{
			section: "clock",
			read:    func(f *File) error { return f.doc.Read("clock", &f.Clock) },
			check:   func(f *File) error { return f.Clock.validate() },
		},
		length: paceLength{
			steps: func(f *File) uint64 {
				if f.Clock.Wakes == 0 {
					return f.Run.Rounds * uint64(max(1, f.Topology.Agents))
				}
				return f.Clock.Wakes
			},
			each: func(f *File) uint64 { return evenShare(f) * steps },
			own:  wakesEach,
		},
		plan: pacePlan{
			facts:    func(p planner) error { return p.File.At("clock", p.readReplay()) },
			rehearse: planner.rehearseWakes,
			claim:    planner.claimBudgets,
			judge:    nothing,
		},
		open:    onlyData,
		counter: counter{n: 1, whom: "largest owner", worse: math.Max},
	}
}

func (p planner) rehearseWakes() error {
	counts, err := p.countWakes()
	if err != nil {
		return err
	}
	return p.rehearseEach(counts)
}

// claimBudgets claims for every agent its budget, or what its answers cost at the noise
// that is given.
func (p planner) claimBudgets() error {
	for i := range p.Plans {
		a := &p.Plans[i]
		if a.Claim = a.Epsilon; a.Claim == 0 {
			cost, err := p.Setup.Target.Cost(a.Costs()...)
			if err != nil {
				return err
			}
			a.Claim = cost.Upper
		}
	}
	return nil
}

// ClockParams is the [clock] section of algorithms without rounds.
type ClockParams struct {
	// Wakes is the length of the run, counted in wakes of all agents together, up to
	// 2^40; default: rounds times the number of agents.
	Wakes uint64 `toml:"wakes,omitempty" allowed:"1 to 1099511627776"`
	// Replay is a file with a recorded list of wakes, used in place of random ones;
	// Record writes the list of this run into its directory.
	Replay string `toml:"replay,omitempty"`
	Record bool   `toml:"record,omitempty"`
	// Interval is the mean time in seconds, .001 to 86,400, between two wakes of an agent
	// where nodes run; default 1. A simulation is the same whatever its length: its unit
	// of time is that mean.
	Interval float64 `toml:"interval,omitempty"`
	// ReplayDigest is the file's SHA-256 in hex. It is filled in; if you give one, it is
	// checked.
	ReplayDigest string `toml:"replay_digest,omitempty"`
}

// Activations are public facts of agents that wake by their own clocks.
type Activations struct {
	Replay     []sim.Wake // recorded; nil: drawn
	WakesOf    [][]uint64 // by agent, where an algorithm is told beforehand
	MaxRecords int        // largest public record count
}

const maxWakes = 1 << 40 // of a run

func (p *ClockParams) validate() error {
	if x := p.Interval; x != 0 && !(x >= .001 && x <= 86400) {
		return config.Bad("interval", x, "0.001 to 86400 seconds")
	}
	return nil
}

// readReplay loads the recorded wakes.
func (e planner) readReplay() error {
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
	settle(e.File, func(f *File) { f.Clock.ReplayDigest = digest })
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

// countWakes returns how often each agent wakes; for algorithms that ask, fills wakesOf.
func (e planner) countWakes() ([]uint64, error) {
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

// wakesEach is how often each agent wakes where daemons run: its share of the run's
// wakes, since every node counts its own.
func wakesEach(f *File) uint64 {
	n := uint64(max(1, f.Topology.Agents))
	return (f.Steps + n - 1) / n
}

// ownWakes is how often the owner's agent steps: at its own wakes and, in pairs, those of
// its neighbors at which they draw it, as many as are to be expected. What comes beyond
// is refused by the run's filter: the agent goes on without answers.
func (e planner) ownWakes() (uint64, error) {
	each := wakesEach(e.File)
	if e.File.Pacing != agent.PacingPairs {
		return each, nil
	}
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return 0, err
	}
	called := 0.
	for _, nb := range g.In(e.Seats.Self) {
		called += float64(each) / float64(len(g.In(nb.ID)))
	}
	return each + uint64(math.Ceil(called)), nil
}

// Interval is the mean time between two wakes of a daemon's agent; 0 with rounds.
func (f *File) Interval() time.Duration {
	switch {
	case !f.Pacing.Clocked():
		return 0
	case f.Clock.Interval == 0:
		return time.Second
	}
	return time.Duration(f.Clock.Interval * float64(time.Second))
}

func objectiveRemark(e *Experiment, _ sim.Stats) string {
	if e.File.Pacing.Clocked() && e.File.Private() {
		return "metric objective is computed from training records without noise: the simulation sees " +
			"it, no agent does"
	}
	return ""
}

// wakes are agent i's, where an algorithm is told of them beforehand.
func (a *Activations) wakes(i int) []uint64 {
	if a.WakesOf == nil {
		return nil
	}
	return a.WakesOf[i]
}
