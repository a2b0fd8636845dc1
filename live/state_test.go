package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sotto/internal/jsonfloat"
	"sotto/internal/long"
	"sotto/live/event"
)

// A curve of any length has at most as many points as a page gets; its ends are those of
// what was said, and no value falls out of the band around it.
func TestSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9_000).Draw(t, "points")
		value := func(x int) float64 { return math.Sin(float64(x)) * float64(x%7) }
		var s series
		for x := range n {
			v := value(x)
			s.add(point{float64(x), v, v - 1, v + 1})
		}
		if len(s.points) > mostPoints || len(s.points) < min(n, mostPoints/2) {
			t.Fatalf("%d points of %d", len(s.points), n)
		}
		if last := s.points[len(s.points)-1]; last.x != float64(n-1) || last.mean != value(n-1) {
			t.Fatalf("the last point is %+v", last)
		}
		at := 0
		for x := range n {
			if float64(x) > s.points[at].x {
				at++
			}
			if p := s.points[at]; p.low > value(x)-1 || p.high < value(x)+1 {
				t.Fatalf("%d is not in the band of %+v", x, p)
			}
		}
	})
}

// wholeRun says what a run of many rounds and agents says, with an interruption in it.
func wholeRun(s *event.Stream, rounds int) {
	stats := func(x float64) event.Stats {
		return event.Stats{Mean: jsonfloat.Float(x), Min: jsonfloat.Float(x - .1), Max: jsonfloat.Float(x +
			.1)}
	}
	s.Emit(&event.Begin{What: event.OfRun, Name: "r", Unit: "round", Of: uint64(rounds)})
	s.Emit(&event.Setup{Agents: event.Agents{Number: 1000}, Graph: event.Graph{Name: "ring"},
		Budget: event.Budget{Epsilon: 4}})
	for k := range rounds {
		x := float64(k) / float64(rounds)
		s.Emit(&event.Progress{Done: uint64(k), Of: uint64(rounds)})
		s.Emit(&event.Evaluation{Done: uint64(k), Metrics: map[string]event.Stats{"accuracy": stats(x),
			"loss": stats(1 - x)}})
		s.Emit(&event.Spent{Done: uint64(k), Upper: jsonfloat.Float(4 * x)})
		if k == rounds/2 {
			s.Emit(&event.End{State: event.Interrupted})
			s.Emit(&event.Begin{What: event.OfRun, Name: "r", Unit: "round", Of: uint64(rounds),
				From: uint64(rounds / 4)})
		}
	}
	s.Emit(&event.End{State: event.Done, Dir: "d", Page: "report.html"})
}

// viewers merge patches as the page does.
type view struct {
	parts  map[string]json.RawMessage
	curves map[string][4][]any
}

func (v *view) take(t *testing.T, patch map[string]any) {
	t.Helper()
	b, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		t.Fatal(err)
	}
	if v.parts == nil {
		v.parts, v.curves = map[string]json.RawMessage{}, map[string][4][]any{}
	}
	for name, part := range parts {
		if name != "series" {
			v.parts[name] = part
			continue
		}
		var all map[string]struct {
			From               int
			X, Mean, Low, High []any
		}
		if err := json.Unmarshal(part, &all); err != nil {
			t.Fatal(err)
		}
		for name, c := range all {
			have := v.curves[name]
			for k, list := range [4][]any{c.X, c.Mean, c.Low, c.High} {
				have[k] = append(have[k][:c.From:c.From], list...)
			}
			v.curves[name] = have
		}
	}
}

// Whoever looks often, seldom or at the end alone sees the same, from the stream or from
// its file.
func TestViewersAgree(t *testing.T) {
	rounds := 3_000 // above mostPoints
	if long.Tests {
		rounds = 10_000
	}
	stream := event.NewStream(event.Simulated)
	dir := t.TempDir()
	if err := stream.Keep(filepath.Join(dir, event.File), 0o600); err != nil {
		t.Fatal(err)
	}
	src := Of("r", stream)
	var often, seldom view
	var oftenAt, seldomAt seen
	count := 0
	stream.Follow(func(*event.Event) {
		if count++; count%3 == 0 {
			if p, _ := src.look(&oftenAt); p != nil {
				often.take(t, p)
			}
		}
		if count%4099 == 0 {
			p, _ := src.look(&seldomAt)
			seldom.take(t, p)
		}
	})
	wholeRun(stream, rounds)
	for _, x := range []struct {
		v  *view
		at *seen
	}{{&often, &oftenAt}, {&seldom, &seldomAt}} {
		if p, _ := src.look(x.at); p != nil {
			x.v.take(t, p)
		}
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	file.Follow(nil, true)
	t.Logf("%d events are read in %v", count, time.Since(began))
	var last view
	p, _ := file.look(new(seen))
	last.take(t, p)
	if !reflect.DeepEqual(often.curves, last.curves) || !reflect.DeepEqual(seldom.curves, last.curves) {
		t.Error("the curves differ")
	}
	delete(last.parts, "watched") // of files alone
	for name, part := range last.parts {
		if !bytes.Equal(often.parts[name], part) || !bytes.Equal(seldom.parts[name], part) {
			t.Errorf("%s differs: %s, %s, %s", name, often.parts[name], seldom.parts[name], part)
		}
	}
	// all rounds, those from the checkpoint twice and the earlier word void
	x := last.curves["accuracy"][0]
	if len(x) > mostPoints || x[len(x)-1] != float64(rounds-1) {
		t.Errorf("%d points to %v", len(x), x[len(x)-1])
	}
	for i := 1; i < len(x); i++ {
		if x[i].(float64) <= x[i-1].(float64) {
			t.Fatalf("point %d is at %v after %v", i, x[i], x[i-1])
		}
	}
	if b, _ := json.Marshal(p); len(b) > 300_000 {
		t.Errorf("the first message has %d bytes", len(b))
	}
}

// A run whose directory gets its final name, and a torn line, are followed to the end.
func TestFollow(t *testing.T) {
	out := t.TempDir()
	dir := filepath.Join(out, "r.partial")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, event.File))
	if err != nil {
		t.Fatal(err)
	}
	line := func(seq int, kind, body string) string {
		return fmt.Sprintf(`{"v":1,"seq":%d,"time":"2026-01-02T03:04:05Z","kind":"%s",`+
			`"scope":"public","body":%s}`+"\n",
			seq, kind, body)
	}
	f.WriteString(line(1, "begin", `{"what":"run","name":"r","unit":"round","of":3}`))
	end := line(2, "end", `{"state":"done","page":"report.html","dir":"`+filepath.Join(out, "r")+`"}`)
	f.WriteString(end[:40])
	src, err := Read(filepath.Join(out, "r")) // by its final name
	if err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { src.Follow(stop, false); close(ended) }()
	time.Sleep(2 * pollEvery)
	if src.finished() {
		t.Error("half a line ends the run")
	}
	f.WriteString(end[40:])
	f.Close()
	if err := os.Rename(dir, filepath.Join(out, "r")); err != nil {
		t.Fatal(err)
	}
	for k := 0; !src.finished(); k++ {
		if time.Sleep(pollEvery); k == 50 {
			t.Fatal("the end is not seen")
		}
	}
	time.Sleep(2 * pollEvery)
	if page, ok := src.page(); !ok || page != filepath.Join(out, "r", "report.html") {
		t.Errorf("the page is %q, %v", page, ok)
	}
	close(stop)
	<-ended
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder without events is a source")
	}
}

// Paths that a stream names are looked at below its own directory alone.
func TestPathsStayInside(t *testing.T) {
	s := newSource("x")
	s.dir = "/sweep"
	for k, tc := range []struct {
		dir string
		ok  bool
	}{{"runs/a", true}, {"../a", false}, {"/etc", false}, {"", false}} {
		s.hear(heard{&event.Event{Kind: "cell", Body: &event.Cell{Cell: k, Dir: tc.dir}}, ""})
		if dir, ok := s.cellDir(k); ok != tc.ok || ok && dir != filepath.Join("/sweep", "runs", "a") {
			t.Errorf("%q: %q, %v", tc.dir, dir, ok)
		}
	}
	s.hear(heard{&event.Event{Kind: "end", Body: &event.End{Page: "../../etc/passwd"}}, ""})
	if page, ok := s.page(); ok {
		t.Errorf("a page outside: %q", page)
	}
}

// Who is not among the members that a setup names has left, also for a page that is open.
func TestWhoLeftIsNoMember(t *testing.T) {
	src := newSource("n")
	say := func(b event.Body) { src.hear(heard{&event.Event{Kind: b.Kind(), Body: b}, ""}) }
	setup := func(names ...string) {
		say(&event.Begin{What: event.OfNode, Name: "n"})
		say(&event.Setup{Agents: event.Agents{Number: len(names), Names: names}})
	}
	var open seen
	names := func(at *seen) (all []string) {
		patch, _ := src.look(at)
		members, ok := patch["members"].([]*event.Member)
		for _, m := range members {
			all = append(all, m.Name)
		}
		if !ok {
			all = []string{"as before"}
		}
		return all
	}
	setup("a", "b", "c")
	for _, name := range []string{"b", "c"} {
		say(&event.Member{Name: name, State: "here"})
	}
	if got := names(&open); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("members %q", got)
	}
	setup("a", "c")
	for _, at := range []*seen{&open, {}} {
		if got := names(at); !slices.Equal(got, []string{"c"}) {
			t.Errorf("once b has left: members %q", got)
		}
	}
	setup("a")
	if got := names(&open); len(got) != 0 {
		t.Errorf("once all have left: members %q", got)
	}
}
