package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/config"
	"sotto/privacy/account"
)

// chain is what a ledger's records add up to. The writer makes its next record from it
// and every reader checks the next record against it. Its size grows with the number of
// distinct events, not with that of records.
type chain struct {
	genesis Genesis
	links
	totals
	keyring
	dataset   string
	overrides []string
	events    map[string]*tally // by canonical JSON
	order     []*tally          // as first charged
	pending   *tally            // of the last event looked up, if it was never charged
}

// links are what ties records together.
type links struct {
	origin [sha256.Size]byte // hash of the genesis
	prev   [sha256.Size]byte // hash of the last record, or of the genesis
	next   uint64            // number of the next record
}

// tally is one event and how often it was charged.
type tally struct {
	event account.Event
	text  []byte
	total uint64
}

func newChain(g Genesis, hash [sha256.Size]byte) *chain {
	return &chain{genesis: g, links: links{hash, hash, 1}, keyring: keyringOf(&g),
		events: map[string]*tally{},
		totals: totals{runs: map[string]*runTally{}, evidence: map[string]bool{}}}
}

func (c *chain) head() Head { return Head{Seq: c.next - 1, Hash: c.prev} }

// entry returns the next record, for the caller to complete.
func (c *chain) entry(kind Kind) entry {
	e := entry{Record: Record{Seq: c.next, Kind: kind, Count: 1, Dataset: c.dataset},
		adjacency: c.genesis.Adjacency.String(), unit: c.genesis.Unit.String(),
		overrides: uint64(len(c.overrides)), prev: c.prev}
	if kind == Override || kind == Restored {
		e.overrides++
	}
	return e
}

// tally finds an event that is about to be charged. It enters the chain with its first
// record only.
func (c *chain) tally(ev account.Event) (*tally, error) {
	text, err := ev.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if t, ok := c.events[string(text)]; ok {
		return t, nil
	}
	if len(text) > maxPayload/2 {
		return nil, config.Bad("event", fmt.Sprintf("%d bytes of JSON", len(text)),
			fmt.Sprintf("at most %d", maxPayload/2))
	}
	if err := c.fits(ev); err != nil {
		return nil, err
	}
	var again account.Event
	if err := json.Unmarshal(text, &again); err != nil {
		return nil, err
	}
	if again.Key() != string(text) {
		return nil, config.Bad("event", string(text),
			"one that its JSON gives back: oracle and sampler in UTF-8")
	}
	return &tally{event: ev, text: text}, nil
}

// fits refuses an event that was stated for another adjacency or unit than the ledger's.
// What says of no unit whom it protects may be about single records, which says nothing
// of a person with several.
func (c *chain) fits(ev account.Event) error {
	if ev.Adjacency != 0 && ev.Adjacency != c.genesis.Adjacency {
		return config.Bad("event.adjacency", ev.Adjacency, c.genesis.Adjacency.String()+", as the ledger")
	}
	if ev.Unit != (account.Unit{}) && ev.Unit != c.genesis.Unit {
		return config.Bad("event.unit", ev.Unit, c.genesis.Unit.String()+", as the ledger")
	}
	if ev.Unit == (account.Unit{}) && c.genesis.Unit.Kind == account.UnitPerson &&
		ev.Type() != account.TypeNoOp {
		return config.Bad("event.unit", "nothing", c.genesis.Unit.String()+", as the ledger")
	}
	return nil
}

// find finds or parses an event of a record.
func (c *chain) find(text []byte) (*tally, error) {
	if t, ok := c.events[string(text)]; ok {
		return t, nil
	}
	t := &tally{text: bytes.Clone(text)}
	if err := json.Unmarshal(t.text, &t.event); err != nil {
		return nil, err
	}
	if back, err := t.event.MarshalJSON(); err != nil || !bytes.Equal(back, t.text) {
		return nil, errors.New("the event is not in canonical form")
	}
	return t, c.fits(t.event)
}

// check says what is wrong with e as the next record, and fills its Event.
func (c *chain) check(e *entry) error {
	want := c.entry(e.Kind)
	if e.Rotation != nil && e.Note != "" {
		want.overrides++
	}
	switch {
	case e.Seq != want.Seq:
		return fmt.Errorf("number %d, allowed: %d", e.Seq, want.Seq)
	case e.prev != want.prev:
		return errors.New("does not follow from the record before")
	case e.adjacency != want.adjacency || e.unit != want.unit:
		return fmt.Errorf("adjacency %s and unit %s, allowed: %s and %s", e.adjacency, e.unit, want.adjacency,
			want.unit)
	case e.overrides != want.overrides:
		return fmt.Errorf("%d overrides, allowed: %d", e.overrides, want.overrides)
	case e.Dataset != want.Dataset && e.Kind != Opened:
		return fmt.Errorf("data set %q, allowed: %q", e.Dataset, want.Dataset)
	case c.records == 0 && e.Kind != Opened:
		return fmt.Errorf("is a %q, allowed: %q", e.Kind, Opened)
	}
	return c.checkKind(e)
}

// checkKind checks the parts that depend on the kind.
func (c *chain) checkKind(e *entry) error {
	signed, claims, notes := false, false, false
	if e.Lost != nil && e.Kind != Restored || e.Rotation != nil && e.Kind != Rekeyed {
		return fmt.Errorf("has not the parts of kind %q", e.Kind)
	}
	switch e.Kind {
	case Charge:
		return c.checkCharge(e)
	case Restored:
		if err := c.checkRestored(e); err != nil {
			return err
		}
		return c.checkSignature(e)
	case Rekeyed:
		return c.checkRotation(e)
	case Override:
		notes = true
	case Opened:
		notes = e.Note != ""
	case Closed, Stated:
		signed, claims = true, true
	case Rotated:
	default:
		return fmt.Errorf("kind %q, allowed: charge, override, open, close, rotate, statement, "+
			"rolled back or key", e.Kind)
	}
	if e.Count != 1 || e.event != nil || e.Total != 0 || (e.Claim != nil) != claims ||
		(e.signature != nil) != signed ||
		(e.Note != "") != notes || (e.Digest != "") != (e.Kind == Stated) {
		return fmt.Errorf("has not the parts of kind %q", e.Kind)
	}
	if signed {
		return c.checkSignature(e)
	}
	return nil
}

func (c *chain) checkSignature(e *entry) error {
	if !ed25519.Verify(c.key, e.unsigned(), e.signature) {
		return errors.New("the signature does not fit")
	}
	return nil
}

func (c *chain) checkCharge(e *entry) error {
	if e.event == nil || e.Claim != nil || e.signature != nil || e.Note != "" || e.Digest != "" {
		return errors.New("has not the parts of kind \"charge\"")
	}
	t, err := c.find(e.event)
	if err != nil {
		return err
	}
	if e.Count < 1 || e.Count > maxCount || t.total > maxCount-e.Count || e.Total != t.total+e.Count {
		return fmt.Errorf("count %d and total %d, allowed: a count of 1 to 2^53 and a total of %d plus "+
			"the count", e.Count, e.Total, t.total)
	}
	e.Event, c.pending = &t.event, t
	return nil
}

// add takes e into the chain; t is the tally of its event, nil unless e is a charge.
func (c *chain) add(e *entry, t *tally, payload []byte) {
	c.prev = sha256.Sum256(payload)
	c.next = e.Seq + e.Count
	c.records++
	c.dataset = e.Dataset
	switch e.Kind {
	case Override:
		c.overrides = append(c.overrides, e.Note)
	case Charge:
		c.enter(t)
		t.total = e.Total
		c.charges += e.Count
		c.count(e, t, e.Count)
	case Restored:
		c.restore(e)
	case Rekeyed:
		c.keyring.take(*e.Rotation)
		if e.Note != "" {
			c.overrides = append(c.overrides, e.Note)
		}
	}
}

// enter takes an event into the chain that is charged for the first time.
func (c *chain) enter(t *tally) {
	if t.total == 0 {
		c.events[string(t.text)] = t
		c.order = append(c.order, t)
	}
}

// replay charges everything so far to filter. exhausted says that it is too much: then
// nothing more may be admitted.
func (c *chain) replay(filter account.Filter) (exhausted bool, err error) {
	for _, t := range c.order {
		err := filter.Admit(t.event, int(t.total))
		if errors.Is(err, account.ErrExhausted) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("ledger: the filter cannot count the %d charges of %s: %w", t.total,
				t.text, err)
		}
	}
	return false, nil
}

// compose feeds everything so far to a fresh accountant.
func (c *chain) compose(name string) (account.Accountant, error) {
	acc, err := account.New(name, c.genesis.Adjacency, c.genesis.Unit)
	if err != nil {
		return nil, err
	}
	for _, t := range c.order {
		if err := acc.Compose(t.event, int(t.total)); err != nil {
			return nil, err
		}
	}
	return acc, nil
}

// noAccountant is the name in a claim of infinity: nothing supports the charges.
const noAccountant = "none"

// epsilon returns the first of preferred, the default and rdp that answers for everything
// so far at the ledger's delta; acc is nil if none does, and the interval then infinite.
func (c *chain) epsilon(preferred string) (acc account.Accountant, name string, eps account.Interval,
	err error) {
	for _, name := range []string{preferred, account.Default, "rdp"} {
		acc, err := c.compose(name)
		if err == nil {
			eps, err = acc.Epsilon(c.genesis.Budget.Delta)
		}
		if err == nil {
			return acc, name, eps, nil
		}
		if !errors.Is(err, account.ErrUnsupported) && !errors.Is(err, account.ErrDeltaTooSmall) {
			return nil, "", eps, err
		}
	}
	return nil, noAccountant, account.Interval{Lower: math.Inf(1), Upper: math.Inf(1)}, nil
}

// claim states epsilon at the ledger's delta for everything so far.
func (c *chain) claim(preferred string) (*Claim, error) {
	_, name, eps, err := c.epsilon(preferred)
	return &Claim{
		Accountant: name,
		Delta:      c.genesis.Budget.Delta,
		Epsilon:    account.StatedInterval(eps),
		Version:    account.Version,
	}, err
}

// samplers lists the samplers of everything charged, each once, in order.
func (c *chain) samplers() string {
	var names []string
	for _, t := range c.order {
		if !slices.Contains(names, t.event.Sampler) && t.event.Sampler != "" {
			names = append(names, t.event.Sampler)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
