package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/agent"
	"sotto/config"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// stamp writes its number and the token's steps onto the token, depending on all that was
// there, and notes who sent it where.
type stamp struct {
	self   agent.ID
	seen   float32
	visits []visit
	stray  bool
}

type visit struct {
	from, to agent.ID
	steps    uint64
}

func (s *stamp) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start:
		if s.stray {
			out.Broadcast(tensor.Vec{0, 0})
		}
	case agent.Token:
		m := in.Inbox[0]
		if m.To != s.self || m.Round != in.Round {
			return fmt.Errorf("token for agent %d after %d steps at agent %d after %d", m.To, m.Round, s.self,
				in.Round)
		}
		s.visits = append(s.visits, visit{m.From, in.Peer, in.Round})
		s.seen = float32(math.Mod(float64(7*s.seen+3*m.Body[0]+1), 65521))
		out.Outbox = append(out.Outbox,
			agent.Message{To: in.Peer,
				Body: tensor.Vec{float32(math.Mod(float64(5*m.Body[0]+s.seen+float32(s.self)), 65521)),
					m.Body[1] + 1}})
	default:
		return agent.ErrKind
	}
	return nil
}

func (s *stamp) Params() tensor.Vec          { return tensor.Vec{s.seen, 0} }
func (s *stamp) AppendState(b []byte) []byte { return agent.AppendVec(b, s.Params()) }
func (s *stamp) LoadState(b []byte) error {
	v := make(tensor.Vec, 2)
	r := agent.ReadState(append(agent.AppendTag(nil, "x"), b...), "x")
	r.Vec(v)
	s.seen = v[0]
	return r.Close()
}

func walkers(t testing.TB, g *topology.Graph, edit func(*sim.Config)) (sim.Runtime, []*stamp) {
	t.Helper()
	cfg := sim.Config{
		Schedule: topology.Static(g),
		Dim:      2,
		Pacing:   agent.PacingTokens,
		Steps:    600,
		Workers:  1,
		Seed:     4,
		Tokens:   sim.TokenOptions{Count: 9, Init: tensor.Vec{1, 0}, Secret: 5},
	}
	if edit != nil {
		edit(&cfg)
	}
	var all []*stamp
	for i := range g.Agents() {
		s := &stamp{self: agent.ID(i)}
		all, cfg.Agents = append(all, s), append(cfg.Agents, sim.Agent{Algorithm: s})
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, all
}

// visitsOf is how many tokens an agent has held.
func visitsOf(s sim.Runtime, i int) uint64 { return s.(interface{ Visits(int) uint64 }).Visits(i) }

func walk(t testing.TB, s sim.Runtime, until uint64) {
	t.Helper()
	if err := s.Run(context.Background(), until); err != nil {
		t.Fatal(err)
	}
}

var tokenFaults = map[string]sim.Faults{"none": {}, "loss": {Drop: .3}, "churn": {Churn: .3, ChurnPeriod: 3}}

// Any number of workers gives the bits of one, and a run that is taken up from a
// checkpoint those of one that was not interrupted.
func TestTokenBits(t *testing.T) {
	for name, f := range tokenFaults {
		for _, public := range []bool{false, true} {
			make := func(workers int) sim.Runtime {
				s, _ := walkers(t, asyncGraph(t, 12), func(c *sim.Config) {
					c.Workers, c.Faults, c.Tokens.Public = workers, f, public
				})
				return s
			}
			one := make(1)
			walk(t, one, 250)
			state := stateOf(one)
			walk(t, one, 600)
			want := stateOf(one)
			for _, workers := range []int{2, 5} {
				s := make(workers)
				walk(t, s, 600)
				if stateOf(s) != want {
					t.Errorf("faults %s, public %v: %d workers give other bits", name, public, workers)
				}
			}
			again := make(2)
			if err := load(again, state); err != nil {
				t.Fatal(err)
			}
			if walk(t, again, 600); stateOf(again) != want {
				t.Errorf("faults %s, public %v: a resumed run has other bits", name, public)
			}
			for cut := 0; cut < len(state); cut += 97 {
				if err := load(make(1), state[:cut]); !errors.Is(err, agent.ErrState) {
					t.Fatalf("a checkpoint cut at %d: %v", cut, err)
				}
			}
		}
	}
}

// A token's steps are its visits; without faults there is one in each tick, with them
// fewer, and the rest was counted as waiting.
func TestTokenSteps(t *testing.T) {
	for name, f := range tokenFaults {
		s, all := walkers(t, asyncGraph(t, 12), func(c *sim.Config) { c.Faults = f })
		walk(t, s, 600)
		visits, carried := 0, 0.
		for i, a := range all {
			visits += len(a.visits)
			if uint64(len(a.visits)) != visitsOf(s, i) {
				t.Errorf("agent %d saw %d tokens, %d were counted", i, len(a.visits), visitsOf(s, i))
			}
		}
		for k := range 9 {
			carried += float64(s.Model(k)[1])
		}
		st := s.Stats()
		if float64(visits) != carried || uint64(visits)+st.Dropped+st.Absent != 9*600 ||
			(name == "none") != (visits == 9*600) {
			t.Errorf("faults %s: %d visits, %g steps, %d dropped, %d waits in %d ticks of 9 tokens", name,
				visits, carried, st.Dropped, st.Absent, 600)
		}
	}
}

// Hops follow the rows of W, the agent itself included: chi-square over all rows
// together, false-reject rate 1e-6. Other secrets give other hops, and public ones do not
// depend on the secret.
func TestHopsFollowW(t *testing.T) {
	g := weighted(t)
	for _, public := range []bool{false, true} {
		s, all := walkers(t, g, func(c *sim.Config) {
			c.Steps, c.Tokens.Count, c.Tokens.Public = 3000, 8, public
		})
		walk(t, s, 3000)
		chi, free := 0., 0
		for i, a := range all {
			count := map[agent.ID]float64{}
			for _, v := range a.visits {
				count[v.to]++
			}
			n, cells := float64(len(a.visits)), 0
			for j := range agent.ID(g.Agents()) {
				w := g.Weight(agent.ID(i), j)
				if w == 0 {
					if count[j] > 0 {
						t.Errorf("agent %d sent to %d, which does not hear it", i, j)
					}
					continue
				}
				cells++
				chi += (count[j] - n*w) * (count[j] - n*w) / (n * w)
			}
			free += cells - 1
		}
		if p := (distuv.ChiSquared{K: float64(free)}).Survival(chi); p < 1e-6 {
			t.Errorf("public %v: chi-square %g with %d degrees of freedom", public, chi, free)
		}
		other, _ := walkers(t, g, func(c *sim.Config) {
			c.Steps, c.Tokens.Count, c.Tokens.Public, c.Tokens.Secret = 3000, 8, public, 6
		})
		walk(t, other, 3000)
		if same := stateOf(other) == stateOf(s); same != public {
			t.Errorf("public %v: another secret gives the same run: %v", public, same)
		}
	}
}

// weighted is a graph whose rows have unequal weights: a wheel under Metropolis weights.
func weighted(t testing.TB) *topology.Graph {
	t.Helper()
	s, err := topology.New("wheel", "metropolis", 7, 1, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.At(0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTokensRefuse(t *testing.T) {
	g := weighted(t)
	for key, edit := range map[string]func(*sim.Config){
		"agents":  func(c *sim.Config) { c.Agents = c.Agents[:4] },
		"workers": func(c *sim.Config) { c.Workers = -1 },
		"tokens":  func(c *sim.Config) { c.Tokens.Count = 0 },
		"drop":    func(c *sim.Config) { c.Faults.Drop = math.NaN() },
		"latency": func(c *sim.Config) { c.Faults.Latency = 1 },
		"delay":   func(c *sim.Config) { c.Faults.Delay = .1 },
	} {
		cfg := sim.Config{Schedule: topology.Static(g), Dim: 2, Pacing: agent.PacingTokens, Steps: 10,
			Tokens: sim.TokenOptions{Count: 1}}
		for i := range g.Agents() {
			cfg.Agents = append(cfg.Agents, sim.Agent{Algorithm: &stamp{self: agent.ID(i)}})
		}
		edit(&cfg)
		_, err := sim.New(cfg)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	cfg := sim.Config{Schedule: topology.Static(g), Dim: 2, Pacing: agent.PacingTokens, Steps: 10,
		Tokens: sim.TokenOptions{Count: 1}}
	for i := range g.Agents() {
		cfg.Agents = append(cfg.Agents, sim.Agent{Algorithm: &stamp{self: agent.ID(i), stray: i == 3}})
	}
	if _, err := sim.New(cfg); err == nil {
		t.Error("a message at the start was taken")
	}
}
