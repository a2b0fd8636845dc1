package forecast

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/experiment"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy/account"
)

// Key is a key of a run file with the value that is suggested for it, and why.
type Key struct {
	Section string `json:"section"` // "": the top
	Key     string `json:"key"`
	Value   any    `json:"value"`
	Why     string `json:"why"`
}

// Suggestion is what a run could be given for its target epsilon.
type Suggestion struct {
	Keys []Key `json:"keys"`
	// Noise is the noise multiplier that follows, and Ratio is Drowned's for this plan.
	Noise float64 `json:"noise_multiplier"`
	// It is 0 for a table, whose steps are not of that kind.
	Ratio float64 `json:"noise_over_signal,omitempty"`
	// Drop are keys that the run must not have beside those.
	Drop []string `json:"drop,omitempty"`
}

// Suggest proposes rounds, batch size, clip, step sizes and graph for the run's target
// epsilon from public numbers: the agents' records, their number, and that of parameters.
//
// The batch is 1 to 1/128 of the smallest agent's records, halved as long as answers have
// at most a tenth more noise, the randomness of the batch is at most a third of it, and
// 32 are left.
// The step sizes fall geometrically to a twentieth, and their sum over all rounds is
// 12 over the ratio of Drowned (5 for models that are linear in their parameters), 10 to
// 200: the path on which a model gets as far as noise allows. That rule and its figures
// were found by trial, see docs/results/privacy.md. A small table, whose model is linear
// in few parameters, gets Newton steps instead. Another run whose queries are not Poisson
// batches of gradients, or without target_epsilon, is refused.
func Suggest(e *experiment.Experiment) (*Suggestion, error) {
	if e.File.Privacy.TargetEpsilon > 0 {
		if s := tabular(e); s != nil {
			return s, nil
		}
	}
	return batches(e)
}

// batches is Suggest of a run whose queries are Poisson batches.
func batches(e *experiment.Experiment) (*Suggestion, error) {
	f := e.File
	if f.Kind().Batches != oracle.Sampled || len(e.Plans) == 0 {
		return nil, f.Refuse("algorithm.name", f.Algorithm.Name,
			"an algorithm that asks for Poisson batches of gradients, such as dsgd or dsgt")
	}
	if f.Privacy.TargetEpsilon == 0 {
		return nil, f.Refuse("privacy.target_epsilon", "nothing", "the epsilon to plan for")
	}
	counts := []int{f.Privacy.MinRecords}
	for i := range e.Plans {
		counts = append(counts, e.Plans[i].Public.Records)
	}
	counts = slices.DeleteFunc(counts, func(n int) bool { return n == 0 })
	slices.Sort(counts)
	if len(counts) == 0 {
		return nil, f.Refuse("privacy.min_records", "nothing", "a public number of records to plan with")
	}
	b, err := batchOf(e, counts)
	if err != nil {
		return nil, err
	}
	ratio := b.signal / math.Sqrt(float64(f.Topology.Agents)*suggestedRounds)
	over := 12.
	if _, linear := model.Linear(e.Task.Model); linear {
		over = 5
	}
	path := min(200, max(10, over/ratio))
	// the mean of a geometric fall from 1 to 1/20 is (1 - 1/20) / ln 20
	first := round2(path / suggestedRounds * math.Log(20) / (1 - 1./20))
	s := &Suggestion{Noise: b.noise, Ratio: ratio, Keys: []Key{
		{"", "rounds", suggestedRounds, "the noise of the whole run hardly depends on it; more rounds take " +
			"smaller steps"},
		{"privacy", "batch_size", b.size, fmt.Sprintf("the smallest agent has %d records: an answer's noise "+
			"is %.3g times the longest mean gradient, and %.3g with batches of that many", counts[0],
			b.signal, b.least)},
		{"privacy", "max_grad_norm", 1.0, "noise is a multiple of the clip, so that epsilon does not " +
			"depend on it; sotto tune may search it at no cost"},
		{"algorithm", "schedule", "geometric", "late steps are small, which averages noise out"},
		{"algorithm", "step_size", first, fmt.Sprintf("all steps together go %.3g clips far: %g over the "+
			"noise over signal of %.2g, 10 to 200", path, over, ratio)},
		{"algorithm", "step_size_final", round2(first / 20), "a twentieth of the first"},
	}}
	s.Keys = append(s.Keys, graphKeys(f.Topology.Agents)...)
	return s, nil
}

const suggestedRounds = 300

// round2 keeps two digits.
func round2(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/unit) * unit
}

// batch is a batch size with the noise that the target epsilon asks for.
type batch struct {
	size   float64
	noise  float64 // multiplier of the smallest agent
	signal float64 // length of an answer's noise over the longest mean gradient, root mean square
	least  float64 // the same with all records of the smallest agent in every batch
}

// batchOf chooses a batch for agents with so many records, in order.
func batchOf(e *experiment.Experiment, counts []int) (batch, error) {
	best, err := batchAt(e, counts, float64(counts[0]))
	least := best.signal
	for k := 1; k <= 7 && err == nil; k++ {
		size := math.Round(math.Ldexp(float64(counts[0]), -k))
		if size < leastBatch {
			break
		}
		var next batch
		if next, err = batchAt(e, counts, size); err != nil {
			break
		}
		if next.signal > 1.1*least || 1/math.Sqrt(next.size) > next.signal/3 {
			break
		}
		best = next
	}
	best.least = least
	return best, err
}

// leastBatch is the smallest batch that is suggested to who has more records.
const leastBatch = 32

// mostCounts is for how many agents noise is found, evenly spaced by their records.
const mostCounts = 8

// batchAt finds the noise of a batch size.
func batchAt(e *experiment.Experiment, counts []int, size float64) (batch, error) {
	p, t := &e.File.Privacy, &e.Setup.Target
	b := batch{size: size}
	n := min(mostCounts, len(counts))
	for k := range n {
		of := counts[k*(len(counts)-1)/max(1, n-1)]
		r, err := account.Noise(account.DPSGD(t.Adjacency, min(1, size/float64(of)), suggestedRounds),
			account.Budget{Epsilon: p.TargetEpsilon, Delta: p.TargetDelta})
		if err != nil {
			return b, err
		}
		signal := r.NoiseMultiplier / size * math.Sqrt(float64(e.Task.Model.Dim()))
		b.signal += signal * signal / float64(n)
		if k == 0 {
			b.noise = r.NoiseMultiplier
		}
	}
	b.signal = math.Sqrt(b.signal)
	return b, nil
}

// graphKeys are those of a graph for so many agents.
func graphKeys(agents int) []Key {
	if agents <= 16 || agents%2 != 0 {
		return []Key{{"topology", "graph", "complete", fmt.Sprintf("%d agents: all average with all, so "+
			"that noise averages out in every round", agents)}}
	}
	return []Key{
		{"topology", "graph", "regular", "8 random neighbors mix nearly as well as all with all"},
		{"topology", "degree", 8, "8 messages a round for each agent"},
	}
}

// Drowned is by how much noise outweighs what is learnt: the length of the noise in the
// sum of all agents' answers of all rounds, over the longest such sum of clipped
// gradients. agents are those with known figures, of n; each asks charges times.
//
// By trial (docs/results/privacy.md, "How much noise a run bears") runs learn nearly all
// they can up to .1 and little above DrownedAbove.
func Drowned(agents []Agent, n int) float64 {
	if len(agents) == 0 {
		return 0
	}
	sum, charges := 0., 0
	for _, a := range agents {
		sum += float64(a.NoiseToSignal) * float64(a.NoiseToSignal) / float64(len(agents))
		charges = max(charges, a.Charges)
	}
	if charges == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(n) / float64(charges))
}

// DrownedAbove is the ratio of Drowned above which a plan warns.
const DrownedAbove = .5

// Warn says that noise outweighs what can be learnt; "": it does not. It judges
// algorithms that ask for Poisson batches of gradients, with noise that does not cancel.
func Warn(f *experiment.File, agents []Agent) string {
	ratio := Drowned(agents, f.Topology.Agents)
	if f.Kind().Batches != oracle.Sampled || f.Mechanism().Pairwise || !(ratio > DrownedAbove) {
		return ""
	}
	return fmt.Sprintf("noise outweighs signal: over all rounds and %d agents it is %.2g times the longest "+
		"sum of clipped gradients, and little is learnt above %g; a larger epsilon, more records or agents, "+
		"or fewer parameters help (sotto plan --suggest)", f.Topology.Agents, ratio, DrownedAbove)
}

// TOML is the suggestion as lines of a run file.
func (s *Suggestion) TOML() string {
	var b strings.Builder
	section := ""
	for _, k := range s.Keys {
		if k.Section != section {
			section = k.Section
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "# %s\n%s = %s\n", k.Why, k.Key, k.text())
	}
	return b.String()
}

// text is the value as a run file has it.
func (k *Key) text() string {
	switch v := k.Value.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case float64:
		if v == math.Trunc(v) {
			return fmt.Sprintf("%.1f", v)
		}
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprint(k.Value)
}
