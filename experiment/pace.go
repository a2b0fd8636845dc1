package experiment

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/experiment/plan"
	"sotto/privacy"
	"sotto/topology"
)

// Pace is how the agents of a run are driven, and all that follows from it: one value
// for each agent.Pacing. Nobody else asks how a run is driven: a further pace is a
// further value.
type Pace struct {
	// Word names the steps of a run in its summary; "" where they are rounds.
	Word string
	// OwnPlans says that agents differ in how often they ask, so that each has a plan
	// and a budget of its own.
	OwnPlans bool
	// EveryStep says that a run looks up after every step, and not at evaluations alone,
	// because its steps are few and long.
	EveryStep bool
	// Walking says that models go from agent to agent and are nobody's own: what one has
	// cost is what the agent has spent that spent most.
	Walking bool

	keys   paceKeys
	length paceLength
	plan   pacePlan
	// open has a gate answer what is asked beside the data.
	open func(g *privacy.Gate, oracles map[string]privacy.Oracle)
	// counter is of what delta is compared with, where a record is a unit.
	counter counter
}

// paceKeys are a section of the run file, "" for none.
type paceKeys struct {
	section string
	read    func(f *File) error
	check   func(f *File) error
}

// paceLength says how many steps there are.
type paceLength struct {
	steps func(f *File) uint64 // of the run
	each  func(f *File) uint64 // of one agent, at most
	own   func(f *File) uint64 // of a daemon's agent, as a run file states them
}

// pacePlan is how agents are planned.
type pacePlan struct {
	facts    func(p planner) error // what of the run is public before plans
	rehearse func(p planner) error // what every agent is going to ask
	claim    func(p planner) error // what is claimed without what is charged before the run
	judge    func(p planner) error // warnings about settings
}

func noKeys(*File) error                                { return nil }
func nothing(planner) error                             { return nil }
func evenShare(f *File) uint64                          { return f.Steps / uint64(max(1, f.Topology.Agents)) }
func onlyData(*privacy.Gate, map[string]privacy.Oracle) {}
func everyRound(f *File) uint64                         { return f.Run.Rounds }
func allSteps(f *File) uint64                           { return f.Steps }

// rounds is synchronous rounds: all agents ask alike.
var rounds = Pace{
	EveryStep: true,
	keys:      paceKeys{read: noKeys, check: noKeys},
	length:    paceLength{steps: everyRound, each: allSteps, own: allSteps},
	plan: pacePlan{
		facts: nothing,
		rehearse: func(p planner) error {
			return p.rehearseAlike(plan.Life{Steps: p.File.Steps}, agent.Env{})
		},
		claim: planner.claimAlike,
		judge: planner.warn,
	},
	open:    onlyData,
	counter: counter{n: 1, whom: "largest owner", worse: math.Max},
}

// paces lists all of them.
var paces = map[agent.Pacing]*Pace{
	agent.PacingRounds: &rounds,
	agent.PacingWakes:  clocked(agent.PacingWakes, 1),
	agent.PacingPairs:  clocked(agent.PacingPairs, 2),
	agent.PacingTokens: &tokens,
}

// rehearseAlike notes what every agent is going to ask, where all ask alike.
func (p planner) rehearseAlike(life plan.Life, env agent.Env) error {
	f := p.File
	life.Pacing, life.View = f.Pacing, &agent.View{SelfWeight: 1}
	env.Agents, env.Records, env.Rounds, env.Graph = f.Topology.Agents, 1, f.Steps, p.Graphs.known()
	env.Table, env.Noise = tableOf(p.Experiment, 0), answerNoise(p.Experiment, 0)
	asked, err := plan.Rehearse(p.Factory, env, life)
	if err != nil {
		return err
	}
	for i := range p.Plans {
		p.Plans[i].Asked = asked
	}
	return nil
}

// rehearseEach is rehearseAlike for agents that step so many times each.
func (p planner) rehearseEach(counts []uint64) error {
	g, err := p.Graphs.Schedule.At(0)
	if err != nil {
		return err
	}
	known := map[string][]plan.Ask{}
	var rows topology.Rows
	for i := range p.Plans {
		id := p.Seats.ID(i)
		asked, err := plan.Rehearse(p.Factory, p.Env(i), plan.Life{Pacing: p.File.Pacing,
			Steps: counts[i], View: &agent.View{In: rows.In(g, id), Out: rows.Out(g, id)}})
		if err != nil {
			return err
		}
		key := fmt.Sprint(asked.Asks)
		if _, ok := known[key]; !ok {
			known[key] = asked.Asks
		}
		p.Plans[i].Asks, p.Plans[i].When = known[key], asked.When
	}
	return nil
}

// claimAlike claims for all agents what the first one's queries cost.
func (p planner) claimAlike() error {
	i, err := p.Plans[0].Cost(&p.Setup.Target, p.Plans[0].Charges())
	if err != nil {
		return err
	}
	for k := range p.Plans {
		p.Plans[k].Claim = i.Upper
	}
	return nil
}
