// Package endpoint answers a node's owner over HTTP: probes, metrics and status.
package endpoint

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"sotto/config"
	"sotto/node"
)

// Limits of the HTTP listener: whoever may connect to it must not take the descriptors
// that the node needs for its state.
const (
	maxConnections = 16
	unixPrefix     = "unix:"
)

// CheckLocal refuses what is neither a loopback address with a port nor unix: and the
// path of a socket: what a status tells is the owner's business.
func CheckLocal(address string) error {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok && path != "" {
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return config.Bad("http", address, unixPrefix+"/PATH in a folder that is there")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	if _, bad := net.LookupPort("tcp", port); err != nil || bad != nil || host != "localhost" &&
		(ip == nil || !ip.IsLoopback()) {
		return config.Bad("http", address,
			"a loopback address and port, such as 127.0.0.1:7070, or unix:/PATH")
	}
	return nil
}

// ListenLocal listens on an address that CheckLocal accepts, for a bounded number of
// connections at once. A socket has mode 0600; one that a former process left, to which
// nobody listens, is replaced.
func ListenLocal(address string) (net.Listener, error) {
	if err := CheckLocal(address); err != nil {
		return nil, err
	}
	network := "tcp"
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		if err := removeSocket(path); err != nil {
			return nil, err
		}
		network, address = "unix", path
	}
	l, err := listen(network, address)
	if err != nil {
		var op *net.OpError // its address is that of a file that is to be renamed
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("listening at %s: %w", address, err)
	}
	return netutil.LimitListener(l, maxConnections), nil
}

// listen listens; a socket appears with its mode, in one step.
func listen(network, address string) (net.Listener, error) {
	if network != "unix" {
		return net.Listen(network, address)
	}
	temp := address + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen(network, temp)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err = os.Chmod(temp, 0o600); err == nil {
		err = os.Rename(temp, address)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return socket{l, address}, nil
}

// socket removes its file when it is closed.
type socket struct {
	net.Listener
	path string
}

func (s socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

func (s socket) Close() error { return errors.Join(s.Listener.Close(), os.Remove(s.path)) }

// removeSocket removes a socket to which nobody listens.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return config.Bad("http", unixPrefix+path, "the path of a socket, or of no file")
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return config.Bad("http", unixPrefix+path, "a socket that no other process listens to")
	}
	return os.Remove(path)
}

// local refuses requests for another name than this machine's: a page from elsewhere that
// a browser on this machine shows may have its own name lead here, and would read the
// answer.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this address answers requests to localhost alone", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Endpoint is what a node answers its owner over HTTP:
//
//	/livez    200 while the process works, 503 after a failure
//	/readyz   200 while the node goes on, else 503 and the reason in words
//	/healthz  the same as /livez, for one release
//	/version  of the program, as JSON
//	/metrics  for Prometheus
//	/status   as JSON
//
// Over TCP any user of the machine may ask. Without the token /status is refused, /readyz
// gives no reason, and /metrics has neither what the ledger says nor neighbors, nor how
// long answers take, nor time and memory of the process. A unix socket has a mode, and
// needs no token.
type Endpoint struct {
	Status  func() node.Status
	Node    *node.Node // whose histograms are metrics too; nil: none
	Version any        // of the program; nil: nothing is told
	Token   string     // that a request for all must bring; "": none does
}

// Serve answers until l is closed.
func (e Endpoint) Serve(l net.Listener) error {
	mux := http.NewServeMux()
	open := l.Addr().Network() == "unix"
	// trusted reports whether a request may see all.
	trusted := func(r *http.Request) bool {
		got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return open || ok && e.Token != "" && subtle.ConstantTimeCompare([]byte(got), []byte(e.Token)) == 1
	}
	writeJSON := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		if !trusted(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the status is for the owner: ask with the token of --http-token-file, or over "+
				"--http unix:/PATH", http.StatusUnauthorized)
			return
		}
		writeJSON(w, e.Status())
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, e.Version) })
	live := func(w http.ResponseWriter, r *http.Request) {
		if f := e.Status().Failure; f != "" {
			refuse(w, trusted(r), "stopped", f)
			return
		}
		w.Write([]byte("ok\n"))
	}
	mux.HandleFunc("GET /livez", live)
	mux.HandleFunc("GET /healthz", live)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if s := e.Status(); !s.Ready {
			refuse(w, trusted(r), "not ready", s.Reason)
			return
		}
		w.Write([]byte("ok\n"))
	})
	all, some := e.metrics(true), e.metrics(false)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if trusted(r) {
			all.ServeHTTP(w, r)
			return
		}
		some.ServeHTTP(w, r)
	})
	s := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    1 << 13,
	}
	if !open {
		s.Handler = local(mux)
	}
	return s.Serve(l)
}

// refuse answers a probe; why may name neighbors and addresses.
func refuse(w http.ResponseWriter, trusted bool, what, why string) {
	if trusted {
		what += ": " + why
	}
	http.Error(w, what, http.StatusServiceUnavailable)
}
