package node_test

import (
	"context"
	"crypto/ed25519"
	"testing"
	"testing/synctest"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/nodetest"
)

// Members 0 and 2 have replaced their keys at round 1, and member 1 has the former ones.
// Long after, what it signs with them makes nobody charge, skip rounds or accuse.
func TestAThiefOfFormerKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stolen := map[agent.ID]ed25519.PrivateKey{0: nodetest.Key(77), 2: nodetest.Key(88)}
		tried := false
		r := prepare(t, nodetest.Options{Factory: factory(t, "dsgd"), Rounds: 40,
			Change: func(i int, c *node.Config) {
				c.Restart = never
				c.Since = &node.Since{Round: 1, Was: []int{0, 1, 2, 3}}
				if key, ok := stolen[agent.ID(i)]; ok {
					c.Since.Formers = []mark.Former{{Key: key.Public().(ed25519.PublicKey), Until: 1}}
				}
				switch i {
				case 0:
					c.OnProof = func(p *mark.Proof) { t.Errorf("a proof that %s has lied", p.Name) }
					c.OnRollback = func(m *mark.Mark, missing, _ uint64) error {
						t.Errorf("member 0 goes to round %d and charges %d", m.Round, missing)
						return nil
					}
				case 1:
					c.Transport = thief{c.Transport, c.Run, stolen, &tried}
				}
			}}, openMemory)
		for i := range 4 {
			r.start(t, i)
		}
		r.wait(t)
		if s := r.nodes[0].Status(); !tried || s.Counts.Skipped > 0 || s.Counts.Refused == 0 {
			t.Errorf("tried %v: %d rounds skipped, %d frames refused", tried, s.Counts.Skipped,
				s.Counts.Refused)
		}
	})
}

// thief sends what its member sends, and once what others are to have said.
type thief struct {
	node.Transport
	run    [32]byte
	stolen map[agent.ID]ed25519.PrivateKey
	tried  *bool
}

func (l thief) Send(ctx context.Context, to agent.ID, raw []byte) error {
	err := l.Transport.Send(ctx, to, raw)
	f, _ := frame.Decode(raw, 1<<20)
	if to != 0 || f.Kind != frame.Messages || f.Round != 20 || err != nil || *l.tried {
		return err
	}
	*l.tried = true
	testify := func(who agent.ID, m mark.Mark) {
		m.Process, m.Earlier = 99, mark.NoRound
		said := mark.Testimony{Terms: 1<<8 | 2<<16, Marks: []mark.Testified{{Member: who,
			Signed: m.Encode(l.run, func(b []byte) []byte { return ed25519.Sign(l.stolen[who], b) })}}}
		w := f
		w.Kind, w.Payload = frame.Witness, said.Append(nil)
		_ = l.Transport.Send(ctx, 0, frame.Append(nil, &w))
	}
	for _, sent := range []uint64{20, 19} {
		testify(2, mark.Mark{Round: 20, Claim: mark.Claim{Sent: sent, Sum: [32]byte{byte(sent)}}})
		testify(2, mark.Mark{Round: 20, Claim: mark.Claim{Sent: sent, Sum: [32]byte{1}}})
	}
	testify(0, mark.Mark{Round: 35, Claim: mark.Claim{Sent: mark.NoRound},
		Book: mark.Book{Charges: 1000, Total: 1000}})
	return nil
}
