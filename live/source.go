package live

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"sotto/config"
	"sotto/internal/atomicfile"
	"sotto/live/event"
)

// mostKept is how many events a source keeps to play back.
const mostKept = 50_000

// Source is one stream that a page shows.
type Source struct {
	Name string
	dir  string // of its files; "" where they are not known
	own  bool   // of this process, which the page may pause and stop

	mu    sync.Mutex
	state *state
	kept  []heard       // nil where there were more than mostKept
	more  chan struct{} // closed when there is more, and made anew
	over  bool          // more than mostKept
}

func newSource(name string) *Source {
	return &Source{Name: name, state: newState(), more: make(chan struct{})}
}

// Of is the source of a stream in this process.
func Of(name string, s *event.Stream) *Source {
	src := newSource(name)
	src.own = true
	s.FollowAll(func(e *event.Event) { src.hear(heard{e, ""}) })
	return src
}

// hear adds an event. It never waits for a viewer.
func (s *Source) hear(e heard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.hear(e)
	if end := s.state.head.End; end != nil && s.own {
		s.dir = filepath.FromSlash(end.Dir)
	}
	n := len(s.kept)
	switch {
	case s.over:
	case n == mostKept:
		s.kept, s.over = nil, true
	case n > 0 && e.Kind == "progress" && s.kept[n-1].Kind == "progress" &&
		s.kept[n-1].shard == e.shard:
		s.kept[n-1] = e
	default:
		s.kept = append(s.kept, e)
	}
	s.wake()
}

// look is what a viewer lacks, and a channel that is closed when there is more.
func (s *Source) look(v *seen) (map[string]any, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.patch(v), s.more
}

// past are the events so far; nil where they are too many.
func (s *Source) past() []heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[:len(s.kept):len(s.kept)]
}

// cellDir is where a cell's run is, by the sweep's own stream: nowhere else is looked.
func (s *Source) cellDir(cell int) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.dir
	if dir == "" && s.state.head.Begin != nil {
		dir = filepath.FromSlash(s.state.head.Begin.Dir)
	}
	c := s.state.cells[cell]
	if c == nil || c.Dir == "" || !filepath.IsLocal(filepath.FromSlash(c.Dir)) {
		return "", false
	}
	return filepath.Join(dir, filepath.FromSlash(c.Dir)), true
}

// page is the file of the page that stays, where the stream has named one.
func (s *Source) page() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.state.head.End
	if end == nil || end.Page == "" || s.dir == "" || !filepath.IsLocal(end.Page) {
		return "", false
	}
	return filepath.Join(s.dir, end.Page), true
}

// shards are the files of a sweep that runs in shards.
const shards = "events-*-of-*.jsonl"

// partial ends the name of a run's directory that is not finished.
const partial = ".partial"

const (
	pollEvery = 200 * time.Millisecond // a file is looked at for more
	silentFor = 30 * time.Second       // and where none comes, the page says so
)

// Read is the source of a directory: of a run, sweep, search, study or node that runs or
// has run. Follow reads on.
func Read(dir string) (*Source, error) {
	dir = filepath.Clean(dir)
	s := newSource(strings.TrimSuffix(filepath.Base(dir), partial))
	s.dir = dir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(dir, partial) {
		if _, err := os.Stat(dir + partial); err == nil {
			s.dir = dir + partial
		}
	}
	names, err := atomicfile.Glob(s.dir, "events*.jsonl")
	if err != nil || len(names) == 0 {
		return nil, &config.Error{File: dir, Found: "no " + event.File,
			Allowed: "the directory of a run, sweep, search, study or node that has one"}
	}
	return s, nil
}

// Follow reads the files of a source until stop is closed, from the beginning and then as
// they grow; once: to the end of what is there. A line that is no event ends its file
// until it is another one, and the page says so.
func (s *Source) Follow(stop <-chan struct{}, once bool) {
	open := map[string]*follower{}
	defer func() {
		for _, f := range open {
			f.file.Close()
		}
	}()
	var replaced time.Time
	for {
		faults, err := s.readAll(open)
		if err != nil {
			for name, f := range open {
				if *f = (follower{file: f.file}); errors.Is(err, errReplaced) {
					f.file.Close()
					delete(open, name)
					replaced = time.Now()
				}
			}
			s.again()
			continue
		}
		if s.moved() { // the open files are the same ones
			for name, f := range open {
				delete(open, name)
				open[filepath.Join(s.dir, filepath.Base(name))] = f
			}
			continue
		}
		s.watch(&watched{Faults: faults, Silent: s.silent(time.Now()), Gone: gone(open), Replaced: replaced})
		if once {
			return
		}
		select {
		case <-stop:
			return
		case <-time.After(pollEvery):
		}
	}
}

// gone reports whether none of the files has its name any more.
func gone(open map[string]*follower) bool {
	for name := range open {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// silent is when the last sign of life was, where what runs has given none for three
// times as long as ever before, and for 30 s; zero: it has, or was not to.
func (s *Source) silent(now time.Time) time.Time {
	s.mu.Lock()
	h, limit, dir := s.state.head, max(silentFor, 3*s.state.gap), s.dir
	signs := []string{"status.json"} // a node's, each second
	for _, c := range s.state.cells {
		if c.State == event.Running && filepath.IsLocal(filepath.FromSlash(c.Dir)) {
			signs = append(signs, filepath.Join(filepath.FromSlash(c.Dir), event.File))
		}
	}
	s.mu.Unlock()
	last := h.Last
	if h.Begin == nil || h.End != nil || h.State == event.Paused || now.Sub(last) < limit {
		return time.Time{}
	}
	for _, name := range signs {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	if now.Sub(last) < limit {
		return time.Time{}
	}
	return last
}

// readAll reads on in all files, and says which cannot be read. errCut: one has lost what
// was read of it; errReplaced: it is another one.
func (s *Source) readAll(open map[string]*follower) (faults []string, err error) {
	for _, pattern := range []string{event.File, shards, event.LocalFile} {
		names, _ := atomicfile.Glob(s.dir, pattern)
		for _, name := range names {
			if open[name] == nil {
				f, err := os.Open(name)
				if err != nil {
					continue // it has been renamed, or is not ours: the next look says
				}
				open[name] = &follower{file: f}
			}
			if open[name].replaced(name) {
				return nil, errReplaced
			}
			shard := ""
			if pattern == shards {
				shard = filepath.Base(name)
			}
			hear := func(e *event.Event) { s.hear(heard{e, shard}) }
			switch err := open[name].read(hear); {
			case errors.Is(err, errCut):
				return nil, errCut
			case err != nil:
				bad := &config.Error{File: name, Found: err.Error(), Allowed: "lines of events"}
				faults = append(faults, bad.Error())
			}
		}
	}
	return faults, nil
}

// again forgets what was heard: the files are read from their beginning.
func (s *Source) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.state.news
	s.state, s.kept, s.over = newState(), nil, false
	s.state.version, s.state.life = was.version+1, was.life+1
	s.wake()
}

// watch keeps what is known of the files.
func (s *Source) watch(w *watched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reflect.DeepEqual(w, s.state.watched) {
		return
	}
	s.state.version++
	s.state.watched, s.state.changed["watched"] = w, s.state.version
	s.wake()
}

// wake tells viewers that there is more.
func (s *Source) wake() {
	close(s.more)
	s.more = make(chan struct{})
}

// moved reports whether the directory got its final name, and goes there.
func (s *Source) moved() bool {
	final, was := strings.CutSuffix(s.dir, partial)
	if !was {
		return false
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if _, err := os.Stat(final); err != nil {
		return false
	}
	s.mu.Lock()
	s.dir = final
	s.mu.Unlock()
	return true
}

// follower reads whole lines of a file that grows.
type follower struct {
	file  *os.File
	at    int64 // the end of what was read, which is whole events
	lines int   // so many
	size  int64 // of the file, then
	fault error // of the line that comes next
}

// errCut says that a file has become shorter than what was read of it, errReplaced that
// its name is that of another.
var (
	errCut      = errors.New("live: a file was cut")
	errReplaced = errors.New("live: a file was replaced")
)

// replaced reports whether another file has the name now.
func (f *follower) replaced(name string) bool {
	named, err := os.Stat(name)
	own, err2 := f.file.Stat()
	return err == nil && err2 == nil && !os.SameFile(named, own)
}

// read hears what is new. A line without its end is read again once there is more: a run
// that goes on may write another in its place.
func (f *follower) read(hear func(*event.Event)) error {
	info, err := f.file.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() < f.at:
		return errCut
	case info.Size() == f.size:
		return f.fault
	}
	b := make([]byte, info.Size()-f.at)
	n, err := f.file.ReadAt(b, f.at)
	if err != nil && err != io.EOF {
		return err
	}
	f.size = f.at + int64(n)
	all, n, err := event.DecodeFrom(b[:n], f.lines+1)
	for _, e := range all {
		hear(e)
	}
	f.at, f.lines, f.fault = f.at+int64(n), f.lines+len(all), err
	if err == nil && f.size-f.at > event.MaxLine {
		f.fault = fmt.Errorf("line %d: no end within %d bytes", f.lines+1, event.MaxLine)
	}
	return f.fault
}
