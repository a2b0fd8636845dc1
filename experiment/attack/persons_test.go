package attack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/experiment"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/rng"
)

// personRun is a run of two agents by persons, who have one to five records each.
func personRun(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.csv")
	var b strings.Builder
	b.WriteString("patient,x,z,y\n")
	for p := range 60 {
		for k := range 1 + p%5 {
			fmt.Fprintf(&b, "p%d,%d,%d,%s\n", p, p%7-3, k-p%3, string("ab"[(p+k)%2]))
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := experiment.Parse("persons.toml", []byte(`name = "persons"
rounds = 6
[topology]
agents = 2
graph = "complete"
[data]
dataset = "csv"
label = "y"
label_values = ["a", "b"]
unit_column = "patient"
[model]
name = "logistic"
[privacy]
unit = "person"
max_rows_per_person = 4
person_gradient = "sum"
noise_multiplier = 1
target_delta = 1e-3
batch_size = 8
`), append([]string{"data.path=" + path}, set...))
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The lower bounds of audits whose canary is a whole person stay below the claim, of
// every mode that there is.
func TestAuditByPersons(t *testing.T) {
	for _, set := range [][]string{nil, {"privacy.adjacency=replace-one"}, {"privacy.adjacency=add-remove",
		"privacy.sample_rate=0.3"}, {"privacy.person_gradient=mean", "algorithm.name=dsgt"}} {
		e := personRun(t, set...)
		for _, m := range smokeModes {
			r, ok := attack(t, e, m.run, audit.Options{Observations: m.n, Beta: 1e-4})
			if ok && r.Violated {
				t.Errorf("%v, %s: %v", set, m.name, r.Findings)
			}
		}
		for name, mode := range map[string]func(*audit.Target, context.Context, audit.Options) (*audit.Report,
			error){"runs": (*audit.Target).Runs, "onerun": (*audit.Target).OneRun} {
			r, ok := attack(t, e, mode, audit.Options{Observations: 60, Beta: 1e-4})
			if !ok {
				t.Errorf("%v: %s does not apply", set, name)
			} else if r.Violated {
				t.Errorf("%v, %s: %v", set, name, r.Findings)
			}
		}
	}
}

// eachRecord answers as if every record were clipped by itself, and says that persons
// are.
type eachRecord struct {
	privacy.Oracle
	wrong oracle.Oracle
}

func (o eachRecord) Evaluate(dst *privacy.Value, q *agent.Query, s *rng.Stream) {
	o.wrong.Evaluate(dst, q, s)
}

func (o eachRecord) EvaluateGrid(dst []int64, q *agent.Query, s *rng.Stream) {
	o.wrong.(privacy.GridOracle).EvaluateGrid(dst, q, s)
}

// A run that clips every record in place of the person lets one person move an answer by
// four clips, and the audit of a step finds it.
func TestClippingEachRecordIsCaught(t *testing.T) {
	e := personRun(t)
	plant := func(s *experiment.Seat) {
		seat := *s
		s.Wrap = func(right privacy.Oracle) privacy.Oracle {
			public := e.Plans[0].Public
			if seat.Adjust != nil {
				seat.Adjust(&public)
			}
			public.Unit, public.Sums.Persons = account.Record(), oracle.Persons{}
			wrong, err := oracle.New(&public, &agent.Query{Oracle: "grad"})
			if err == nil {
				err = wrong.Bind(seat.Records, seat.Pool)
			}
			if err != nil {
				panic(err) // a fixed run
			}
			return eachRecord{right, wrong}
		}
	}
	target, err := newTarget(e, Options{}, plant)
	if err != nil {
		t.Fatal(err)
	}
	r, err := target.Step(context.Background(), audit.Options{Observations: 400, Beta: smokeShare})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Violated {
		t.Errorf("the step audit finds nothing: %+v", r)
	}
}

// In world In a whole person is there, in world Out none of its records, and elsewhere
// than under add-remove it takes the place of a whole person.
func TestTrainingRowsOfPersons(t *testing.T) {
	for _, adjacency := range []string{"zero-out", "replace-one"} {
		e := personRun(t, "privacy.adjacency="+adjacency)
		c := canary{record: 1, other: 0}
		c.rows = spread(e, dataset(e, 2))
		before := e.Task.Split.Train.UnitCount(e.Task.Parts[0])
		for w, want := range map[audit.Hypothesis]int{audit.In: before, audit.Out: before - 1} {
			if adjacency == "replace-one" {
				want = before
			}
			d, part := c.trainingRows(e, 0, w)
			if got := d.UnitCount(part); got != want {
				t.Errorf("%s, world %v: %d persons, want %d", adjacency, w, got, want)
			}
		}
	}
}
