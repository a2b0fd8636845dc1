package node

import (
	"crypto/ed25519"
	"encoding/binary"

	"sotto/agent"
	"sotto/node/mark"
)

// Remark changes the mark of a frame and the frame with it, and signs the mark.
func Remark(frame []byte, key ed25519.PrivateKey, change func(f *Frame, m *mark.Mark)) []byte {
	f := Frame{
		Kind:    FrameKind(frame[5]),
		Run:     [32]byte(frame[8:40]),
		Sender:  agent.ID(binary.LittleEndian.Uint32(frame[40:])),
		Round:   binary.LittleEndian.Uint64(frame[44:]),
		Payload: append([]byte(nil), frame[FrameHeader:len(frame)-mark.Size]...),
	}
	m := mark.Read(frame[len(frame)-mark.Size:])
	change(&f, &m)
	f.Mark = m.Encode(f.Run, func(b []byte) []byte { return ed25519.Sign(key, b) })
	return AppendFrame(nil, &f)
}

// MarkOf reads the mark of a frame.
func MarkOf(frame []byte) mark.Mark { return mark.Read(frame[len(frame)-mark.Size:]) }

// Stamp puts a time into a frame that has terms.
var Stamp = stamp
