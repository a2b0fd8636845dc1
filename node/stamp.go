package node

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"
)

// Terms, with which a Hello and a Witness open, have from bit clockAt on the time of
// sending, in seconds since 1970; 0: none. Older versions tell none, and pass over it.
const clockAt = 24

// Unstamped is a frame without the time that it tells: the same at every attempt to send
// it.
func Unstamped(frame []byte) []byte {
	if _, err := DecodeFrame(frame, len(frame)); err != nil {
		return frame
	}
	return stamp(frame, time.Unix(0, 0))
}

// stamp is a frame with the present time, where its kind tells one.
func stamp(frame []byte, now time.Time) []byte {
	kind := FrameKind(frame[5])
	if frame[4] == oldestFrame || kind != Hello && kind != Witness {
		return frame
	}
	b := slices.Clone(frame)
	terms := binary.LittleEndian.Uint64(b[FrameHeader:]) & (1<<clockAt - 1)
	binary.LittleEndian.PutUint64(b[FrameHeader:], terms|uint64(now.Unix())<<clockAt)
	end := FrameHeader + binary.LittleEndian.Uint32(b[52:])
	binary.LittleEndian.PutUint32(b[56:], crc32.Checksum(b[FrameHeader:end], castagnoli))
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}
