//go:build browser

package browser

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"sotto/internal/jsonfloat"
	"sotto/live"
	"sotto/live/event"
)

// serve serves the page of sources in this process.
func serve(t *testing.T, sources ...*live.Source) string {
	t.Helper()
	s, err := live.Serve(live.Options{Address: "127.0.0.1:0", Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.URL()
}

// What the page calls an upper bound is never below it, and a bound that nobody knows is
// no number.
func TestBoundsAreRoundedUp(t *testing.T) {
	stream := event.NewStream(event.Public)
	src := live.Of("n", stream)
	stream.Emit(&event.Begin{What: event.OfNode, Name: "n", Unit: "round", Of: 100})
	p := open(t, serve(t, src))
	for k, tc := range []struct {
		epsilon    float64
		value, own string
	}{
		{0.5143, "0.52", "0.5143"}, {0.001024, "0.0011", "0.001024"}, {0.51432, "0.52", "0.5144"},
		{math.NaN(), "–", "–"}, {math.Inf(1), "∞", "∞"}, {4, "4.00", "4"}, {1e-7, "1e-7", "1e-7"},
		{12.3401, "12.35", "12.35"}, {1e-12, "1e-8", "1e-8"}} {
		stream.Emit(&event.Standing{Member: "n", Done: uint64(k), Account: event.Account{
			Epsilon: jsonfloat.Float(tc.epsilon), Lifetime: 300, Delta: 1e-5, Records: uint64(k + 1)}})
		p.until(tc.value, fmt.Sprintf(`now.standing?.ledger.records === %d && !frame`, k+1), 10*time.Second)
		value := value[string](p,
			`document.querySelector('[aria-label="Epsilon spent, at most"] .value').innerText`)
		if got, _, _ := strings.Cut(value, "of"); strings.TrimSpace(got) != tc.value {
			t.Errorf("epsilon %g is called %q, want %q", tc.epsilon, got, tc.value)
		}
		p.until("its own word", `document.body.innerText.includes("epsilon at most `+tc.own+` of 300")`,
			5*time.Second)
	}
	p.clean()
	run := event.NewStream(event.Simulated)
	src = live.Of("r", run)
	run.Emit(&event.Begin{What: event.OfRun, Name: "r", Unit: "round", Of: 100})
	run.Emit(&event.Setup{Agents: event.Agents{Number: 1}, Budget: event.Budget{Epsilon: 4, Delta: 1e-5}})
	run.Emit(&event.Spent{Done: 1, Upper: 0.51432, Projected: 1.23412})
	p = open(t, serve(t, src))
	p.until("the projected bound", `document.body.innerText.includes("1.235 at the end")`, 10*time.Second)
	p.until("the curve", `charts.get("epsilon").read.innerText.includes("0.5144")`, 5*time.Second)
	p.clean()
}

// A page that has seen an end stays beside its source: it shows what goes on after it,
// and asks for nothing once the server is gone.
func TestGoesOnAfterAnEnd(t *testing.T) {
	stream := event.NewStream(event.Public)
	src := live.Of("n", stream)
	stream.Emit(&event.Begin{What: event.OfNode, Name: "n", Unit: "round", Of: 100})
	stream.Emit(&event.End{State: event.Failed, Text: "no space"})
	s, err := live.Serve(live.Options{Address: "127.0.0.1:0", Sources: []*live.Source{src}})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, s.URL())
	p.until("the end", `document.body.innerText.includes("It failed: no space")`, 10*time.Second)
	time.Sleep(500 * time.Millisecond)
	stream.Emit(&event.Begin{What: event.OfNode, Name: "n", Unit: "round", Of: 100})
	stream.Emit(&event.Progress{Done: 61, Of: 100})
	p.until("it goes on", `document.getElementById("state-word").textContent === "running" && `+
		`now.head.done === 61 && !document.body.innerText.includes("It failed")`, 5*time.Second)
	stream.Emit(&event.End{State: event.Done, Text: "left after round 61"})
	p.until("it has left", `document.getElementById("state-word").textContent === "finished" && `+
		`document.body.innerText.includes("left after round 61")`, 5*time.Second)
	s.Close()
	p.until("it asks no more", `stream.readyState === EventSource.CLOSED`, 5*time.Second)
	p.clean()
}

// Of two directories one has a file that cannot be read: its page says so, and both go
// on.
func TestBadFileEndsNothing(t *testing.T) {
	out := t.TempDir()
	sotto(t, "run", "--quiet", "--out", out, "--set", "rounds=20")
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.CopyFS(bad, os.DirFS(only(t, out))); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(bad, event.File), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("garbage\n"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	s := start(t, "live", bad, only(t, out))
	p := open(t, s.url)
	p.until("the fault", `/Not all could be read: .*events.jsonl: found line \d+/.test(`+
		`document.body.innerText) && now.head.end`, 10*time.Second)
	q := open(t, s.url+"?s=1")
	q.until("the other page", `now.head?.end && document.getElementById("watched").hidden`, 10*time.Second)
	p.clean()
	q.clean()
}

// A run that was killed does not run for ever on the page of its files.
func TestKilledRunIsSilent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := ""
	for k, body := range []string{`"begin","body":{"what":"run","name":"r","unit":"round","of":9}`,
		`"progress","body":{"done":3,"of":9,"left":65}`} {
		at := time.Now().Add(time.Duration(k-300) * time.Second).UTC().Format(time.RFC3339)
		text += fmt.Sprintf(`{"v":1,"seq":%d,"time":%q,"scope":"public","kind":%s}`+"\n", k+1, at, body)
	}
	if err := os.WriteFile(filepath.Join(dir, event.File), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, start(t, "live", dir).url)
	p.until("it has given no word", `/No word since \d\d:\d\d:\d\d. It may have been killed./.test(`+
		`document.body.innerText) && document.getElementById("state-word").innerText === "no word" && `+
		`/last word 5 min ago/.test(document.body.innerText) && `+
		`!document.body.innerText.includes("65 s left")`,
		10*time.Second)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	p.until("it is gone", `document.body.innerText.includes("The directory is gone")`, 5*time.Second)
	p.clean()
}

// A page that stays, in a directory that somebody handed over, sends its own address
// elsewhere. It opens nothing else.
func TestPageOfSomebodyElse(t *testing.T) {
	leaked := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x" {
			leaked <- r.Header.Get("Referer")
		}
	}))
	defer elsewhere.Close()
	dir := t.TempDir()
	stream := event.NewStream(event.Simulated)
	src := live.Of("r", stream)
	stream.Emit(&event.Begin{What: event.OfRun, Name: "secret-name", Unit: "round"})
	stream.Emit(&event.End{State: event.Done, Dir: dir, Page: "report.html"})
	page := `<meta name="referrer" content="unsafe-url"><meta http-equiv="refresh" content="0;url=` +
		elsewhere.URL + `/x">`
	if err := os.WriteFile(filepath.Join(dir, "report.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	address := serve(t, src)
	token := strings.Split(address, "/")[3]
	p := open(t, address)
	p.until("the link", `document.querySelector('a[href^="staying"]')`, 10*time.Second)
	p.run(chromedp.Evaluate(`document.querySelector('a[href^="staying"]').click()`, nil))
	var from string
	select {
	case from = <-leaked:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was sent: this page tests nothing")
	}
	if from == "" || strings.Contains(from, token) {
		t.Fatalf("it sends %q, the token is %q", from, token)
	}
	key := strings.TrimPrefix(from, strings.TrimSuffix(address, "/"+token+"/"))
	root := strings.TrimSuffix(address, "/"+token+"/")
	for _, url := range []string{"", "events", "?s=0", "app.js", "do/stop"} {
		r, err := http.Get(root + strings.TrimSuffix(key, "/") + "/" + url)
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != http.StatusForbidden {
			t.Errorf("%q below it: %d", url, r.StatusCode)
		}
	}
	for _, other := range []string{"?s=1", "?cell=0", "?s=0"} {
		r, err := http.Get(strings.TrimSuffix(from, "?") + other)
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != http.StatusForbidden {
			t.Errorf("another page %q: %d", other, r.StatusCode)
		}
	}
}

// A graph without links is drawn as its agents; a link to an agent that is not there is
// left out.
func TestGraphOfWhatIsThere(t *testing.T) {
	for _, tc := range []struct {
		what   string
		agents int
		links  [][2]int
		shown  string
	}{
		{"no links", 3, nil, `document.querySelectorAll(".agent").length === 3 && ` +
			`!document.body.innerText.includes("to draw")`},
		{"a link to nobody", 3, [][2]int{{0, 7}, {-1, 2}, {1, 2}},
			`document.querySelectorAll(".agent").length === 3 && ` +
				`document.querySelectorAll(".tie").length === 1`},
		{"links that the stream does not name", 100, nil,
			`document.body.innerText.includes("no links to draw")`},
		{"many agents", 301, nil, `document.body.innerText.includes("too many to draw")`},
	} {
		stream := event.NewStream(event.Simulated)
		src := live.Of("r", stream)
		stream.Emit(&event.Begin{What: event.OfRun, Name: "r", Unit: "round", Of: 9})
		stream.Emit(&event.Setup{Agents: event.Agents{Number: tc.agents}, Graph: event.Graph{Name: "ring",
			Links: tc.links}})
		p := open(t, serve(t, src))
		p.until(tc.what, tc.shown, 10*time.Second)
		p.clean()
	}
}
