package rundir

import (
	"encoding/json"
	"math"

	"sotto/internal/jsonfloat"
	"sotto/sim"
)

// Bounds is an epsilon between its bounds; Upper is the guarantee.
type Bounds struct {
	Lower jsonfloat.Float `json:"lower"`
	Upper jsonfloat.Float `json:"upper"`
}

// NewBounds are the bounds lower and upper.
func NewBounds(lower, upper float64) Bounds {
	return Bounds{jsonfloat.Float(lower), jsonfloat.Float(upper)}
}

// Stats are a figure over agents, of which a file may hold infinite and missing ones.
type Stats struct{ Mean, Min, Max float64 }

// StatsOf returns mean, least and largest value.
func StatsOf(xs []float64) Stats {
	s := Stats{Min: math.Inf(1), Max: math.Inf(-1)}
	for _, x := range xs {
		s.Mean += x / float64(len(xs))
		s.Min, s.Max = min(s.Min, x), max(s.Max, x)
	}
	return s
}

// StatsIn finds a metric's mean, min and max over agents among the rows of one round; of
// one that has a value for all alone, that value is all three.
func StatsIn(rows []Row, metric string) Stats {
	of := map[string]float64{}
	for _, r := range rows {
		if r.Metric == metric {
			of[r.Agent] = r.Value
		}
	}
	if _, over := of["mean"]; !over {
		return Stats{of["all"], of["all"], of["all"]}
	}
	return Stats{of["mean"], of["min"], of["max"]}
}

// statsForm is how Stats are written.
type statsForm struct {
	Mean jsonfloat.Float `json:"mean"`
	Min  jsonfloat.Float `json:"min"`
	Max  jsonfloat.Float `json:"max"`
}

func (s Stats) form() statsForm {
	return statsForm{jsonfloat.Float(s.Mean), jsonfloat.Float(s.Min), jsonfloat.Float(s.Max)}
}

// MarshalJSON implements json.Marshaler.
func (s Stats) MarshalJSON() ([]byte, error) { return json.Marshal(s.form()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Stats) UnmarshalJSON(b []byte) error {
	form := s.form()
	if err := json.Unmarshal(b, &form); err != nil {
		return err
	}
	*s = Stats{float64(form.Mean), float64(form.Min), float64(form.Max)}
	return nil
}

// Estimation is how far models are from the hidden vector at the end: mean, least and
// largest distance over agents, and that of the mean of all agents' models.
type Estimation struct {
	Mean      jsonfloat.Float `json:"mean"`
	Min       jsonfloat.Float `json:"min"`
	Max       jsonfloat.Float `json:"max"`
	MeanModel jsonfloat.Float `json:"mean_model"`
	// NoiseFree is that of the mean of the iterates without noise, which published
	// replications put out.
	NoiseFree *jsonfloat.Float `json:"noise_free,omitempty"`
}

// EstimationIn finds them among the rows of one round.
func EstimationIn(rows []Row) *Estimation {
	f := StatsIn(rows, EstimationRMSE).form()
	e := &Estimation{Mean: f.Mean, Min: f.Min, Max: f.Max}
	for _, r := range rows {
		switch {
		case r.Metric == EstimationRMSE && r.Agent == "all":
			e.MeanModel = jsonfloat.Float(r.Value)
		case r.Metric == EstimationNoiseFree:
			e.NoiseFree = (*jsonfloat.Float)(&r.Value)
		}
	}
	return e
}

// PrivacyLine is what one agent, or a group of agents with equal event histories, has
// spent.
type PrivacyLine struct {
	Agent   int     `json:"agent"`             // of a group, its first
	Group   string  `json:"group,omitempty"`   // numbers and ranges, such as "0-3,7"
	Members int     `json:"members,omitempty"` // size of the group
	Epsilon Bounds  `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// the agent's own budget, of personal models
	Target     jsonfloat.Float `json:"target_epsilon,omitempty"`
	Adjacency  string          `json:"adjacency"`
	Unit       string          `json:"unit"`
	Accountant string          `json:"accountant"`
	Charges    uint64          `json:"charges"`
	Noise      jsonfloat.Float `json:"noise_multiplier"`
	SampleRate float64         `json:"sample_rate"`
	// the agent's public record count, of personal models
	Records   int      `json:"records,omitempty"`
	Overrides []string `json:"overrides,omitempty"`
}

// Noiseless reports that the agent's answers had no noise: epsilon is 0, as nothing left
// it, or infinite.
func (p *PrivacyLine) Noiseless() bool {
	upper := float64(p.Epsilon.Upper)
	return p.Noise == 0 && (upper == 0 || math.IsInf(upper, 1))
}

// Graph is the communication graph's summary: of one that changes, the first round's.
type Graph struct {
	Name  string `json:"name"`
	Links int    `json:"links"`
	// links of all rounds together, where the graph changes
	AllLinks    int             `json:"links_of_all_rounds,omitempty"`
	SpectralGap jsonfloat.Float `json:"spectral_gap"` // 1 - lambda_2(W)
	// 1 - |lambda_n(W)| where it is less, and how fast disagreement shrinks follows from
	// it
	AbsoluteGap *jsonfloat.Float `json:"gap_absolute,omitempty"`
	Fiedler     jsonfloat.Float  `json:"normalized_fiedler"`              // lambda_2(Laplacian) / n
	NotComputed string           `json:"spectrum_not_computed,omitempty"` // why these are NaN
}

// Summary is summary.json, and what "sotto run --output json" prints.
type Summary struct {
	Run        string `json:"run"` // the run directory
	Name       string `json:"name"`
	Algorithm  string `json:"algorithm"`
	Dataset    string `json:"dataset"`
	Model      string `json:"model"`
	Parameters int    `json:"parameters"`
	Agents     int    `json:"agents"`
	Topology   Graph  `json:"topology"`
	Rounds     uint64 `json:"rounds"` // or wakes of all agents together:
	// "wakes", "pairs" or "tokens" for algorithms without rounds
	Pacing string `json:"pacing,omitempty"`
	// that carry the models: figures over agents are over them
	Tokens int    `json:"tokens,omitempty"`
	Seed   uint64 `json:"seed"`
	Quality
	// how hyper-parameters were found, and what that cost
	Tuned   string        `json:"tuned,omitempty"`
	Privacy []PrivacyLine `json:"privacy"`
	// what one agent's view tells, where asked for
	Network *NetworkFigures `json:"network,omitempty"`
	// the same of tokens that walk, where asked for
	Walk *WalkFigures `json:"walk,omitempty"`
	// "simulated": streams are seeded, nobody is protected
	Noise           string    `json:"noise"`
	BytesSent       uint64    `json:"bytes_sent"` // by the agent that sent most
	BytesSentTotal  uint64    `json:"bytes_sent_total"`
	Links           sim.Stats `json:"messages"`
	Seconds         float64   `json:"seconds"`
	SecondsPerRound float64   `json:"seconds_per_round"`
	Split           Split     `json:"seconds_split"` // since the run began or was resumed
	ConfigDigest    string    `json:"config_digest"`
	RunHash         string    `json:"run_hash"` // SHA-256 over metrics.csv and model.safetensors
	Engine          string    `json:"engine"`
	// fma, portable or amx: results of each have their own last bits
	Arithmetic string `json:"arithmetic"`
	// who attacks how: figures over agents are of the others
	Adversaries string `json:"adversaries,omitempty"`
	// switches of [replication] that are on
	Replication string `json:"replication,omitempty"`
	// what a publication would claim: no guarantee
	ClaimedEpsilon jsonfloat.Float `json:"claimed_epsilon,omitempty"`
	Notes          []string        `json:"notes,omitempty"`
	// Names are in a file of their own.
	Names Names `json:"-"`
}

// Worst returns the epsilon of the agent that has spent most.
func (s *Summary) Worst() (lower, upper float64) {
	lower, upper = math.Inf(-1), math.Inf(-1)
	for _, p := range s.Privacy {
		if up := float64(p.Epsilon.Upper); up > upper {
			lower, upper = float64(p.Epsilon.Lower), up
		}
	}
	return lower, upper
}

// Split says where the time of a run went, in seconds; what ran on several workers is
// divided by their number. It is for display: no result depends on it.
type Split struct {
	Gradients float64 `json:"gradients"` // drawing batches, per-sample gradients, clipping
	Noise     float64 `json:"noise"`     // noise and charges
	// algorithms, messages, and workers waiting for the last of a round
	Mixing     float64 `json:"mixing"`
	Evaluation float64 `json:"evaluation"` // all agents' models on the test records
	Rest       float64 `json:"rest"`       // checkpoints, accounting
}
