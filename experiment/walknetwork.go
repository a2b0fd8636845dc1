package experiment

import (
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
	"sotto/topology"
)

const (
	// mostWalkers bounds the agents of a run whose walk is looked at, by the links of a
	// complete graph.
	mostWalkers = 4096
	// Of larger graphs whose agents are not known to be alike, so many observers and, of
	// each, its neighbors and others are looked at.
	fewWalkers, someObservers, someObserved = 12, 2, 6
)

// walkFigures computes what [token] accounting = "network" asks for, nil where it asks
// for nothing.
func (e *Experiment) walkFigures() (*rundir.WalkFigures, error) {
	f := e.File
	if f.Token.Accounting != "network" || !f.Private() {
		return nil, nil
	}
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return nil, err
	}
	hops, err := Mixing(e.Graphs.Schedule, 1)
	if err != nil {
		return nil, err
	}
	w, err := e.mixture(hops[0])
	if err != nil {
		return nil, err
	}
	local, err := e.Plans[0].Cost(&e.Setup.Target, e.Plans[0].Charges())
	if err != nil {
		return nil, err
	}
	return ExamineWalk(g, w, f.Privacy.TargetDelta, local)
}

// walkSurvey is what is looked at of a walk.
type walkSurvey struct {
	*rundir.WalkFigures
	pairs [][2]int    // of an agent and an observer
	times [][]float64 // by observer: how many agents each pair stands for
}

// ExamineWalk looks at a walk w on graph g. local is epsilon of all contributions of an
// agent against who sees every message.
func ExamineWalk(g *topology.Graph, w *network.WalkMixture, delta float64,
	local account.Interval) (*rundir.WalkFigures, error) {
	s := &walkSurvey{WalkFigures: &rundir.WalkFigures{
		Adversary: "any one agent, which sees the tokens that it holds",
		Delta:     delta,
		MeanLabel: network.MeanLabel,
		Local:     rundir.NewBounds(local.Lower, local.Upper),
		Method:    network.WalkMethod,

		Provenance:  network.Proved,
		Assumptions: network.WalkAssumptions,
		Citations:   []string{network.WalkCitation},
	}}
	s.examine(g)
	upper, err := w.Pairs(s.pairs, delta)
	if err != nil {
		return nil, err
	}
	for k := range upper {
		upper[k] = math.Min(upper[k], local.Upper)
	}
	s.fill(upper)
	if !g.Symmetric() { // the closed form is for symmetric matrices
		return s.WalkFigures, nil
	}
	return s.WalkFigures, s.reference(w)
}

// mixture describes the run's walk to the accountant. Where owners' record counts differ,
// and with them sensitivity and noise, it is that of the largest sensitivity among the
// least noise.
func (e *Experiment) mixture(hops *network.Matrix) (*network.WalkMixture, error) {
	f := e.File
	walk, err := e.Walking()
	if err != nil {
		return nil, err
	}
	shift, noise, visits := 0., math.Inf(1), 0
	for i := range e.Plans {
		p := &e.Plans[i]
		shift = max(shift, account.ClipShift(f.Privacy.adjacency)/p.Public.ExpectedBatch)
		noise = min(noise, p.Noise/p.Public.ExpectedBatch)
		visits = max(visits, p.Charges())
	}
	glm, _ := model.Linear(e.Task.Model)
	size := e.Lifted(e.Task.Split.Train.RowNorm)
	return &network.WalkMixture{
		Agents:     f.Topology.Agents,
		Hops:       hops,
		Steps:      int(f.Steps),
		Visits:     visits,
		Mu:         shift / noise,
		Convex:     true,
		Smoothness: glm.Curvature * size * size,
		StepSize:   walk.LargestStep(),

		SecretHops:  f.Token.Hops == "secret",
		Contraction: 1,
		LocalSteps:  1,
	}, nil
}

// examine chooses pairs. On the complete graph all are alike and on the hypercube those
// at one distance; small graphs are looked at whole.
func (s *walkSurvey) examine(g *topology.Graph) {
	n := g.Agents()
	switch name := g.Name(); {
	case name == "complete":
		s.Examined = "one, which all others are like"
		s.pairs, s.times = [][2]int{{1, 0}}, [][]float64{{float64(n - 1)}}
	case name == "hypercube":
		s.Examined = "one at each distance, which all others are like"
		s.times = [][]float64{nil}
		stands := 1.
		for far, u := 1, 1; u < n; far, u = far+1, 2*u+1 {
			stands *= float64(bits(n) - far + 1)
			stands /= float64(far)
			s.pairs, s.times[0] = append(s.pairs, [2]int{u, 0}), append(s.times[0], stands)
		}
	case n <= fewWalkers:
		s.Examined = "all"
		for v := range n {
			s.observe(v, evenly(n, n))
		}
	default:
		s.Examined = fmt.Sprintf("%d observers with %d agents each, neighbors first", someObservers,
			someObserved)
		for _, v := range evenly(n, someObservers) {
			var agents []int
			for _, nb := range g.In(agent.ID(v)) {
				agents = append(agents, int(nb.ID))
			}
			agents = agents[:min(len(agents), someObserved/2)]
			for _, u := range evenly(n, n) {
				if len(agents) < someObserved && u != v && !slices.Contains(agents, u) &&
					u%(n/someObserved) == 0 {
					agents = append(agents, u)
				}
			}
			s.observe(v, agents)
		}
	}
}

// bits is log2 of a power of two.
func bits(n int) int { return int(math.Round(math.Log2(float64(n)))) }

// observe adds pairs of an observer, each of which stands for itself.
func (s *walkSurvey) observe(v int, agents []int) {
	var times []float64
	for _, u := range agents {
		if u != v {
			s.pairs, times = append(s.pairs, [2]int{u, v}), append(times, 1)
		}
	}
	s.times = append(s.times, times)
}

// fill takes the pairs' figures.
func (s *walkSurvey) fill(upper []float64) {
	at, sum, all := 0, 0., 0.
	for _, times := range s.times {
		o := rundir.WalkObserver{Observer: s.pairs[at][1], Worst: -1}
		mine, count := 0., 0.
		for _, stands := range times {
			eps := upper[at]
			mine, count = mine+stands*eps, count+stands
			if Figure(eps) > o.Worst {
				o.Worst, o.Agent = Figure(eps), s.pairs[at][0]
			}
			at++
		}
		o.Mean = Figure(mine / count)
		sum, all = sum+mine, all+count
		if len(s.Observers) == 0 || o.Worst > s.Epsilon {
			s.Epsilon, s.Observer, s.Agent = o.Worst, o.Observer, o.Agent
		}
		s.Observers = append(s.Observers, o)
	}
	s.MeanEpsilon = Figure(sum / all)
}

// reference adds the published closed form where the graph mixes fast enough for it.
func (s *walkSurvey) reference(w *network.WalkMixture) error {
	r := &rundir.WalkReference{Label: "published closed form, not a bound here", Provenance: network.Claimed,
		Citation: "Cyffers, Bellet, Upadhyay 2024, arXiv 2402.07471"}
	sum, count := 0., 0
	for _, o := range s.Observers {
		c, ok, err := network.WalkPrintedObserver(w.Hops, w.Agents, o.Observer, 1/w.Mu, w.Steps)
		if err != nil || !ok {
			return err
		}
		for u, x := range c {
			if u != o.Observer {
				eps := network.PrintedEpsilon(x, s.Delta)
				sum += eps
				count++
				r.Worst = max(r.Worst, Figure(eps))
			}
		}
	}
	r.Mean = Figure(sum / float64(count))
	s.Printed = r
	return nil
}

// walkStatement is the figure for a privacy statement: that of the worst pair, which
// covers all that were looked at.
func walkStatement(s *rundir.WalkFigures) account.AdversaryStatement {
	return account.AdversaryStatement{Adversary: fmt.Sprintf("%s (pairs looked at: %s)", s.Adversary,
		s.Examined),
		Method:  fmt.Sprintf("%s (%s, %s)", s.Method, s.Provenance, s.Citations[0]),
		Epsilon: account.StatedInterval{Upper: float64(s.Epsilon)}}
}

// checkAmplified refuses accounting "network" where nothing is proved for it.
func (e *Experiment) checkAmplified() error {
	if e.File.Token.Accounting != "network" {
		return nil
	}
	if err := e.amplified(); err != nil {
		return fmt.Errorf("%w: %w", privacy.ErrRefused, err)
	}
	return nil
}

// amplified names the first thing that the run lacks of what amplification by iteration
// on a hidden walk is proved under (Cyffers, Bellet 2022; Feldman, Mironov, Talwar,
// Thakurta 2018): every step is a contraction with noise, all of one size, and no
// observer knows who held the token before.
func (e *Experiment) amplified() error {
	f := e.File
	glm, linear := model.Linear(e.Task.Model)
	x := e.Task.Split.Train.RowNorm
	w, err := e.Walking()
	if err != nil {
		return err
	}
	switch {
	case f.Token.Hops != "secret":
		return f.At("token", config.Bad("hops", f.Token.Hops,
			"secret with accounting network: whoever computes the hops knows who held the token, and only "+
				"the local figure holds"))
	case !linear:
		return f.At("model", config.Bad("name", f.Model.Name,
			"a convex model with accounting network, huber, least-squares or logistic with two classes: "+
				"no step of another is known to contract, and only the local figure holds"))
	case x == 0:
		return f.At("data", config.Bad("dataset", f.Data.Dataset,
			"one whose rows have a public bound, such as houses, with accounting network: without it no "+
				"smoothness is known"))
	case f.Replication.Stated():
		return f.At("replication", config.Bad("replication", f.Replication.String(),
			"nothing with accounting network"))
	case f.Faults.Drop != 0 || f.Faults.Churn != 0:
		return f.At("faults", config.Bad("drop", f.Faults.Drop,
			"0, without churn, with accounting network: when a token comes late its way is known better"))
	case !f.Mechanism().ExactView || f.Privacy.Noise == exactNoise:
		return f.At("privacy", config.Bad("noise", f.Privacy.Noise,
			"fast, with mechanism gaussian and accounting network: only sums of normal noise are as if of "+
				"one draw"))
	case f.Topology.Agents > mostWalkers || f.Topology.Agents < 2:
		return f.At("topology", config.Bad("agents", f.Topology.Agents,
			fmt.Sprintf("2 to %d with accounting network", mostWalkers)))
	case !w.Blurs():
		return f.At("algorithm", config.Bad("after", "nothing",
			"noise with accounting network: every step has to add noise"))
	}
	size := e.Lifted(x)
	if slope := glm.Slope * size; f.Privacy.unit == account.Owner() && f.Privacy.MaxGradNorm < slope {
		return f.At("privacy", config.Bad("max_grad_norm", f.Privacy.MaxGradNorm,
			fmt.Sprintf("at least %.6g with accounting network: the clip of a mean of several gradients "+
				"is no gradient of a convex function; with unit record each gradient is clipped, which "+
				"is one", slope)))
	}
	if most := 2 / (glm.Curvature * size * size); w.LargestStep() > most {
		return f.At("algorithm", config.Bad("step_size", w.LargestStep(),
			fmt.Sprintf("at most 2/β = %.6g with accounting network", most)))
	}
	if w.SmallestStep() < w.LargestStep() {
		return f.At("algorithm", config.Bad("schedule", "steps of different sizes",
			"const, without warmup, with accounting network: noise of a shorter step hides less of a "+
				"longer one"))
	}
	return nil
}
