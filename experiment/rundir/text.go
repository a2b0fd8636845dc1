package rundir

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"sotto/internal/decimal"
)

// textTable writes names and what stands beside them.
type textTable struct{ *tabwriter.Writer }

func (t textTable) row(name, format string, args ...any) {
	fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
}

// stepWords are how the steps of a run are spoken of.
type stepWords struct {
	steps string
	count func(s *Summary) string
	each  string // format of the seconds of one
	claim string // what a published claim is, or leaves out
}

var (
	roundWords = stepWords{"rounds", func(s *Summary) string {
		return fmt.Sprint(s.Rounds)
	}, "%.4f s per round",
		"what RDP under add-remove gives for one release a round"}
	wakeWords = stepWords{"wakes",
		func(s *Summary) string {
			return fmt.Sprintf("%d of all agents together", s.Rounds)
		}, "%.3g s per wake",
		"what was made from training records before the run is not in it"}
	tokenWords = stepWords{"steps",
		func(s *Summary) string { return fmt.Sprintf("%d of each token, %d of them", s.Rounds, s.Tokens) },
		"%.3g s per step",
		"a clip after the noise, and what was made from training records before the run, are not in it"}
)

// paceWords are those by the pacing of a summary.
var paceWords = map[string]*stepWords{"": &roundWords, "wakes": &wakeWords, "pairs": &wakeWords,
	"tokens": &tokenWords}

// words are those of the run; of a pacing that this program does not know, those of
// rounds.
func (s *Summary) words() *stepWords {
	if w, ok := paceWords[s.Pacing]; ok {
		return w
	}
	return &roundWords
}

// WriteTable prints s for a person.
func (s *Summary) WriteTable(w io.Writer) error {
	t := textTable{tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)}
	t.row("run", "%s", s.Name)
	t.row("algorithm", "%s, %s with %d parameters on %s", s.Algorithm, s.Model, s.Parameters, s.Dataset)
	agents := strconv.Itoa(s.Agents)
	if n := s.Names.Agents; len(n) > 0 && len(n) <= mostNamed {
		agents += ": " + strings.Join(n, ", ")
	}
	t.row("agents", "%s", agents)
	if c := s.Names.Classes; len(c) > 0 && len(c) <= mostNamed {
		t.row("classes", "%d: %s", len(c), strings.Join(c, ", "))
	}
	t.row("graph", "%s", s.Topology.Text())
	words := s.words()
	t.row(words.steps, "%s", words.count(s))
	s.writeQuality(t)
	s.writePrivacy(t)
	t.row("sent per agent", "%s", s.sent())
	if l := s.Links; l.Dropped+l.Late+l.OneSided > 0 {
		t.row("links", "%d messages, %d dropped, %d late, %d stale, %d one-sided", l.Sent, l.Dropped, l.Late,
			l.Stale, l.OneSided)
	}
	t.row("time", "%.2f s, "+words.each, s.Seconds, s.SecondsPerRound)
	t.row("time split", "%s", s.Split.Text())
	return s.end(w, t)
}

// WriteCost prints what the run cost, where it is and its notes, for whom other files say
// what it has found.
func (s *Summary) WriteCost(w io.Writer) error {
	t := textTable{tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)}
	s.writePrivacy(t)
	return s.end(w, t)
}

// end writes where the run is, and its notes.
func (s *Summary) end(w io.Writer, t textTable) error {
	t.row("run directory", "%s", s.Run)
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

// writeQuality says how good the models are.
func (s *Summary) writeQuality(t textTable) {
	if a := s.Accuracy; a != nil {
		t.row("accuracy", "%.2f %% mean, %.2f min, %.2f max", 100*a.Mean, 100*a.Min, 100*a.Max)
	}
	t.row("loss", "%.4f", float64(s.Loss))
	if s.RMSE != nil {
		t.row("rmse", "%.4f mean over agents, %.4f min, %.4f max", s.RMSE.Mean, s.RMSE.Min, s.RMSE.Max)
	}
	if v := s.Estimation; v != nil {
		t.row("estimation rmse", "%.4f of the mean model; %.4f mean over agents, %.4f min, %.4f max",
			float64(v.MeanModel), float64(v.Mean), float64(v.Min), float64(v.Max))
		if v.NoiseFree != nil {
			t.row("", "%.4f of the mean iterate without noise, which the published form puts out",
				float64(*v.NoiseFree))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Metrics)) {
		m := s.Metrics[name]
		t.row(name, "%.4g mean over agents, %.4g min, %.4g max", m.Mean, m.Min, m.Max)
	}
	if s.Score != nil {
		t.row("score", "%.4f, noisy, of held-out records", float64(*s.Score))
	}
	if s.Figures != nil {
		who := "agents"
		if s.Tokens > 0 {
			who = "tokens"
		}
		s.Figures.write(t, who)
	}
	s.Personal.write(t, &s.Names)
	if s.Adversaries != "" {
		t.row("adversaries", "%s", s.Adversaries)
	}
	t.row("consensus distance", "%.4g", float64(s.ConsensusDistance))
}

// writePrivacy says what was spent, and what a publication would claim.
func (s *Summary) writePrivacy(t textTable) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range s.Privacy {
		low, high = min(low, float64(p.Epsilon.Lower)), max(high, float64(p.Epsilon.Upper))
	}
	p, noise := s.Privacy[0], "noise "+s.Noise
	if !slices.ContainsFunc(s.Privacy, func(p PrivacyLine) bool { return !p.Noiseless() }) {
		noise = "no noise"
	}
	t.row("epsilon", "%s upper, %s lower, at delta %g (%s, %s, accountant %s, %s)",
		FormatEpsilon(high), FormatEpsilon(low), p.Delta, p.Adjacency, p.Unit, p.Accountant, noise)
	if s.Network != nil {
		t.row("network epsilon", "%s", s.Network.Text(&s.Names))
	}
	if s.Walk != nil {
		t.row("network epsilon", "%s", s.Walk.Text(&s.Names))
		if s.Walk.Printed != nil {
			t.row("for comparison", "%s", s.Walk.Printed.Text())
		}
	}
	if !(s.ClaimedEpsilon > 0) {
		return
	}
	how := s.words().claim
	if strings.Contains(s.Replication, "expectation of a sensitivity") {
		how = "for the whole run, from the expectation of a sensitivity, and of an output without noise"
	}
	t.row("claimed epsilon", "%s: no guarantee, %s", FormatEpsilon(float64(s.ClaimedEpsilon)), how)
}

// sent is what agents have sent; a summary without their sum has the largest alone.
func (s *Summary) sent() string {
	most := bytesText(s.BytesSent)
	if s.Agents == 0 || s.BytesSentTotal == 0 || s.BytesSentTotal == s.BytesSent*uint64(s.Agents) {
		return most
	}
	return fmt.Sprintf("%s on average, %s at most", bytesText(s.BytesSentTotal/uint64(s.Agents)), most)
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

// Text is the graph in words.
func (g *Graph) Text() string {
	links, of := "links", ""
	if g.Links == 1 && g.AllLinks == 0 {
		links = "link"
	}
	if g.AllLinks > 0 {
		links, of = fmt.Sprintf("of %d links in the first round", g.AllLinks), "its "
	}
	spectrum := g.Spectrum()
	if math.IsNaN(float64(g.SpectralGap)) {
		of = ""
	}
	return fmt.Sprintf("%s, %d %s, %s%s", g.Name, g.Links, links, of, spectrum)
}

// Gap writes a gap between eigenvalues, so that one that is not 0 but for rounding is not
// written as 0.
func Gap(x float64) string {
	if x >= never && x < .001 {
		return fmt.Sprintf("%.3g", x)
	}
	return fmt.Sprintf("%.4f", x)
}

// never is a gap that is 0 but for rounding.
const never = 1e-9

// Spectrum is what the eigenvalues say, in words. The gap is the one that decides how
// fast disagreement shrinks; summaries of earlier versions know that of lambda_2 alone.
func (g *Graph) Spectrum() string {
	if math.IsNaN(float64(g.SpectralGap)) {
		return strings.TrimSuffix("spectrum not computed: "+g.NotComputed, ": ")
	}
	gap := "spectral gap " + Gap(float64(g.SpectralGap))
	if least := g.AbsoluteGap; least != nil {
		of := "of lambda_n"
		if *least < never {
			of = "lambda_n is -1, and disagreement does not shrink"
		}
		gap = fmt.Sprintf("spectral gap %s (%s; 1 - lambda_2 is %s)", Gap(max(0, float64(*least))), of,
			Gap(float64(g.SpectralGap)))
	}
	return fmt.Sprintf("%s, normalized Fiedler value %s", gap, Gap(float64(g.Fiedler)))
}

// Text is the split in words.
func (s Split) Text() string {
	total := s.Gradients + s.Noise + s.Mixing + s.Evaluation + s.Rest
	share := func(x float64) float64 { return 100 * x / max(total, 1e-9) }
	return fmt.Sprintf("gradients %.0f %%, noise %.0f %%, mixing %.0f %%, evaluation %.0f %%, rest %.0f %%",
		share(s.Gradients), share(s.Noise), share(s.Mixing), share(s.Evaluation), share(s.Rest))
}

// Ranges writes ascending numbers as "0-3,7".
func Ranges(ids []int) string {
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

// FormatEpsilon prints an epsilon, rounded up: what is printed holds as well.
func FormatEpsilon(x float64) string { return FormatBound(x, 4, true) }

// FormatFine is FormatEpsilon with the decimals of a calculator.
func FormatFine(x float64) string { return FormatBound(x, 6, true) }

// FormatBound prints an upper or a lower end, rounded up, or down: with some decimals, or
// three digits where these would show fewer than two.
func FormatBound(x float64, decimals int, up bool) string {
	switch {
	case math.IsInf(x, 1):
		return "infinite"
	case x > 0 && x < math.Pow10(1-decimals):
		return decimal.Digits(x, 3, up)
	}
	return decimal.Fixed(x, decimals, up)
}
