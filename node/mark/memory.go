package mark

import (
	"encoding/binary"
	"errors"
	"slices"

	"sotto/agent"
)

// Memory is what a node keeps in its state of what it has said and heard.
type Memory struct {
	Generation uint64
	Process    uint64 // the last one that has stored the state; 0: of an earlier version
	Lineage    Lineage
	Values     uint64  // of a message, where none is kept; 0: it is not known
	Claims     []Claim // of the messages that are kept, as many as the reader expects
	Members    []Remembered
}

// Left stands for the numbers of members that are not in the present roster. Whose their
// marks are the signatures say, when somebody comes back.
const Left = ^uint64(0)

// MostLeft is how many marks of members that have left are kept.
const MostLeft = 1000

// Remembered is a mark that is kept of one member, and what is known of it. The first one
// of a member is its newest, others are of processes before.
type Remembered struct {
	Member uint64 // its number, or Left
	Backs  uint64 // how often it has said that it was rolled back
	Lied   bool
	Forgot bool // it was rolled back before it said what it knew of who keeps this
	Signed []byte
}

// The layouts of a memory. The first one has no process and no lineage; the last one,
// which is written where it is needed alone, has Values before all.
const (
	memoryTag1 = "sotto node marks/1"
	memoryTag2 = "sotto node marks/2"
	memoryTag3 = "sotto node marks/3"
)

// Of a Remembered.
const (
	lied   = 1
	forgot = 2
)

// errMemory says that bytes are no memory; who reads the state names it.
var errMemory = errors.New("marks that do not decode")

// Encode writes the memory, for ReadMemory.
func (m *Memory) Encode() []byte {
	b := agent.AppendTag(nil, memoryTag2)
	if m.Values > 0 {
		b = u64(agent.AppendTag(nil, memoryTag3), m.Values)
	}
	b = u64(b, m.Generation, m.Process)
	b = m.Lineage.append(b)
	for i := range m.Claims {
		b = m.Claims[i].Append(b)
	}
	b = u64(b, uint64(len(m.Members)))
	for _, r := range m.Members {
		flags := uint64(0)
		if r.Lied {
			flags |= lied
		}
		if r.Forgot {
			flags |= forgot
		}
		b = append(u64(b, r.Member, r.Backs, flags), r.Signed...)
	}
	return b
}

// ReadMemory reads what Encode writes, with so many claims and at most so many marks.
func ReadMemory(b []byte, claims, marks int) (*Memory, error) {
	m := new(Memory)
	if rest, ok := cutTag(b, memoryTag3); ok && len(rest) >= 8 {
		if m.Values = binary.LittleEndian.Uint64(rest); m.Values == 0 {
			return nil, errMemory
		}
		b = append(agent.AppendTag(nil, memoryTag2), rest[8:]...)
	}
	if rest, ok := cutTag(b, memoryTag2); ok && len(rest) >= 16 {
		m.Generation, m.Process = binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
		if b, ok = m.Lineage.read(rest[16:]); !ok {
			return nil, errMemory
		}
	} else if rest, ok := cutTag(b, memoryTag1); ok && len(rest) >= 8 {
		m.Generation, b = binary.LittleEndian.Uint64(rest), rest[8:]
	} else {
		return nil, errMemory
	}
	if len(b) < claims*ClaimSize+8 {
		return nil, errMemory
	}
	for range claims {
		m.Claims, b = append(m.Claims, ReadClaim(b)), b[ClaimSize:]
	}
	const entry = 24 + Size
	count := binary.LittleEndian.Uint64(b)
	if b = b[8:]; count > uint64(marks) || uint64(len(b)) != count*entry {
		return nil, errMemory
	}
	for ; len(b) > 0; b = b[entry:] {
		m.Members = append(m.Members, Remembered{
			Member: binary.LittleEndian.Uint64(b),
			Backs:  binary.LittleEndian.Uint64(b[8:]),
			Lied:   binary.LittleEndian.Uint64(b[16:])&lied != 0,
			Forgot: binary.LittleEndian.Uint64(b[16:])&forgot != 0,
			Signed: slices.Clone(b[24:entry]),
		})
	}
	return m, nil
}

// cutTag takes a tag from the front.
func cutTag(b []byte, tag string) (rest []byte, ok bool) {
	t := agent.AppendTag(nil, tag)
	if len(b) < len(t) || string(b[:len(t)]) != string(t) {
		return nil, false
	}
	return b[len(t):], true
}
