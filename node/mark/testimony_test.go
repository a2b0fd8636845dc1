package mark

import (
	"bytes"
	"errors"
	"testing"

	"sotto/agent"
)

// FuzzTestimony: what is read is what was written, and other bytes are refused.
func FuzzTestimony(f *testing.F) {
	one := Testimony{Terms: 1 << 24, Wants: true,
		Marks: []Testified{{Member: 2, Signed: bytes.Repeat([]byte{7}, Size)}}}
	f.Add(one.Append(nil))
	f.Add((&Testimony{}).Append(nil))
	f.Add(one.Append(nil)[:40])
	f.Fuzz(func(t *testing.T, b []byte) {
		const members = 3
		got, err := ReadTestimony(b, members)
		if err != nil {
			if !errors.Is(err, ErrTestimony) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		for _, m := range got.Marks {
			if m.Member >= agent.ID(members) || len(m.Signed) != Size {
				t.Errorf("member %d, %d bytes", m.Member, len(m.Signed))
			}
		}
		if len(got.Marks) > MostMarks || len(b) > MaxTestimony {
			t.Errorf("%d marks in %d bytes", len(got.Marks), len(b))
		}
		again := got.Append(nil)
		if !bytes.Equal(again[:8], b[:8]) || !bytes.Equal(again[16:], b[16:]) ||
			got.Wants != (again[8] == 1) {
			t.Errorf("%x, from %x", again, b)
		}
	})
}
