package node_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/nodetest"
)

// forgetful tells one neighbor something else than the others in every round that is no
// multiple of 16, and leaves those rounds out of its chain of claims; or it begins a
// chain anew with every message.
type forgetful struct {
	node.Transport
	to agent.ID
	*sync.Mutex
	bases map[uint64]mark.Claim // by round/16
	lies  *int
	anew  bool
}

func (l forgetful) Send(ctx context.Context, to agent.ID, raw []byte) error {
	raw = node.Remark(raw, nodetest.Key(1), func(f *frame.Frame, m *mark.Mark) {
		l.Lock()
		defer l.Unlock()
		base := func(block uint64) mark.Claim {
			if c, ok := l.bases[block]; ok && !l.anew {
				return c
			}
			return mark.Claim{Sent: mark.NoRound, Earlier: mark.NoRound}
		}
		switch c := base(f.Round / 16); {
		case f.Kind != frame.Messages:
			if m.Claim.Sent != mark.NoRound {
				m.Claim = base(m.Claim.Sent / 16)
			}
		case f.Round%16 == 0:
			c = base(f.Round/16 - 1) // of round 0: none
			m.Claim = c.Next(f.Round, f.Payload)
			l.bases[f.Round/16] = m.Claim
		default:
			if to == l.to {
				at := f.Payload[len(f.Payload)-4:]
				x := math.Float32frombits(binary.LittleEndian.Uint32(at))
				binary.LittleEndian.PutUint32(at, math.Float32bits(x+1))
				*l.lies++
			}
			m.Claim = c.Next(f.Round, f.Payload)
		}
	})
	return l.Transport.Send(ctx, to, raw)
}

// A member that leaves what it told one neighbor out of its chain is found by that chain,
// with a proof; one that begins its chain anew with each message is named.
func TestTwoContentsLeftOutOfTheChain(t *testing.T) {
	for _, anew := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var proofs []*mark.Proof
			lies := 0
			var logs bytes.Buffer
			r := start(t, nodetest.Options{
				Factory: factory(t, "dsgd"),
				Rounds:  100,
				Change: func(i int, c *node.Config) {
					c.Linger, c.Missing, c.Deadline = time.Minute, node.Proceed, 10*time.Second
					c.OnProof = func(p *mark.Proof) {
						mu.Lock()
						defer mu.Unlock()
						proofs = append(proofs, p)
					}
					switch i {
					case 2:
						c.Log = logger(&logs)
					case 1:
						c.Transport = forgetful{c.Transport, 2, new(sync.Mutex), map[uint64]mark.Claim{},
							&lies, anew}
					}
				},
			}, openMemory)
			r.wait(t)
			if lies == 0 || anew != (len(proofs) == 0) {
				t.Errorf("anew %t: %d lies, %d proofs", anew, lies, len(proofs))
			}
			for _, p := range proofs {
				err := p.Verify(nodetest.Key(1).Public().(ed25519.PublicKey))
				if err != nil || p.Member != 1 {
					t.Errorf("a proof against %d: %v", p.Member, err)
				}
			}
			if named := strings.Contains(logs.String(), "leaves out of its chain"); named != anew {
				t.Errorf("anew %t: named is %t", anew, named)
			}
		})
	}
}
