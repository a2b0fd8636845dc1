// Package figure remembers what compositions came to, so that one that is asked for again
// (by a search for noise, the run that follows, its statements, the next run of a sweep)
// is not made again. It knows no events: a figure belongs to a text that holds all that
// determines it.
package figure

import (
	"maps"
	"math"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Figure is an interval of an epsilon or a delta.
type Figure struct{ Lower, Upper float64 }

// valid reports an interval of numbers from 0 to +Inf; nothing else is remembered.
func (f Figure) valid() bool { return 0 <= f.Lower && f.Lower <= f.Upper && !math.IsNaN(f.Upper) }

// MaxEntries bounds each of the two generations of a [Memo], MaxKey the bytes of a key:
// longer ones are computed each time.
const (
	MaxEntries = 1 << 14
	MaxKey     = 1 << 13
)

// Memo holds figures by key. The zero Memo is empty. What has not been asked for during
// the last MaxEntries new figures is forgotten. It is safe for concurrent use.
type Memo struct {
	mu         sync.Mutex
	young, old map[string]Figure
	flying     singleflight.Group
}

// Of returns the figure of key, from compute where it is not remembered. compute must
// depend on nothing but key. Of several callers at once one computes. Errors are not
// remembered.
func (m *Memo) Of(key string, compute func() (Figure, error)) (Figure, error) {
	if len(key) > MaxKey {
		return compute()
	}
	if f, ok := m.get(key); ok {
		return f, nil
	}
	v, err, _ := m.flying.Do(key, func() (any, error) {
		if f, ok := m.get(key); ok { // computed since
			return f, nil
		}
		f, err := compute()
		if err == nil && f.valid() {
			m.mu.Lock()
			m.put(key, f)
			m.mu.Unlock()
		}
		return f, err
	})
	return v.(Figure), err
}

func (m *Memo) get(key string) (Figure, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.young[key]
	if !ok {
		if f, ok = m.old[key]; ok {
			m.put(key, f)
		}
	}
	return f, ok
}

func (m *Memo) put(key string, f Figure) {
	if len(m.young) >= MaxEntries {
		m.old, m.young = m.young, nil
	}
	if m.young == nil {
		m.young = map[string]Figure{}
	}
	m.young[key] = f
}

// Forget makes the memo empty.
func (m *Memo) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.young, m.old = nil, nil
}

// Learn remembers figures of earlier times, until others are asked for more often. They
// are believed.
func (m *Memo) Learn(figures map[string]Figure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.old == nil {
		m.old = map[string]Figure{}
	}
	for key, f := range figures {
		if f.valid() && len(key) <= MaxKey {
			m.old[key] = f
		}
	}
}

// All returns copies of what was computed or asked for lately, and of what else is
// remembered.
func (m *Memo) All() (lately, before map[string]Figure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lately, before = map[string]Figure{}, map[string]Figure{}
	maps.Copy(lately, m.young)
	for key, f := range m.old {
		if _, ok := lately[key]; !ok {
			before[key] = f
		}
	}
	return lately, before
}
