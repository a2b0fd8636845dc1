package attack

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"sotto/agent"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/frame"
	"sotto/node/wire"
	"sotto/privacy/audit"
)

// observe runs one observation among nodes of one process: their own round barrier,
// stored checkpoints and frames, over a network in memory. It ends with the frames that
// the attacked node hands to its transport after the attacked step, which is the first
// after which done is true: one for each neighbor, in the order of their numbers; over
// changing graphs the first one alone.
func (r *liveRun) observe(attacked agent.Algorithm, g audit.Gate,
	done func() bool) ([]agent.Message, error) {
	dir, err := os.MkdirTemp("", "sotto-audit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	net := wire.NewMemory(r.graph.Agents(), node.MaxPayload(r.dim))
	line := &tap{of: r, done: done, stop: cancel}
	var wg sync.WaitGroup
	errs := make([]error, r.graph.Agents())
	for i := range errs {
		self := agent.ID(i)
		cfg := node.Config{
			Identity:  node.Identity{Self: self},
			Pace:      node.Pace{Graph: r.graph, Graphs: r.graphs, Rounds: r.rounds},
			Learner:   node.Learner{Gate: audit.Silent(), Dim: r.dim, Mass: r.push, BF16: r.bf16},
			Transport: net.Open(self),
		}
		defer cfg.Transport.Close()
		if self == r.attacked {
			line.Algorithm = attacked
			cfg.Algorithm, cfg.Gate, cfg.Transport = line, g, wire.NewCaptured(cfg.Transport, line)
		} else if cfg.Algorithm, err = r.member(i); err != nil {
			return nil, err
		}
		if cfg.Store, err = checkpoint.Open(filepath.Join(dir, strconv.Itoa(i)), r.files); err != nil {
			return nil, err
		}
		defer cfg.Store.Close()
		n, err := node.New(cfg)
		if err != nil {
			return nil, err
		}
		defer wg.Wait() // before stores and transports are closed
		defer cancel()
		wg.Go(func() {
			if errs[i] = n.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if len(line.sent) < line.neighbors() {
		return nil, errors.Join(append(errs, line.err)...)
	}
	var all []agent.Message
	for _, to := range slices.Sorted(maps.Keys(line.sent)) {
		all = append(all, line.sent[to]...)
	}
	return all, nil
}

// tap is the attacked node's algorithm, which learns what frame the attacked step leads
// to, and what its transport's frames are written to.
type tap struct {
	agent.Algorithm
	of   *liveRun
	done func() bool
	stop func()

	mu    sync.Mutex
	ready bool
	next  uint64                       // round of the frames that carry the present step's messages
	sent  map[agent.ID][]agent.Message // by receiver
	err   error
}

// neighbors is how many frames are waited for.
func (t *tap) neighbors() int {
	if t.of.graphs != nil {
		return 1
	}
	return max(1, t.of.graph.OutDegree(t.of.attacked))
}

// Step implements agent.Algorithm.
func (t *tap) Step(in *agent.Input, out *agent.Output) error {
	err := t.Algorithm.Step(in, out)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ready:
	case in.Kind == agent.Round:
		t.next = in.Round + 1
	}
	t.ready = t.ready || t.done()
	return err
}

// Write takes one frame of a capture.
func (t *tap) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ready || len(t.sent) == t.neighbors() || t.err != nil {
		return len(b), nil
	}
	t.err = wire.ReadCapture(bytes.NewReader(b), func(s wire.Sent) error {
		if s.Frame.Kind != frame.Messages || s.Frame.Round != t.next || t.sent[s.To] != nil {
			return nil
		}
		sent, err := s.Messages(node.MaxPayload(t.of.dim))
		if err != nil {
			return err
		}
		for k := range sent {
			sent[k].To = s.To
		}
		if t.sent == nil {
			t.sent = map[agent.ID][]agent.Message{}
		}
		t.sent[s.To] = sent
		return nil
	})
	if t.err != nil || len(t.sent) == t.neighbors() {
		t.stop()
	}
	return len(b), nil
}
