package experiment

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"sotto/algo"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account"
	"sotto/sim"
)

// Figure is a number of a file of figures, which may be infinite or missing.
type Figure = jsonfloat.Float

// Bounds is an epsilon between its bounds; Upper is the guarantee.
type Bounds struct {
	Lower Figure `json:"lower"`
	Upper Figure `json:"upper"`
}

// Range is a figure over agents.
type Range struct {
	Mean Figure `json:"mean"`
	Min  Figure `json:"min"`
	Max  Figure `json:"max"`
}

func rangeOf(s Spread) Range { return Range{Figure(s.Mean), Figure(s.Min), Figure(s.Max)} }

// PrivacyLine is what one agent, or a group of agents with equal event histories, has
// spent.
type PrivacyLine struct {
	Agent      int      `json:"agent"`             // of a group, its first
	Group      string   `json:"group,omitempty"`   // numbers and ranges, such as "0-3,7"
	Members    int      `json:"members,omitempty"` // size of the group
	Epsilon    Bounds   `json:"epsilon"`
	Delta      float64  `json:"delta"`
	Target     Figure   `json:"target_epsilon,omitempty"` // the agent's own budget, of personal models
	Adjacency  string   `json:"adjacency"`
	Unit       string   `json:"unit"`
	Accountant string   `json:"accountant"`
	Charges    uint64   `json:"charges"`
	Noise      Figure   `json:"noise_multiplier"`
	SampleRate float64  `json:"sample_rate"`
	Records    int      `json:"records,omitempty"` // the agent's public record count, of personal models
	Overrides  []string `json:"overrides,omitempty"`
}

// Graph is the communication graph's summary.
type Graph struct {
	Name        string `json:"name"`
	Links       int    `json:"links"`
	SpectralGap Figure `json:"spectral_gap"`       // 1 - lambda_2(W)
	Fiedler     Figure `json:"normalized_fiedler"` // lambda_2(Laplacian) / n
}

// Text is the graph in words.
func (g *Graph) Text() string {
	s := fmt.Sprintf("%s, %d links, ", g.Name, g.Links)
	if math.IsNaN(float64(g.SpectralGap)) {
		return s + "spectrum not computed"
	}
	return s + fmt.Sprintf("spectral gap %.4f, normalized Fiedler value %.4f", float64(g.SpectralGap),
		float64(g.Fiedler))
}

func (e *Experiment) GraphSummary() Graph {
	nan := Figure(math.NaN())
	g := Graph{Name: e.File.Topology.Graph, Links: e.Graphs.Spectrum.Links, SpectralGap: nan, Fiedler: nan}
	if e.Graphs.Spectrum.Computed {
		g.SpectralGap, g.Fiedler = Figure(e.Graphs.Spectrum.Gap), Figure(e.Graphs.Spectrum.NormalizedFiedler)
	}
	return g
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
	Tokens   int    `json:"tokens,omitempty"`
	Seed     uint64 `json:"seed"`
	Accuracy *Range `json:"accuracy,omitempty"` // absent for regression
	Loss     Figure `json:"loss"`               // mean over agents, test records
	// of the agents' root mean squared errors, where asked for
	RMSE *Range `json:"rmse,omitempty"`
	// distances from the hidden vector of generated data, where asked for
	Estimation        *Estimation `json:"estimation_rmse,omitempty"`
	ConsensusDistance Figure      `json:"consensus_distance"`
	// noisy accuracy or mean loss of held-out records, charged
	Score *Figure `json:"score,omitempty"`
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
	ClaimedEpsilon Figure   `json:"claimed_epsilon,omitempty"`
	Notes          []string `json:"notes,omitempty"`
}

// spreadIn finds a metric's mean, min and max over agents.
func spreadIn(rows []Row, metric string) Range {
	var s Range
	for _, r := range rows {
		if to := map[string]*Figure{"mean": &s.Mean, "min": &s.Min, "max": &s.Max}[r.Agent]; to != nil &&
			r.Metric == metric {
			*to = Figure(r.Value)
		}
	}
	return s
}

// summarize fills all but Run and RunHash, which are known when the files are written.
func (r *running) summarize() Summary {
	e := r.e
	last := r.evaluations[len(r.evaluations)-1]
	s := Summary{
		Name: e.File.Run.Name, Algorithm: e.File.Algorithm.Name, Dataset: e.File.Data.Dataset,
		Model:      e.File.Model.Name,
		Parameters: e.Task.Model.Dim(), Agents: e.File.Topology.Agents, Rounds: e.File.Steps,
		Seed: e.File.Run.Seed,
		Loss: Figure(last.Loss.Mean), ConsensusDistance: Figure(last.Consensus),
		Privacy: r.privacyLines(), Noise: "simulated", Links: r.world.Sim.Stats(),
		ConfigDigest: e.Digest(), Engine: EngineVersion, Arithmetic: e.Arithmetic(), Notes: r.notes(),
	}
	if e.File.Evaluate.RMSE {
		of := spreadIn(r.rows[len(r.rows)-1], rmseColumn)
		s.RMSE = &of
	}
	if rows := r.rows[len(r.rows)-1]; e.File.Evaluate.Estimation {
		s.Estimation = &Estimation{Range: spreadIn(rows, estimationMetric)}
		for _, row := range rows {
			if row.Metric == estimationMetric && row.Agent == "all" {
				s.Estimation.MeanModel = Figure(row.Value)
			}
			if row.Metric == noiseFreeMetric {
				s.Estimation.NoiseFree = (*Figure)(&row.Value)
			}
		}
	}
	s.Adversaries = e.File.Adversaries.Text()
	s.Replication, s.Tuned = e.File.Replication.String(), e.File.Tuned.text()
	if !e.File.InRounds() {
		s.Pacing = e.File.Pacing.String()
	}
	s.Tokens = e.File.Token.Count
	for i := range e.Plans {
		s.ClaimedEpsilon = max(s.ClaimedEpsilon, Figure(e.Plans[i].Claim))
	}
	s.Topology = e.GraphSummary()
	if last.Accuracy != nil {
		a := rangeOf(*last.Accuracy)
		s.Accuracy = &a
	}
	for i := range s.Agents {
		b := r.world.Sim.BytesSent(i)
		s.BytesSent = max(s.BytesSent, b)
		s.BytesSentTotal += b
	}
	s.Seconds = r.elapsed().Seconds()
	s.Split = r.world.watch.split(s.Agents, r.opt.Workers, time.Since(r.began))
	s.SecondsPerRound = s.Seconds / float64(s.Rounds)
	return s
}

// privacyLines lists agents, above manyAgents in groups of equal figures.
func (r *running) privacyLines() []PrivacyLine {
	p := &r.e.File.Privacy
	line := func(i int) PrivacyLine {
		l := PrivacyLine{
			Epsilon: Bounds{Figure(r.spent[i].Lower), Figure(r.spent[i].Upper)}, Delta: p.TargetDelta,
			Adjacency: p.adjacency.String(), Unit: p.unit.String(), Accountant: p.Accountant,
			Charges: r.charges[i],
			Noise:   Figure(r.e.Plans[i].Noise), SampleRate: r.e.Plans[i].Public.SampleRate,
			Overrides: r.e.Notes.Overrides,
		}
		if r.e.File.Clocked() {
			l.Target = Figure(r.e.Plans[i].Epsilon)
		}
		return l
	}
	if len(r.spent) <= manyAgents {
		lines := make([]PrivacyLine, len(r.spent))
		for i := range lines {
			lines[i] = line(i)
			lines[i].Agent = i
			if r.e.File.Clocked() {
				lines[i].Records = r.e.Plans[i].Public.Records
			}
		}
		return lines
	}
	type key struct {
		eps     account.Interval
		charges uint64
		noise   float64
		rate    float64
	}
	groups := map[key][]int{}
	var order []key
	for i := range r.spent {
		k := key{r.spent[i], r.charges[i], r.e.Plans[i].Noise, r.e.Plans[i].Public.SampleRate}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	var lines []PrivacyLine
	for _, k := range order {
		l := line(groups[k][0])
		l.Agent, l.Group, l.Members = groups[k][0], ranges(groups[k]), len(groups[k])
		lines = append(lines, l)
	}
	return lines
}

// ranges writes ascending numbers as "0-3,7".
func ranges(ids []int) string {
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(ids[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ids[i], ids[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// notes says what a reader must know before believing the figures.
func (r *running) notes() []string {
	n := []string{"noise is simulated: its streams are derived from the seed, so this run protects " +
		"nobody; epsilon is what the same run with secret noise would cost"}
	switch {
	case r.e.Sealed():
		n = append(n,
			"no message leaves an agent, so nothing is charged; the models themselves are trained without "+
				"noise and must not be published")
	case !r.e.Private():
		n = append(n, "not private: no noise is added")
	}
	if r.e.File.Has(algo.Central) {
		n = append(n, "central, not decentralized: one trusted site holds all data")
	}
	if on := r.e.File.Replication.String(); on != "" {
		n = append(n, "replication of a published procedure that is not sound: "+on)
	}
	if who := r.e.File.Adversaries.Text(); who != "" {
		n = append(n, "adversaries to rehearse with, "+who+
			": accuracy, loss and consensus distance are of the other agents; epsilon covers all")
	}
	if t := r.e.File.Token.Count; t > 0 {
		n = append(n,
			fmt.Sprintf("%d tokens carry the models: accuracy and loss are of what they hold, epsilon is "+
				"each agent's, against who sees all messages", t))
	}
	if r.e.File.Pacing.Clocked() && r.e.Private() {
		n = append(n,
			"metric objective is computed from training records without noise: the simulation sees it, no "+
				"agent does")
	}
	if r.e.Task.Arrivals != nil {
		n = append(n,
			"records arrive during the run: one that has not come counts as a null record, and epsilon is "+
				"that of a record that was there from the start")
	}
	if s := r.world.Sim.Stats(); s.OneSided > 0 {
		n = append(n,
			fmt.Sprintf(
				"%d links lost one direction of a round: the mean of all models is then not preserved",
				s.OneSided))
	}
	if r.e.File.Evaluate.On == "validation" {
		n = append(n, "accuracy and loss are of records held out from training, not of the test set")
	}
	if t := r.e.File.Tuned.text(); t != "" {
		n = append(n, t)
	}
	for _, w := range r.e.Notes.Warnings {
		n = append(n, "warning: "+w)
	}
	for _, o := range r.e.Notes.Overrides {
		n = append(n, "override: "+o)
	}
	return n
}

// WriteTable prints s for a person.
func (s *Summary) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("run", "%s", s.Name)
	row("algorithm", "%s, %s with %d parameters on %s", s.Algorithm, s.Model, s.Parameters, s.Dataset)
	row("agents", "%d", s.Agents)
	row("graph", "%s", s.Topology.Text())
	switch {
	case s.Pacing == "":
		row("rounds", "%d", s.Rounds)
	case s.Tokens > 0:
		row("steps", "%d of each token, %d of them", s.Rounds, s.Tokens)
	default:
		row("wakes", "%d of all agents together", s.Rounds)
	}
	if s.Accuracy != nil {
		row("accuracy", "%.2f %% mean, %.2f min, %.2f max", 100*float64(s.Accuracy.Mean),
			100*float64(s.Accuracy.Min), 100*float64(s.Accuracy.Max))
	}
	row("loss", "%.4f", float64(s.Loss))
	if s.RMSE != nil {
		row("rmse", "%.4f mean over agents, %.4f min, %.4f max", float64(s.RMSE.Mean), float64(s.RMSE.Min),
			float64(s.RMSE.Max))
	}
	if v := s.Estimation; v != nil {
		row("estimation rmse", "%.4f of the mean model; %.4f mean over agents, %.4f min, %.4f max",
			float64(v.MeanModel), float64(v.Mean), float64(v.Min), float64(v.Max))
		if v.NoiseFree != nil {
			row("", "%.4f of the mean iterate without noise, which the published form puts out",
				float64(*v.NoiseFree))
		}
	}
	if s.Score != nil {
		row("score", "%.4f, noisy, of held-out records", float64(*s.Score))
	}
	if s.Adversaries != "" {
		row("adversaries", "%s", s.Adversaries)
	}
	row("consensus distance", "%.4g", float64(s.ConsensusDistance))
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range s.Privacy {
		low, high = min(low, float64(p.Epsilon.Lower)), max(high, float64(p.Epsilon.Upper))
	}
	p := s.Privacy[0]
	row("epsilon", "%s upper, %s lower, at delta %g (%s, %s, accountant %s, noise %s)", FormatEpsilon(high),
		FormatEpsilon(low), p.Delta, p.Adjacency, p.Unit, p.Accountant, s.Noise)
	if s.Network != nil {
		row("network epsilon", "%s", s.Network.text())
	}
	if s.Walk != nil {
		row("network epsilon", "%s", s.Walk.Text())
		if s.Walk.Printed != nil {
			row("for comparison", "%s", s.Walk.Printed.Text())
		}
	}
	if s.ClaimedEpsilon > 0 {
		how := "what RDP under add-remove gives for one release a round"
		if strings.Contains(s.Replication, "expectation of a sensitivity") {
			how = "for the whole run, from the expectation of a sensitivity, and of an output without noise"
		}
		if s.Tokens > 0 {
			how = "a clip after the noise, and what was made from training records before the run, are " +
				"not in it"
		} else if s.Pacing != "" {
			how = "what was made from training records before the run is not in it"
		}
		row("claimed epsilon", "%s: no guarantee, %s", FormatEpsilon(float64(s.ClaimedEpsilon)), how)
	}
	row("sent per agent", "%s", bytesText(s.BytesSent))
	if l := s.Links; l.Dropped+l.Late+l.OneSided > 0 {
		row("links", "%d messages, %d dropped, %d late, %d stale, %d one-sided", l.Sent, l.Dropped, l.Late,
			l.Stale, l.OneSided)
	}
	switch {
	case s.Pacing == "":
		row("time", "%.2f s, %.4f s per round", s.Seconds, s.SecondsPerRound)
	case s.Tokens > 0:
		row("time", "%.2f s, %.3g s per step", s.Seconds, s.SecondsPerRound)
	default:
		row("time", "%.2f s, %.3g s per wake", s.Seconds, s.SecondsPerRound)
	}
	row("time split", "%s", s.Split.text())
	row("run directory", "%s", s.Run)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range s.Notes {
		if _, err := fmt.Fprintf(w, "note: %s\n", n); err != nil {
			return err
		}
	}
	return nil
}

func bytesText(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	x, u := float64(n), 0
	for ; x >= 1000 && u < len(units)-1; u++ {
		x /= 1000
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", x, units[u])
}
