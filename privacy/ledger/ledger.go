package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"sotto/privacy/account"
)

// Ledger is an append-only list of charges. It is safe for concurrent use.
type Ledger interface {
	// Charge admits ev against the budget and appends it under one lock, durably where
	// the ledger is durable, before it returns. seq is at least 1 and never repeats. An
	// error that wraps account.ErrExhausted means that the budget refused ev and nothing
	// was written.
	Charge(ev account.Event) (seq uint64, err error)
	// Override records that a refusal was overridden; note is public.
	Override(note string) error
	// Records yields what the ledger holds at the call, oldest first, also after Close.
	Records() iter.Seq2[Record, error]
	// Head identifies the ledger's present content.
	Head() Head
	// Close ends the ledger; every later Charge and Override is refused with ErrClosed.
	Close() error
}

// Kind says what a record is.
type Kind string

const (
	Charge   Kind = "charge"   // a release may have left
	Override Kind = "override" // the owner accepted a risk that is refused by default

	// Only in a File:
	Opened  Kind = "open"      // a process took the ledger up; the note says if a torn record was cut
	Closed  Kind = "close"     // a process laid the ledger down, with the epsilon so far
	Rotated Kind = "rotate"    // the first record of a new segment
	Stated  Kind = "statement" // a privacy statement was made
	// the ledger was rolled back: what it lacked is charged by this record, see
	// RolledBack
	Restored Kind = "rolled back"
	Rekeyed  Kind = "key" // the ledger's key was replaced by another one, see Rotation
)

// Record is one event in the life of a ledger, or Count consecutive charges of one event,
// the first of which has number Seq. A Memory fills Seq to Note only.
type Record struct {
	Seq   uint64         `json:"seq"`
	Kind  Kind           `json:"kind"`
	Count uint64         `json:"count"`
	Event *account.Event `json:"event,omitempty"` // of a charge; shared, not to be changed
	Note  string         `json:"note,omitempty"`  // of an override, open or lost key; public

	// of a charge: how often its event was charged so far, this one included
	Total   uint64 `json:"total,omitempty"`
	Round   uint64 `json:"round,omitempty"`   // coarse time, see File.SetRound
	Run     string `json:"run,omitempty"`     // of the process that wrote it, see Options
	Agent   string `json:"agent,omitempty"`   // likewise
	Dataset string `json:"dataset,omitempty"` // tag of the data set charged, see Fingerprint
	Claim   *Claim `json:"claim,omitempty"`   // of a close or statement
	Signed
}

// Signed is what a statement, a rollback or a new key ties its record to.
type Signed struct {
	// of a statement, see SignedStatement; of a rollback, the evidence in hexadecimal
	Digest string `json:"digest,omitempty"`
	Lost   *Lost  `json:"lost,omitempty"` // of a rollback
	// of a new key
	Rotation *Rotation `json:"rotation,omitempty"`
}

// Head is the number of the last record or charge, 0 without any, and a hash that covers
// all records.
type Head struct {
	Seq  uint64
	Hash [sha256.Size]byte
}

func (h Head) String() string { return hex.EncodeToString(h.Hash[:]) }

// Memory is a ledger that lives as long as its process.
type Memory struct {
	mu      sync.Mutex
	filter  account.Filter
	records []Record
	next    uint64
	closed  bool
}

var _ Ledger = (*Memory)(nil)

// NewMemory returns an empty ledger with a budget; a nil filter admits everything. A
// filter is for one ledger.
func NewMemory(filter account.Filter) *Memory { return &Memory{filter: filter, next: 1} }

// Charge implements Ledger. Errors: those of the filter, a config.Error (the event is not
// valid), ErrClosed.
func (m *Memory) Charge(ev account.Event) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, ErrClosed
	}
	if err := ev.Validate(); err != nil {
		return 0, err
	}
	if m.filter != nil {
		if err := m.filter.Admit(ev, 1); err != nil {
			return 0, err
		}
	}
	return m.append(ev, 1), nil
}

func (m *Memory) append(ev account.Event, count uint64) uint64 {
	m.next = max(m.next, 1) // of the zero Memory
	seq := m.next
	m.next += count
	if n := len(m.records); n > 0 && m.records[n-1].Kind == Charge && m.records[n-1].Event.Equal(ev) {
		m.records[n-1].Count += count
	} else {
		m.records = append(m.records, Record{Seq: seq, Kind: Charge, Count: count, Event: &ev})
	}
	return seq
}

// Override implements Ledger.
func (m *Memory) Override(note string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.override(note)
	return nil
}

func (m *Memory) override(note string) {
	m.next = max(m.next, 1)
	m.records = append(m.records, Record{Seq: m.next, Kind: Override, Count: 1, Note: note})
	m.next++
}

// mostCharges bounds what a ledger counts: numbers that float64 has exactly.
const mostCharges = 1 << 53

// Restore appends records of an interrupted run, charges and overrides that follow each
// other from number 1 on, to an empty ledger, and counts them against the budget. After
// an error the ledger holds those before the one that is refused.
func (m *Memory) Restore(records []Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next = max(m.next, 1); m.next != 1 {
		return fmt.Errorf("ledger: restore into a ledger that holds %d charges", m.next-1)
	}
	for _, r := range records {
		if r.Seq != m.next || r.Count == 0 || r.Count > mostCharges-m.next {
			return fmt.Errorf("ledger: restored record has number %d and count %d, allowed: number %d and "+
				"a count above 0, and below 2^53 of all", r.Seq, r.Count, m.next)
		}
		switch {
		case r.Kind == Override && r.Count == 1:
			m.override(r.Note)
			continue
		case r.Kind != Charge || r.Event == nil || r.Event.Validate() != nil:
			return fmt.Errorf("ledger: restored record %d is a %q without its content", r.Seq, r.Kind)
		}
		if m.filter != nil {
			if err := m.filter.Admit(*r.Event, int(r.Count)); err != nil {
				return err
			}
		}
		m.append(*r.Event, r.Count)
	}
	return nil
}

// Records implements Ledger.
func (m *Memory) Records() iter.Seq2[Record, error] {
	m.mu.Lock()
	records := m.records[:len(m.records):len(m.records)]
	if n := len(records); n > 0 { // the last one may still grow
		records = append(records[:n-1:n-1], records[n-1])
	}
	m.mu.Unlock()
	return func(yield func(Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Head implements Ledger: the hash covers the canonical JSON of all records.
func (m *Memory) Head() Head {
	h := sha256.New()
	var seq uint64
	for r := range m.Records() {
		b, err := json.Marshal(r)
		if err != nil {
			panic("ledger: an admitted event does not marshal: " + err.Error())
		}
		h.Write(b)
		h.Write([]byte{'\n'})
		seq = r.Seq + r.Count - 1
	}
	head := Head{Seq: seq}
	h.Sum(head.Hash[:0])
	return head
}

// Close implements Ledger. A second Close does nothing.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
