package attack

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/audit"
)

// publishedClaim is a guarantee that a publication states and this program can run as
// published: a switch of [replication], or a mechanism whose provenance is Claimed.
type publishedClaim struct {
	id      string   // of the ledger of claims, or ours
	keys    []string // of [replication] that run it
	family  string   // of mechanisms, "proportional" or "published"
	what    string
	epsilon float64 // published, at delta, of what is observed
	delta   float64
	truth   func() (float64, error) // by the accountant, of what is observed
	attack  claimAttack             // nil: no privacy is claimed
	verdict string                  // where there is no attack, or where refuted says too little
}

// claimAttack observes n releases in each world and returns a lower bound of epsilon.
type claimAttack func(ctx context.Context, n int, seed uint64, beta float64) (audit.Bound, error)

// ClaimResult is one row of the audit of claims.
type ClaimResult struct {
	Claim        string       `json:"claim"`
	Switches     []string     `json:"replication,omitempty"`
	Mechanism    string       `json:"mechanism,omitempty"`
	What         string       `json:"what"`
	Published    audit.Figure `json:"epsilon_published"`
	Delta        float64      `json:"delta"`
	True         audit.Figure `json:"epsilon_true"`
	Lower        audit.Figure `json:"epsilon_lower"` // null: nothing was observed
	Observations int          `json:"observations"`
	Verdict      string       `json:"verdict"`
	Valid        string       `json:"valid,omitempty"`
}

// Verdicts.
const (
	refuted = "refuted" // the empirical lower bound is above the published epsilon
	// the same, and the bound grows with the observations without a limit
	everyFinite = "refuted at every epsilon"
	// the accountant's figure is above the published one, the empirical bound is not
	computed   = "refuted by computation"
	unaffected = "no privacy claim" // the switch changes no release and no charge
)

// ClaimReport is the audit of all published claims.
type ClaimReport struct {
	Scale      string        `json:"scale"`
	Confidence float64       `json:"confidence"` // of every row
	Seed       uint64        `json:"seed"`
	Claims     []ClaimResult `json:"claims"`
}

// claimSizes are observations in each world, by scale.
var claimSizes = map[string]int{"smoke": 4000, "full": 20_000}

// Claims attacks every published claim that can be run here. Scale is "smoke" or
// "full". beta is the probability, at most, with which the bound of a row exceeds the
// truth.
func Claims(ctx context.Context, scale string, seed uint64, beta float64) (*ClaimReport, error) {
	n, ok := claimSizes[scale]
	switch {
	case !ok:
		return nil, config.Bad("scale", scale, config.OneOf(claimSizes))
	case !(beta > 0 && beta < .5):
		return nil, config.Bad("beta", beta, "above 0 and below 0.5")
	}
	r := &ClaimReport{Scale: scale, Confidence: 1 - beta, Seed: seed}
	for i, c := range publishedClaims() {
		row, err := c.audit(ctx, n, seed+uint64(i), beta)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.id, err)
		}
		r.Claims = append(r.Claims, row)
	}
	return r, nil
}

func (c *publishedClaim) audit(ctx context.Context, n int, seed uint64, beta float64) (ClaimResult, error) {
	none := audit.Figure(math.NaN())
	r := ClaimResult{
		Claim:     c.id,
		Switches:  c.keys,
		Mechanism: c.family,
		What:      c.what,
		Published: audit.Figure(c.epsilon),
		Delta:     c.delta,
		True:      none,
		Lower:     none,
		Verdict:   c.verdict,
	}
	if c.truth != nil {
		truth, err := c.truth()
		if err != nil {
			return r, err
		}
		r.True = audit.Figure(truth)
	}
	if c.attack == nil {
		return r, nil
	}
	b, err := c.attack(ctx, n, seed, beta)
	if err != nil {
		return r, err
	}
	r.Lower, r.Observations, r.Valid = audit.Figure(b.Epsilon), b.Observations, b.Valid
	switch {
	case b.Epsilon > c.epsilon && c.verdict != "":
		r.Verdict = c.verdict
	case b.Epsilon > c.epsilon:
		r.Verdict = refuted
	case float64(r.True) > c.epsilon:
		r.Verdict = computed
	default:
		r.Verdict = "not refuted"
	}
	return r, nil
}

// Refuted counts the rows whose claim the observations refute.
func (r *ClaimReport) Refuted() int {
	n := 0
	for _, c := range r.Claims {
		if c.Verdict == refuted || c.Verdict == everyFinite {
			n++
		}
	}
	return n
}

// WriteText writes the report as a table.
func (r *ClaimReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "claim\tpublished\ttrue\tobserved at least\tdelta\tverdict\twhat is observed")
	for _, c := range r.Claims {
		what := c.What
		if len(c.Switches) > 0 {
			what += " [replication: " + strings.Join(c.Switches, ", ") + "]"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%g\t%s\t%s\n", c.Claim, c.Published, c.True, c.Lower.AtLeast(),
			c.Delta, c.Verdict, what)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w,
		"\n%d of %d claims are refuted by observations; each bound holds with confidence %g (scale %s, "+
			"seed %d)\n", r.Refuted(), len(r.Claims), r.Confidence, r.Scale, r.Seed)
	return err
}

// Err is nil: a refuted publication is no fault of this program. A bound above the true
// epsilon is one.
func (r *ClaimReport) Err() error {
	for _, c := range r.Claims {
		if float64(c.Lower) > float64(c.True)*(1+1e-9) {
			return fmt.Errorf("%w: %s: observed epsilon %s, by the accountant %s", audit.ErrViolated, c.Claim,
				c.Lower, c.True)
		}
	}
	return nil
}

// gaussianRun is epsilon of a run of Poisson samples at a noise multiplier.
func gaussianRun(a account.Adjacency, rate float64, steps int, noise, delta float64) func() (float64, error) {
	return func() (float64, error) {
		p := account.DPSGD(a, rate, steps)
		p.NoiseMultiplier = noise
		i, err := account.Epsilon(p, delta)
		return i.Upper, err
	}
}

// always is a figure that needs no computation.
func always(x float64) func() (float64, error) { return func() (float64, error) { return x, nil } }
