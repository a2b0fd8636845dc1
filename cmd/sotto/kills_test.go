//go:build soak

package main

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sotto/experiment/owner"
	"sotto/privacy/ledger"
)

// leastKills is how many kills a run has to live through.
const leastKills = 40

// killed is an algorithm without rounds among four processes.
type killed struct {
	algorithm string
	sections  string // of the run file
	steps     string // the file of the state directory that lists them
	// private reports whether the step of a row was one that asks the data, by its number
	// and what it says of neighbors that were heard.
	private func(number int, heard string) bool
	each    uint64 // answers in such a step
}

var killedRuns = []killed{
	{
		algorithm: "bcd",
		sections: `[algorithm]
name = "bcd"
mu = 1.0
lambda = 0.1
confidence = 0.5
updates = 300
after = "average"
[clock]
wakes = 1600
interval = 0.1
[privacy]
target_epsilon = 5.0
`,
		steps:   "wakes.csv",
		private: func(number int, _ string) bool { return number < 300 },
		each:    1,
	},
	{
		algorithm: "gossip-admm",
		sections: `[algorithm]
name = "gossip-admm"
mu = 1.0
lambda = 0.1
confidence = 0.5
local_steps = 2
[clock]
wakes = 600
interval = 0.15
[privacy]
target_epsilon = 5.0
`,
		steps:   "wakes.csv",
		private: func(_ int, heard string) bool { return heard != "" },
		each:    2,
	},
	{
		algorithm: "walk",
		sections: `rounds = 250
[token]
count = 2
[algorithm]
name = "walk"
step_size = 1.0
contributions = 250
[privacy]
unit = "owner"
noise_multiplier = 40.0
max_grad_norm = 1.0
`,
		steps:   "rounds.csv",
		private: func(int, string) bool { return true },
		each:    1,
	},
}

// runFile is the whole of it. The number of rounds stands before the first section.
func (k *killed) runFile() string {
	top, rest, _ := strings.Cut(k.sections, "[")
	return fmt.Sprintf(`name = "killed"
%s[topology]
graph = "complete"
agents = 4
[data]
dataset = "csv"
partition = "natural"
label = "class"
label_values = ["no", "yes"]
drop = ["ward"]
[data.bounds]
x = [0, 100]
y = [0, 100]
[model]
name = "logistic"
[%starget_delta = 1e-3
accountant = "rdp"
`, top, rest)
}

// Four processes are killed at random, started again and go on, in each way to take part
// without rounds:
//
//	go test -tags soak -run Kills -v ./cmd/sotto
//
// At every kill the ledger of who was killed verifies, has no charge less than at its
// last one, and knows of all that the others hold of it. At the end every process has
// finished, every answer was charged, and models are numbers.
func TestKills(t *testing.T) {
	for i, k := range killedRuns {
		t.Run(k.algorithm, func(t *testing.T) {
			t.Parallel() // it waits for clocks and pads most of the time
			f := newFleet(t, uint64(i), 23100+10*i, "--pad", "120ms", "--deadline", "5s", "--linger", "30s",
				"--log-level", "warn")
			f.found(4, k.runFile(), k.algorithm)
			for _, m := range f.all {
				f.begin(m)
			}
			kills, charges := 0, make([]uint64, len(f.all))
			for began := time.Now(); kills < leastKills; {
				if time.Since(began) > 10*time.Minute {
					t.Fatalf("%d kills in 10 minutes", kills)
				}
				time.Sleep(time.Duration(100+f.dice.IntN(700)) * time.Millisecond)
				at := f.dice.IntN(len(f.all))
				m := f.all[at]
				if s := f.status(m); s.Finished {
					continue
				}
				if !m.kill() {
					t.Fatalf("%s has ended: %v\n%s", m.name, m.failure, f.log(m))
				}
				kills++
				charges[at] = f.holds(m, charges[at])
				f.begin(m)
			}
			for i, m := range f.all {
				<-m.ended
				if m.failure != nil {
					t.Fatalf("%s: %v\n%s", m.name, m.failure, f.log(m))
				}
				s := f.status(m)
				had, answers := f.holds(m, charges[i]), f.answers(m, &k)
				if !s.Finished || answers == 0 || had < answers {
					t.Errorf("%s: finished %v, %d answers, %d charges", m.name, s.Finished, answers, had)
				}
				f.finite(m)
				t.Logf("%s: %d %s, %d answers, %d charges", m.name, s.Round, s.Pace, answers, had)
			}
			t.Logf("%d kills", kills)
		})
	}
}

// holds verifies the ledger of a member whose process is not there, and returns its
// charges, of which there were so many before.
func (f *fleet) holds(m *member, before uint64) uint64 {
	f.t.Helper()
	ledgers := f.ledgers(m)
	if len(ledgers) == 0 && before == 0 {
		return 0 // killed before it has made one
	}
	if len(ledgers) != 1 {
		f.t.Fatalf("%s has ledgers %v, want one", m.name, ledgers)
	}
	r, err := ledger.Verify(ledgers[0], ledger.Options{})
	if err != nil {
		f.t.Fatalf("the ledger of %s: %v", m.name, err)
	}
	if r.Charges < before {
		f.t.Errorf("the ledger of %s has %d charges, it had %d", m.name, r.Charges, before)
	}
	for _, other := range f.all {
		if heads := f.path(other.name, "heads.json"); other != m {
			if b, err := os.ReadFile(heads); err != nil || !strings.Contains(string(b), `"`+m.name+`"`) {
				continue // it has heard nothing yet
			}
			if _, err := owner.VerifyLedger(ledgers[0], &r, heads); err != nil {
				f.t.Errorf("the ledger of %s, against what %s holds: %v", m.name, other.name, err)
			}
		}
	}
	return r.Charges
}

// answers counts those that went into the steps that a member has recorded, up to the
// first one without an answer: the states after these steps are stored.
func (f *fleet) answers(m *member, k *killed) uint64 {
	f.t.Helper()
	b, err := os.ReadFile(f.path(m.name, k.steps))
	if err != nil {
		f.t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil {
		f.t.Fatal(err)
	}
	count := uint64(0)
	for _, row := range rows[1:] {
		number, err := strconv.Atoi(row[0])
		if err != nil {
			f.t.Fatalf("%s of %s: %v", k.steps, m.name, row)
		}
		if row[len(row)-1] == "true" {
			break // from now on it asks nothing more
		}
		if k.private(number, row[2]) {
			count += k.each
		}
	}
	return count
}

// finite looks at the values of a member's model.
func (f *fleet) finite(m *member) {
	f.t.Helper()
	b, err := os.ReadFile(f.path(m.name, "model.safetensors"))
	if err != nil || len(b) < 8 {
		f.t.Fatalf("the model of %s: %d bytes, %v", m.name, len(b), err)
	}
	values := b[8+binary.LittleEndian.Uint64(b):]
	if len(values) == 0 {
		f.t.Errorf("the model of %s has no values", m.name)
	}
	for ; len(values) >= 4; values = values[4:] {
		if x := math.Float32frombits(binary.LittleEndian.Uint32(values)); x-x != 0 {
			f.t.Errorf("the model of %s has a value %v", m.name, x)
		}
	}
}
