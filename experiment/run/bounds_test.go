package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/privacy/account"
)

// A stated target holds beside a stated noise multiplier where an algorithm asks two
// kinds of queries: what all answers cost is at most that, or the pair is refused.
func TestTargetHoldsBesideNoise(t *testing.T) {
	plan := func(noise float64) (*experiment.Experiment, error) {
		f, err := experiment.Parse("run.toml", fmt.Appendf(nil, `rounds = 40
[topology]
graph = "complete"
agents = 4
[data]
dataset = "logistic-regression"
[model]
name = "logistic"
[algorithm]
name = "newton"
[privacy]
noise_multiplier = %g
target_epsilon = 1.0
target_delta = 1e-5
`, noise), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f.BuildWith("", drawn)
	}
	_, err := plan(2)
	var bad *config.Error
	if !errors.As(err, &bad) || !strings.HasSuffix(bad.Key, "target_epsilon") {
		t.Fatalf("noise 2: %v, want target_epsilon to be refused", err)
	}
	e, err := plan(50)
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Plans {
		a := &e.Plans[i]
		if len(a.Asks) < 2 {
			t.Fatalf("newton asks %d kinds of queries: this test shows nothing", len(a.Asks))
		}
		acc, err := account.New("pld", account.ZeroOut, account.Record())
		if err != nil {
			t.Fatal(err)
		}
		for k, ev := range a.Events {
			if err := acc.Compose(ev, a.Asks[k].Times); err != nil {
				t.Fatal(err)
			}
		}
		if eps, err := acc.Epsilon(1e-5); err != nil || !(eps.Upper <= 1) {
			t.Errorf("agent %d: all answers cost %v, %v", i, eps, err)
		}
	}
}

// Under add-remove one record more, in front of all others, changes neither who else is
// held out nor when others arrive; elsewhere the coin goes by place, and it does.
func TestOneRecordMoreMovesNoCoin(t *testing.T) {
	batches := map[string]string{"zero-out": "batch_size = 14",
		"add-remove": "sample_rate = 0.1\nbatch_size = 14"}
	type coin struct {
		held    bool
		arrival uint32
	}
	coins := func(adjacency string, extra bool) map[float32]coin {
		text := "x,class\n"
		if extra {
			text += "1000,1\n"
		}
		for i := range 200 {
			text += fmt.Sprintf("%d,%d\n", i, i%2)
		}
		path := filepath.Join(t.TempDir(), "own.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := experiment.Parse("run.toml", fmt.Appendf(nil, `rounds = 40
[topology]
graph = "complete"
agents = 1
[data]
dataset = "csv"
path = %q
test_path = %q
label = "class"
label_values = ["0", "1"]
arrival = "uniform"
bounds = {x = [0, 1000]}
[model]
name = "logistic"
[algorithm]
name = "dsgd"
[evaluate]
validation = 0.3
[privacy]
adjacency = %q
%s
noise_multiplier = 5.0
target_delta = 1e-3
`, path, path, adjacency, batches[adjacency]), nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith("", nil)
		if err != nil {
			t.Fatal(err)
		}
		of := map[float32]coin{}
		for r := range e.Task.Split.Train.Len() {
			of[e.Task.Split.Train.X.Row(r)[0]] = coin{arrival: e.Task.Arrivals[r]}
		}
		for _, r := range e.Task.HeldOut[0] {
			x := e.Task.Split.Train.X.Row(int(r))[0]
			of[x] = coin{true, of[x].arrival}
		}
		return of
	}
	moved := func(adjacency string) (n int) {
		with, without := coins(adjacency, true), coins(adjacency, false)
		for x, c := range without {
			if with[x] != c {
				n++
			}
		}
		return n
	}
	if n := moved("add-remove"); n != 0 {
		t.Errorf("one record more moves the coins of %d others", n)
	}
	if moved("zero-out") == 0 {
		t.Error("under zero-out nothing moves: this test shows nothing")
	}
}
