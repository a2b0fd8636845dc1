package owner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/live/event"
	"sotto/node"
	"sotto/node/endpoint"
)

// Look is how an owner looks at a node that runs.
type Look struct {
	HTTP string // loopback address, or unix: and a path, for the status; "": none
	// Endpoint has the version and the token that HTTP answers with.
	Endpoint endpoint.Endpoint
	// Events is told how the node goes; nil: a stream of its own. It is kept in the state
	// directory in either case, and is public: see event.Owned.
	Events *event.Owned
}

// Limits of what a node says.
const (
	awaitedFor   = 2 * time.Second  // before a frame that has not come is spoken of
	sayOften     = time.Minute      // after its start a node says each second how far it is
	sayAtLeast   = 10 * time.Second // and later so often
	littleSpace  = 1 << 30          // bytes
	clockJumps   = 2 * time.Second
	machineEvery = 30 * time.Second
)

// teller turns states of a node into events. They follow from the status, which is
// public, from the clock and from the disk: it sees no record, and nothing that a record
// changes but by what was released and charged.
type teller struct {
	to      *event.Owned
	dir     string
	began   time.Time
	said    time.Time // of the last standing
	stand   event.Standing
	members map[string]event.Member
	waits   map[string]time.Time // for whose frame, since when
	at      uint64               // of the step that is waited in
	machine event.Machine
	looked  time.Time
}

// newTeller opens the node's stream in its state directory.
func newTeller(p *process) (*teller, error) {
	t := &teller{to: p.Events, dir: p.State, began: time.Now(), members: map[string]event.Member{},
		waits: map[string]time.Time{}}
	if t.to == nil {
		t.to = event.NewOwned()
	}
	if err := t.to.Stream().Keep(filepath.Join(p.State, event.File), 0o600); err != nil {
		return nil, err
	}
	f := p.e.File
	unit := "round"
	if p.Node.Interval > 0 {
		unit = "wake"
	}
	t.to.Emit(&event.Begin{What: event.OfNode, Name: p.Name(), Dir: filepath.ToSlash(p.State), Unit: unit,
		Of: p.Terms.Rounds, Engine: experiment.EngineVersion})
	s := &event.Setup{Algorithm: f.Algorithm.Name, Dataset: f.Data.Dataset, Noise: "secret",
		Model: event.Model{Name: f.Model.Name, Parameters: p.Terms.Dim},
		Budget: event.Budget{Delta: p.Terms.Delta, Adjacency: p.Terms.Adjacency.String(),
			Unit: p.Terms.Unit.String()}}
	for _, m := range p.Roster.Members {
		s.Agents.Names = append(s.Agents.Names, m.Name)
	}
	s.Agents.Number, s.Graph.Name = len(s.Agents.Names), f.Topology.Graph
	t.to.Emit(s)
	return t, nil
}

// status says what has changed.
func (t *teller) status(s *node.Status, now time.Time) { t.say(s, standing(s), now) }

func (t *teller) say(s *node.Status, stand event.Standing, now time.Time) {
	t.awaits(s, now)
	for i := range s.Peers {
		m := t.member(&s.Peers[i], s, now)
		if last, ok := t.members[m.Name]; !ok || !sameButRound(last, m) ||
			last.Round != m.Round && now.Sub(t.said) >= t.pause(now) {
			t.members[m.Name] = m
			t.to.Emit(&m)
		}
	}
	changed := stand
	changed.Done, changed.Frames, changed.Account = t.stand.Done, t.stand.Frames, t.stand.Account
	if stand != t.stand && (changed != t.stand || now.Sub(t.said) >= t.pause(now)) {
		t.stand, t.said = stand, now
		t.to.Emit(&stand)
		t.to.Emit(&event.Progress{Done: s.Round, Of: s.Rounds, Left: float64(s.Left)})
	}
	if now.Sub(t.looked) >= machineEvery {
		t.looked = now
		t.watchMachine(s, now)
	}
}

// pause is how long nothing is said that is only a larger number.
func (t *teller) pause(now time.Time) time.Duration {
	if now.Sub(t.began) < sayOften {
		return time.Second
	}
	return sayAtLeast
}

func sameButRound(a, b event.Member) bool {
	a.Round, a.Ledger = b.Round, b.Ledger // they go together
	return reflect.DeepEqual(a, b)
}

// awaits notes for whose frame the present step waits, and since when. It is asked once a
// second, so that it knows a wait to a second.
func (t *teller) awaits(s *node.Status, now time.Time) {
	if s.Round != t.at || s.Finished {
		t.at, t.waits = s.Round, map[string]time.Time{}
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		switch _, waits := t.waits[p.Name]; {
		case !p.Awaited:
			delete(t.waits, p.Name)
		case !waits:
			t.waits[p.Name] = now
		}
	}
}

// member says what is known of a neighbor, in words.
func (t *teller) member(p *node.PeerStatus, s *node.Status, now time.Time) event.Member {
	m := event.Member{Name: p.Name, State: p.State.String(), Since: p.Since.UTC().Truncate(time.Second),
		Round: p.Round}
	if c := p.Attestation; c != nil {
		m.Claim = &event.Claim{Epsilon: jsonfloat.Float(c.Epsilon), Delta: c.Delta, Records: c.Head.Seq,
			Head: c.Head.Hash}
	}
	if l := p.Ledger; l != nil {
		m.Ledger = &event.Head{Records: l.Records, Head: l.Head}
	}
	since, waits := t.waits[p.Name]
	waits = waits && now.Sub(since) >= awaitedFor
	step := fmt.Sprintf("%s %d", strings.TrimSuffix(s.Pace, "s"), s.Round+1)
	switch {
	case p.State == node.Gone:
		m.Words, m.Next = "no connection from this side", "ask its owner whether the node runs, and whether "+
			"its address is right; the run goes on by itself when it is back"
		if s.Pace == node.InRounds && !s.Finished {
			m.Words += " in " + step
		}
	case p.State == node.Late:
		m.Words, m.Next = "its frame of "+step+" has not come by the deadline",
			"ask its owner what its node "+
				"waits for: sotto status there says it"
	case p.State == node.Unknown && !s.Finished:
		m.Words, m.Next = "not heard since this process began",
			"it may not have started yet; else check its "+
				"address in the roster"
	case p.State == node.Done:
		m.Words = "has finished"
	case waits:
		m.State, m.Since = "awaited", since.UTC().Truncate(time.Second)
		m.Words, m.Next = "its frame of "+step+" has not come", "nothing yet: it may be slow"
	default:
		m.Words = "takes part"
	}
	if p.Fault != "" {
		m.Words += ": " + p.Fault
	}
	if p.ClockAhead != 0 {
		m.Words += "; its clock is " + apart(p.ClockAhead) + " of this machine"
	}
	switch d := &p.Doubts; {
	case d.TwoContents:
		m.Words, m.Next = "has said two different things in one round", "stop, and speak with its owner"
	case d.TwoProcesses:
		m.Words, m.Next = "two processes take part with its key", "its owner should stop one of them"
	case d.Fork != "":
		m.Words, m.Next = "follows another roster of this run",
			"agree with its owner on which of the two is withdrawn"
	case d.RolledBack > 0:
		m.Words += fmt.Sprintf("; it was rolled back %d times", d.RolledBack)
	}
	return m
}

// apart says by how many seconds a clock is ahead of another.
func apart(ahead float64) string {
	d := time.Duration(math.Abs(ahead)) * time.Second
	word := d.String()
	if d > 48*time.Hour {
		word = fmt.Sprintf("%.0f days", d.Hours()/24)
	}
	if ahead < 0 {
		return word + " behind that"
	}
	return word + " ahead of that"
}

var stalled = regexp.MustCompile(`for \S+, more than [^:]+`)

// standing says how far the node is, in words.
func standing(s *node.Status) event.Standing {
	c := &s.Counts
	e := event.Standing{Member: s.Name, Done: s.Round, Ready: s.Ready, Words: "goes on",
		Frames:  event.Frames{Missing: c.Missing, Refused: c.Refused, Skipped: c.Skipped},
		Members: event.Change{Epoch: s.Epoch, After: s.Change}}
	if p := s.Privacy; p != nil {
		e.Account = event.Account{Epsilon: jsonfloat.Float(p.Epsilon), Lifetime: jsonfloat.Float(p.Lifetime),
			Delta: p.Delta, Records: p.Records}
	}
	switch {
	case s.Failure != "":
		e.Words, e.Next = "stopped: "+s.Failure, "mend what it names, and start the node again: it goes on"
	case s.Finished:
		e.Words = "has finished"
	case s.Exhausted:
		e.Words = "the privacy budget of this run, or of these data, is spent: it mixes only"
	case !s.Ready:
		// how long would change each second
		e.Words = "waits: " + stalled.ReplaceAllString(s.Reason, "for long")
	}
	return e
}

// watchMachine looks at the disk and the clock of this machine.
func (t *teller) watchMachine(s *node.Status, now time.Time) {
	m := event.Machine{DiskFree: diskFree(t.dir) >> 20 << 20}
	if m.DiskFree > 0 && m.DiskFree < littleSpace {
		m.Warning = fmt.Sprintf("the disk of the state has %d MB left: a node without space stops",
			m.DiskFree>>20)
	}
	// the same time by the wall's clock and by the one that nobody sets
	jump := now.Round(0).Sub(t.began.Round(0)) - now.Sub(t.began)
	if jump.Abs() > clockJumps {
		m.Warning = fmt.Sprintf("the clock of this machine was moved by %v since the node began: times "+
			"here are not those of the others", jump.Round(time.Second))
	}
	if m.Warning == "" {
		m.Warning = otherClocks(s)
	}
	if m != t.machine {
		t.machine = m
		t.to.Emit(&m)
	}
}

// otherClocks says that all neighbors' clocks, of two or more, differ from this machine's
// in the same direction; "": they do not.
func otherClocks(s *node.Status) string {
	ahead := 0
	for i := range s.Peers {
		switch c := s.Peers[i].ClockAhead; {
		case c > 0:
			ahead++
		case c < 0:
			ahead--
		}
	}
	if len(s.Peers) < 2 || max(ahead, -ahead) < len(s.Peers) {
		return ""
	}
	word := "behind"
	if ahead < 0 {
		word = "ahead of"
	}
	return "the clock of this machine is " + word + " those of all neighbors: set it"
}

// ended closes the stream. It has no end where the node goes on with other members.
func (t *teller) ended(s *node.Status, err error, now time.Time) error {
	end := &event.End{State: event.Done, Dir: filepath.ToSlash(t.dir)}
	stand, at := standing(s), fmt.Sprintf("after %s %d", strings.TrimSuffix(s.Pace, "s"), s.Round)
	changes, removed := errors.Is(err, node.ErrChange), errors.Is(err, node.ErrRemoved)
	if changes {
		stand.Words, stand.Next = "the members change "+at, ""
	} else if removed {
		stand.Words, stand.Next = "left "+at, ""
	}
	t.said = time.Time{}
	t.say(s, stand, now)
	switch {
	case changes:
		t.to.Emit(&event.Note{Text: stand.Words})
		return t.to.Stream().Close()
	case removed:
		end.Text = stand.Words
	case errors.Is(err, context.Canceled):
		end.State, end.Text = event.Interrupted, "start it again to go on"
	case err != nil:
		end.State, end.Text = event.Failed, err.Error()
	}
	t.to.Emit(end)
	return t.to.Stream().Close()
}

// sayOwn keeps what the owner's records say of the models, for the owner's machine alone.
func sayOwn(p *process, r *Result) error {
	s := event.NewStream(event.Local)
	if err := s.Keep(filepath.Join(p.State, event.LocalFile), 0o600); err != nil {
		return err
	}
	own := &event.Own{Facts: []event.Fact{{Name: r.Metric + " together, on the owner's own test records",
		Value: fmt.Sprintf("%.4f", float64(r.Value))}}}
	if r.Alone != nil {
		own.Facts = append(own.Facts, event.Fact{Name: r.Metric + " alone, without noise",
			Value: fmt.Sprintf("%.4f", float64(*r.Alone))})
	}
	if r.Scores != nil && r.Scores.Personal != nil && r.Scores.Personal.Scores != nil {
		mine := r.Scores.Personal.Scores
		name := mine.Headline()
		if x := mine.Together.Figures[name].Value; x != nil {
			own.Facts = append(own.Facts, event.Fact{Name: name + " of the owner's own model",
				Value: fmt.Sprintf("%.4f", *x)})
		}
	}
	own.Facts = append(own.Facts, event.Fact{Name: "epsilon over all runs on these data",
		Value: rundir.FormatFine(r.Epsilon)})
	s.Emit(own)
	return s.Close()
}
