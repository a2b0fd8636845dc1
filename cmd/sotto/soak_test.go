//go:build soak

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sotto/privacy/ledger"
)

// besieged is a fleet that has troubles.
type besieged struct {
	*fleet
	pasts []past // by member
	count struct{ kills, images, restores, damages, exports int }
}

// past is what is kept of a member.
type past struct {
	image bool   // of its disk; there is one
	last  uint64 // round at the last look
	since time.Time
}

func (f *besieged) copy(from, to string) {
	f.t.Helper()
	os.RemoveAll(f.path(to))
	if err := os.CopyFS(f.path(to), os.DirFS(f.path(from))); err != nil {
		f.t.Fatal(err)
	}
}

// trouble has one thing happen to one member.
func (f *besieged) trouble(i int) {
	f.t.Helper()
	m, p := f.all[i], &f.pasts[i]
	if !m.kill() {
		f.t.Fatalf("%s has ended: %v\n%s", m.name, m.failure, f.log(m))
	}
	f.count.kills++
	switch f.dice.IntN(4) {
	case 0: // the machine's disk is imaged, or goes back to its image
		from, to := "", "image/"
		if p.image {
			from, to = to, from
			f.count.restores++
		} else {
			f.count.images++
		}
		for _, part := range []string{"", "ledger-"} {
			f.copy(from+part+m.name, to+part+m.name)
		}
		p.image = !p.image
	case 1: // the records are exported again
		f.export(m)
		f.count.exports++
	case 2: // the newer checkpoint is damaged
		f.damage(m)
	}
	f.begin(m)
}

// damage flips a bit of the checkpoint that was written last, where there are two.
func (f *besieged) damage(m *member) {
	var newest string
	var when time.Time
	for _, name := range []string{"checkpoint", "checkpoint.2"} {
		info, err := os.Stat(f.path(m.name, name))
		if err != nil {
			return
		}
		if info.ModTime().After(when) {
			newest, when = name, info.ModTime()
		}
	}
	b, err := os.ReadFile(f.path(m.name, newest))
	if err != nil || len(b) == 0 {
		return
	}
	b[f.dice.IntN(min(len(b), 400))] ^= 1
	if err := os.WriteFile(f.path(m.name, newest), b, 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.count.damages++
}

// watch fails where a member's process has ended, or where nobody has gone on for a
// minute.
func (f *besieged) watch() {
	f.t.Helper()
	moved := false
	for i, m := range f.all {
		if m.over() {
			f.t.Fatalf("%s has ended: %v\n%s", m.name, m.failure, f.log(m))
		}
		p := &f.pasts[i]
		if s := f.status(m); s.Round > p.last {
			p.last, p.since = s.Round, time.Now()
		}
		moved = moved || time.Since(p.since) < time.Minute
	}
	if !moved {
		f.t.Fatal("nobody has gone on for a minute")
	}
}

// Fifty processes train for ten minutes (SOTTO_NODES, SOTTO_SOAK) while they are killed,
// restored from images of their disks, damaged and given new exports of their records at
// random. They go on; every ledger verifies and knows of all that its neighbors hold; one
// ledger a member; and no honest member is said to lie.
func TestFleet(t *testing.T) {
	count, during := 50, 10*time.Minute
	if v, err := strconv.Atoi(os.Getenv("SOTTO_NODES")); err == nil {
		count = v
	}
	if v, err := time.ParseDuration(os.Getenv("SOTTO_SOAK")); err == nil {
		during = v
	}
	seed := uint64(time.Now().UnixNano())
	if v, err := strconv.ParseUint(os.Getenv("SOTTO_SEED"), 10, 64); err == nil {
		seed = v
	}
	t.Logf("SOTTO_SEED=%d", seed)
	f := &besieged{fleet: newFleet(t, seed, 23000, "--pad", "100ms", "--linger", "1s")}
	f.found(count, fmt.Sprintf(fleetRun, count), "dsgd")
	f.pasts = make([]past, count)
	began := time.Now()
	for i, m := range f.all {
		f.begin(m)
		f.pasts[i].since = time.Now()
	}
	time.Sleep(20 * time.Second)
	for end := time.Now().Add(during); time.Now().Before(end); {
		f.trouble(f.dice.IntN(len(f.all)))
		time.Sleep(time.Duration(500+f.dice.IntN(1500)) * time.Millisecond)
		f.watch()
	}
	time.Sleep(30 * time.Second) // without trouble everybody comes back
	f.watch()
	f.judge(began)
}

// fleetRun is its run file; the field is the number of members.
const fleetRun = `name = "fleet"
rounds = 100000
[topology]
graph = "ring"
agents = %d
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
[algorithm]
name = "dsgd"
step_size = 1.0
[privacy]
batch_size = 10
noise_multiplier = 60.0
target_delta = 1e-3
accountant = "rdp"
`

// judge stops all and holds every ledger against what the neighbors have heard of it.
func (f *besieged) judge(began time.Time) {
	least, most, rolled, refused := ^uint64(0), uint64(0), uint64(0), uint64(0)
	for _, m := range f.all {
		m.process.Process.Signal(syscall.SIGTERM)
	}
	for _, m := range f.all {
		if <-m.ended; m.failure != nil {
			f.t.Errorf("%s, when it was stopped: %v\n%s", m.name, m.failure, f.log(m))
		}
		s := f.status(m)
		least, most, refused = min(least, s.Round), max(most, s.Round), refused+s.Counts.Refused
		for _, p := range s.Peers {
			rolled += p.RolledBack
			if p.TwoContents || p.TwoProcesses {
				f.t.Errorf("%s says of %s: %+v", m.name, p.Name, p.Doubts)
			}
		}
	}
	charges, added, lost := f.books()
	f.t.Logf("%d processes, %v: %d kills, of them %d imaged, %d restored from images, %d with a damaged "+
		"checkpoint, %d with new exports; rounds %d to %d; neighbors saw %d rollbacks and refused %d "+
		"frames; %d charges, %d of them added after rollbacks; %d ledgers lack what neighbors hold",
		len(f.all),
		time.Since(began).Round(time.Second), f.count.kills, f.count.images, f.count.restores,
		f.count.damages, f.count.exports, least, most, rolled, refused, charges, added, lost)
}

// books verifies the ledgers, and counts charges, those that were added after rollbacks,
// and ledgers that lack what their neighbors hold.
func (f *besieged) books() (charges, added uint64, lost int) {
	for i, m := range f.all {
		ledgers := f.ledgers(m)
		if len(ledgers) != 1 {
			f.t.Errorf("%s has ledgers %v, want one", m.name, ledgers)
			continue
		}
		for _, k := range []int{i + 1, i + len(f.all) - 1} {
			neighbor := f.all[k%len(f.all)]
			c := exec.Command(f.sotto, "ledger", "verify", ledgers[0], "--heads",
				f.path(neighbor.name, "heads.json"))
			if out, err := c.CombinedOutput(); err != nil && !bytes.Contains(out, []byte("holds no head")) {
				lost++
				f.t.Errorf("the ledger of %s, against what %s holds: %v\n%s", m.name, neighbor.name, err, out)
			}
		}
		for r, err := range ledger.History(ledgers[0], ledger.Options{}) {
			switch {
			case err != nil:
				f.t.Errorf("the ledger of %s: %v", m.name, err)
			case r.Kind == ledger.Charge:
				charges += r.Count
			case r.Kind == ledger.Restored:
				for _, c := range r.Lost.Charges {
					charges, added = charges+c.Count, added+c.Count
				}
			}
		}
	}
	return charges, added, lost
}
