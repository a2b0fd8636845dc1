package audit

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"sotto/config"
	"sotto/internal/decimal"
	"sotto/internal/jsonfloat"
)

// ErrViolated says that an audit has refuted a claim.
var ErrViolated = errors.New("audit: a claim is refuted")

// errNoMessage says that the system never sends what depends on data.
var errNoMessage = errors.New("audit: no message follows from an answer")

// Figure is a number whose infinite value is the JSON string "inf"; NaN, for what there
// is none of, is null.
type Figure float64

// MarshalJSON implements json.Marshaler.
func (f Figure) MarshalJSON() ([]byte, error) { return jsonfloat.Float(f).MarshalJSON() }

func (f Figure) String() string {
	if math.IsNaN(float64(f)) {
		return "-"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.4g", float64(f)), "+")
}

// AtLeast is String of a lower bound: it is rounded down, so that what is written holds.
func (f Figure) AtLeast() string {
	if x := float64(f); x-x == 0 {
		return decimal.Digits(x, 4, false)
	}
	return f.String()
}

// Check is one test of a mode that does not bound epsilon.
type Check struct {
	Name      string `json:"check"`
	Statistic Figure `json:"statistic"`
	Limit     Figure `json:"limit"` // the largest statistic that is no violation
	Text      string `json:"text"`
}

// Violated reports whether the check has failed. A statistic that is no number has.
func (c *Check) Violated() bool { return !(c.Statistic <= c.Limit) }

// Report is what one mode found.
type Report struct {
	Mode     string `json:"mode"`
	Target   string `json:"target"`
	Violated bool   `json:"violated"`
	// of what Claimed is claimed for; null where the mode bounds no epsilon
	EpsilonLower Figure  `json:"epsilon_lower"`
	Claimed      Figure  `json:"epsilon_claimed"`
	Ratio        Figure  `json:"ratio"` // EpsilonLower/Claimed
	Delta        float64 `json:"delta"`
	Confidence   float64 `json:"confidence"` // with which a violation is none by chance: 1 - beta
	Observations int     `json:"observations"`
	Bounds       []Bound `json:"bounds,omitempty"`
	Checks       []Check `json:"checks,omitempty"`
	// Findings say in words what is violated; Valid what the report rests on.
	Findings []string `json:"findings,omitempty"`
	Valid    []string `json:"valid"`
}

func (t *Target) report(mode string, o Options) *Report {
	none := Figure(math.NaN())
	return &Report{
		Mode:         mode,
		Target:       t.Name,
		EpsilonLower: none,
		Claimed:      none,
		Ratio:        none,
		Delta:        t.Claim.Delta,
		Confidence:   1 - o.Beta,
		Valid:        []string{},
	}
}

// Sure is Confidence in digits that do not round it up.
func (r *Report) Sure() string { return decimal.Digits(r.Confidence, 6, false) }

// compare sets the figures of the report.
func (r *Report) compare(lower, claimed float64) {
	r.EpsilonLower, r.Claimed = Figure(lower), Figure(claimed)
	if claimed > 0 && !math.IsInf(claimed, 1) {
		r.Ratio = Figure(lower / claimed)
	}
}

// refute notes a violation.
func (r *Report) refute(format string, args ...any) {
	r.Violated = true
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// check adds a test and what it says.
func (r *Report) check(c Check) {
	r.Checks = append(r.Checks, c)
	if c.Violated() {
		r.refute("%s: %s is above %s (%s)", c.Name, c.Statistic, c.Limit, c.Text)
	}
}

// Err is ErrViolated for a report that refutes its claim.
func (r *Report) Err() error {
	if !r.Violated {
		return nil
	}
	return fmt.Errorf("%w: %s %s: %s", ErrViolated, r.Mode, r.Target, strings.Join(r.Findings, "; "))
}

// WriteText writes the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(what, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	verdict := "nothing found"
	if r.Violated {
		verdict = "VIOLATED"
	}
	row("audit", "%s %s: %s", r.Mode, r.Target, verdict)
	if !math.IsNaN(float64(r.EpsilonLower)) {
		row("epsilon", "at least %s, claimed %s, ratio %s (delta %g, confidence %s)",
			r.EpsilonLower.AtLeast(), r.Claimed, r.Ratio, r.Delta, r.Sure())
	}
	row("observations", "%d", r.Observations)
	for _, b := range r.Bounds {
		row("bound", "%s", b.text())
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		row("check", "%s %s, at most %s: %s", c.Name, c.Statistic, c.Limit, c.Text)
	}
	for _, f := range r.Findings {
		row("finding", "%s", f)
	}
	for _, v := range r.Valid {
		row("valid", "%s", v)
	}
	return t.Flush()
}

func (b *Bound) text() string {
	s := fmt.Sprintf("%s: epsilon at least %s", b.Name, Figure(b.Epsilon).AtLeast())
	if b.Mu > 0 {
		s += ", mu at least " + Figure(b.Mu).AtLeast()
	}
	if b.Score != "" {
		s = b.Score + ", " + s
	}
	return s + fmt.Sprintf(" (%s, %d thresholds, beta %.3g, %d observations); valid for %s", b.Thresholds,
		b.Tested, b.Beta, b.Observations, b.Valid)
}

// Options say how much is looked at.
type Options struct {
	Observations int // in each world: releases, runs, charges or canaries
	// false alarms: the probability with which a right system is called violated, at most
	Beta    float64
	Seed    uint64 // of all keys
	Sampled bool   // step: leave the sampler in place
	Message int    // step: which message that follows from an answer is attacked; 0: the first
	// Looked, when not nil, is called on the way with the bound of what was observed so
	// far, at doubled numbers of observations. These looks are for the eye: beta holds
	// for the report alone.
	Looked func(Look)
}

// Look is a bound on the way.
type Look struct {
	Observations, Of int // in each world
	Lower, Claimed   float64
}

// look tells the bound of the scores so far, after k+1 of n observations.
func (o *Options) look(k int, s *Scores, claimed, delta float64) {
	if n := k + 1; o.Looked != nil && n >= 16 && n&(n-1) == 0 {
		part := Scores{In: slices.Clone(s.In), Out: slices.Clone(s.Out)}
		b := part.ByClopperPearson(Rule{Kind: Split, Part: .2}, o.Beta, delta)
		o.Looked(Look{n, o.Observations, b.Epsilon, claimed})
	}
}

// Validate names what cannot be used.
func (o *Options) Validate() error {
	switch {
	case o.Observations < 10 || o.Observations > 1e8:
		return config.Bad("observations", o.Observations, "10 to 100000000")
	case o.Message < 0:
		return config.Bad("message", o.Message, "at least 0")
	case !(o.Beta > 0 && o.Beta < .5):
		return config.Bad("beta", o.Beta, "above 0 and below 0.5")
	}
	return nil
}
