//go:build soak

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sotto/node"
)

// fleet is a federation of real processes on this machine.
type fleet struct {
	t     *testing.T
	sotto string // the program
	dir   string
	port  int      // of the first member
	flags []string // of every member's node
	all   []*member
	dice  *rand.Rand
}

type member struct {
	name    string
	process *exec.Cmd
	ended   chan struct{} // closed when the process has
	failure error         // what it ended with
	rows    [][2]int
}

// newFleet builds the program. Members get ports from port on, which lies below those
// that the system gives to outgoing connections: one of these could hold a member's port
// when it starts again.
func newFleet(t *testing.T, seed uint64, port int, flags ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), port: port, flags: flags, dice: rand.New(rand.NewPCG(1, seed))}
	f.sotto = f.path("sotto")
	if out, err := exec.Command("go", "build", "-o", f.sotto, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		for _, m := range f.all {
			if m.process != nil {
				m.process.Process.Kill()
				<-m.ended
			}
		}
	})
	return f
}

func (f *fleet) path(parts ...string) string {
	return filepath.Join(append([]string{f.dir}, parts...)...)
}

func (f *fleet) run(args ...string) string {
	f.t.Helper()
	c := exec.Command(f.sotto, args...)
	c.Dir = f.dir
	out, err := c.CombinedOutput()
	if err != nil {
		f.t.Fatalf("sotto %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// export writes a member's records as another program would: other numbers of zeros, line
// ends and orders, and a further column that the run drops with other values elsewhere.
func (f *fleet) export(m *member) {
	var b strings.Builder
	end, format := "\n", []string{"%d", "%d.0", "%d.00", "%de0"}[f.dice.IntN(4)]
	if f.dice.IntN(2) == 0 {
		end = "\r\n"
	}
	first := f.dice.IntN(2) == 0
	line := func(ward, rest string) {
		if first {
			rest = ward + "," + rest
		} else {
			rest += "," + ward
		}
		b.WriteString(rest + end)
	}
	line("ward", "x,y,class")
	for _, i := range f.dice.Perm(len(m.rows)) {
		x, y := m.rows[i][0], m.rows[i][1]
		class := "no"
		if x > y {
			class = "yes"
		}
		line(strconv.Itoa(f.dice.IntN(9)), fmt.Sprintf(format+","+format+",%s", x, y, class))
	}
	if err := os.WriteFile(f.path(m.name+".csv"), []byte(b.String()), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) begin(m *member) {
	f.t.Helper()
	log, err := os.OpenFile(f.path(m.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command(f.sotto, append([]string{"node", "--key", m.name + ".key", "--data", m.name + ".csv",
		"--policy", m.name + ".toml", "--state", m.name, "--i-understand", "volatile"}, f.flags...)...)
	c.Dir, c.Stderr, c.Stdout = f.dir, log, log
	if err := c.Start(); err != nil {
		f.t.Fatal(err)
	}
	m.process, m.ended = c, make(chan struct{})
	go func(ended chan struct{}) {
		m.failure = c.Wait()
		close(ended)
	}(m.ended)
}

// kill ends a member's process as a lost machine does. false: it had ended before.
func (m *member) kill() bool {
	m.process.Process.Kill()
	<-m.ended
	return !m.process.ProcessState.Exited()
}

// over reports whether a member's process has ended.
func (m *member) over() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

func (f *fleet) status(m *member) (s node.Status) {
	b, err := os.ReadFile(f.path(m.name, "status.json"))
	if err == nil {
		json.Unmarshal(b, &s) // a file in the making is looked at again
	}
	return s
}

// log is the end of what a member has logged.
func (f *fleet) log(m *member) string {
	b, _ := os.ReadFile(f.path(m.name + ".log"))
	return string(b[max(0, len(b)-3000):])
}

// ledgers are the folders of a member's ledgers.
func (f *fleet) ledgers(m *member) []string {
	all, _ := filepath.Glob(f.path("ledger-"+m.name, "*", "genesis.json")) // the pattern is sound
	for i := range all {
		all[i] = filepath.Dir(all[i])
	}
	return all
}

// found makes the files of so many members of a run.
func (f *fleet) found(count int, run, algorithm string) {
	if err := os.WriteFile(f.path("run.toml"), []byte(run), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.run("roster", "new", "run.toml")
	ids := make([]string, count)
	for i := range count {
		m := &member{name: fmt.Sprint("m", i)}
		for range 40 {
			m.rows = append(m.rows, [2]int{f.dice.IntN(100), f.dice.IntN(100)})
		}
		f.all = append(f.all, m)
		f.export(m)
		ids[i] = strings.TrimSpace(f.run("keygen", "--out", m.name+".key"))
		f.run("roster", "add", "--name", m.name, "--peer", ids[i], "--addr",
			fmt.Sprint("127.0.0.1:", f.port+i))
	}
	for i, m := range f.all {
		var peers []string
		for k, id := range ids {
			if k != i {
				peers = append(peers, strconv.Quote(id))
			}
		}
		policy := fmt.Sprintf("version = 1\nledger = \"ledger-%s\"\nalgorithms = [\"%s\"]\n"+
			"minimum_batch = 1\npeers = [%s]\n[[dataset]]\nname = \"csv\"\n"+
			"population = \"ward\"\nlifetime_epsilon = 60.0\n"+
			"lifetime_delta = 1e-3\nmin_records = 30\n", m.name, algorithm, strings.Join(peers, ", "))
		if err := os.WriteFile(f.path(m.name+".toml"), []byte(policy), 0o600); err != nil {
			f.t.Fatal(err)
		}
		f.run("roster", "sign", "--key", m.name+".key")
	}
}
