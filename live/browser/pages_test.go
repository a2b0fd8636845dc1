//go:build browser

package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sotto/internal/jsonfloat"
	"sotto/internal/porttest"
	"sotto/live"
	"sotto/live/event"
)

// sotto runs a command to its end.
func sotto(t *testing.T, args ...string) string {
	t.Helper()
	b, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("sotto %v: %v\n%s", args, err, b)
	}
	return string(b)
}

// only is the one directory in a folder.
func only(t *testing.T, folder string) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%s holds %v, %v", folder, dirs, err)
	}
	return dirs[0]
}

const accuracy = `document.querySelector('[aria-label="Accuracy"] .value')?.textContent`

// The page of a run moves while it runs, pauses it, lets it go on and stops it so that it
// can be resumed.
func TestRunLive(t *testing.T) {
	out := t.TempDir()
	s := start(t, "run", "--live", "--out", out, "--set", "rounds=4000", "--workers", "1")
	p := open(t, s.url)
	p.until("a first figure", accuracy, 15*time.Second)
	paint := value[float64](p, `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0`)
	if paint <= 0 {
		t.Error("nothing was painted")
	}
	t.Logf("first paint after %v ms", paint)
	first := value[string](p, `document.getElementById("done").textContent`)
	p.until("progress", fmt.Sprintf(`document.getElementById("done").textContent !== %q`, first),
		10*time.Second)
	points := value[int](p, `charts.get("accuracy").data[0].length`)
	p.until("the curve grows", fmt.Sprintf(`charts.get("accuracy").data[0].length > %d`, points),
		20*time.Second)

	p.run(chromedp.Click("#pause"))
	p.until("paused", `document.getElementById("state-word").textContent === "paused"`, 5*time.Second)
	time.Sleep(600 * time.Millisecond)
	at := value[float64](p, "now.head.done")
	time.Sleep(time.Second)
	if later := value[float64](p, "now.head.done"); later != at {
		t.Errorf("a paused run went from round %v to %v", at, later)
	}
	p.run(chromedp.Click("#pause"))
	p.until("it goes on", fmt.Sprintf(`now.head.state === "running" && now.head.done > %v`, at),
		15*time.Second)

	// by the keyboard: the curve says its values, the table has them
	p.run(chromedp.Focus("#chart-accuracy ~ .chart"), chromedp.KeyEvent(kb.ArrowLeft))
	p.until("the keys move along the curve",
		`document.getElementById("said").textContent.startsWith("round")`,
		5*time.Second)
	p.run(chromedp.Click(`section:has(> #chart-accuracy) summary`))
	p.until("numbers", `document.querySelectorAll("section:has(> #chart-accuracy) tbody tr").length > 1`,
		5*time.Second)

	chromedp.ListenTarget(p.ctx, func(ev any) {
		if _, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			go chromedp.Run(p.ctx, page.HandleJavaScriptDialog(true))
		}
	})
	p.run(chromedp.Click("#stop"))
	p.until("it says that it was stopped", `now.head.state === "interrupted"`, 10*time.Second)
	<-s.done
	if !strings.HasSuffix(only(t, out), ".partial") || !strings.Contains(s.text(), "sotto run --resume") {
		t.Errorf("the run cannot go on: %s", s.text())
	}
	p.clean()
}

// What is played back from the files equals what stood beside the run.
func TestPlaybackEqualsLive(t *testing.T) {
	out := t.TempDir()
	s := start(t, "run", "--live", "--out", out, "--set", "rounds=400")
	p := open(t, s.url)
	p.until("the end", "now.head?.end", 60*time.Second)
	const all = `JSON.stringify([[...charts].map(([n, c]) => [n, c.data]).sort(), now.knows, now.spent, ` +
		`now.traffic, ` +
		`now.time, now.head.end, document.getElementById("view").innerText])`
	p.until("it is drawn", `charts.size >= 4 && document.querySelectorAll(".agent").length === 10`,
		5*time.Second)
	time.Sleep(500 * time.Millisecond)
	live := value[string](p, all)
	<-s.done
	if s.err != nil {
		t.Fatal(s.err, s.text())
	}
	p.clean()
	again := start(t, "live", only(t, out))
	q := open(t, again.url)
	q.until("the end",
		`now.head?.end && charts.size >= 4 && document.querySelectorAll(".agent").length === 10`,
		10*time.Second)
	time.Sleep(500 * time.Millisecond)
	if played := value[string](q, all); played != live {
		t.Errorf("played back, the page differs: %s", apart(live, played))
	}
	// and played in time it comes to the same
	q.run(chromedp.Evaluate(`reset(); playing = true; open(2)`, nil))
	q.until("it plays", `playing && now.head.done < 400`, 5*time.Second)
	q.until("the end", `!playing && now.head.end && charts.get("accuracy").data[0].length > 5`,
		20*time.Second)
	time.Sleep(500 * time.Millisecond)
	if played := value[string](q, all); played != live {
		t.Errorf("played in time, the page differs: %s", apart(live, played))
	}
	q.look("live-run")
	r := open(t, again.url+"staying")
	r.until("the page that stays", `document.title.includes("glyphs")`, 5*time.Second)
	r.clean()
}

// Links show what they have carried, lost and delivered late, and the table has the same
// numbers.
func TestLinks(t *testing.T) {
	out := t.TempDir()
	sotto(t, "run", "--out", out, "--set", "rounds=200", "--set", "faults.drop=.15", "--set",
		"faults.delay=.1", "--set", "topology.graph=ring")
	s := start(t, "live", only(t, out))
	p := open(t, s.url)
	p.until("lossy links", `document.querySelectorAll(".tie.used.lossy.late").length === 10`, 10*time.Second)
	p.run(chromedp.Evaluate(`sections.get("graph").details.open = true`, nil))
	p.until("the table of links",
		`[...document.querySelectorAll("caption")].some(c => c.innerText === "Traffic by link")`,
		5*time.Second)
	const column = `[...[...document.querySelectorAll("caption")].at(-1).parentElement.rows].slice(1)` +
		`.reduce((n, r) => n + Number(r.cells[%d].innerText.replaceAll(",", "")), 0)`
	for k, key := range []string{"sent", "bytes", "dropped", "late"} {
		got, want := value[float64](p, fmt.Sprintf(column, k+1)), value[float64](p, "now.traffic."+key)
		if got != want || got == 0 {
			t.Errorf("the links' %s add up to %v, all agents have %v", key, got, want)
		}
	}
	p.look("live-links")
}

// apart shows where two texts differ first.
func apart(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return fmt.Sprintf("...%.200q and ...%.200q", a[max(0, at-50):], b[max(0, at-50):])
}

// A sweep fills its grid; one click leads to a cell's run and back.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := start(t, "sweep", "../../examples/sweep.toml", "--live", "--out", dir, "--set", "rounds=60",
		"--sweep",
		"algorithm.name=dsgd,dsgt", "--sweep", "privacy.target_epsilon=1,2,4,8", "--sweep", "seed=1")
	p := open(t, s.url)
	p.until("some are done and some are not",
		`document.querySelectorAll('.tile[data-state=done]').length > 1 && `+
			`document.querySelectorAll('.tile[data-state=waiting]').length > 0`, 60*time.Second)
	p.until("the end", "now.head?.end", 100*time.Second)
	p.clean()
	<-s.done
	again := start(t, "live", only(t, dir))
	q := open(t, again.url)
	q.until("all cells", `document.querySelectorAll('.tile[data-state=done]').length === 16 && `+
		`document.querySelectorAll('.tile.best').length === 1`, 10*time.Second)
	q.look("live-sweep")
	q.run(chromedp.Click(".tile.best"))
	q.until("the run of the cell", accuracy, 10*time.Second)
	q.run(chromedp.Click("#sources a"))
	q.until("the sweep", `document.querySelectorAll('.tile').length === 16`, 10*time.Second)
	q.clean()
}

// A search shows its trials and the best of them.
func TestTune(t *testing.T) {
	s := start(t, "tune", "../../examples/tune.toml", "--live", "--out", t.TempDir(), "--set",
		"tune.trials=6")
	p := open(t, s.url)
	p.until("the end", `now.head?.end && document.querySelectorAll('.tile.best').length === 1 && `+
		`document.querySelectorAll('.tile[data-state=done]').length === 6`, 100*time.Second)
	p.look("live-tune")
}

// An audit shows its bounds on the way to the claim.
func TestAudit(t *testing.T) {
	s := start(t, "audit", "all", "--live", "--scale", "smoke", "--out", t.TempDir())
	p := open(t, s.url)
	p.until("a bound on the way", `document.querySelector(".bound .lane i")`, 60*time.Second)
	p.until("the end", "now.head?.end && document.querySelectorAll('.bound').length >= 4", 100*time.Second)
	p.look("live-audit")
}

const owners = `name = "ward"
rounds = %d
[topology]
graph = "complete"
agents = 3
[data]
dataset = "csv"
partition = "natural"
path = "somebody.csv"
label = "class"
label_values = ["no", "yes"]
bounds = {x = [0, 100], y = [0, 100]}
[model]
name = "logistic"
[algorithm]
name = "dsgd"
[privacy]
batch_size = 20
target_epsilon = 2.0
target_delta = 1e-3
accountant = "rdp"
`

// hospitals makes the files of three members in a folder, and returns how each node is
// started.
func hospitals(t *testing.T, dir string, rounds int) map[string][]string {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("run.toml", fmt.Sprintf(owners, rounds))
	roster := []string{"--roster", at("roster.toml")}
	sotto(t, "roster", "new", at("run.toml"), "--roster", at("roster.toml"))
	names, ids := []string{"north", "south", "va"}, map[string]string{}
	for _, name := range names {
		ids[name] = strings.TrimSpace(sotto(t, "keygen", "--out", at(name+".key")))
		port, err := porttest.Free()
		if err != nil {
			t.Fatal(err)
		}
		sotto(t, append([]string{"roster", "add", "--name", name, "--peer", ids[name], "--addr",
			fmt.Sprint("127.0.0.1:", port)}, roster...)...)
	}
	nodes := map[string][]string{}
	for i, name := range names {
		sotto(t, append([]string{"roster", "sign", "--key", at(name + ".key")}, roster...)...)
		var peers []string
		for _, other := range names {
			if other != name {
				peers = append(peers, fmt.Sprintf("%q", ids[other]))
			}
		}
		write(name+".policy", fmt.Sprintf("version = 1\nledger = \"ledger-%s\"\nalgorithms = [\"dsgd\"]\n"+
			"peers = [%s]\nminimum_batch = 5\n[[dataset]]\nname = \"csv\"\nlifetime_epsilon = 5.0\n"+
			"lifetime_delta = 1e-3\nmin_records = 50\n", name, strings.Join(peers, ", ")))
		var rows strings.Builder
		rows.WriteString("x,y,class\n")
		for k := range 120 {
			x, y := (k*37+i*11)%100, (k*53+i*7)%100
			fmt.Fprintf(&rows, "%d,%d,%s\n", x, y, map[bool]string{true: "yes", false: "no"}[x > y])
		}
		write(name+".csv", rows.String())
		nodes[name] = append([]string{"node", "--key", at(name + ".key"), "--data", at(name + ".csv"),
			"--policy",
			at(name + ".policy"), "--state", at("state-" + name), "--live", "--pad", "20ms",
			"--i-understand", "volatile"}, roster...)
	}
	return nodes
}

// Of three hospitals one is killed: the pages of the others name it within 5 s.
func TestKilledHospitalIsNamed(t *testing.T) {
	nodes := hospitals(t, t.TempDir(), 2000)
	running := map[string]*started{}
	for name, args := range nodes {
		running[name] = start(t, args...)
	}
	pages := map[string]*tab{}
	for _, name := range []string{"north", "south"} {
		p := open(t, running[name].url)
		p.until("all take part", `now.head?.done > 20 && document.body.innerText.includes("all take part")`,
			30*time.Second)
		pages[name] = p
	}
	running["va"].Process.Kill()
	killed := time.Now()
	for name, p := range pages {
		p.run(page.BringToFront()) // a browser draws nothing in a tab behind others
		p.until(name+" names va", `[...document.querySelectorAll(".member.alarm")].some(m => `+
			`/va is late by \d+ s/.test(m.innerText))`, 5*time.Second-time.Since(killed))
		t.Logf("%s names it after %v: %s", name, time.Since(killed).Round(10*time.Millisecond),
			value[string](p, `document.querySelector(".member.alarm p").innerText`))
	}
	p := pages["north"]
	if n := value[int](p, `document.querySelectorAll(".member.alarm").length`); n != 1 {
		t.Errorf("%d members are called late", n)
	}
	p.run(page.BringToFront())
	time.Sleep(3 * time.Second)
	p.look("live-federation")
	<-running["va"].done
	start(t, nodes["va"]...)
	p.until("all take part again", `document.body.innerText.includes("all take part")`, 30*time.Second)
	p.clean()
}

// A page comes back by itself when the program is started again, and shows what is new.
func TestReconnect(t *testing.T) {
	stream := event.NewStream(event.Simulated)
	say := func(k int) {
		stream.Emit(&event.Evaluation{Done: uint64(k), Metrics: map[string]event.Stats{
			"accuracy": {Mean: jsonfloat.Float(k) / 100, Min: 0, Max: 1}}})
	}
	src := live.Of("r", stream)
	stream.Emit(&event.Begin{What: event.OfRun, Name: "r", Unit: "round", Of: 100})
	say(10)
	opt := live.Options{Address: "127.0.0.1:0", Token: "the-same-token-again", Sources: []*live.Source{src}}
	s, err := live.Serve(opt)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, s.URL())
	p.until("the first figure", accuracy+`?.startsWith("10.00")`, 10*time.Second)
	opt.Address = strings.Split(s.URL(), "/")[2]
	s.Close()
	p.until("it says that nobody answers", `!document.getElementById("lost").hidden`, 10*time.Second)
	if !value[bool](p, accuracy+`.startsWith("10.00")`) {
		t.Error("the last figures are gone")
	}
	say(20)
	if s, err = live.Serve(opt); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p.until("the new figure", accuracy+`?.startsWith("20.00") && document.getElementById("lost").hidden`,
		15*time.Second)
	if got := value[string](p, `JSON.stringify(charts.get("accuracy").data[0])`); got != "[10,20]" {
		t.Errorf("points at %s", got)
	}
	p.mu.Lock() // that nobody answered is in the log
	p.faults = nil
	p.mu.Unlock()
}

// A thousand agents and ten thousand rounds: the first paint is quick, and the page keeps
// up.
func TestLarge(t *testing.T) {
	stream := event.NewStream(event.Simulated)
	src := live.Of("large", stream)
	stream.Emit(&event.Begin{What: event.OfRun, Name: "large", Unit: "round", Of: 10_000})
	setup := &event.Setup{Algorithm: "dsgd", Dataset: "mnist", Agents: event.Agents{Number: 1000},
		Graph: event.Graph{Name: "ring"}, Budget: event.Budget{Epsilon: 4, Delta: 1e-5, Unit: "record"}}
	for i := range 1000 {
		setup.Graph.Links = append(setup.Graph.Links, [2]int{i, (i + 1) % 1000})
	}
	stream.Emit(setup)
	k := 0
	say := func() {
		x := float64(k) / 10_000
		stream.Emit(&event.Evaluation{Done: uint64(k), Metrics: map[string]event.Stats{
			"accuracy":           {Mean: jsonfloat.Float(x), Min: jsonfloat.Float(x / 2), Max: 1},
			"loss":               {Mean: jsonfloat.Float(3 - x), Min: 1, Max: 3},
			"consensus_distance": {Mean: 1, Min: 1, Max: 1}}})
		stream.Emit(&event.Spent{Done: uint64(k), Upper: jsonfloat.Float(4 * x)})
		k++
	}
	for k < 9000 {
		say()
	}
	s, err := live.Serve(live.Options{Address: "127.0.0.1:0", Sources: []*live.Source{src}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := open(t, s.URL())
	p.until("the curve", `charts.get("accuracy")?.plot`, 5*time.Second)
	const painted = `performance.getEntriesByName("first-contentful-paint")[0]`
	p.until("a paint", painted, 5*time.Second) // it is reported after its frame
	t.Logf("first paint after %.0f ms", value[float64](p, painted+`.startTime`))
	p.run(chromedp.Evaluate(`window.gaps = []; (function tick(last) { requestAnimationFrame((t) => { if `+
		`(last) gaps.push(t - last); tick(t); }); })(0)`, nil))
	for k < 10_000 {
		say()
		time.Sleep(2 * time.Millisecond)
	}
	p.until("the last round", `charts.get("accuracy").data[0].at(-1) === 9999`, 5*time.Second)
	worst := value[float64](p, `gaps.sort((a, b) => a - b)[Math.floor(gaps.length * .95)]`)
	t.Logf("19 of 20 frames take at most %.0f ms", worst)
	p.clean()
}
