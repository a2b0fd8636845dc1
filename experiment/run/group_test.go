package run

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/experiment/runfile"
)

// Above 1,000 agents files hold groups and summaries, not a line for each agent.
func TestManyAgentsAreGrouped(t *testing.T) {
	const file = `rounds = 2
[topology]
graph = "ring"
agents = 1200
[data]
dataset = "linear-tasks"
agents = 1200
dim = 3
test = 2
partition = "natural"
[model]
name = "logistic"
[privacy]
noise_multiplier = 4
sample_rate = 0.5
target_delta = 1e-3
accountant = "rdp"
[evaluate]
on = "own"
`
	f, err := experiment.Parse("many.toml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	r := train(t, e, Options{})
	if len(r.Summary.Privacy) != 1 || r.Summary.Privacy[0].Group != "0-1199" ||
		r.Summary.Privacy[0].Members != 1200 || r.Summary.Privacy[0].Charges != 2 {
		t.Errorf("privacy lines %+v", r.Summary.Privacy)
	}
	metrics := string(read(t, r.Dir, rundir.MetricsFile))
	// Three evaluations of mean, min and max of two metrics and of the consensus
	// distance, after the last one mean, min and max of two classes, and a header.
	if got := strings.Count(metrics, "\n"); got != 1+3*(2*3+1)+2*3 {
		t.Errorf("metrics.csv has %d lines", got)
	}
	if got := strings.Count(string(read(t, r.Dir, rundir.LedgerFile)), "\n"); got != 1 {
		t.Errorf("the ledger file has %d lines", got)
	}
}

// The [data] section is shared by a data set and a partition: no key may mean two things.
func TestDataKeysMeanOneThing(t *testing.T) {
	keys := func(construct func(decode func(any) error)) (out []string) {
		construct(func(p any) error {
			out = append(out, runfile.Keys(p)...)
			return errors.New("enough")
		})
		return out
	}
	ds := &data.Dataset{Labels: []int32{0}, Classes: 1, Groups: []int32{0}, GroupNames: []string{"a"}}
	for part := range data.Partitions {
		p := keys(func(decode func(any) error) { data.Partition(part, ds, 1, 1, decode) })
		if len(p) == 0 {
			t.Errorf("partition %s decodes nothing", part)
		}
		for name := range data.Datasets {
			for _, key := range keys(func(decode func(any) error) { data.Load(name, "", 1, decode) }) {
				if slices.Contains(p, key) {
					t.Errorf("data set %s and partition %s both have a key %q", name, part, key)
				}
			}
		}
	}
}
