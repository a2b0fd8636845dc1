package mark

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"

	"sotto/agent"
)

// A Proof shows that one round of a member's had two contents: two marks, both signed by
// it, that no honest member's single process makes. The member lied, or two processes
// have its key.
type Proof struct {
	Run    string    `json:"run"` // digest of its first roster, hexadecimal
	Name   string    `json:"name"`
	Member agent.ID  `json:"member"`
	Marks  [2]string `json:"marks"` // signed, hexadecimal
}

// Verify checks a proof against the member's key.
func (p *Proof) Verify(key ed25519.PublicKey) error {
	run, err := hex.DecodeString(p.Run)
	if err != nil || len(run) != 32 {
		return fmt.Errorf("%w: run %q, allowed: 64 hexadecimal digits", ErrMark, p.Run)
	}
	var marks [2]Mark
	for i, text := range p.Marks {
		b, err := hex.DecodeString(text)
		if err != nil {
			return fmt.Errorf("%w: mark %d is not hexadecimal", ErrMark, i)
		}
		if marks[i], err = Parse(b, [32]byte(run), p.Member, key); err != nil {
			return err
		}
	}
	if !marks[0].Contradicts(&marks[1]) {
		return fmt.Errorf("%w: the marks do not contradict each other", ErrMark)
	}
	return nil
}

// Held is a mark of a member that a node holds, signed, in hexadecimal.
type Held struct {
	Member agent.ID `json:"member"`
	Signed string   `json:"signed"`
}
