package wire

import (
	"context"
	"fmt"
	"sync"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
)

// Memory is a network in memory, for tests and for many nodes in one process.
type Memory struct {
	maxPayload int
	mu         sync.Mutex
	ends       []*memoryEnd
	senders    []sync.Mutex // by sender and receiver: one frame at a time
}

// NewMemory returns a network of agents members, none of them open, that carries payloads
// of at most maxPayload bytes.
func NewMemory(agents, maxPayload int) *Memory {
	return &Memory{maxPayload: maxPayload, ends: make([]*memoryEnd, agents),
		senders: make([]sync.Mutex, agents*agents)}
}

// Open returns the transport of one member. A member that was closed can be opened again;
// one that is open is a panic.
func (m *Memory) Open(self agent.ID) node.Transport {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ends[self] != nil {
		panic(fmt.Sprintf("node: member %d of a network in memory is open already", self))
	}
	e := &memoryEnd{net: m, self: self}
	m.ends[self] = e
	return e
}

type memoryEnd struct {
	net     *Memory
	self    agent.ID
	mu      sync.Mutex
	handler node.Handler
	closed  bool
	running sync.WaitGroup
}

var _ node.Transport = (*memoryEnd)(nil)

// Serve implements node.Transport.
func (e *memoryEnd) Serve(h node.Handler) {
	e.mu.Lock()
	e.handler = h
	e.mu.Unlock()
}

// enter returns the handler and counts its call, or nil if none may run.
func (e *memoryEnd) enter() node.Handler {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.handler == nil {
		return nil
	}
	e.running.Add(1)
	return e.handler
}

// Send implements node.Transport.
func (e *memoryEnd) Send(ctx context.Context, to agent.ID, raw []byte) error {
	m := e.net
	if int(to) >= len(m.ends) || to == e.self {
		return fmt.Errorf("%w: agent %d, allowed: 0 to %d but %d", node.ErrUnreachable, to,
			len(m.ends)-1, e.self)
	}
	one := &m.senders[int(e.self)*len(m.ends)+int(to)]
	one.Lock()
	defer one.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: agent %d: %w", node.ErrUnreachable, to, err)
	}
	m.mu.Lock()
	peer := m.ends[to]
	m.mu.Unlock()
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed || peer == nil {
		return fmt.Errorf("%w: agent %d is not there", node.ErrUnreachable, to)
	}
	handler := peer.enter()
	if handler == nil {
		return fmt.Errorf("%w: agent %d is not there", node.ErrUnreachable, to)
	}
	defer peer.running.Done()
	if size, err := frame.Size(raw, m.maxPayload); err != nil || len(raw) > size {
		raw = raw[:min(len(raw), frame.HeaderSize)]
	}
	return node.FromAnswer(node.Answer(handler(e.self, append([]byte(nil), raw...))))
}

// Close implements node.Transport.
func (e *memoryEnd) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.running.Wait()
	m := e.net
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ends[e.self] == e {
		m.ends[e.self] = nil
	}
	return nil
}
