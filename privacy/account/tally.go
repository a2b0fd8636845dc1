package account

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"

	"sotto/config"
)

// entry is an event below the sequence level with how often it occurred.
type entry struct {
	body  *body
	key   string
	count int
}

// tally is the multiset of events of one accountant. lists[0] is shared by all branches
// of parallel events, lists[1+i] belongs to branch i. Lists are sorted by key, so that no
// answer depends on the order of charges.
type tally struct {
	relation
	name     string
	supports func(*body) error
	lists    [][]entry
}

func newTally(name string, a Adjacency, u Unit, supports func(*body) error) (tally, error) {
	return tally{relation{a, u}, name, supports, make([][]entry, 1)}, checkPair(a, u)
}

// addition is one entry about to be added to a list.
type addition struct {
	list int
	entry
}

// Compose adds times adaptive copies of ev; see Accountant.
func (t *tally) Compose(ev Event, times int) error {
	if t.supports == nil {
		return errNotMade
	}
	if ev.body == nil {
		return errInvalidEvent
	}
	if times < 0 || times > maxCount {
		return config.Bad("times", times, "0 to 2^53")
	}
	if ev.Adjacency != 0 && ev.Adjacency != t.adjacency {
		return config.Bad("event.adjacency", ev.Adjacency, t.adjacency.String()+", as the accountant")
	}
	if ev.Unit != (Unit{}) && ev.Unit != t.unit {
		return config.Bad("event.unit", ev.Unit, t.unit.String()+", as the accountant")
	}
	adds, err := t.expand(nil, 0, ev.body, times)
	if err != nil {
		return err
	}
	return t.addAll(adds, times)
}

// addAll adds all entries, or where there would be too many, none.
func (t *tally) addAll(adds []addition, times int) error {
	sum, most := 0, 0
	for i := range adds {
		if l := adds[i].list; l < len(t.lists) {
			if at, found := find(t.lists[l], &adds[i].entry); found {
				most = max(most, t.lists[l][at].count)
			}
		}
		if sum += adds[i].count; sum > maxCount-most {
			return config.Bad("times", times, "a total below 2^53")
		}
	}
	for i := range adds {
		t.add(&adds[i])
	}
	return nil
}

func (t *tally) add(a *addition) {
	for len(t.lists) <= a.list {
		t.lists = append(t.lists, nil)
	}
	l := t.lists[a.list]
	at, found := find(l, &a.entry)
	if !found {
		l = append(l, entry{})
		copy(l[at+1:], l[at:])
		l[at] = entry{body: a.body, key: a.key} // which find has made
	}
	l[at].count += a.count
	t.lists[a.list] = l
}

// find returns where e is, or belongs, in l. Equal pointers are found without making a
// key.
func find(l []entry, e *entry) (int, bool) {
	if len(l) <= 8 {
		for i := range l {
			if l[i].body == e.body {
				return i, true
			}
		}
	}
	if e.key == "" {
		e.key = e.body.key()
	}
	at := sort.Search(len(l), func(i int) bool { return l[i].key >= e.key })
	return at, at < len(l) && l[at].key == e.key
}

// expand flattens sequences, repeats and branches, and asks supports about the rest.
func (t *tally) expand(dst []addition, list int, b *body, n int) ([]addition, error) {
	switch {
	case n == 0:
		return dst, nil
	case b.kind.is(sampler) && t.unit.Kind == UnitOwner:
		return nil, t.unsupported(b, t.name, "full batches; sampling records hides no owner")
	case b.kind.expand != nil:
		return b.kind.expand(b, t, dst, list, n)
	}
	if err := t.supports(b); err != nil {
		return nil, err
	}
	return t.keep(dst, list, b, n), nil
}

// keep is what is added for an event that stays as it is.
func (t *tally) keep(dst []addition, list int, b *body, n int) []addition {
	return append(dst, addition{list, entry{body: b, count: n}})
}

// branches returns, for every branch, the mechanisms that one unit can meet: shared ones
// and the branch's own, with cyclic events already reduced to those it takes part in.
// nonPrivate reports a branch without guarantee.
func (t *tally) branches() (all [][]entry, nonPrivate bool) {
	for i := min(1, len(t.lists)-1); i < len(t.lists); i++ {
		merged := tally{supports: func(*body) error { return nil }, lists: make([][]entry, 1)}
		cycles := map[int][]entry{} // by period
		for _, l := range [][]entry{t.lists[0], t.lists[i]} {
			for _, e := range l {
				if e.body.kind.typ == TypeNonPrivate {
					return nil, true
				}
				if e.body.kind.typ == TypeCyclic {
					cycles[e.body.period] = append(cycles[e.body.period], e)
					continue
				}
				merged.add(&addition{0, e})
			}
			if i == 0 {
				break
			}
		}
		for _, events := range cycles {
			if merged.takePart(events) != nil {
				return nil, true
			}
		}
		all = append(all, merged.lists[0])
	}
	return all, false
}

// takePart adds what one unit meets of the cyclic events of one period. Whether its kinds
// make one cycle or one each is not said, so that both hold: as many as if each were a
// cycle of its own, ceil(n/period) of n, which is no less than in one; and of these the
// worst, since in one cycle all of them may be of one kind. Gaussian events are taken by
// least noise, others as often as there can be of each kind. An error: more than can be
// counted.
func (t *tally) takePart(events []entry) error {
	most, mus := 0, map[*body]float64{}
	for _, e := range events {
		most += (e.count + e.body.period - 1) / e.body.period
		if mu, ok := gaussianMu(e.body.event); ok {
			mus[e.body] = mu
		}
	}
	ordered := len(mus) == len(events)
	if ordered {
		slices.SortStableFunc(events, func(a, b entry) int { return cmp.Compare(mus[b.body], mus[a.body]) })
	}
	for _, e := range events {
		n := min(e.count, most)
		if ordered {
			most -= n
		}
		adds, err := t.expand(nil, 0, e.body.event, n)
		if err == nil {
			err = t.addAll(adds, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// worst is the largest of each branch's answer to q, or what a branch without guarantee
// has.
func (t *tally) worst(q question, unbounded Interval, of func(l []entry) (Interval, error)) (Interval,
	error) {
	if t.supports == nil {
		return Interval{}, errNotMade
	}
	all, nonPrivate := t.branches()
	if nonPrivate {
		return unbounded, nil
	}
	var worst Interval
	for _, l := range all {
		i, err := t.remembered(q, l, of)
		if err != nil {
			return Interval{}, err
		}
		worst = Interval{math.Max(worst.Lower, i.Lower), math.Max(worst.Upper, i.Upper)}
	}
	return worst, nil
}

// What an event without any guarantee has.
var (
	anyEpsilon = Interval{math.Inf(1), math.Inf(1)}
	anyDelta   = Interval{1, 1}
)

// snapshot is the saved form of an accountant.
type snapshot struct {
	V          int             `json:"v"`
	Accountant string          `json:"accountant"`
	Adjacency  Adjacency       `json:"adjacency"`
	Unit       Unit            `json:"unit"`
	Branches   int             `json:"branches"`
	Events     []snapshotEntry `json:"events"`
}

type snapshotEntry struct {
	Branch int   `json:"branch"` // 0 = shared
	Count  int   `json:"count"`
	Event  Event `json:"event"`
}

// MarshalJSON saves what was composed; Restore reads it.
func (t *tally) MarshalJSON() ([]byte, error) {
	if t.supports == nil {
		return nil, errNotMade
	}
	s := snapshot{
		V:          1,
		Accountant: t.name,
		Adjacency:  t.adjacency,
		Unit:       t.unit,
		Branches:   len(t.lists) - 1,
		Events:     []snapshotEntry{},
	}
	for i, l := range t.lists {
		for _, e := range l {
			s.Events = append(s.Events, snapshotEntry{i, e.count, Event{body: e.body}})
		}
	}
	return json.Marshal(s)
}

// Restore returns the accountant that was saved with MarshalJSON: its answers are the
// same bits.
func Restore(data []byte) (Accountant, error) {
	var s snapshot
	if err := strictJSON(data, &s); err != nil {
		return nil, err
	}
	if s.V != 1 {
		return nil, config.Bad("v", s.V, "1")
	}
	a, err := New(s.Accountant, s.Adjacency, s.Unit)
	if err != nil {
		return nil, err
	}
	t := a.(interface{ state() *tally }).state()
	if s.Branches < 0 || s.Branches > 1<<20 {
		return nil, config.Bad("branches", s.Branches, "0 to 2^20")
	}
	t.lists = make([][]entry, 1+s.Branches)
	for _, e := range s.Events {
		if e.Branch < 0 || e.Branch > s.Branches {
			return nil, config.Bad("branch", e.Branch, fmt.Sprintf("0 to %d", s.Branches))
		}
		if e.Event.body == nil || e.Count < 0 || e.Count > maxCount || e.Event.body.contains(TypeParallel) {
			return nil, config.Bad("events", e.Count, "an event without branches and a count of 0 to 2^53")
		}
		adds, err := t.expand(nil, e.Branch, e.Event.body, e.Count)
		if err != nil {
			return nil, err
		}
		if err := t.addAll(adds, e.Count); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (t *tally) state() *tally { return t }
