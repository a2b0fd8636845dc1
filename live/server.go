package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log"
	"math"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"sotto/config"
	"sotto/internal/decimal"
	"sotto/internal/jsonfloat"
)

//go:embed page
var files embed.FS

// Limits: whoever may connect must not take what the run needs.
const (
	mostViewers = 64
	most        = mostViewers + 16 // connections
	mostCells   = 64               // runs of cells that are looked at
	writeWithin = 10 * time.Second
	patchEvery  = 250 * time.Millisecond
	beatEvery   = 10 * time.Second
	shutWithin  = 500 * time.Millisecond // its connections at the end
)

// policy allows nothing but what this server sends.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// stayingScript is the digest of report/zoom.js, the only script of a page that stays.
const stayingScript = "sha256-GiwFgUxv5LsAvgKO/4E1bwjauQe54Aqcat346vXtjGs="

// stayingPolicy is that of a page that stays: its styles and drawings are inside it, and
// the one script that it may run.
const stayingPolicy = "default-src 'none'; script-src '" + stayingScript + "'; " +
	"style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Options say how a page is served.
type Options struct {
	Address string // a loopback address and port; port 0: any that is free
	Token   string // that the address must have; "": a random one
	// Connections is how many there may be at once, so that whoever may connect does not
	// take the files that the program needs; 0: 80. More wait.
	Connections int
	// Control pauses, goes on with and stops what runs in this process; nil: the page
	// changes nothing.
	Control *Control
	Sources []*Source
}

// Server serves the page on this machine alone.
type Server struct {
	opt      Options
	host     string // and port
	listener net.Listener
	http     http.Server
	stop     chan struct{}

	mu      sync.Mutex
	viewers int
	told    int              // viewers that have got the end
	cells   map[string]*cell // nil: the server ends
	follows sync.WaitGroup
}

// CheckAddress refuses what is not a loopback address with a port.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	n, bad := strconv.Atoi(port)
	if err != nil || bad != nil || n < 0 || n > 65535 || host != "localhost" && (ip == nil ||
		!ip.IsLoopback()) {
		return config.Bad("live", address, "a loopback address and port, such as 127.0.0.1:7080")
	}
	return nil
}

// Serve begins to serve, and returns at once.
func Serve(opt Options) (*Server, error) {
	if err := CheckAddress(opt.Address); err != nil {
		return nil, err
	}
	if opt.Token == "" {
		var b [18]byte
		rand.Read(b[:]) // never fails
		opt.Token = base64.RawURLEncoding.EncodeToString(b[:])
	}
	l, err := net.Listen("tcp", opt.Address)
	if err != nil {
		return nil, err
	}
	s := &Server{opt: opt, host: l.Addr().String(), listener: l, stop: make(chan struct{}),
		cells: map[string]*cell{}}
	s.http = http.Server{Handler: s.guard(s.routes()), ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 13,
		ErrorLog: log.New(io.Discard, "", 0)}
	limited := netutil.LimitListener(l, cmp.Or(opt.Connections, most))
	s.follows.Go(func() { s.http.Serve(limited) })
	return s, nil
}

// URL is the address of the page, the token in it.
func (s *Server) URL() string { return "http://" + s.host + "/" + s.opt.Token + "/" }

// Close ends the server. Viewers that are there get what they lack, within two seconds.
func (s *Server) Close() {
	deadline := time.Now().Add(2 * time.Second)
	for time.Now().Before(deadline) {
		s.mu.Lock()
		waiting := s.viewers > s.told
		s.mu.Unlock()
		if !waiting {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.shut()
}

// shut ends the server at once, its answers whole but for those of viewers that do not
// read.
func (s *Server) shut() {
	close(s.stop)
	ctx, cancel := context.WithTimeout(context.Background(), shutWithin)
	defer cancel()
	_ = s.http.Shutdown(ctx) // what it does not wait for is closed
	s.http.Close()
	s.mu.Lock()
	for _, c := range s.cells {
		close(c.stop)
	}
	s.cells = nil
	s.mu.Unlock()
	s.follows.Wait()
}

// guard answers requests to this machine's own name, from this page, with the token; it
// says nothing to others.
func (s *Server) guard(h http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.host)
	ours := map[string]bool{s.host: true, "localhost:" + port: true, "127.0.0.1:" + port: true,
		"[::1]:" + port: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if !ours[r.Host] {
			http.Error(w, "this address answers requests to this machine alone", http.StatusForbidden)
			return
		}
		origin, given := strings.CutPrefix(r.Header.Get("Origin"), "http://")
		if r.Header.Get("Origin") != "" && (!given || origin != r.Host) ||
			r.Method != http.MethodGet && !given {
			http.Error(w, "this address answers its own page alone", http.StatusForbidden)
			return
		}
		if key, ok := strings.CutPrefix(r.URL.Path, stayingPath); ok {
			s.stays(w, r, key)
			return
		}
		token, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if subtle.ConstantTimeCompare([]byte(token), []byte(s.opt.Token)) != 1 {
			http.Error(w, "the address needs the token that the program has printed", http.StatusForbidden)
			return
		}
		if !strings.HasPrefix(r.URL.Path, "/"+token+"/") {
			http.Redirect(w, r, "/"+token+"/", http.StatusSeeOther)
			return
		}
		r.URL.Path = "/" + rest
		h.ServeHTTP(w, r)
	})
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /staying", s.staying)
	mux.HandleFunc("POST /do/{what}", s.do)
	for name, kind := range map[string]string{"app.js": "text/javascript", "chart.js": "text/javascript",
		"style.css": "text/css", "uplot/uPlot.iife.min.js": "text/javascript",
		"uplot/uPlot.min.css": "text/css"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) {
			b, err := fs.ReadFile(files, path.Join("page", name))
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			w.Write(b)
		})
	}
	return mux
}

var pageTemplate = template.Must(template.New("page.gohtml").Funcs(template.FuncMap{"atMost": atMost}).
	ParseFS(files, "page/page.gohtml"))

// atMost says an upper bound in four decimals, rounded up.
func atMost(bound jsonfloat.Float) string {
	if x := float64(bound); !math.IsNaN(x) {
		return decimal.Fixed(x, 4, true)
	}
	return "–"
}

// page is the page as it is now, for those without scripts too.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	src, err := s.source(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	src.mu.Lock()
	head := src.state.head
	spent := src.state.rest["spent"]
	evaluation := src.state.rest["evaluation"]
	src.mu.Unlock()
	title := src.Name
	if head.Begin != nil {
		title = head.Begin.Name
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	pageTemplate.Execute(w, map[string]any{"Title": title, "Head": head, "Spent": spent,
		"Evaluation": evaluation, "Control": s.opt.Control != nil && src.own, "Sources": s.names(),
		"At": r.FormValue("s"), "Cell": r.FormValue("cell"), "Plays": src.past() != nil})
}

// names are the sources, where there are several.
func (s *Server) names() (names []string) {
	if len(s.opt.Sources) > 1 {
		for _, src := range s.opt.Sources {
			names = append(names, src.Name)
		}
	}
	return names
}

// source is the one that a request is about: s its number, cell the run of one of its
// cells.
func (s *Server) source(r *http.Request) (*Source, error) {
	at := 0
	if v := r.FormValue("s"); v != "" {
		var err error
		if at, err = strconv.Atoi(v); err != nil {
			return nil, errors.New("no such source")
		}
	}
	if at < 0 || at >= len(s.opt.Sources) {
		return nil, errors.New("no such source")
	}
	src := s.opt.Sources[at]
	v := r.FormValue("cell")
	if v == "" {
		return src, nil
	}
	cell, err := strconv.Atoi(v)
	if err != nil {
		return nil, errors.New("no such cell")
	}
	dir, ok := src.cellDir(cell)
	if !ok {
		return nil, errors.New("this cell has no run to look at")
	}
	return s.cell(fmt.Sprintf("%d/%d", at, cell), dir)
}

// do pauses, goes on with or stops what runs.
func (s *Server) do(w http.ResponseWriter, r *http.Request) {
	src, err := s.source(r)
	if err != nil || s.opt.Control == nil || !src.own {
		http.Error(w, "this page changes nothing", http.StatusForbidden)
		return
	}
	switch r.PathValue("what") {
	case "pause":
		s.opt.Control.Pause()
	case "resume":
		s.opt.Control.Resume()
	case "stop":
		s.opt.Control.Stop()
	default:
		http.Error(w, "pause, resume or stop", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
