package live

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sotto/live/event"
)

// line is one of a file of events.
func line(seq int, at time.Time, kind, body string) string {
	return fmt.Sprintf(`{"v":1,"seq":%d,"time":%q,"kind":%q,"scope":"public","body":%s}`+"\n", seq,
		at.UTC().Format(time.RFC3339Nano), kind, body)
}

const beginRun = `{"what":"run","name":"r","unit":"round","of":9}`

// write replaces a file's bytes, the file staying the same one.
func write(t *testing.T, path string, text ...string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(text, "")); err != nil {
		t.Fatal(err)
	}
}

// follows reads a directory on until the test ends.
func follows(t *testing.T, dir string) *Source {
	t.Helper()
	src, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { src.Follow(stop, false); close(ended) }()
	t.Cleanup(func() { close(stop); <-ended })
	return src
}

// until waits until a state is what it should be.
func until(t *testing.T, what string, src *Source, is func(s *state) bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		src.mu.Lock()
		ok := is(src.state)
		src.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: the state is %+v, its files %+v", what, src.state.head, src.state.watched)
		}
	}
}

// A line that is no event is named by its number in the file, ends nothing else, and is
// forgotten once the run that goes on has put another in its place.
func TestBadLine(t *testing.T) {
	dir := t.TempDir()
	path, now := filepath.Join(dir, event.File), time.Now()
	good := line(1, now, "begin", beginRun) + line(2, now, "progress", `{"done":1,"of":9}`)
	write(t, path, good)
	src := follows(t, dir)
	until(t, "two lines", src, func(s *state) bool { return s.head.Done == 1 && s.watched != nil })
	write(t, path, good, line(3, now, "progress", `{"done":2,"of":9}`), "{garbage}\n")
	until(t, "the fault", src, func(s *state) bool {
		return s.head.Done == 2 && len(s.watched.Faults) == 1 &&
			strings.Contains(s.watched.Faults[0], "line 4")
	})
	write(t, path, good, line(3, now, "progress", `{"done":2,"of":9}`),
		line(4, now, "progress", `{"done":3,"of":9}`))
	until(t, "it goes on", src, func(s *state) bool { return s.head.Done == 3 && s.watched.Faults == nil })
}

// A file that was cut shorter is read from its beginning, and an open page forgets what
// was void; a last line without its end may become another.
func TestCutFile(t *testing.T) {
	dir := t.TempDir()
	path, now := filepath.Join(dir, event.File), time.Now()
	begin := line(1, now, "begin", beginRun)
	write(t, path, begin, line(2, now, "note", `{"text":"void"}`),
		line(3, now, "progress", `{"done":5,"of":9}`), `{"v":1,"seq":4,"time":`)
	src := follows(t, dir)
	until(t, "all lines", src, func(s *state) bool { return s.head.Done == 5 })
	var open seen
	src.look(&open)
	write(t, path, begin, line(2, now, "progress", `{"done":2,"of":9}`))
	until(t, "the new lines", src, func(s *state) bool { return s.head.Done == 2 && s.head.Notes == nil })
	if patch, _ := src.look(&open); patch["again"] != true {
		t.Errorf("an open page keeps what is void: %v", patch)
	}
	if patch, _ := src.look(&open); patch != nil {
		t.Errorf("it is told twice: %v", patch)
	}
	write(t, path, begin, line(2, now, "progress", `{"done":2,"of":9}`), `{"v":1,"seq":3,"time":"20`)
	time.Sleep(2 * pollEvery)
	write(t, path, begin, line(2, now, "progress", `{"done":2,"of":9}`), line(3, now, "progress",
		`{"done":3,"of":9}`))
	until(t, "the other line", src, func(s *state) bool {
		return s.head.Done == 3 && s.watched.Faults == nil
	})
}

// Two shards of a sweep are one sweep: what is done and to do are sums, and it has ended
// once both have.
func TestShards(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	begin := func(of int) string {
		return line(1, now, "begin", fmt.Sprintf(`{"what":"sweep","name":"s","unit":"cell","of":%d}`, of))
	}
	first, second := filepath.Join(dir, "events-0-of-2.jsonl"), filepath.Join(dir, "events-1-of-2.jsonl")
	write(t, first, begin(2), line(2, now, "progress", `{"done":1,"of":2,"left":40}`))
	write(t, second, begin(1), line(2, now, "progress", `{"done":1,"of":1}`),
		line(3, now, "end", `{"state":"interrupted","text":"stopped"}`))
	src := follows(t, dir)
	until(t, "one runs", src, func(s *state) bool {
		return s.watched != nil && s.head.Done == 2 && s.head.Of == 3 && s.head.State == event.Running &&
			s.head.Left == 40 && s.head.End == nil
	})
	if src.finished() {
		t.Error("it is called finished while one runs")
	}
	write(t, first, begin(2), line(2, now, "progress", `{"done":1,"of":2,"left":40}`),
		line(3, now, "progress", `{"done":2,"of":2}`), line(4, now, "end", `{"state":"done"}`))
	until(t, "both have ended", src, func(s *state) bool {
		return s.head.Done == 3 && s.head.State == event.Interrupted && s.head.End.Text == "stopped"
	})
}

// A clock that was set back neither stops a replay nor changes the order; shards go by
// their times.
func TestReplayGoesByTime(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }
	var past []heard
	for _, x := range []struct {
		shard  string
		second int
	}{{"a", 0}, {"a", 50}, {"a", 10}, {"a", 51}, {"b", 5}, {"b", 20}} {
		past = append(past, heard{&event.Event{Seq: uint64(len(past)), Time: at(x.second)}, x.shard})
	}
	var order []uint64
	all, times := inTime(past)
	for _, e := range all {
		order = append(order, e.Seq)
	}
	if !slices.Equal(order, []uint64{0, 4, 5, 1, 2, 3}) || !slices.IsSortedFunc(times, time.Time.Compare) {
		t.Errorf("order %v at %v", order, times)
	}
}

// What writes no more, where it should, is said to be silent since its last sign of life;
// not what was always slow, is paused, has ended, or lives by another file.
func TestSilence(t *testing.T) {
	now := time.Now()
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	begin := line(1, ago(100), "begin", beginRun)
	for _, tc := range []struct {
		what, text, life string
		since            int // seconds ago; 0: not silent
	}{
		{"killed", begin + line(2, ago(99), "progress", `{"done":1,"of":9}`), "", 99},
		{"quick", begin + line(2, ago(20), "progress", `{"done":1,"of":9}`), "", 0},
		{"slow", begin + line(2, ago(60), "progress", `{"done":1,"of":9}`), "", 0},
		{"paused", begin + line(2, ago(99), "state", `{"state":"paused"}`), "", 0},
		{"ended", begin + line(2, ago(99), "end", `{"state":"done"}`), "", 0},
		{"a node", begin, "status.json", 0},
		{"a killed node", begin, "events.jsonl", 100},
		{"a sweep", begin + strings.Replace(line(2, ago(99), "cell", `{"cell":0,"state":"running",`+
			`"dir":"runs/c.partial"}`), "public", "simulation", 1), "runs/c.partial/events.jsonl", 0},
		{"nothing", "", "", 0},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "runs", "c.partial"), 0o700); err != nil {
			t.Fatal(err)
		}
		if tc.life != "" {
			write(t, filepath.Join(dir, tc.life), "")
		}
		write(t, filepath.Join(dir, event.File), tc.text)
		src, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		src.Follow(nil, true)
		got := src.state.watched.Silent
		if tc.since == 0 && !got.IsZero() || tc.since > 0 && got.Sub(ago(tc.since)).Abs() > time.Millisecond {
			t.Errorf("%s: silent since %v, now is %v", tc.what, got, now)
		}
	}
}

// A directory that is gone, or holds another run, is said to be so; the other run is
// shown.
func TestGoneAndReplaced(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "r"), time.Now()
	make := func(done int) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, event.File), line(1, now, "begin", beginRun),
			line(2, now, "progress", fmt.Sprintf(`{"done":%d,"of":9}`, done)))
	}
	make(5)
	src := follows(t, dir)
	until(t, "the first run", src, func(s *state) bool { return s.head.Done == 5 && s.watched != nil })
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Fatal(err)
	}
	until(t, "gone", src, func(s *state) bool { return s.watched.Gone && s.head.Done == 5 })
	make(2)
	until(t, "replaced", src, func(s *state) bool {
		return s.head.Done == 2 && s.watched != nil && !s.watched.Gone && !s.watched.Replaced.IsZero()
	})
}
