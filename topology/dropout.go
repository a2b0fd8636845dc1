package topology

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"sotto/agent"
	"sotto/config"
)

const (
	defaultWindow = 10
	maxWindow     = 1000
)

// checkVarying looks at the parameters of graphs that change.
func (spec *Spec) checkVarying() error {
	switch {
	case !(spec.Dropout >= 0 && spec.Dropout < 1):
		return config.Bad("dropout", spec.Dropout, "0 to below 1")
	case spec.Window > maxWindow:
		return config.Bad("window", spec.Window, fmt.Sprintf("1 to %d", maxWindow))
	}
	_, directed := Digraphs[spec.Graph]
	if spec.Window > 0 && spec.Dropout == 0 && !directed {
		return config.Bad("window", spec.Window, "no value for a graph that stays the same")
	}
	return nil
}

// dropout deletes every link of a round with one probability, both directions of an
// undirected one together. The weights are made anew from the links that are left. Who
// asks for a round again gets equal graphs; the last one is kept.
type dropout struct {
	probability float64
	seed        uint64
	rounds      [][]Edge // of period len(rounds)
	build       func(links []Edge) (*Graph, error)
	mutual      bool // links are undirected

	mu    sync.Mutex
	at    uint64
	graph *Graph // of round at
}

// checkRounds wants the links of d, of which spec has the parameters, to be jointly
// connected in every window of Spec.Rounds, and every round to have weights.
func (spec *Spec) checkRounds(d *dropout) (Schedule, error) {
	window, from := cmp.Or(spec.Window, defaultWindow), uint64(0)
	for ; from == 0 || from+window <= spec.Rounds; from += window {
		if err := JointlyConnected(d, from, window); err != nil {
			return nil, err
		}
	}
	for ; from < spec.Rounds; from++ { // too few for a window
		if _, err := d.At(from); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// At implements Schedule.
func (d *dropout) At(round uint64) (*Graph, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.graph != nil && d.at == round {
		return d.graph, nil
	}
	key := [32]byte{16: 'd', 17: 'r', 18: 'o', 19: 'p'}
	binary.LittleEndian.PutUint64(key[:], d.seed)
	binary.LittleEndian.PutUint64(key[8:], round)
	r := rand.New(rand.NewChaCha8(key))
	all := d.rounds[round%uint64(len(d.rounds))]
	left := make([]Edge, 0, len(all))
	for _, e := range all {
		if r.Float64() >= d.probability {
			left = append(left, e)
		}
	}
	g, err := d.build(left)
	if err != nil {
		return nil, err
	}
	d.at, d.graph = round, g
	return g, nil
}

// JointlyConnected reports whether the links of rounds from .. from+window-1 together let
// every agent's value reach every other agent (strongly, where they are directed), which
// push-sum and averaging on changing graphs need in every window of some length (Nedić,
// Olshevsky 2015). window is 1 to 1,000. The *config.Error says which rounds fail and how
// far agent 0 gets.
func JointlyConnected(s Schedule, from, window uint64) error {
	if window < 1 || window > maxWindow {
		return config.Bad("window", window, fmt.Sprintf("1 to %d", maxWindow))
	}
	graphs := make([]*Graph, window)
	for k := range graphs {
		g, err := s.At(from + uint64(k))
		if err != nil {
			return err
		}
		graphs[k] = g
	}
	n := graphs[0].Agents()
	for _, side := range []struct {
		text string
		of   func(*Graph, agent.ID) []agent.Neighbor
	}{{"agent 0 reaches %d of %d agents", (*Graph).Out},
		{"agent 0 is reached by %d of %d agents", (*Graph).In}} {
		if count := reached(graphs, n, side.of); count < n {
			return config.Bad("window", window,
				fmt.Sprintf("more rounds, or a graph with more links: in rounds %d to %d "+side.text,
					from, from+window-1, count-1, n-1))
		}
	}
	return nil
}

// ConnectedWindow returns the least number of rounds, from on, whose links together
// connect all agents as [JointlyConnected] says; 0: more than most, or than 1,000.
func ConnectedWindow(s Schedule, from, most uint64) uint64 {
	for w := uint64(1); w <= most; w++ {
		if JointlyConnected(s, from, w) == nil {
			return w
		}
	}
	return 0
}

// reached counts the agents, 0 among them, that agent 0 gets to over the links of all
// graphs.
func reached(graphs []*Graph, n int, side func(*Graph, agent.ID) []agent.Neighbor) int {
	seen := make([]bool, n)
	seen[0] = true
	queue := make([]agent.ID, 1, n)
	for at := 0; at < len(queue) && len(queue) < n; at++ {
		for _, g := range graphs {
			for _, nb := range side(g, queue[at]) {
				if !seen[nb.ID] {
					seen[nb.ID] = true
					queue = append(queue, nb.ID)
				}
			}
		}
	}
	return len(queue)
}
