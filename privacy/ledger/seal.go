package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

const (
	sealName    = "%06d.sum"
	sealSuffix  = ".sum"
	sealVersion = 1
	maxSeal     = 1 << 28
)

// seal is what all records up to the end of a segment add up to, signed by the owner, so
// that a start need not read them again. It is made when the next segment begins, and
// again by an Open that finds it missing or damaged. Its JSON has keys in this order and
// no blanks; the signature is Ed25519 over "sotto ledger seal\n" and the object without
// it.
type seal struct {
	V        int             `json:"v"`
	Origin   string          `json:"origin"` // SHA-256 of the genesis
	Segments []sealedSegment `json:"segments"`
	sealedTotals
	Signature string `json:"signature,omitempty"`
}

// sealedSegment is one segment and where it ends.
type sealedSegment struct {
	Size int64  `json:"size"`
	Next uint64 `json:"next"` // number of the record after it
	Hash string `json:"hash"` // of its last record
}

// sealedTotals are those of a chain.
type sealedTotals struct {
	Records   uint64        `json:"records"`
	Dataset   string        `json:"dataset"`
	Overrides []string      `json:"overrides"`
	Evidence  []string      `json:"evidence"`
	Rotations []Rotation    `json:"rotations,omitempty"`
	Events    []sealedEvent `json:"events"` // as first charged
	Runs      []sealedRun   `json:"runs"`   // by name
}

type sealedEvent struct {
	Event json.RawMessage `json:"event"`
	Total uint64          `json:"total"`
}

type sealedRun struct {
	Name  string      `json:"name"`
	First uint64      `json:"first"`
	Round uint64      `json:"round"`
	Of    [][2]uint64 `json:"of"` // number of an event in Events, and how often
}

// seal returns the seal of all segments so far, unsigned.
func (c *chain) seal(segments []sealedSegment) *seal {
	s := &seal{V: sealVersion, Origin: hex.EncodeToString(c.origin[:]), Segments: segments,
		sealedTotals: sealedTotals{Records: c.records, Dataset: c.dataset, Overrides: c.overrides,
			Rotations: slices.Clip(c.rotations), Evidence: slices.Sorted(maps.Keys(c.evidence))}}
	place := map[*tally]uint64{}
	for i, t := range c.order {
		place[t] = uint64(i)
		s.Events = append(s.Events, sealedEvent{t.text, t.total})
	}
	for _, name := range slices.Sorted(maps.Keys(c.runs)) {
		r := c.runs[name]
		out := sealedRun{Name: name, First: r.first, Round: r.round}
		for _, o := range r.of {
			out.Of = append(out.Of, [2]uint64{place[o.tally], o.count})
		}
		s.Runs = append(s.Runs, out)
	}
	return s
}

// end is where a segment ends that the chain has just reached the end of.
func (c *chain) end(size int64) sealedSegment {
	return sealedSegment{size, c.next, hex.EncodeToString(c.prev[:])}
}

func (s *seal) text() ([]byte, error) {
	unsigned := *s
	unsigned.Signature = ""
	return json.Marshal(&unsigned)
}

func sealMessage(text []byte) []byte { return append([]byte("sotto ledger seal\n"), text...) }

// putSeal signs and writes the seal of segment n.
func (d folder) putSeal(n int, s *seal, key ed25519.PrivateKey) error {
	text, err := s.text()
	if err != nil {
		return err
	}
	s.Signature = hex.EncodeToString(ed25519.Sign(key, sealMessage(text)))
	if text, err = json.Marshal(s); err != nil {
		return err
	}
	return d.put(fmt.Sprintf(sealName, n), append(text, '\n'))
}

// readSeal reads the seal of segment n. Any fault of it is an error; the segments say
// the same. It is signed with the key that held at its end or, where it was made anew
// later, with one of those in later.
func readSeal(fsys FS, dir string, n int, c *chain, later ...ed25519.PublicKey) (*seal, error) {
	name := filepath.Join(dir, fmt.Sprintf(sealName, n))
	b, err := readAll(fsys, name, maxSeal)
	if err != nil {
		return nil, err
	}
	bad := fmt.Errorf("%w: %s is no intact seal", ErrCorrupt, name)
	body, ok := bytes.CutSuffix(b, []byte("\n"))
	var s seal
	if !ok || json.Unmarshal(body, &s) != nil || s.V != sealVersion || len(s.Segments) != n ||
		s.Origin != hex.EncodeToString(c.origin[:]) {
		return nil, bad
	}
	back, err1 := json.Marshal(&s)
	text, err2 := s.text()
	key, err3 := s.keys(c)
	if errors.Join(err1, err2, err3) != nil || !bytes.Equal(back, body) {
		return nil, bad
	}
	for _, k := range append([]ed25519.PublicKey{key.key}, later...) {
		if k != nil && signedBy(k, sealMessage(text), s.Signature) {
			return &s, nil
		}
	}
	return nil, bad
}

// keys are those of the ledger c at the end of what is sealed.
func (s *seal) keys(c *chain) (keyring, error) {
	k := keyringOf(&c.genesis)
	for i, r := range s.Rotations {
		if i < len(c.rotations) && c.rotations[i] == r { // a record has said so
			k.take(r)
			continue
		}
		if err := k.rotate(r); err != nil {
			return k, fmt.Errorf("%w: a seal: %w", ErrCorrupt, err)
		}
	}
	return k, nil
}

// unseal makes c, a chain without records, what s says.
func (c *chain) unseal(s *seal) error {
	last := s.Segments[len(s.Segments)-1]
	if n, err := hex.Decode(c.prev[:], []byte(last.Hash)); err != nil || n != sha256.Size {
		return fmt.Errorf("%w: a seal names the hash %q", ErrCorrupt, last.Hash)
	}
	for _, r := range s.Rotations { // readSeal has checked them
		c.take(r)
	}
	c.next, c.records, c.dataset, c.overrides = last.Next, s.Records, s.Dataset, s.Overrides
	for _, d := range s.Evidence {
		c.evidence[d] = true
	}
	for _, e := range s.Events {
		t, err := c.find(e.Event)
		if err != nil {
			return fmt.Errorf("%w: a seal: %w", ErrCorrupt, err)
		}
		c.enter(t)
		t.total = e.Total
		c.charges += e.Total
	}
	for _, r := range s.Runs {
		run := &runTally{first: r.First, round: r.Round}
		for _, o := range r.Of {
			if o[0] >= uint64(len(c.order)) {
				return fmt.Errorf("%w: a seal counts event %d of %d", ErrCorrupt, o[0], len(c.order))
			}
			run.count += o[1]
			run.of = append(run.of, eventCount{c.order[o[0]], o[1]})
		}
		c.runs[r.Name] = run
	}
	return nil
}

// seals are a scanner's: what it starts from, and what it finds to be sealed.
type seals struct {
	use bool // start behind the last seal that fits
	// look at the seal of every segment that is left behind
	compare bool
	done    []sealedSegment // segments that are behind
	// unless nil, called at the end of every segment with one after it, whose seal is
	// missing or damaged
	missing func(n int, s *seal) error
	// odd are seals that could not be read, or differ from what their segments say. One
	// that was made anew after a rotation is found to be good at the end.
	odd []oddSeal
}

type oddSeal struct {
	segment int
	want    *seal
	err     error
}

// start returns the number of the first segment to read, of n. It is behind the latest
// seal whose segments have the sizes that it names, and which does not lie behind a head
// that has to be met.
func (s *scanner) start(n int) (int, error) {
	if !s.use {
		return 1, nil
	}
	for k := n - 1; k >= 1; k-- {
		found, err := readSeal(s.fs, s.dir, k, s.chain, s.owner)
		if errors.Is(err, ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		fits, err := s.fits(found)
		if err != nil {
			return 0, err
		}
		last := found.Segments[k-1]
		if !fits || s.known.Seq > 0 && s.known.Seq < last.Next-1 {
			continue
		}
		c := newChain(s.chain.genesis, s.chain.origin)
		if c.unseal(found) != nil {
			continue
		}
		*s.chain, s.done = *c, found.Segments
		return k + 1, s.meet()
	}
	return 1, nil
}

// fits reports whether the segments have the sizes that a seal names.
func (s *scanner) fits(found *seal) (bool, error) {
	for i, g := range found.Segments {
		size, err := s.fs.Size(filepath.Join(s.dir, fmt.Sprintf(segmentName, i+1)))
		if err != nil {
			return false, err
		}
		if size != g.Size {
			return false, nil
		}
	}
	return true, nil
}

// leave notes the end of a segment that has one after it, and looks at its seal.
func (s *scanner) leave(at *end) error {
	s.done = append(s.done[:len(s.done):len(s.done)], s.chain.end(at.size))
	want := s.chain.seal(s.done)
	err := s.sealed(at.segment, want, s.owner)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		s.odd = append(s.odd, oddSeal{at.segment, want, err})
	}
	if s.missing == nil {
		return nil
	}
	return s.missing(at.segment, want)
}

// sealed compares the seal of segment n with the one that belongs there. later are keys
// that may have made it anew.
func (s *scanner) sealed(n int, want *seal, later ...ed25519.PublicKey) error {
	found, err := readSeal(s.fs, s.dir, n, s.chain, later...)
	if err != nil {
		return err
	}
	a, err1 := found.text()
	b, err2 := want.text()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("%w: %s differs from what the segments say", ErrCorrupt, fmt.Sprintf(sealName, n))
	}
	return nil
}

// damaged names the seals that no key of the ledger has signed as they belong.
func (s *scanner) damaged() (names []string, err error) {
	var keys []ed25519.PublicKey
	for _, k := range s.chain.keys() {
		key, err := parseKey(k.PublicKey)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	for _, o := range s.odd {
		if len(keys) > 1 && s.sealed(o.segment, o.want, keys...) == nil {
			continue
		}
		names = append(names, o.err.Error())
	}
	return names, nil
}
