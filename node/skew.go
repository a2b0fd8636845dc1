package node

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"
)

// skew is what a node knows of a member's clock beside that of its own machine. Frames
// take time: what one says is at most by how much the member's clock is ahead, so that of
// two frames the larger figure counts, and one frame alone cannot say that it is behind.
type skew struct {
	last, before time.Duration // what the last two frames that tell a time say
	frames       int
	ahead        time.Duration // negative: behind; 0: not by more than tolerated
}

const (
	tolerated = 5 * time.Second
	steady    = 2 * time.Second // a change below it is not told
)

// Terms, which frames of kind Hello and Witness open with, have in their bits from clockAt
// on the sender's time when it sent the frame, in seconds since 1970. 0 tells none: so do
// versions that know of no time here, and pass over it.
const clockAt = 24

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

// take takes in the terms of a frame that has come now.
func (s *skew) take(terms uint64, now time.Time) {
	at := int64(terms >> clockAt)
	if at == 0 {
		return
	}
	s.before, s.last = s.last, time.Unix(at, 0).Sub(now.Round(0))
	s.frames++
	ahead := max(s.last, s.before)
	if s.frames < 2 {
		ahead = max(s.last, 0)
	}
	ahead = ahead.Round(time.Second)
	switch {
	case ahead.Abs() <= tolerated:
		s.ahead = 0
	case (ahead - s.ahead).Abs() >= steady:
		s.ahead = ahead
	}
}
