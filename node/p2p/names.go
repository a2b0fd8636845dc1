package p2p

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"sotto/agent"
)

// people names members as their owners know them.
type people struct {
	names   []string // of the roster, by agent number; "": the number alone
	numbers map[peer.ID]agent.ID
	relays  map[peer.ID]string // addresses
}

// member is what errors and the log call a member.
func (p *people) member(i agent.ID) string {
	if int(i) < len(p.names) && p.names[i] != "" {
		return fmt.Sprintf("%s (agent %d)", p.names[i], i)
	}
	return fmt.Sprintf("agent %d", i)
}

// key is what errors and the log call the holder of a key: a member, a relay, or the key
// as sotto keygen prints it.
func (p *people) key(id peer.ID) string {
	if i, ok := p.numbers[id]; ok {
		return p.member(i)
	}
	if at, ok := p.relays[id]; ok {
		return "the relay at " + at
	}
	if k, err := id.ExtractPublicKey(); err == nil {
		if raw, err := k.Raw(); err == nil {
			return "key " + hex.EncodeToString(raw)
		}
	}
	return "key " + id.String()
}

// libp2pID is how libp2p writes an Ed25519 key.
var libp2pID = regexp.MustCompile(`12D3Koo[1-9A-HJ-NP-Za-km-z]{45}`)

// plain is an error of libp2p's in one line, with members' names in place of its own.
func (p *people) plain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	var d *swarm.DialError
	if errors.As(err, &d) {
		var parts []string
		for i := range d.DialErrors {
			e := &d.DialErrors[i]
			parts = append(parts, fmt.Sprintf("%s: %v", p.place(e.Address.String()), e.Cause))
		}
		if len(parts) == 0 {
			parts = append(parts, fmt.Sprint(d.Cause))
		}
		text = strings.Join(parts, "; ")
	}
	text = libp2pID.ReplaceAllStringFunc(text, func(s string) string {
		id, err := peer.Decode(s)
		if err != nil {
			return s
		}
		return p.key(id)
	})
	return &plainError{strings.ReplaceAll(text, "\n", " "), err}
}

// place is a libp2p address as host:port; that of a circuit ends with the relay's.
func (p *people) place(s string) string {
	parts := strings.Split(s, "/") // "", "ip4", "1.2.3.4", "tcp", "80", ...
	if len(parts) < 5 || parts[3] != "tcp" {
		return s
	}
	at := parts[2] + ":" + parts[4]
	if strings.Contains(parts[2], ":") {
		at = "[" + parts[2] + "]:" + parts[4]
	}
	if strings.Contains(s, "/p2p-circuit") {
		return "through the relay at " + at
	}
	return at
}

// plainError is another text for an error.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

func newPeople(all []Member) *people {
	p := &people{numbers: map[peer.ID]agent.ID{}, relays: map[peer.ID]string{}}
	for _, m := range all {
		p.names = append(p.names, m.Name)
	}
	return p
}

// number learns the keys of members, and returns them by number: each one's own first. A
// key that a member has is nobody else's other one.
func (p *people) number(all []Member) ([][]peer.ID, error) {
	keys := make([][]peer.ID, len(all))
	learn := func(i int, key ed25519.PublicKey, place string) error {
		id, err := peerOf(key, place)
		if _, known := p.numbers[id]; err == nil && !known {
			p.numbers[id], keys[i] = agent.ID(i), append(keys[i], id)
		}
		return err
	}
	for i, m := range all {
		if err := learn(i, m.Key, fmt.Sprintf("members[%d].key", i)); err != nil {
			return nil, err
		}
	}
	for i, m := range all {
		for k, key := range m.Others {
			if err := learn(i, key, fmt.Sprintf("members[%d].others[%d]", i, k)); err != nil {
				return nil, err
			}
		}
	}
	return keys, nil
}
