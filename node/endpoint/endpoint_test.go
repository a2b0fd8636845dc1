package endpoint

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sotto/node"
)

// serve answers at an address until the test ends, and returns the way to ask it.
func serve(t *testing.T, address string, e Endpoint) func(path, token string) (int, string) {
	t.Helper()
	l, err := ListenLocal(address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- e.Serve(l) }()
	dialer := net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, l.Addr().Network(), l.Addr().String())
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		l.Close()
		<-done
	})
	return func(path, token string) (int, string) {
		q, err := http.NewRequest("GET", "http://localhost"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			q.Header.Set("Authorization", "Bearer "+token)
		}
		r, err := (&http.Client{Transport: transport}).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(b)
	}
}

func stuck() node.Status {
	return node.Status{Name: "a", Privacy: &node.Spent{Epsilon: 1.5, Lifetime: 2, Records: 3},
		Readiness: node.Readiness{Reason: "cannot reach b"},
		Peers:     []node.PeerStatus{{Name: "b", State: node.Gone, Fault: "192.0.2.1:4001: refused"}}}
}

// Any user of the machine could read epsilon, neighbors and their addresses, which
// status.json keeps for the owner.
func TestStatusNeedsTheToken(t *testing.T) {
	get := serve(t, "127.0.0.1:0", Endpoint{Status: stuck, Token: testToken, Node: aNode(t),
		Version: map[string]string{"version": "v9"}})
	for _, token := range []string{"", "wrong", testToken + "x"} {
		for path, want := range map[string]int{"/status": 401, "/livez": 200, "/healthz": 200, "/readyz": 503,
			"/version": 200, "/metrics": 200, "/else": 404} {
			code, body := get(path, token)
			if code != want {
				t.Errorf("%s with token %q: %d, want %d", path, token, code, want)
			}
			for _, secret := range []string{"192.0.2.1", "sotto_epsilon", "sotto_peer", `"b"`, "reach b",
				"sotto_step"} {
				if strings.Contains(body, secret) {
					t.Errorf("%s with token %q tells %q:\n%s", path, token, secret, body)
				}
			}
		}
	}
	_, body := get("/metrics", "")
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "sotto_") &&
			!strings.HasPrefix(line, "go_build_info{") {
			t.Errorf("metrics without a token have time or memory, which follow from records: %s", line)
		}
	}
	if code, body := get("/readyz", testToken); code != 503 || body != "not ready: cannot reach b\n" {
		t.Errorf("ready with the token: %d %q", code, body)
	}
	_, body = get("/version", "")
	var version map[string]string
	if err := json.Unmarshal([]byte(body), &version); err != nil || version["version"] != "v9" {
		t.Errorf("version %q, %v", body, err)
	}
	_, body = get("/metrics", testToken)
	for _, line := range []string{"sotto_ready 0", "sotto_epsilon 1.5", "sotto_step_seconds_count 0",
		`sotto_peer_state{peer="b",state="gone"} 1`,
		`sotto_peer_state{peer="b",state="here"} 0`} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("metrics lack %q", line)
		}
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "sotto_since_last_round_seconds"} {
		if !strings.Contains(body, "\n"+name+" ") {
			t.Errorf("metrics lack %s", name)
		}
	}
	none := serve(t, "127.0.0.1:0", Endpoint{Status: stuck})
	if code, _ := none("/status", ""); code != 401 {
		t.Errorf("without any token the status gives %d", code)
	}
}

// A socket is its owner's by its mode. One that a killed process left is replaced, one
// that is listened to is not, nor any other file.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	old, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	if _, err := ListenLocal("unix:" + path); err == nil {
		t.Error("a socket that somebody listens to is taken")
	}
	old.Close()
	get := serve(t, "unix:"+path, Endpoint{Status: stuck})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info, err)
	}
	if code, body := get("/status", ""); code != 200 || !strings.Contains(body, "192.0.2.1") {
		t.Errorf("status over the socket: %d %s", code, body)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenLocal("unix:" + file); err == nil {
		t.Error("a file is replaced by a socket")
	}
}

// With 256 descriptors a local user ended the node by slow requests: it could not open
// its checkpoint any more.
func TestSlowRequestsTakeFewDescriptors(t *testing.T) {
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc/self/fd")
		}
		return len(names)
	}
	l, err := ListenLocal("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- Endpoint{Status: stuck}.Serve(l) }()
	before := count()
	const slow = 100
	for range slow {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("GET /status HTTP/1.1\r\nHost: ")); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(200 * time.Millisecond) // for the server to take what it takes
	if own := count() - before - slow; own > maxConnections+4 {
		t.Errorf("%d slow requests take %d descriptors of the node, want at most %d", slow, own,
			maxConnections)
	}
	l.Close()
	<-done
}
