package clock

import "time"

// Skew is what a node knows of a member's clock beside that of its own machine. Frames
// take time: what one says is at most by how much the member's clock is ahead, so that of
// two frames the larger figure counts, and one frame alone cannot say that it is behind.
type Skew struct {
	last, before time.Duration // what the last two frames that tell a time say
	frames       int
	// Ahead is by how much the member's clock is ahead of this machine's, to a second;
	// negative: behind; 0: not by more than 5 seconds, or not known.
	Ahead time.Duration
}

const (
	tolerated = 5 * time.Second
	steady    = 2 * time.Second // a change below it is not told
)

// Take takes in the time that a frame tells which has come now, in seconds since 1970; 0
// tells none.
func (s *Skew) Take(at uint64, now time.Time) {
	if at == 0 {
		return
	}
	s.before, s.last = s.last, time.Unix(int64(at), 0).Sub(now.Round(0))
	s.frames++
	ahead := max(s.last, s.before)
	if s.frames < 2 {
		ahead = max(s.last, 0)
	}
	ahead = ahead.Round(time.Second)
	switch {
	case ahead.Abs() <= tolerated:
		s.Ahead = 0
	case (ahead - s.Ahead).Abs() >= steady:
		s.Ahead = ahead
	}
}
