package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

const byPersons = `name = "persons"
rounds = 8
[topology]
agents = 2
graph = "complete"
[data]
dataset = "csv"
label = "y"
label_values = ["a", "b"]
unit_column = "patient"
drop = ["site"]
test_fraction = 0.25
[model]
name = "logistic"
[privacy]
unit = "person"
max_rows_per_person = 3
noise_multiplier = 1.5
target_delta = 1e-3
batch_size = 10
`

// visits writes 100 persons with one to five records each, at two sites.
func visits(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("patient,x,z,y,site\n")
	for p := range 100 {
		for k := range 1 + p%5 {
			fmt.Fprintf(&b, "p%d,%d,%d,%s,s%d\n", p, p%7-3, k-p%3, string("ab"[(p+k)%2]), (p+k)%2)
		}
	}
	path := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func personRun(t *testing.T, path string, set ...string) (*experiment.Experiment, error) {
	t.Helper()
	set = append([]string{"data.path=" + path}, set...)
	f, err := experiment.Parse("persons.toml", []byte(byPersons), set)
	if err != nil {
		return nil, err
	}
	return f.Build("")
}

// Rates and counts are in persons; the figure is that of so many records that are sampled
// at that rate; results do not depend on workers; ledger verify recomputes them.
func TestRunByPersons(t *testing.T) {
	path := visits(t)
	for _, set := range [][]string{nil, {"algorithm.name=dsgt", "algorithm.step_size=0.1"},
		{"privacy.person_gradient=sum", "privacy.noise=exact", "privacy.adjacency=replace-one"},
		{"privacy.clipping=quantile", "privacy.clip_count_std=5", "evaluate.validation=0.2",
			"evaluate.on=validation"},
		{"data.partition=natural", "data.drop=[]", "data.group=site", `data.groups=["s0", "s1"]`},
		{"privacy.mechanism=none", "privacy.noise_multiplier=0"}} {
		e, err := personRun(t, path, set...)
		if err != nil {
			t.Fatalf("%v: %v", set, err)
		}
		for i, part := range e.Task.Parts {
			persons := map[int32]bool{}
			for _, r := range part {
				persons[e.Task.Split.Train.Units[r]] = true
			}
			p := &e.Plans[i].Public
			if p.Records != len(persons) || p.SampleRate != 10/float64(len(persons)) {
				t.Errorf("%v, agent %d: %d records at rate %g, want %d persons", set, i, p.Records,
					p.SampleRate, len(persons))
			}
		}
		one, many := train(t, e, Options{Workers: 1}), train(t, e, Options{Workers: 3})
		sameFiles(t, one.Dir, many.Dir)
		if !e.File.Private() {
			continue
		}
		if _, err := ledger.VerifyRun(one.Dir); err != nil {
			t.Errorf("%v: %v", set, err)
		}
		if text := string(read(t, one.Dir, "privacy.json")); !strings.Contains(text, `"person(patient)"`) {
			t.Errorf("%v: %s", set, text)
		}
	}
}

// The epsilon of a run by persons is that of Poisson sampling at their rate, computed
// here from the count of persons.
func TestEpsilonByPersons(t *testing.T) {
	e, err := personRun(t, visits(t), "topology.agents=1", "algorithm.name=central")
	if err != nil {
		t.Fatal(err)
	}
	persons := e.Task.Split.Train.UnitCount(e.Task.Parts[0])
	g, err := account.Gaussian(1.5, 1+0x1p-10) // the least that rounding is charged
	if err != nil {
		t.Fatal(err)
	}
	ev, err := account.PoissonSampled(10/float64(persons), g)
	if err != nil {
		t.Fatal(err)
	}
	acc, err := account.New("pld", account.ZeroOut, account.Record())
	if err == nil {
		err = acc.Compose(ev, 8)
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := acc.Epsilon(1e-3)
	if err != nil {
		t.Fatal(err)
	}
	p, err := forecast.Of(e)
	if err != nil {
		t.Fatal(err)
	}
	got := float64(p.Agents[0].Total.Upper)
	if math.Abs(got-want.Upper) > 1e-6*want.Upper {
		t.Errorf("epsilon %g, want %g of %d persons", got, want.Upper, persons)
	}
	if p.Unit != "person (column patient, at most 3 rows each)" {
		t.Errorf("unit %q", p.Unit)
	}
}

// Persons who are held out, and those of the test part, are so with all records.
func TestPersonsAreHeldOutWhole(t *testing.T) {
	e, err := personRun(t, visits(t), "evaluate.validation=0.3", "evaluate.on=validation")
	if err != nil {
		t.Fatal(err)
	}
	units := e.Task.Split.Train.Units
	where := map[int32]int{}
	for i := range e.Task.Parts {
		for k, rows := range [][]int32{e.Task.Parts[i], e.Task.HeldOut[i]} {
			for _, r := range rows {
				place := 2*i + k + 1
				if at := where[units[r]]; at != 0 && at != place {
					t.Fatalf("person %d is in places %d and %d", units[r], at, place)
				}
				where[units[r]] = place
			}
		}
	}
}

// What is not built for persons is refused with one line that names the key.
func TestRefusedByPersons(t *testing.T) {
	path := visits(t)
	for key, sets := range map[string][][]string{
		"privacy.unit": {{"algorithm.name=km"}, {"algorithm.name=gossip-average", "model.name=mean"},
			{"algorithm.name=bcd", "algorithm.mu=0.3"}, {"algorithm.name=walk"}},
		"privacy.mechanism": {{"privacy.mechanism=decor"}},
		"privacy.max_rows_per_person": {{"privacy.max_rows_per_person=0"},
			{"privacy.max_rows_per_person=5000"}, {"privacy.unit=record"}},
		"privacy.person_gradient": {{"privacy.person_gradient=max"}},
		"data.unit_column":        {{`data.unit_column=""`}, {`data.unit_column="a(b)"`}},
		"data.arrival":            {{"data.arrival=uniform"}},
		"data.augmentations":      {{"data.augment_flip=true"}},
		"data.limit":              {{"data.limit=20"}},
		"data.partition":          {{"data.partition=by-class"}},
		"evaluate.score":          {{"evaluate.score=accuracy", "evaluate.validation=0.2"}},
		"replication":             {{"replication.microbatches=2"}},
		"privacy.target_delta":    {{"privacy.target_delta=0.05"}},
	} {
		for _, set := range sets {
			_, err := personRun(t, path, set...)
			var bad *config.Error
			if !errors.As(err, &bad) || bad.Key != key {
				t.Errorf("%v: %v, want a refusal of %s", set, err, key)
			}
		}
	}
	f := parse(t, "data.unit_column=patient", "privacy.unit=person", "privacy.max_rows_per_person=2")
	var bad *config.Error
	if _, err := f.Build(""); !errors.As(err, &bad) || bad.Key != "data.unit_column" {
		t.Errorf("glyphs with persons: %v", err)
	}
}

// The page of run files names all algorithms that protect persons, and no others.
func TestAlgorithmsOfPersonsAreNamed(t *testing.T) {
	b, err := os.ReadFile("../../docs/run-file.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "## Persons with several records")
	_, text, _ = strings.Cut(text, " Algorithms: ")
	text, _, _ = strings.Cut(text, ".")
	named := strings.Split(text, ", ")
	var serve []string
	for name, spec := range algo.Algorithms {
		others := func(asks string) bool { return !oracle.Kinds[asks].Person }
		if spec.Pacing == agent.PacingRounds && !slices.ContainsFunc(spec.Asks, others) {
			serve = append(serve, name)
		}
	}
	slices.Sort(named)
	slices.Sort(serve)
	if !slices.Equal(named, serve) {
		t.Errorf("the page names %v, persons are protected by %v", named, serve)
	}
}

// A delta that is small enough for the records may be too large for the persons.
func TestDeltaOfPersons(t *testing.T) {
	path := visits(t)
	e, err := personRun(t, path, "topology.agents=1", "algorithm.name=central")
	if err != nil {
		t.Fatal(err)
	}
	n := e.Task.Split.Train.UnitCount(e.Task.Parts[0])
	delta := fmt.Sprintf("privacy.target_delta=%g", 1.001/float64(n))
	if _, err := personRun(t, path, "topology.agents=1", "algorithm.name=central", delta); !errors.Is(err,
		privacy.ErrRefused) {
		t.Errorf("%d persons, %s: %v", n, delta, err)
	}
	if _, err := personRun(t, path, "topology.agents=1", "algorithm.name=central", "privacy.unit=record",
		"privacy.max_rows_per_person=0", delta); err == nil {
		t.Errorf("%s is no delta for %d records", delta, len(e.Task.Parts[0]))
	}
}
