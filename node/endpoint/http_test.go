package endpoint

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sotto/config"
	"sotto/node"
	"sotto/node/checkpoint"
)

const testToken = "0123456789abcdef"

func TestHTTP(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.org:80", "x"} {
		var bad *config.Error
		if _, err := ListenLocal(address); !errors.As(err, &bad) {
			t.Errorf("%s: %v, want a refusal: it is not loopback", address, err)
		}
	}
	l, err := ListenLocal("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	s := node.Status{
		Name:    "a",
		Advance: node.Advance{Round: 3, Rounds: 9, Exhausted: true},
		Counts:  checkpoint.Counts{Missing: 4},
		Privacy: &node.Spent{Epsilon: 1.5, Lifetime: 2, Records: 3},
		Peers:   []node.PeerStatus{{Name: "b", State: node.Late, Round: 2}},
	}
	done := make(chan error)
	go func() {
		done <- Endpoint{Token: testToken, Status: func() node.Status {
			mu.Lock()
			defer mu.Unlock()
			return s
		}}.Serve(l)
	}()
	get := func(path string) (int, string) {
		q, err := http.NewRequest("GET", "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+testToken)
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(b)
	}
	code, body := get("/status")
	var back node.Status
	if err := json.Unmarshal([]byte(body), &back); err != nil || code != 200 || back.Round != 3 ||
		back.Peers[0].State != node.Late || back.Privacy.Epsilon != 1.5 {
		t.Errorf("status %d %s, %v", code, body, err)
	}
	_, body = get("/metrics")
	for _, line := range []string{"sotto_round 3", "sotto_exhausted 1", "sotto_missing_frames_total 4",
		"sotto_epsilon 1.5", "sotto_epsilon_lifetime 2", `sotto_peer_state{peer="b",state="late"} 1`} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("metrics lack %q:\n%s", line, body)
		}
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("health %d", code)
	}
	mu.Lock()
	s.Failure = "no space left on device"
	mu.Unlock()
	if code, body := get("/healthz"); code != 503 || !strings.Contains(body, "no space") {
		t.Errorf("health %d %q after a failure", code, body)
	}
	if code, _ := get("/params"); code != 404 {
		t.Errorf("an unknown path gives %d", code)
	}
	testHosts(t, l)
	l.Close()
	<-done
	http.DefaultClient.CloseIdleConnections()
}

// testHosts asks for the status under names that lead here from elsewhere.
func testHosts(t *testing.T, l net.Listener) {
	t.Helper()
	for host, want := range map[string]int{"localhost:7070": 200, "localhost": 200, "[::1]:7070": 200,
		"127.0.0.1": 200, "attacker.example:7070": 403, "attacker.example": 403, "192.0.2.1:7070": 403} {
		r, err := http.NewRequest("GET", "http://"+l.Addr().String()+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Authorization", "Bearer "+testToken)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if got.Body.Close(); got.StatusCode != want {
			t.Errorf("a request for host %s gives %d, want %d", host, got.StatusCode, want)
		}
	}
}
