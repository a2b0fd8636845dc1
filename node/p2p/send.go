package p2p

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/sec"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
)

// Send implements node.Transport.
func (t *Transport) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if int(to) >= len(t.peers) || to == t.self {
		return fmt.Errorf("%w: agent %d, allowed: 0 to %d but %d", node.ErrUnreachable, to, len(t.peers)-1,
			t.self)
	}
	answer, err := t.send(ctx, to, raw)
	if err == nil {
		return node.FromAnswer(answer)
	}
	err = t.plain(err)
	if c := ctx.Err(); c != nil {
		err = fmt.Errorf("%w: %w", c, err)
	}
	return fmt.Errorf("%w: %s: %w", node.ErrUnreachable, t.member(to), err)
}

func (t *Transport) send(ctx context.Context, to agent.ID, raw []byte) ([]byte, error) {
	if err := t.connect(ctx, to); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, to)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { s.Reset() })
	deadline, _ := ctx.Deadline() // none is the zero time
	s.SetDeadline(deadline)
	_, werr := s.Write(raw)
	size, err := frame.Size(raw, t.cfg.MaxPayload)
	whole := werr == nil && err == nil && size == len(raw)
	if !whole && werr == nil { // the receiver cannot tell where it ends
		werr = s.CloseWrite()
	}
	answer, err := readAnswer(s) // one may come although the write was cut short
	if err != nil {
		stop()
		s.Reset()
		s.Conn().Close() // the next attempt finds out whether the peer is there
		return nil, errors.Join(werr, err)
	}
	t.with[to].prove(s.Conn())
	if !stop() || !whole {
		s.Close()
	} else if other := t.with[to].swap(s); other != nil { // another send has opened one as well
		other.Close()
	}
	return answer, nil
}

// readAnswer reads as much as the first byte says.
func readAnswer(r io.Reader) ([]byte, error) {
	answer := make([]byte, 1, node.MaxAnswer)
	if _, err := io.ReadFull(r, answer); err != nil {
		return nil, err
	}
	answer = answer[:node.AnswerSize(answer[0])]
	_, err := io.ReadFull(r, answer[1:])
	return answer, err
}

// open returns the stream to a member that is idle, or opens one on the best connection.
// One by another key of the member's is used where there is none by its own: whoever has
// a former key does not get what is sent to a member that is there.
func (t *Transport) open(ctx context.Context, to agent.ID) (network.Stream, error) {
	m, key := &t.with[to], t.peers[to][0]
	s := m.swap(nil)
	idle := s != nil && !s.Conn().IsClosed()
	if idle && s.Conn().RemotePeer() == key {
		return s, nil
	}
	c := m.best(t.swarm.ConnsToPeer(key))
	if idle && c == nil {
		return s, nil
	}
	if s != nil {
		s.Reset()
	}
	if c == nil {
		c = m.best(conns(t, to))
	}
	if c == nil {
		return nil, network.ErrNoConn
	}
	s, err := c.NewStream(network.WithAllowLimitedConn(ctx, "frames go by any relay"))
	if err != nil {
		return nil, err
	}
	if err := s.SetProtocol(protocol); err != nil {
		s.Reset()
		return nil, err
	}
	return s, nil
}

// connected notes that a member has connected, or was connected to. Of too many
// connections one ends.
func (t *Transport) connected(_ network.Network, c network.Conn) {
	i, ok := t.numbers[c.RemotePeer()]
	if !ok {
		return
	}
	m := &t.with[i]
	select {
	case m.came <- struct{}{}:
	default:
	}
	for _, other := range m.surplus(conns(t, i)) {
		t.complain(i, "a connection was cut", "a member keeps 4")
		go other.Close() // it tells those who are told of connections
	}
}

// reachable tells whether there is a connection with a member.
func (t *Transport) reachable(to agent.ID) bool {
	return slices.ContainsFunc(t.peers[to], func(id peer.ID) bool {
		s := t.swarm.Connectedness(id)
		return s == network.Connected || s == network.Limited
	})
}

// conns are the connections with a member, by any of its keys.
func conns(t *Transport, to agent.ID) (all []network.Conn) {
	for _, id := range t.peers[to] {
		all = append(all, t.swarm.ConnsToPeer(id)...)
	}
	return all
}

// await waits for a member of a lower number to connect, for a short time. What came
// holds may be of a connection that has ended.
func (t *Transport) await(ctx context.Context, to agent.ID) bool {
	if t.cfg.Listen == NoListen { // nobody can
		return false
	}
	timer := time.NewTimer(cmp.Or(t.cfg.courtesy, courtesy))
	defer timer.Stop()
	for to < t.self && !t.reachable(to) {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-t.with[to].came:
		}
	}
	return t.reachable(to)
}

// connect finds a way to a member unless there is a connection: its address of the
// roster, what it says in the local network, and the relays, in this order.
func (t *Transport) connect(ctx context.Context, to agent.ID) error {
	if t.reachable(to) || t.await(ctx, to) {
		return nil
	}
	// One at a time: a dial replaces the addresses that another one would read.
	select {
	case t.with[to].dialing <- struct{}{}:
		defer func() { <-t.with[to].dialing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if t.reachable(to) {
		return nil
	}
	var errs []error
	for _, way := range []func(context.Context, agent.ID) ([]ma.Multiaddr, error){t.direct, t.nearby,
		t.relayed} {
		at, err := way(ctx, to)
		if err == nil && len(at) == 0 {
			continue
		}
		if err == nil {
			if err = dialAny(ctx, t, to, at); err == nil {
				return nil
			}
		}
		if errs = append(errs, t.plain(err)); ctx.Err() != nil {
			break
		}
	}
	if len(errs) == 0 {
		return errors.New("no way to it: the roster's address is nobody's, and there is no relay")
	}
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return &plainError{strings.Join(texts, "; "), errors.Join(errs...)}
}

// direct is where the roster says that a member is. A host below .invalid, which nobody
// ever has (RFC 6761), says that it is nowhere.
func (t *Transport) direct(ctx context.Context, to agent.ID) ([]ma.Multiaddr, error) {
	at := t.cfg.address(to)
	if nowhere(at) {
		return nil, nil
	}
	all, err := t.addresses(ctx, at)
	for _, a := range all {
		if ip, err := manet.ToIP(a); err == nil {
			t.hall.know(sourceOf(ip))
		}
	}
	return all, err
}

// nearby is where a member says that it is in the local network.
func (t *Transport) nearby(ctx context.Context, to agent.ID) ([]ma.Multiaddr, error) {
	if t.local == nil {
		return nil, nil
	}
	return t.local.find(ctx, to), nil
}

// dialAny connects to a member, and once more where another key of its shows there. A
// relay shows no key of who is not there: each is tried.
func dialAny(ctx context.Context, t *Transport, to agent.ID, at []ma.Multiaddr) (err error) {
	for _, id := range t.peers[to] {
		if err = t.dial(ctx, id, at); err == nil {
			return nil
		}
		var other sec.ErrPeerIDMismatch
		if errors.As(err, &other) && slices.Contains(t.peers[to], other.Actual) {
			return t.dial(ctx, other.Actual, at)
		}
		if !circuit(at[0]) {
			return err
		}
	}
	return err
}

// dial connects to a member at one of some addresses: the handshake shows whether it is
// there.
func (t *Transport) dial(ctx context.Context, id peer.ID, at []ma.Multiaddr) error {
	t.store.ClearAddrs(id)
	t.store.AddAddrs(id, at, peerstore.PermanentAddrTTL)
	t.swarm.Backoff().Clear(id) // the node paces attempts
	ctx = network.WithAllowLimitedConn(network.WithDialPeerTimeout(ctx, dialTimeout), "as above")
	_, err := t.swarm.DialPeer(ctx, id)
	return err
}
