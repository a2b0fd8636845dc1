package attack_test

import (
	"math"
	"strings"
	"testing"

	"sotto/experiment/attack"
	"sotto/privacy/audit"
)

// The page of an audit says the verdict first, and what of each mode it rests on.
func TestPageOfAudits(t *testing.T) {
	nan := audit.Figure(math.NaN())
	good := &audit.Report{Mode: "step", Target: "<ward>", EpsilonLower: 1.5, Claimed: 4, Ratio: .375,
		Delta:        1e-5,
		Observations: 800, Confidence: .95}
	checks := &audit.Report{Mode: "noise", Target: "<ward>", EpsilonLower: nan, Claimed: nan, Ratio: nan}
	bad := &audit.Report{Mode: "runs", Target: "<ward>", EpsilonLower: 5, Claimed: 4, Ratio: 1.25,
		Violated: true,
		Findings: []string{"the run has epsilon at least 5, claimed 4"}}
	for _, tc := range []struct {
		reports    []*audit.Report
		want, lack []string
	}{
		{[]*audit.Report{good, checks}, []string{"Audit of &lt;ward&gt;", "have found nothing",
			"Nothing found",
			"1.5", "of 4 claimed", "0 of 2 refute it", "sotto audit all"}, []string{"VIOLATED", "<ward>",
			"<script"}},
		{[]*audit.Report{good, bad}, []string{"refuted by 1 of 2 modes", "VIOLATED", "of 4 claimed",
			"the run has epsilon at least 5, claimed 4. "}, []string{"found nothing against"}},
	} {
		page, err := attack.Page("sotto audit all", tc.reports)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range tc.want {
			if !strings.Contains(string(page), w) {
				t.Errorf("the page lacks %q", w)
			}
		}
		for _, w := range tc.lack {
			if strings.Contains(string(page), w) {
				t.Errorf("the page has %q", w)
			}
		}
	}
}
