package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"sotto/privacy/account"
)

// entry is one record as it stands on the disk.
type entry struct {
	Record
	adjacency string
	unit      string
	event     []byte       // canonical JSON of Event
	lost      []lostCharge // of Lost
	byValue   bool         // of an open record: the fingerprint is of format 2
	overrides uint64       // how many override records so far, this one included
	prev      [sha256.Size]byte
	signature []byte
}

const (
	recordVersion = 1 // of most kinds
	// newerVersion is that of kind Restored, and of an open record whose fingerprint has
	// format 2: programs from before these refuse it by name.
	newerVersion = 2
	keyVersion   = 3 // of kind Rekeyed, likewise
	maxCount     = 1 << 53
	maxName      = 256     // bytes of Run and Agent
	maxNote      = 4096    // bytes of a note
	maxPayload   = 1 << 20 // bytes of a record
)

// append writes e's canonical JSON: a fixed set of keys in order, no blanks, strings as
// encoding/json writes them.
func (e *entry) append(b []byte) []byte {
	str := func(key, s string) {
		b = append(append(b, key...), ':')
		b = appendString(b, s)
	}
	num := func(key string, n uint64) {
		b = append(append(b, key...), ':')
		b = strconv.AppendUint(b, n, 10)
	}
	str(`{"adjacency"`, e.adjacency)
	str(`,"agent"`, e.Agent)
	if e.Lost != nil {
		b = append(b, `,"charges":[`...)
		for i := range e.lost {
			if i > 0 {
				b = append(b, ',')
			}
			num(`{"count"`, e.lost[i].count)
			b = append(append(append(b, `,"event":`...), e.lost[i].text...), '}')
		}
		b = append(b, ']')
	}
	if e.Claim != nil {
		b = append(b, `,"claim":`...)
		b = e.Claim.append(b)
	}
	num(`,"count"`, e.Count)
	str(`,"dataset"`, e.Dataset)
	if e.Digest != "" {
		str(`,"digest"`, e.Digest)
	}
	if e.event != nil {
		b = append(append(b, `,"event":`...), e.event...)
	}
	if e.Lost != nil {
		num(`,"from"`, e.Lost.From)
	}
	str(`,"kind"`, string(e.Kind))
	if e.Rotation != nil {
		b = e.Rotation.appendNew(b)
	}
	if e.Note != "" {
		str(`,"note"`, e.Note)
	}
	if e.Rotation != nil {
		b = e.Rotation.appendOld(b)
	}
	num(`,"overrides"`, e.overrides)
	b = append(b, `,"prev":"`...)
	b = hex.AppendEncode(b, e.prev[:])
	b = append(b, '"')
	num(`,"round"`, e.Round)
	str(`,"run"`, e.Run)
	num(`,"seq"`, e.Seq)
	if e.signature != nil {
		b = append(b, `,"signature":"`...)
		b = hex.AppendEncode(b, e.signature)
		b = append(b, '"')
	}
	if e.Lost != nil {
		num(`,"to"`, e.Lost.To)
	}
	if e.Total != 0 {
		num(`,"total"`, e.Total)
	}
	str(`,"unit"`, e.unit)
	num(`,"v"`, e.version())
	return append(b, '}')
}

// parse reads what append writes, byte for byte, and nothing else. Event stays nil; event
// holds its text, valid as long as payload.
func (e *entry) parse(payload []byte) error {
	p := parser{b: payload}
	old := e.Record
	*e = entry{Record: Record{Agent: old.Agent, Dataset: old.Dataset, Run: old.Run, Kind: old.Kind},
		adjacency: e.adjacency, unit: e.unit}
	p.key(`{"adjacency":`)
	p.str(&e.adjacency)
	p.key(`,"agent":`)
	p.str(&e.Agent)
	if p.lit(`,"charges":[`) {
		e.Lost, e.lost = new(Lost), p.lost()
	}
	if p.lit(`,"claim":`) {
		e.Claim = p.claim()
	}
	p.key(`,"count":`)
	e.Count = p.num()
	p.key(`,"dataset":`)
	p.str(&e.Dataset)
	if p.lit(`,"digest":`) {
		p.nonEmpty(&e.Digest)
	}
	if p.lit(`,"event":`) {
		e.event = p.object()
	}
	if e.Lost != nil {
		p.key(`,"from":`)
		e.Lost.From = p.num()
	}
	p.key(`,"kind":`)
	p.str((*string)(&e.Kind))
	e.Rotation = p.newKey()
	if p.lit(`,"note":`) {
		p.nonEmpty(&e.Note)
	}
	p.oldKey(e.Rotation)
	p.key(`,"overrides":`)
	e.overrides = p.num()
	p.key(`,"prev":`)
	p.hex(e.prev[:])
	p.key(`,"round":`)
	e.Round = p.num()
	p.key(`,"run":`)
	p.str(&e.Run)
	p.key(`,"seq":`)
	e.Seq = p.num()
	if p.lit(`,"signature":`) {
		e.signature = make([]byte, ed25519.SignatureSize)
		p.hex(e.signature)
	}
	if e.Lost != nil {
		p.key(`,"to":`)
		e.Lost.To = p.num()
	}
	if p.lit(`,"total":`) {
		if e.Total = p.num(); e.Total == 0 {
			p.fail("a total above 0")
		}
	}
	p.key(`,"unit":`)
	p.str(&e.unit)
	e.byValue = e.Kind == Opened && e.Rotation == nil && p.lit(`,"v":2}`)
	if !e.byValue {
		p.key(`,"v":` + strconv.FormatUint(e.version(), 10) + `}`)
	}
	if p.err == nil && len(p.b) > 0 {
		p.fail("the end of the record")
	}
	return p.err
}

// version is that of e's format.
func (e *entry) version() uint64 {
	switch {
	case e.Rotation != nil:
		return keyVersion
	case e.Lost != nil || e.byValue:
		return newerVersion
	}
	return recordVersion
}

// newer reports whether a payload that does not parse says that it has a newer version.
func newer(payload []byte) bool {
	var v struct{ V int }
	return json.Unmarshal(payload, &v) == nil && v.V > keyVersion
}

// unsigned is what the signature of e covers.
func (e *entry) unsigned() []byte {
	c := *e
	c.signature = nil
	return c.append([]byte("sotto ledger record\n"))
}

// parser reads canonical JSON from the front of b; after the first error it reads nothing
// more.
type parser struct {
	b   []byte
	err error
}

func (p *parser) fail(want string) {
	if p.err == nil {
		p.err = fmt.Errorf("found %q, allowed: %s", p.b[:min(len(p.b), 40)], want)
		p.b = nil
	}
}

func (p *parser) lit(s string) bool {
	if len(p.b) < len(s) || string(p.b[:len(s)]) != s {
		return false
	}
	p.b = p.b[len(s):]
	return true
}

func (p *parser) key(s string) {
	if !p.lit(s) {
		p.fail(s)
	}
}

func (p *parser) num() uint64 {
	n := 0
	for n < len(p.b) && p.b[n] >= '0' && p.b[n] <= '9' {
		n++
	}
	v, err := strconv.ParseUint(string(p.b[:n]), 10, 64)
	if err != nil || n > 1 && p.b[0] == '0' || v > math.MaxInt64 {
		p.fail("a number of 0 to 2^63-1 without leading zeros")
		return 0
	}
	p.b = p.b[n:]
	return v
}

// str reads a string into dst; it does not allocate if dst holds it already.
func (p *parser) str(dst *string) {
	n := p.stringEnd()
	if n == 0 {
		p.fail("a string")
		return
	}
	raw := p.b[:n]
	if string(raw[1:n-1]) != *dst || !simple(*dst) {
		var s string
		if json.Unmarshal(raw, &s) != nil || !bytes.Equal(appendString(nil, s), raw) {
			p.fail("a string in canonical form")
			return
		}
		*dst = s
	}
	p.b = p.b[n:]
}

// stringEnd returns the length of the quoted string at the front, 0 without one.
func (p *parser) stringEnd() int {
	if len(p.b) == 0 || p.b[0] != '"' {
		return 0
	}
	for i := 1; i < len(p.b); i++ {
		switch p.b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

func (p *parser) nonEmpty(dst *string) {
	if p.str(dst); *dst == "" {
		p.fail("a string that is not empty")
	}
}

// hex fills dst from a string of lower-case digits.
func (p *parser) hex(dst []byte) {
	n := 2*len(dst) + 2
	if len(p.b) < n || p.b[0] != '"' || p.b[n-1] != '"' || bytes.ContainsAny(p.b[1:n-1], "ABCDEF") {
		p.fail(fmt.Sprintf("%d hexadecimal digits", n-2))
		return
	}
	if _, err := hex.Decode(dst, p.b[1:n-1]); err != nil {
		p.fail(fmt.Sprintf("%d hexadecimal digits", n-2))
		return
	}
	p.b = p.b[n:]
}

// object cuts a JSON object off the front, without a look at what is in it.
func (p *parser) object() []byte {
	depth, all := 0, p.b
	for len(p.b) > 0 && (depth > 0 || p.b[0] == '{') {
		switch p.b[0] {
		case '"':
			n := p.stringEnd()
			if n == 0 {
				p.fail("the end of a string")
				return nil
			}
			p.b = p.b[n-1:]
		case '{':
			depth++
		case '}':
			depth--
		}
		p.b = p.b[1:]
		if depth == 0 {
			n := len(all) - len(p.b)
			return all[:n:n]
		}
	}
	p.fail("an object")
	return nil
}

// lost reads the missing charges of a rollback, to the end of the array.
func (p *parser) lost() (all []lostCharge) {
	for p.err == nil && !p.lit("]") {
		if len(all) > 0 {
			p.key(",")
		}
		p.key(`{"count":`)
		m := lostCharge{count: p.num()}
		p.key(`,"event":`)
		m.text = p.object()
		p.key("}")
		if all = append(all, m); len(all) > maxLost {
			p.fail(fmt.Sprintf("at most %d events", maxLost))
		}
	}
	return all
}

func (p *parser) claim() *Claim {
	raw := p.object()
	var c Claim
	if p.err == nil && (json.Unmarshal(raw, &c) != nil || !bytes.Equal(c.append(nil), raw)) {
		p.fail("a claim in canonical form")
	}
	return &c
}

// simple reports whether s stands for itself between quotes.
func simple(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' ||
			c == '&' || c == 0x7f {
			return false
		}
	}
	return true
}

// appendString writes s as encoding/json does.
func appendString(b []byte, s string) []byte {
	if simple(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	q, _ := json.Marshal(s) // a string always marshals
	return append(b, q...)
}

// Claim is an epsilon that was stated, with the accountant that found it.
type Claim struct {
	// "none": no accountant supports the charges, epsilon is infinite
	Accountant string                 `json:"accountant"`
	Delta      float64                `json:"delta"`
	Epsilon    account.StatedInterval `json:"epsilon"`
	Version    string                 `json:"version"` // account.Version at the time
}

func (c *Claim) append(b []byte) []byte {
	j, _ := json.Marshal(c) // delta is finite in every claim that was made or read
	return append(b, j...)
}
