//go:build netns && linux

package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/nodetest"
	"sotto/node/p2p"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// What a process of TestNamespacesEqualTheSimulator is told.
const (
	memberOf   = "SOTTO_NETNS_MEMBER" // its number
	resultOf   = "SOTTO_NETNS_RESULT" // the file for what it comes to
	proxyOf    = "SOTTO_NETNS_PROXY"  // that the last member goes out by; "": none
	netMembers = 4
)

// netResult is what a member has come to.
type netResult struct {
	Params  tensor.Vec
	Charges uint64
	Status  node.Status
}

// weather says what becomes of a packet between two members; the last number is that of
// the proxy.
type weather func(h *hub, from, to int, chance *rand.Rand) (late time.Duration, arrives bool)

// hub carries packets between the devices of namespaces.
type hub struct {
	devices       []*os.File
	sky           weather
	carried, lost atomic.Uint64
	cut           atomic.Int64 // when a partition began, in ns
}

// carry hands on what one device sends. Only IPv4 packets to 10.77.0.0/24 are.
func (h *hub) carry(from int) {
	chance := rand.New(rand.NewPCG(1, uint64(from)))
	for {
		packet := make([]byte, 1<<16)
		n, err := h.devices[from].Read(packet)
		if err != nil {
			return
		}
		if n < 20 || packet[0]>>4 != 4 || [3]byte(packet[16:19]) != [3]byte{10, 77, 0} {
			continue
		}
		to := int(packet[19]) - 1
		if to < 0 || to >= len(h.devices) {
			continue
		}
		late, arrives := h.sky(h, from, to, chance)
		if !arrives {
			h.lost.Add(1)
			continue
		}
		h.carried.Add(1)
		time.AfterFunc(late, func() { h.devices[to].Write(packet[:n]) })
	}
}

// openHub connects namespaces.
func openHub(t *testing.T, label string, count int, sky weather) (h *hub, names []string) {
	t.Helper()
	names, run := namespaces(t, label, count)
	h = &hub{sky: sky}
	for _, ns := range names {
		d := tunnel(t, ns)
		h.devices = append(h.devices, d)
		t.Cleanup(func() { d.Close() })
	}
	raise(run, names...)
	for i := range h.devices {
		go h.carry(i)
	}
	return h, names
}

// parted cuts the first two members off from the others when so many packets were
// carried, for so long.
func parted(after uint64, during time.Duration) weather {
	return func(h *hub, from, to int, _ *rand.Rand) (time.Duration, bool) {
		now := time.Now().UnixNano()
		if h.carried.Load() > after {
			h.cut.CompareAndSwap(0, now)
		}
		cut := h.cut.Load()
		apart := cut > 0 && now-cut < int64(during) && (from < 2) != (to < 2)
		return 2 * time.Millisecond, !apart
	}
}

// Four processes, each in a network namespace of its own with nothing but one device,
// whose packets this test carries, end with the simulator's bits and charges whatever
// becomes of packets. Their noise is drawn from a seed, so that there are bits to
// compare; all else is as in sotto node.
func TestNamespacesEqualTheSimulator(t *testing.T) {
	rights(t)
	between := func(low, high time.Duration, chance *rand.Rand) time.Duration {
		return low + time.Duration(chance.Int64N(int64(high-low)))
	}
	for name, c := range map[string]struct {
		sky   weather
		loses bool
		proxy bool
	}{
		"loss": {sky: func(_ *hub, _, _ int, chance *rand.Rand) (time.Duration, bool) {
			return time.Millisecond, chance.Float64() >= .05
		}, loses: true},
		"delay": {sky: func(*hub, int, int, *rand.Rand) (time.Duration, bool) {
			return 60 * time.Millisecond, true
		}},
		"order": {sky: func(_ *hub, _, _ int, chance *rand.Rand) (time.Duration, bool) {
			return between(0, 40*time.Millisecond, chance), true
		}},
		"all": {sky: func(_ *hub, _, _ int, chance *rand.Rand) (time.Duration, bool) {
			return between(20*time.Millisecond, 60*time.Millisecond, chance), chance.Float64() >= .03
		}, loses: true},
		"parted": {sky: parted(400, 8*time.Second), loses: true},
		// who goes out by the proxy reaches nobody else
		"proxy": {sky: func(_ *hub, from, to int, _ *rand.Rand) (time.Duration, bool) {
			return time.Millisecond, from != netMembers-1 && to != netMembers-1 || from == netMembers ||
				to == netMembers
		}, proxy: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for packets
			count := netMembers
			if c.proxy {
				count++
			}
			h, names := openHub(t, name, count, c.sky)
			var served atomic.Uint64
			var env []string
			if c.proxy {
				env = append(env, proxyOf+"="+proxyWithin(t, names[netMembers], &served))
			}
			began := time.Now()
			results := netRun(t, names[:netMembers], env)
			netCompare(t, results)
			t.Logf("%d packets carried, %d lost, %v", h.carried.Load(), h.lost.Load(),
				time.Since(began).Round(time.Second))
			if c.loses != (h.lost.Load() > 0) {
				t.Errorf("%d packets were lost", h.lost.Load())
			}
			if c.proxy && served.Load() == 0 {
				t.Error("the proxy served nobody")
			}
		})
	}
}

// netRun runs this test's members, each in a namespace.
func netRun(t *testing.T, names []string, env []string) []netResult {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	results, failed := make([]netResult, len(names)), make(chan error)
	for i, ns := range names {
		file := filepath.Join(dir, strconv.Itoa(i))
		c := exec.Command("ip", "netns", "exec", ns, self, "-test.run=^TestMemberInANamespace$", "-test.v",
			"-test.timeout=5m")
		c.Env = append(append(os.Environ(), env...), fmt.Sprint(memberOf, "=", i), resultOf+"="+file)
		go func() {
			out, err := c.CombinedOutput()
			var b []byte
			if err == nil {
				if b, err = os.ReadFile(file); err == nil {
					err = json.Unmarshal(b, &results[i])
				}
			}
			if err != nil {
				err = fmt.Errorf("member %d: %w\n%s", i, err, out)
			}
			failed <- err
		}()
	}
	for range names {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	return results
}

// netWorld is the run of all members.
func netWorld(t *testing.T) *nodetest.World {
	t.Helper()
	f, err := algo.New("dsgt", func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return nodetest.NewWorld(t, nodetest.Options{Factory: f, Agents: netMembers, Rounds: 60,
		Change: func(_ int, c *node.Config) {
			c.Deadline, c.SendTimeout, c.Linger = 2*time.Second, 3*time.Second, time.Minute
		}})
}

// netCompare holds what members have come to against the simulator.
func netCompare(t *testing.T, results []netResult) {
	t.Helper()
	want, charges := netWorld(t).Simulate(t)
	for i, r := range results {
		if !slices.Equal(r.Params, want[i]) || r.Charges != charges[i] {
			t.Errorf("member %d: %v with %d charges, in the simulator %v with %d", i, r.Params, r.Charges,
				want[i], charges[i])
		}
		if s := r.Status; !s.Finished || s.Counts.Missing != 0 {
			t.Errorf("member %d ends with %+v", i, s)
		}
	}
}

// A process of TestNamespacesEqualTheSimulator: no test by itself.
func TestMemberInANamespace(t *testing.T) {
	file := os.Getenv(resultOf)
	if file == "" {
		t.Skip("a process of another test")
	}
	i, err := strconv.Atoi(os.Getenv(memberOf))
	if err != nil {
		t.Fatal(err)
	}
	c := p2p.Config{Key: nodetest.Key(agent.ID(i)), MaxPayload: node.MaxPayload(nodetest.Dim)}
	for k := range netMembers {
		c.Members = append(c.Members, p2p.Member{Name: fmt.Sprint("m", k),
			Key:     nodetest.Key(agent.ID(k)).Public().(ed25519.PublicKey),
			Address: fmt.Sprintf("10.77.0.%d:4001", k+1)})
	}
	if at := os.Getenv(proxyOf); at != "" {
		c.Members[netMembers-1].Address = "nowhere.invalid:1"
		if i == netMembers-1 {
			c.Listen = p2p.NoListen
			if c.Reach.Proxy, err = p2p.ParseProxy(at, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	tr, err := p2p.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	w := netWorld(t)
	l := ledger.NewMemory(w.Filter(t))
	n, store, err := w.Node(t, i, tr, ledgertest.NewCrashFS(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := n.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(netResult{n.Params(), l.Head().Seq, n.Status()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// proxyWithin is an HTTP proxy in a namespace, which counts whom it serves.
func proxyWithin(t *testing.T, namespace string, served *atomic.Uint64) (at string) {
	t.Helper()
	var l net.Listener
	err := within(namespace, func() (err error) {
		l, err = net.Listen("tcp", fmt.Sprintf("10.77.0.%d:3128", netMembers+1))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var out net.Conn
		err := within(namespace, func() (err error) {
			out, err = net.DialTimeout("tcp", r.Host, 10*time.Second)
			return err
		})
		if r.Method != http.MethodConnect || err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			out.Close()
			return
		}
		served.Add(1)
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		all.Go(func() { io.Copy(out, rw); out.(*net.TCPConn).CloseWrite() })
		all.Go(func() { io.Copy(c, out); c.Close(); out.Close() })
	})}
	all.Go(func() { s.Serve(l) })
	t.Cleanup(func() { s.Close(); all.Wait() })
	return "http://" + l.Addr().String()
}
