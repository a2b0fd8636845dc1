package p2p

import (
	"crypto/ed25519"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	corehost "github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	blankhost "github.com/libp2p/go-libp2p/p2p/host/blank"
	circuitrelay "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"sotto/config"
)

// RelayConfig is what a relay needs.
type RelayConfig struct {
	Key     ed25519.PrivateKey // its own: not one of a member
	Members []Member           // whom it serves
	Listen  string             // host:port
	Log     *slog.Logger       // nil: none

	files int                               // tests: the limit of open files
	wrap  func(corehost.Host) corehost.Host // tests: sees what the relay sees
}

// Relay is a libp2p circuit relay (version 2) for the members of a roster: it carries
// connections between members who both have connected to it. What it carries is
// encrypted between their ends; it sees who talks to whom, when and how much. Circuits
// have no limit of time or bytes, since training is long; their number is bounded.
type Relay struct {
	*host
	service *circuitrelay.Relay
	key     ed25519.PublicKey
}

// circuitBuffer is for one direction of a circuit.
const circuitBuffer = 32 << 10

// NewRelay opens a relay, which serves until it is closed.
func NewRelay(cfg RelayConfig) (r *Relay, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	who := newPeople(cfg.Members)
	if _, err := who.number(cfg.Members); err != nil {
		return nil, err
	}
	secret, err := crypto.UnmarshalEd25519PrivateKey(cfg.Key)
	if err != nil {
		return nil, config.Bad("key", len(cfg.Key), "an Ed25519 private key of 64 bytes")
	}
	id, err := peer.IDFromPrivateKey(secret)
	if err != nil {
		return nil, err
	}
	if _, ok := who.numbers[id]; ok {
		return nil, config.Bad("key", who.key(id), "a key of the relay's own, which no member has")
	}
	// of each member: to all others, twice while a connection takes another's place
	each := 2*len(cfg.Members) + 16
	r = &Relay{key: cfg.Key.Public().(ed25519.PublicKey)}
	r.host, err = openHost(hostConfig{id: id, secret: secret, people: who, streams: 2 * each,
		files: cfg.files, log: cfg.Log})
	if err != nil {
		return nil, err
	}
	if err = r.serve(cfg, who, each); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// serve begins to carry circuits, and listens.
func (r *Relay) serve(cfg RelayConfig, who *people, each int) error {
	b := blankhost.NewBlankHost(r.swarm, blankhost.WithEventBus(r.bus))
	if b == nil {
		return errors.New("p2p: no host for a relay")
	}
	var h corehost.Host = b
	if cfg.wrap != nil {
		h = cfg.wrap(b)
	}
	n := len(cfg.Members)
	var err error
	r.service, err = circuitrelay.New(h, circuitrelay.WithACL(members{who}),
		circuitrelay.WithResources(circuitrelay.Resources{
			ReservationTTL:        time.Hour,
			MaxReservations:       n,
			MaxCircuits:           each,
			BufferSize:            circuitBuffer,
			MaxReservationsPerIP:  n,
			MaxReservationsPerASN: n,
		}))
	if err != nil {
		return err
	}
	return r.listen(cfg.Listen)
}

// members lets members have circuits to each other.
type members struct{ *people }

// AllowReserve implements relay.ACLFilter.
func (m members) AllowReserve(id peer.ID, _ ma.Multiaddr) bool {
	_, ok := m.numbers[id]
	return ok
}

// AllowConnect implements relay.ACLFilter.
func (m members) AllowConnect(from peer.ID, _ ma.Multiaddr, to peer.ID) bool {
	return from != to && m.AllowReserve(from, nil) && m.AllowReserve(to, nil)
}

// Points are where the relay listens, as ParseRelay reads them.
func (r *Relay) Points() []RelayPoint {
	var all []RelayPoint
	for _, a := range r.swarm.ListenAddresses() {
		if n, err := manet.ToNetAddr(a); err == nil {
			all = append(all, RelayPoint{n.String(), r.key})
		}
	}
	return all
}

// Close ends all circuits.
func (r *Relay) Close() error {
	var err error
	if r.service != nil {
		err = r.service.Close()
	}
	return errors.Join(err, r.host.close())
}
