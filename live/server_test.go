package live

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sotto/internal/descriptors"
	"sotto/internal/jsonfloat"
	"sotto/live/event"
)

func serve(t *testing.T, opt Options) *Server {
	t.Helper()
	if opt.Address == "" {
		opt.Address = "127.0.0.1:0"
	}
	s, err := Serve(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-s.stop:
		default:
			s.shut()
		}
	})
	return s
}

// ask makes one request; edit changes it before it is sent.
func ask(t *testing.T, method, url string, edit func(*http.Request)) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(r)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// A stranger without the token, a page from elsewhere and a name that leads here learn
// nothing and change nothing.
func TestStrangers(t *testing.T) {
	stream := event.NewStream(event.Simulated)
	src := Of("secret-name", stream)
	stream.Emit(&event.Begin{What: event.OfRun, Name: "secret-name", Unit: "round"})
	stopped := false
	control := NewControl(stream.Emit, func() { stopped = true })
	s := serve(t, Options{Sources: []*Source{src}, Control: control})
	host := strings.TrimPrefix(strings.TrimSuffix(s.URL(), "/"+s.opt.Token+"/"), "http://")
	header := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
	for _, tc := range []struct {
		what, method, url string
		edit              func(*http.Request)
		want              int
	}{
		{"no token", "GET", "http://" + host + "/", nil, 403},
		{"another token", "GET", "http://" + host + "/" + strings.Repeat("x", len(s.opt.Token)) + "/", nil,
			403},
		{"half a token", "GET", "http://" + host + "/" + s.opt.Token[:12] + "/", nil, 403},
		{"events without it", "GET", "http://" + host + "/events", nil, 403},
		{"another host", "GET", s.URL(), func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"another port", "GET", s.URL(), func(r *http.Request) { r.Host = "127.0.0.1:1" }, 403},
		{"another origin", "GET", s.URL() + "events", header("Origin", "http://evil.example"), 403},
		{"no origin at all", "POST", s.URL() + "do/stop", nil, 403},
		{"null origin", "POST", s.URL() + "do/stop", header("Origin", "null"), 403},
		{"another origin stops", "POST", s.URL() + "do/stop", header("Origin", "http://evil.example"), 403},
		{"another action", "POST", s.URL() + "do/erase", header("Origin", "http://"+host), 404},
		{"a file", "GET", s.URL() + "server.go", nil, 404},
		{"a way up", "GET", s.URL() + "../../etc/passwd", nil, 307},
		{"the page that stays, before there is one", "GET", s.URL() + "staying", nil, 404},
		{"a source that is none", "GET", s.URL() + "?s=7", nil, 404},
		{"a cell that is none", "GET", s.URL() + "?cell=7", nil, 404},
	} {
		code, body, _ := ask(t, tc.method, tc.url, tc.edit)
		if code != tc.want || strings.Contains(body, "secret-name") || strings.Contains(body, s.opt.Token) {
			t.Errorf("%s: %d, want %d: %s", tc.what, code, tc.want, body)
		}
	}
	if stopped {
		t.Error("a stranger has stopped the run")
	}
	code, body, head := ask(t, "GET", s.URL(), nil)
	if code != 200 || !strings.Contains(body, "secret-name") {
		t.Errorf("the page itself: %d %s", code, body)
	}
	for k, want := range map[string]string{"Content-Security-Policy": "default-src 'none'",
		"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
		if !strings.Contains(head.Get(k), want) {
			t.Errorf("%s: %q lacks %q", k, head.Get(k), want)
		}
	}
	if csp := head.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || strings.Contains(csp,
		"*") {
		t.Errorf("the policy is not strict: %s", csp)
	}
	if code, _, _ := ask(t, "POST", s.URL()+"do/stop", header("Origin", "http://"+host)); code != 204 ||
		!stopped {
		t.Errorf("the page's own stop: %d, %v", code, stopped)
	}
	for _, bad := range []string{"0.0.0.0:0", "192.0.2.1:80", "localhost", "127.0.0.1:x", ":7080",
		"127.0.0.1:99999"} {
		if CheckAddress(bad) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// A page without control changes nothing, whoever asks.
func TestNothingToControl(t *testing.T) {
	s := serve(t, Options{Sources: []*Source{newSource("x")}})
	code, _, _ := ask(t, "POST", s.URL()+"do/stop", func(r *http.Request) {
		r.Header.Set("Origin", "http://"+s.host)
	})
	if code != 403 {
		t.Errorf("found %d", code)
	}
}

// watch reads messages until one contains text, or time is over.
func watch(ctx context.Context, url, text string) error {
	r, err := http.NewRequestWithContext(ctx, "GET", url+"events", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return nil
		}
	}
	return fmt.Errorf("%q did not come: %w", text, lines.Err())
}

// Fifty viewers and one that never reads see a run to its end; what it says never waits
// for them. One viewer above the limit is told so.
func TestLoad(t *testing.T) {
	stream := event.NewStream(event.Simulated)
	s := serve(t, Options{Sources: []*Source{Of("r", stream)}})
	stream.Emit(&event.Begin{What: event.OfRun, Name: "r", Unit: "round", Of: 3000})
	slow, err := net.Dial("tcp", s.host)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	slow.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(slow, "GET /%s/events HTTP/1.1\r\nHost: %s\r\n\r\n", s.opt.Token, s.host)
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	var all sync.WaitGroup
	errs := make(chan error, 50)
	for range 50 {
		all.Go(func() { errs <- watch(ctx, s.URL(), `"end":{"state":"done"`) })
	}
	viewers(t, s, 51)
	longest := time.Duration(0)
	for k := range 3000 {
		began := time.Now()
		stream.Emit(&event.Evaluation{Done: uint64(k), Metrics: map[string]event.Stats{
			"accuracy": {Mean: jsonfloat.Float(k)}}, Words: strings.Repeat("words ", 400)})
		longest = max(longest, time.Since(began))
		if k%100 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	stream.Emit(&event.End{State: event.Done})
	if all.Wait(); longest > 2*time.Second {
		t.Errorf("to say something took %v", longest)
	}
	for range 50 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	slow.Close()
	viewers(t, s, 0) // one that is still there would take the place of one of the next
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	for range mostViewers {
		all.Go(func() { watch(ctx, s.URL(), "never") })
	}
	viewers(t, s, mostViewers)
	if err := watch(ctx, s.URL(), "x"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("one too many: %v", err)
	}
	leave()
	all.Wait()
}

// viewers waits until a server has so many.
func viewers(t *testing.T, s *Server, want int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		got := s.viewers
		s.mu.Unlock()
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d viewers, want %d", got, want)
		}
	}
}

// The end of a run reaches the pages that are open before the server goes.
func TestCloseWaitsForTheEnd(t *testing.T) {
	stream := event.NewStream(event.Simulated)
	s := serve(t, Options{Sources: []*Source{Of("r", stream)}})
	stream.Emit(&event.Begin{What: event.OfRun, Name: "r", Unit: "round"})
	got := make(chan error, 1)
	go func() { got <- watch(context.Background(), s.URL(), `"end":{"state":"done"`) }()
	viewers(t, s, 1)
	stream.Emit(&event.End{State: event.Done})
	s.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// What is paused waits, goes on, and can be stopped while it waits.
func TestControl(t *testing.T) {
	var said []string
	ctx, cancel := context.WithCancel(context.Background())
	c := NewControl(func(b event.Body) { said = append(said, b.(*event.State).State) }, cancel)
	c.Hold(ctx) // it runs: no wait
	c.Pause()
	c.Pause()
	held := make(chan struct{})
	go func() { c.Hold(ctx); close(held) }()
	select {
	case <-held:
		t.Fatal("what is paused goes on")
	case <-time.After(20 * time.Millisecond):
	}
	c.Resume()
	<-held
	c.Pause()
	go c.Stop()
	c.Hold(ctx)
	if ctx.Err() == nil {
		t.Error("not stopped")
	}
	if got := fmt.Sprint(said); got != "[paused running paused stopping]" {
		t.Errorf("said %s", got)
	}
}

// Connections that say nothing, of which anybody on this machine can make as many as it
// likes, take no more than their share: the program can still open files.
func TestSilentConnections(t *testing.T) {
	const most = 8
	s := serve(t, Options{Sources: []*Source{Of("r", event.NewStream(event.Simulated))}, Connections: most})
	before := descriptors.InUse()
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for range 40 {
		c, err := net.DialTimeout("tcp", s.host, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	time.Sleep(100 * time.Millisecond) // the server takes what it takes
	// this process has both ends
	if taken := descriptors.InUse() - before - len(all); taken > most+2 {
		t.Errorf("the server holds %d connections, allowed: %d", taken, most)
	}
}

// Without scripts, too, an upper bound is not rounded below itself.
func TestBoundWithoutScripts(t *testing.T) {
	stream := event.NewStream(event.Simulated)
	s := serve(t, Options{Sources: []*Source{Of("r", stream)}})
	stream.Emit(&event.Begin{What: event.OfRun, Name: "r", Unit: "round"})
	for epsilon, want := range map[float64]string{0.51431: "0.5144", 0.5143: "0.5143", 1e-9: "0.0001",
		math.NaN(): "–", math.Inf(1): "+Inf"} {
		stream.Emit(&event.Spent{Done: 1, Upper: jsonfloat.Float(epsilon)})
		_, body, _ := ask(t, "GET", s.URL(), nil)
		if !strings.Contains(html.UnescapeString(body), "at most</th><td>"+want+"<") {
			t.Errorf("%g is not called %s", epsilon, want)
		}
	}
}

// Of more cells than are followed at once, each can be looked at: that which was looked
// at longest ago makes room, but for one that a page follows.
func TestManyCells(t *testing.T) {
	dir := t.TempDir()
	stream := event.NewStream(event.Simulated)
	s := serve(t, Options{Sources: []*Source{Of("s", stream)}})
	stream.Emit(&event.Begin{What: event.OfSweep, Name: "s", Unit: "cell", Dir: dir})
	for k := range mostCells + 10 {
		run := filepath.Join(dir, fmt.Sprint(k))
		if err := os.Mkdir(run, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(run, event.File), line(1, time.Now(), "begin", beginRun))
		stream.Emit(&event.Cell{Cell: k, State: event.Done, Dir: fmt.Sprint(k)})
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	var all sync.WaitGroup
	look := func(cell int) int {
		code, _, _ := ask(t, "GET", fmt.Sprint(s.URL(), "?cell=", cell), nil)
		return code
	}
	look(0)
	all.Go(func() {
		r, _ := http.NewRequestWithContext(ctx, "GET", s.URL()+"events?cell=0", nil)
		if resp, err := http.DefaultTransport.RoundTrip(r); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	viewers(t, s, 1)
	for k := range mostCells + 10 {
		if code := look(k); code != 200 {
			t.Errorf("cell %d: %d", k, code)
		}
	}
	s.mu.Lock()
	n, followed, first := len(s.cells), s.cells["0/0"], s.cells["0/1"]
	s.mu.Unlock()
	if n != mostCells || followed == nil || followed.viewers != 1 || first != nil {
		t.Errorf("%d cells are followed; that of a page: %v, the oldest: %v", n, followed, first)
	}
	if code := look(1); code != 200 {
		t.Errorf("the first cell again: %d", code)
	}
	leave()
	all.Wait()
}
