//go:build browser

// Package browser tests the live page in a real browser, with the program as users start
// it:
//
//	go test -tags browser ./live/browser            tests
//	go test -tags browser ./live/browser -update    also makes docs/images anew
//
// The browser is the distribution's chromium; without one the tests fail.
package browser

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the screenshots to docs/images")

//go:embed testdata/axe.min.js
var axe string

var (
	program string // sotto, built from this checkout
	browser context.Context
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sotto-browser-*")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "sotto")
		if b, err := exec.Command("go", "build", "-o", program,
			"../../cmd/sotto").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, b)
			return 1
		}
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.NoFirstRun, chromedp.UserDataDir(filepath.Join(dir, "profile")),
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
			chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"))
		ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
		defer stop()
		browser, stop = chromedp.NewContext(ctx)
		defer stop()
		if err := chromedp.Run(browser); err != nil {
			fmt.Fprintf(os.Stderr, "no browser (apt-get install chromium): %v\n", err)
			return 1
		}
		return m.Run()
	}())
}

// started is a command whose page is open to browsers.
type started struct {
	*exec.Cmd
	url  string
	done chan struct{}
	err  error
	mu   sync.Mutex
	said strings.Builder
}

// start starts sotto and waits for the address of its page.
func start(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{Cmd: exec.Command(program, args...), done: make(chan struct{})}
	out, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.Stdout = os.Stderr
	if !testing.Verbose() {
		s.Stdout = nil
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "live: "); ok {
				address <- url
			}
			s.mu.Lock()
			fmt.Fprintln(&s.said, lines.Text())
			s.mu.Unlock()
		}
	}()
	go func() { <-read; s.err = s.Wait(); close(s.done) }()
	t.Cleanup(func() { s.Process.Kill(); <-s.done })
	select {
	case s.url = <-address:
	case <-s.done:
		t.Fatalf("%v ended: %v\n%s", args, s.err, s.text())
	case <-time.After(30 * time.Second):
		t.Fatalf("%v: no address\n%s", args, s.text())
	}
	return s
}

func (s *started) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// tab is one of the browser. What it asks for elsewhere, and what it complains of, is
// noted.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

func open(t *testing.T, url string) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(browser)
	ctx, end := context.WithTimeout(ctx, 2*time.Minute)
	p := &tab{t: t, ctx: ctx}
	t.Cleanup(func() { end(); stop() })
	host := strings.Split(url, "/")[2]
	chromedp.ListenTarget(ctx, func(ev any) {
		switch e := ev.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "http://"+host+"/") && !strings.HasPrefix(e.Request.URL,
				"data:") {
				p.fault("asks for %s", e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			p.fault("exception: %s", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			p.fault("console %s: %s", e.Type, e.Args[0].Value)
		case *log.EventEntryAdded:
			p.fault("log %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	})
	p.run(network.Enable(), log.Enable(), chromedp.Navigate(url))
	return p
}

func (p *tab) fault(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// clean fails where the page has asked elsewhere or complained of anything.
func (p *tab) clean() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		p.t.Error(f)
	}
}

func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// value evaluates an expression.
func value[T any](p *tab, js string) (v T) {
	p.t.Helper()
	p.run(chromedp.Evaluate(js, &v))
	return v
}

// until waits until an expression is true.
func (p *tab) until(what, js string, within time.Duration) {
	p.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		var ok bool
		if err := chromedp.Run(p.ctx, chromedp.Evaluate("Boolean("+js+")", &ok)); err == nil && ok {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: not within %v; the page says: %.2000s", what, within,
				value[string](p, "document.body.innerText"))
		}
	}
}

// accessible runs axe-core and fails for findings that are serious.
func (p *tab) accessible() {
	p.t.Helper()
	type finding struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML, FailureSummary string }
	}
	var found []finding
	p.run(chromedp.Evaluate(axe, nil), chromedp.Evaluate(
		`axe.run(document).then(r => r.violations)`, &found,
		func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	for _, f := range found {
		if f.Impact == "serious" || f.Impact == "critical" {
			b, _ := json.Marshal(f.Nodes[:min(3, len(f.Nodes))])
			p.t.Errorf("axe: %s (%s): %s: %.800s", f.ID, f.Impact, f.Help, b)
		}
	}
}

var widths = []int64{390, 1280, 2560}

// look takes pictures of the page at all widths, light and dark, and checks at each that
// it does not run out of the window and can be read by everybody.
func (p *tab) look(name string) {
	p.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, w := range widths {
			p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.EmulateViewport(w, 900), chromedp.Sleep(300*time.Millisecond))
			if over := value[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
				p.t.Errorf("%s at %d pixels runs out of the window by %d", name, w, over)
			}
			p.accessible()
			var picture []byte
			p.run(chromedp.FullScreenshot(&picture, 100))
			p.keep(fmt.Sprintf("%s-%d-%s.png", name, w, scheme), picture)
		}
	}
	p.clean()
}

// mostHeight is that of a picture that is kept, in pixels: what is below it is left out.
const mostHeight = 4000

// top is the upper part of a picture.
func (p *tab) top(b []byte) []byte {
	p.t.Helper()
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		p.t.Fatal(err)
	}
	r := img.Bounds()
	r.Max.Y = min(r.Max.Y, mostHeight)
	var out bytes.Buffer
	if err := png.Encode(&out, img.(interface {
		SubImage(image.Rectangle) image.Image
	}).SubImage(r)); err != nil {
		p.t.Fatal(err)
	}
	return out.Bytes()
}

// keep writes a picture where -update asks for it, or where SHOTS names a folder.
func (p *tab) keep(name string, picture []byte) {
	p.t.Helper()
	dir := os.Getenv("SHOTS")
	if *update {
		dir = filepath.Join("..", "..", "docs", "images")
	}
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), p.top(picture), 0o644); err != nil {
		p.t.Fatal(err)
	}
}
