package sim

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// Wake is one ring of one agent's clock.
type Wake struct {
	Time  float64 // since the start; the mean time between two wakes of an agent is 1
	Agent agent.ID
	Peer  agent.ID // other end of a pairwise wake; agent.Broadcast where there is none
}

// Clock gives the wakes of an asynchronous run in order. Agents have independent Poisson
// clocks of rate 1; together they ring at rate n, and each ring is any agent's with the
// same probability (Boyd, Ghosh, Prabhakar, Shah 2006). Who wakes at wake number t is a
// function of seed and t alone, so that a run can be taken up anywhere.
type Clock struct {
	seed   uint64
	agents int
	pairs  *topology.Graph // peers are drawn from it; nil without pairwise wakes
	replay []Wake
	number uint64 // of the next wake
	now    float64
}

// NewClock returns the clocks of as many agents. With pairs every wake names a peer,
// uniform among the agents that the waking one hears.
func NewClock(seed uint64, agents int, pairs *topology.Graph) *Clock {
	return &Clock{seed: seed, agents: agents, pairs: pairs}
}

// Replay returns a clock that rings as wakes say.
func Replay(wakes []Wake) *Clock { return &Clock{replay: wakes} }

// Next returns the next wake; false at the end of a replayed list.
func (c *Clock) Next() (Wake, bool) {
	if c.replay != nil {
		if c.number >= uint64(len(c.replay)) {
			return Wake{}, false
		}
		w := c.replay[c.number]
		c.number, c.now = c.number+1, w.Time
		return w, true
	}
	h := mix64(mix64(c.seed^0x77616b65) ^ c.number)
	c.number++
	c.now += -math.Log1p(-unit(h)) / float64(c.agents)
	h = mix64(h + 1)
	w := Wake{Time: c.now, Agent: agent.ID(below(h, c.agents)), Peer: agent.Broadcast}
	if c.pairs != nil {
		if d := c.pairs.Degree(w.Agent); d > 0 {
			w.Peer = c.pairs.Neighbor(w.Agent, below(mix64(h+1), d)).ID
		}
	}
	return w, true
}

// below maps 64 uniform bits to 0 .. n-1; no value is likelier than another by more than
// n/2^53.
func below(h uint64, n int) int { return int(unit(h) * float64(n)) }

const wakesHeader = "time,agent,peer\n"

// AppendWakes appends a list of wakes as text: a line for each, its peer empty where
// there is none.
func AppendWakes(b []byte, wakes []Wake) []byte {
	b = append(b, wakesHeader...)
	for _, w := range wakes {
		b = strconv.AppendFloat(b, w.Time, 'g', -1, 64)
		b = strconv.AppendUint(append(b, ','), uint64(w.Agent), 10)
		b = append(b, ',')
		if w.Peer != agent.Broadcast {
			b = strconv.AppendUint(b, uint64(w.Peer), 10)
		}
		b = append(b, '\n')
	}
	return b
}

// ParseWakes reads what AppendWakes writes, for as many agents: times do not fall, agents
// are in range, and with pairs every wake has a peer that its agent is linked with in
// that graph, without pairs none. Faults are config.Errors with their line.
func ParseWakes(b []byte, agents int, pairs *topology.Graph) ([]Wake, error) {
	if !bytes.HasPrefix(b, []byte(wakesHeader)) {
		return nil, &config.Error{Line: 1, Found: "another first line",
			Allowed: wakesHeader[:len(wakesHeader)-1]}
	}
	wakes := []Wake{}
	line, last := 1, 0.
	for text := range bytes.Lines(b[len(wakesHeader):]) {
		line++
		w, err := parseWake(bytes.TrimSuffix(text, []byte("\n")), last, agents, pairs)
		if err != nil {
			err.(*config.Error).Line = line
			return nil, err
		}
		wakes, last = append(wakes, w), w.Time
	}
	return wakes, nil
}

func parseWake(text []byte, last float64, agents int, pairs *topology.Graph) (Wake, error) {
	w := Wake{Peer: agent.Broadcast}
	cells := bytes.Split(text, []byte(","))
	if len(cells) != 3 {
		return w, config.Bad("", len(cells), "3 cells: time, agent, peer")
	}
	var err error
	w.Time, err = strconv.ParseFloat(string(cells[0]), 64)
	if err != nil || !(w.Time >= last) || math.IsInf(w.Time, 1) {
		return w, config.Bad("time", string(cells[0]),
			fmt.Sprintf("finite and at least %v, the time of the wake before", last))
	}
	id := func(key string, cell []byte, to *agent.ID) error {
		x, err := strconv.ParseUint(string(cell), 10, 32)
		if err != nil || x >= uint64(agents) {
			return config.Bad(key, string(cell), fmt.Sprintf("0 to %d", agents-1))
		}
		*to = agent.ID(x)
		return nil
	}
	if err := id("agent", cells[1], &w.Agent); err != nil {
		return w, err
	}
	if pairs == nil {
		if len(cells[2]) > 0 {
			return w, config.Bad("peer", string(cells[2]), "none: this algorithm broadcasts")
		}
		return w, nil
	}
	if err := id("peer", cells[2], &w.Peer); err != nil {
		return w, err
	}
	if w.Peer == w.Agent || pairs.Weight(w.Agent, w.Peer) == 0 {
		return w, config.Bad("peer", string(cells[2]), fmt.Sprintf("a neighbor of agent %d", w.Agent))
	}
	return w, nil
}
