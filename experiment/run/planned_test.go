package run

import (
	"slices"
	"strings"
	"testing"

	"sotto/algo"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// The planned release is the executed one: whatever a run of any algorithm charges is an
// event of its plan, and it charges as often as the plan says.
func TestRunsChargeWhatIsPlanned(t *testing.T) {
	few := []string{"data.train=120", "rounds=4", "model.hidden=[2]", "faults.drop=0", "topology.agents=4",
		"privacy.batch_size=10"}
	glyphs := func(set ...string) []string { return slices.Concat(few, set) }
	noSteps := strings.Replace(experimenttest.Personal, "updates = 6\n", "", 1)
	cases := map[string]struct {
		text string
		set  []string
	}{
		"dsgd": {experimenttest.Small, few},
		"dsgt": {experimenttest.Small, glyphs("algorithm.name=dsgt", "algorithm.step_size=0.1")},
		"dinno": {strings.Replace(experimenttest.Small, "step_size = 0.5\n", "", 1),
			glyphs("algorithm.name=dinno", "privacy.target_epsilon=50")},
		"gossip-sgd": {experimenttest.Small, glyphs("algorithm.name=gossip-sgd")},
		"sgp":        {experimenttest.Small, glyphs("algorithm.name=sgp", "topology.graph=exp-directed")},
		"central": {experimenttest.Small, glyphs("algorithm.name=central", "topology.agents=1",
			"topology.graph=complete")},
		"local":          {experimenttest.Small, glyphs("algorithm.name=local")},
		"km":             {experimenttest.KM, []string{"rounds=6"}},
		"gossip-average": {experimenttest.Average, nil},
		"bcd":            {experimenttest.Personal, nil},
		"gossip-admm": {strings.Replace(experimenttest.Personal, "updates = 6", "local_steps = 2", 1),
			nil},
		"local-fit":         {noSteps, nil},
		"model-propagation": {noSteps, nil},
		"walk":              {experimenttest.Walk, nil},
		"query":             {experimenttest.Questions, nil},
		"newton":            {experimenttest.Newton, nil},
		"boosting":          {experimenttest.Boosting, nil},
	}
	for name := range algo.Algorithms {
		c, ok := cases[name]
		if !ok {
			t.Errorf("algorithm %s has no case", name)
			continue
		}
		set := append([]string{"algorithm.name=" + name}, c.set...)
		t.Run(name, func(t *testing.T) { checkCharges(t, c.text, set) })
	}
	t.Run("newton of counts", func(t *testing.T) {
		checkCharges(t, regression, []string{"model.name=poisson", "privacy.mechanism=decor",
			"privacy.curious=one", "privacy.pair_noise_ratio=2"})
	})
	t.Run("decor", func(t *testing.T) {
		checkCharges(t, experimenttest.Small, glyphs("privacy.mechanism=decor", "privacy.curious=none",
			"privacy.pair_noise_ratio=2"))
	})
	t.Run("own_state", func(t *testing.T) {
		checkCharges(t, experimenttest.KM, []string{"rounds=6", "algorithm.own_state=true",
			"algorithm.alpha=0.3", "privacy.adjacency=replace-one"})
	})
}

func checkCharges(t *testing.T, text string, set []string) {
	t.Helper()
	f, err := experiment.Parse("run.toml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Start(e, Own(e), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sim.Run(t.Context(), f.Steps); err != nil {
		t.Fatal(err)
	}
	all := 0
	for i, l := range w.ledgers {
		p := &e.Plans[i]
		charged := make([]int, len(p.Events))
		for r, err := range l.Records() {
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind != ledger.Charge {
				continue
			}
			k := slices.IndexFunc(p.Events, func(ev account.Event) bool { return ev.Equal(*r.Event) })
			if k < 0 {
				t.Fatalf("agent %d is charged %s, which no plan names", i, r.Event.Key())
			}
			charged[k] += int(r.Count)
		}
		for k, n := range charged {
			all += n
			if most := p.Asks[k].Times; n > most {
				t.Errorf("agent %d: %d charges of %s, %d are planned", i, n, p.Asks[k].Query.Oracle, most)
			}
			planned := p.Charges()
			if len(p.Asks) > 1 {
				planned = p.Asks[k].Times
			}
			if f.InRounds() && n != planned {
				t.Errorf("agent %d: %d charges, %d are planned", i, n, planned)
			}
		}
	}
	if all == 0 {
		t.Error("nothing was charged")
	}
}
