package node

import (
	"crypto/ed25519"
	"encoding/binary"

	"sotto/agent"
	"sotto/node/frame"
	"sotto/node/mark"
)

// Remark changes the mark of a frame and the frame with it, and signs the mark.
func Remark(raw []byte, key ed25519.PrivateKey, change func(f *frame.Frame, m *mark.Mark)) []byte {
	f := frame.Frame{
		Kind:    frame.Kind(raw[5]),
		Run:     [32]byte(raw[8:40]),
		Sender:  agent.ID(binary.LittleEndian.Uint32(raw[40:])),
		Round:   binary.LittleEndian.Uint64(raw[44:]),
		Payload: append([]byte(nil), raw[frame.HeaderSize:len(raw)-mark.Size]...),
	}
	m := mark.Read(raw[len(raw)-mark.Size:])
	change(&f, &m)
	f.Mark = m.Encode(f.Run, func(b []byte) []byte { return ed25519.Sign(key, b) })
	return frame.Append(nil, &f)
}

// MarkOf reads the mark of a frame.
func MarkOf(raw []byte) mark.Mark { return mark.Read(raw[len(raw)-mark.Size:]) }

// Stamp puts a time into a frame that has terms.
var Stamp = frame.Stamp

// rejoins is a pace that does something before it goes on with a later round, once.
type rejoins struct {
	pacer
	before func()
}

func (p *rejoins) rejoin(round uint64) error {
	p.before()
	return p.pacer.(rejoiner).rejoin(round)
}

// BeforeRejoin has a node do something when it has begun another generation, before it
// makes and stores what it sends from then on.
func (n *Node) BeforeRejoin(do func()) {
	was := n.pace
	n.pace = &rejoins{was, func() {
		do()
		n.mu.Lock()
		n.pace = was
		n.mu.Unlock()
	}}
}
