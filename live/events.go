package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// viewer is one open page.
type viewer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sent    int
}

// send writes one message. A viewer that does not read for long loses its connection, and
// comes back; nobody waits for it meanwhile.
func (v *viewer) send(patch map[string]any) error {
	b, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	v.sent++
	return v.write(fmt.Sprintf("id: %d\ndata: %s\n\n", v.sent, b))
}

func (v *viewer) write(text string) error {
	v.control.SetWriteDeadline(time.Now().Add(writeWithin))
	if _, err := v.w.Write([]byte(text)); err != nil {
		return err
	}
	return v.control.Flush()
}

// events streams what has changed, until the viewer leaves. Each viewer has its own place
// in the present state, so that a slow one gets fewer and larger messages.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	src, err := s.source(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if !s.enter() {
		http.Error(w, fmt.Sprintf("%d pages are open: no more", mostViewers), http.StatusServiceUnavailable)
		return
	}
	s.views(src, 1)
	defer s.views(src, -1)
	ended := false
	defer func() { s.leave(ended) }()
	w.Header().Set("Content-Type", "text/event-stream")
	v := &viewer{w: w, control: http.NewResponseController(w)}
	v.control.SetReadDeadline(time.Time{})
	if v.write("retry: 500\n\n") != nil {
		return
	}
	if over, err := strconv.ParseFloat(r.FormValue("play"), 64); err == nil && over > 0 {
		if s.play(v, src, r, min(over, 600)) != nil {
			return
		}
	}
	var at seen
	beat := time.NewTimer(beatEvery)
	defer beat.Stop()
	for {
		over := src.finished() // asked first: the patch then has the end
		patch, more := src.look(&at)
		if patch != nil && v.send(patch) != nil {
			return
		}
		if over && !ended {
			ended = true
			s.tell()
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.stop:
			return
		case <-beat.C:
			if v.write(": still here\n\n") != nil {
				return
			}
		case <-more:
			select { // what comes in this time goes in one message
			case <-r.Context().Done():
				return
			case <-s.stop:
				return
			case <-time.After(patchEvery):
			}
		}
		beat.Reset(beatEvery)
	}
}

// play shows what was, in so many seconds.
func (s *Server) play(v *viewer, src *Source, r *http.Request, seconds float64) error {
	past, times := inTime(src.past())
	if len(past) == 0 {
		return nil
	}
	st, at := newState(), seen{}
	first, last := times[0], times[len(past)-1]
	scale := seconds / max(last.Sub(first).Seconds(), 1e-3)
	began, next := time.Now(), 0
	for next < len(past) {
		for next < len(past) && times[next].Sub(first).Seconds()*scale <= time.Since(began).Seconds() {
			st.hear(past[next])
			next++
		}
		if patch := st.patch(&at); patch != nil {
			patch["playing"] = float64(next) / float64(len(past))
			if err := v.send(patch); err != nil {
				return err
			}
		}
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-s.stop:
			return http.ErrServerClosed
		case <-time.After(patchEvery / 2):
		}
	}
	return nil
}

// inTime orders events of several shards by when each was said. A clock that was set back
// moves none before another of its shard.
func inTime(past []heard) ([]heard, []time.Time) {
	type timed struct {
		heard
		at time.Time
	}
	all, latest := make([]timed, len(past)), map[string]time.Time{}
	for k, e := range past {
		if e.Time.After(latest[e.shard]) {
			latest[e.shard] = e.Time
		}
		all[k] = timed{e, latest[e.shard]}
	}
	slices.SortStableFunc(all, func(a, b timed) int { return a.at.Compare(b.at) })
	out, times := make([]heard, len(past)), make([]time.Time, len(past))
	for k, e := range all {
		out[k], times[k] = e.heard, e.at
	}
	return out, times
}

func (s *Source) finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.head.End != nil
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.viewers == mostViewers {
		return false
	}
	s.viewers++
	return true
}

// tell counts a viewer that has got the end.
func (s *Server) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told++
}

func (s *Server) leave(told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.viewers--
	if told {
		s.told--
	}
}
