package frame

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"
)

// Terms, with which a Hello and a Witness open, have from bit ClockAt on the time of
// sending, in seconds since 1970; 0: none. Older versions tell none, and pass over it.
const (
	TermsSize = 8 // bytes
	ClockAt   = 24
)

// Unstamped is a frame without the time that it tells: the same at every attempt to send
// it.
func Unstamped(frame []byte) []byte {
	if _, err := Decode(frame, len(frame)); err != nil {
		return frame
	}
	return Stamp(frame, time.Unix(0, 0))
}

// Stamp is a frame with the present time, where its kind tells one.
func Stamp(frame []byte, now time.Time) []byte {
	kind := Kind(frame[5])
	if frame[4] == Oldest || kind != Hello && kind != Witness {
		return frame
	}
	b := slices.Clone(frame)
	terms := binary.LittleEndian.Uint64(b[HeaderSize:]) & (1<<ClockAt - 1)
	binary.LittleEndian.PutUint64(b[HeaderSize:], terms|uint64(now.Unix())<<ClockAt)
	end := HeaderSize + binary.LittleEndian.Uint32(b[52:])
	binary.LittleEndian.PutUint32(b[56:], crc32.Checksum(b[HeaderSize:end], castagnoli))
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}
