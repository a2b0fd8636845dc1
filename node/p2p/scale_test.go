//go:build scale

package p2p

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/data"
	"sotto/model"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// TestScale compares nodes over TLS on loopback, each with its durable ledger and state
// on the disk of TMPDIR, with the simulator on the same machine in the same run: DP-DSGD
// of the ConvNet on rings and 8-regular graphs.
//
//	SOTTO_NODES=50 SOTTO_ROUNDS=20 \
//		go test -tags scale -run Scale -v -timeout 1h ./node/p2p
//
// It prints figures and checks none: they are those of the machine. Shares are means over
// nodes, of times that overlap: compute is drawing and clipping, fsync the syncs of
// ledger and state, TLS the sends until the neighbor's handler has answered. Memory is
// that of one process with all nodes, in which the program itself is shared.
func TestScale(t *testing.T) {
	nodes, rounds := number(t, "SOTTO_NODES", 50), uint64(number(t, "SOTTO_ROUNDS", 20))
	graphs := []string{"ring"}
	if nodes > 8 {
		graphs = append(graphs, "regular")
	}
	for _, graph := range graphs {
		s := newScale(t, graph, nodes, rounds)
		began := processor(t)
		simulated := s.simulate(t)
		alone := processor(t) - began
		s.spent.compute.Store(0)
		took := s.train(t)
		x := &s.spent
		per := func(d *atomic.Int64) float64 {
			return float64(d.Load()) / 1e6 / float64(rounds) / float64(nodes)
		}
		t.Logf("%s of %d, %d rounds: a round takes %.1f ms in nodes and %.1f ms in the simulator, %.2f "+
			"times as long", graph, nodes, rounds,
			ms(took)/float64(rounds), ms(simulated)/float64(rounds), took.Seconds()/simulated.Seconds())
		later := float64(x.processor.Load()-x.setup.Load()) / float64(rounds-1) * float64(rounds)
		t.Logf("%s of %d: a node's round takes %.2f ms of processor time in nodes and %.2f ms in the "+
			"simulator, %.2f times as much, %.2f times after the first round, until which connections are "+
			"made; it writes %.1f kB to disk", graph, nodes, per(&x.processor),
			ms(alone)/float64(rounds)/float64(nodes), float64(x.processor.Load())/float64(alone),
			later/float64(alone), float64(x.written.Load())/1e3/float64(rounds)/float64(nodes))
		t.Logf("%s of %d: per node and round compute %.2f ms, fsync %.2f ms, TLS %.2f ms; %.1f MB a node "+
			"besides its data", graph, nodes,
			per(&x.compute), per(&x.sync), per(&x.send), s.memory/float64(nodes)/(1<<20))
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// processor is the processor time of this process so far, in user and kernel mode.
func processor(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func number(t *testing.T, name string, def int) int {
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 2 {
		t.Fatalf("%s: found %q, allowed: at least 2", name, v)
	}
	return n
}

// scale is one run.
type scale struct {
	nodes   int
	rounds  uint64
	graph   *topology.Graph
	model   model.Model
	data    []*data.Dataset
	factory agent.Factory
	init    tensor.Vec
	spent   spent
	memory  float64 // bytes of all nodes
}

// spent is what all nodes have taken together: times in ns, and bytes written to files.
type spent struct{ compute, sync, send, processor, setup, written atomic.Int64 }

const scaleRecords, scaleBatch = 1000, 64.

func newScale(t *testing.T, graph string, nodes int, rounds uint64) *scale {
	s := &scale{nodes: nodes, rounds: rounds}
	decode := func(p any) error { return nil }
	sched, err := topology.New(graph, "", nodes, 1, func(p any) error {
		if p, ok := p.(*topology.RegularParams); ok {
			p.Degree = 8
		}
		return nil
	})
	if err == nil {
		s.graph, err = sched.At(0)
	}
	if err == nil {
		s.model, err = model.New("convnet", model.Shape{Height: 32, Width: 32, Channels: 1, Classes: 10},
			decode)
	}
	if err == nil {
		s.factory, err = algo.New("dsgd", decode)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.init = make(tensor.Vec, s.model.Dim())
	s.model.Init(s.init, rng.Public(1, "init"))
	for i := range nodes {
		d := &data.Dataset{X: tensor.NewMat(scaleRecords, 1024), Shape: [3]int{32, 32, 1}, Classes: 10}
		chance := rng.Public(uint64(i), "pixels")
		for k := range d.X.Data {
			d.X.Data[k] = float32(chance.Float64())
		}
		for range scaleRecords {
			d.Labels = append(d.Labels, int32(chance.Below(10)))
		}
		s.data = append(s.data, d)
	}
	return s
}

func (s *scale) algorithm(t *testing.T, i int) agent.Algorithm {
	a, err := s.factory(agent.Env{
		Self:    agent.ID(i),
		Agents:  s.nodes,
		Dim:     s.model.Dim(),
		Records: scaleRecords,
		Rounds:  s.rounds,
		Init:    s.init,
		Graph:   agent.Graph{SLEM: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (s *scale) oracle(t *testing.T, i int) map[string]privacy.Oracle {
	rows := make([]int32, scaleRecords)
	for k := range rows {
		rows[k] = int32(k)
	}
	g := &oracle.Gradient{
		Model:             s.model,
		Records:           oracle.Records{Data: s.data[i], Index: rows},
		SampleRate:        scaleBatch / scaleRecords,
		ExpectedBatchSize: scaleBatch,
		ClipNorm:          1,
		Adjacency:         account.ZeroOut,
		Unit:              account.Record(),
		Pool:              oracle.NewPool(),
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return map[string]privacy.Oracle{"grad": timedOracle{g, &s.spent.compute}}
}

func (s *scale) simulate(t *testing.T) time.Duration {
	var agents []sim.Agent
	for i := range s.nodes {
		agents = append(agents, sim.Agent{Algorithm: s.algorithm(t, i),
			Gate: privacy.NewSimulatedGate(ledger.NewMemory(nil), privacy.Gaussian{NoiseMultiplier: 1},
				s.oracle(t, i), 1, agent.ID(i))})
	}
	w, err := sim.New(sim.Config{
		Agents:   agents,
		Schedule: topology.Static(s.graph),
		Dim:      s.model.Dim(),
		Steps:    s.rounds,
	})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := w.Run(context.Background(), s.rounds); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// train runs the nodes and returns the time from the first start to the last of their
// last rounds.
func (s *scale) train(t *testing.T) time.Duration {
	l := openLoopback(t, s.nodes, node.MaxPayload(s.model.Dim()))
	before := heap()
	dir := t.TempDir()
	ready, ended := make([]*node.Node, s.nodes), make(chan time.Time, s.nodes)
	var (
		close []func()
		first atomic.Int64  // nodes that have completed the first round
		busy  time.Duration // processor time of what came before
	)
	for i := range s.nodes {
		fsys := timedFS{ledger.OS{AllowVolatile: true}, &s.spent}
		own, err := ledger.Create(filepath.Join(dir, fmt.Sprint("ledger", i)), ledger.Genesis{
			Adjacency:  account.ZeroOut,
			Unit:       account.Record(),
			Budget:     account.Budget{Epsilon: 1e6, Delta: 1e-5},
			MinRecords: 100,
		}, ledger.Options{Key: l.keys[i], FS: fsys, Accountant: "rdp"})
		if err != nil {
			t.Fatal(err)
		}
		store, err := checkpoint.Open(filepath.Join(dir, fmt.Sprint("state", i)), fsys)
		if err != nil {
			t.Fatal(err)
		}
		tr := timedTransport{l.Open(t, agent.ID(i)), &s.spent.send}
		gate := privacy.NewGate(own, privacy.Gaussian{NoiseMultiplier: 1}, s.oracle(t, i))
		ready[i], err = node.New(node.Config{
			Identity:  node.Identity{Self: agent.ID(i)},
			Pace:      node.Pace{Graph: s.graph, Rounds: s.rounds},
			Learner:   node.Learner{Algorithm: s.algorithm(t, i), Gate: gate, Dim: s.model.Dim()},
			Ledgers:   node.Ledgers{Head: own.Head},
			Transport: tr,
			Store:     store,
			OnRound: func(r node.RoundReport) {
				switch r.Round {
				case 0:
					if first.Add(1) == int64(s.nodes) {
						s.spent.setup.Store(int64(processor(t) - busy))
					}
				case s.rounds - 1:
					ended <- time.Now()
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		close = append(close, func() { tr.Close(); store.Close(); own.Close() })
	}
	began, last := time.Now(), time.Time{}
	busy = processor(t)
	s.spent.written.Store(0)
	var all sync.WaitGroup
	for i, n := range ready {
		all.Go(func() {
			if err := n.Run(context.Background()); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		})
	}
	for range s.nodes {
		last = <-ended
	}
	s.spent.processor.Store(int64(processor(t) - busy))
	s.memory = heap() - before
	all.Wait()
	for _, f := range close {
		f()
	}
	return last.Sub(began)
}

// heap is what is in use after a collection, with stacks.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

func lap(to *atomic.Int64, began time.Time) { to.Add(int64(time.Since(began))) }

type timedOracle struct {
	privacy.Oracle
	spent *atomic.Int64
}

func (o timedOracle) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	defer lap(o.spent, time.Now())
	o.Oracle.Evaluate(dst, q, sample)
}

type timedTransport struct {
	node.Transport
	spent *atomic.Int64
}

func (t timedTransport) Send(ctx context.Context, to agent.ID, frame []byte) error {
	defer lap(t.spent, time.Now())
	return t.Transport.Send(ctx, to, frame)
}

// timedFS measures syncs and counts what is written.
type timedFS struct {
	ledger.FS
	spent *spent
}

func (f timedFS) Create(name string) (ledger.Appender, error) {
	a, err := f.FS.Create(name)
	return timedFile{a, f.spent}, err
}

func (f timedFS) Append(name string) (ledger.Appender, error) {
	a, err := f.FS.Append(name)
	return timedFile{a, f.spent}, err
}

func (f timedFS) Rewrite(name string) (ledger.Appender, error) {
	a, err := f.FS.Rewrite(name)
	return timedFile{a, f.spent}, err
}

func (f timedFS) SyncDir(dir string) error {
	defer lap(&f.spent.sync, time.Now())
	return f.FS.SyncDir(dir)
}

type timedFile struct {
	ledger.Appender
	spent *spent
}

func (f timedFile) Write(b []byte) (int, error) {
	f.spent.written.Add(int64(len(b)))
	return f.Appender.Write(b)
}

func (f timedFile) Sync() error {
	defer lap(&f.spent.sync, time.Now())
	return f.Appender.Sync()
}
