package ledger

import (
	"bufio"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

const (
	frameHeader = 8
	maxFrame    = frameHeader + maxPayload
	segmentName = "%06d.log"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame writes length, CRC-32C and payload.
func appendFrame(b, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli))
	return append(b, payload...)
}

// cutFrame returns the payload at the front of b. ok is false if no whole, intact frame
// stands there.
func cutFrame(b []byte) (payload []byte, ok bool) {
	if len(b) < frameHeader {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(b)
	if n == 0 || n > maxPayload || uint64(n) > uint64(len(b)-frameHeader) {
		return nil, false
	}
	payload = b[frameHeader : frameHeader+n]
	return payload, crc32.Checksum(payload, castagnoli) == binary.LittleEndian.Uint32(b[4:])
}

// torn reports whether rest, which does not start with an intact frame and reaches to the
// end of the last segment, can be what a crash left of one record: every record is synced
// before the next one is written, so no intact one can follow. Its length cannot be
// relied on, for even that may be half there.
func torn(rest []byte) bool {
	for i := 1; i < len(rest); i++ {
		if _, ok := cutFrame(rest[i:]); ok {
			return false
		}
	}
	return len(rest) <= maxFrame
}

// end is where the intact records of a ledger stop.
type end struct {
	segment int   // number of the last segment, 0 if there is none
	size    int64 // bytes of intact records in it
	torn    int64 // bytes after them
}

// segments lists the numbers of dir's segments; they must be 1, 2, 3 and so on.
func segments(fsys FS, dir string) (int, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return 0, err
	}
	var found []string
	for _, n := range names {
		if strings.HasSuffix(n, ".log") {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b string) int { // beyond 999999 names get longer
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for i, n := range found {
		if want := fmt.Sprintf(segmentName, i+1); n != want {
			return 0, fmt.Errorf("%w: %s holds %s where %s belongs", ErrCorrupt, dir, n, want)
		}
	}
	return len(found), nil
}

// scanner reads records through a chain. It holds one record at a time.
type scanner struct {
	fs    FS
	dir   string
	chain *chain
	// visit, unless nil, is called with every record after its check, and before it
	// enters the chain. e and payload are valid during the call.
	visit func(e *entry, payload []byte) error
	expected
	seals

	entry entry
	r     *bufio.Reader
	buf   []byte
	met   bool
}

// expected is what a scanner must find.
type expected struct {
	known Head              // must be met on the way, unless zero
	owner ed25519.PublicKey // whose key must hold at the end; nil: anybody's
}

// newScanner reads the genesis of dir. It fills o. Whether the ledger is that of
// o.PublicKey shows at the end, see checkWhole.
func newScanner(dir string, o *Options) (*scanner, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	g, hash, err := readGenesis(o.FS, dir)
	if err != nil {
		return nil, err
	}
	return &scanner{fs: o.FS, dir: dir, chain: newChain(g, hash),
		expected: expected{o.KnownHead, o.PublicKey}}, nil
}

// yield scans and hands every record to f; errStop says that f has had enough.
func (s *scanner) yield(limit *end, f func(Record, error) bool) (end, error) {
	s.visit = func(e *entry, _ []byte) error {
		if !f(e.Record, nil) {
			return errStop
		}
		return nil
	}
	return s.scan(limit)
}

// scan reads all segments, or up to the place that limit names, and returns where the
// intact records end.
func (s *scanner) scan(limit *end) (end, error) {
	n, err := segments(s.fs, s.dir)
	if err != nil {
		return end{}, err
	}
	if limit != nil {
		if n < limit.segment {
			return end{}, fmt.Errorf("%w: %s lacks segment %d", ErrCorrupt, s.dir, limit.segment)
		}
		n = limit.segment
	}
	if n == 0 {
		return end{}, fmt.Errorf("%w: %s has a %s but no segment", ErrCorrupt, s.dir, GenesisFile)
	}
	first, err := s.start(n)
	if err != nil {
		return end{}, err
	}
	at := end{}
	for at.segment = first; ; at.segment++ {
		last := at.segment >= n
		size := int64(-1)
		if last && limit != nil {
			size = limit.size
		}
		if err := s.segment(&at, last, size); err != nil || last {
			return at, err
		}
		if s.missing != nil || s.compare {
			if err := s.leave(&at); err != nil {
				return at, err
			}
		}
	}
}

// segment reads one segment, the first size bytes of it unless negative.
func (s *scanner) segment(at *end, last bool, size int64) error {
	name := filepath.Join(s.dir, fmt.Sprintf(segmentName, at.segment))
	f, err := s.fs.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var src io.Reader = f
	if size >= 0 {
		src = io.LimitReader(f, size)
	}
	if s.r == nil {
		s.r = bufio.NewReaderSize(nil, 1<<15)
	}
	r := s.r
	r.Reset(src)
	at.size, at.torn = 0, 0
	for {
		whole, err := s.read(r)
		if err != nil || len(whole) == 0 {
			return err
		}
		payload, ok := cutFrame(whole)
		if !ok {
			return s.bad(r, whole, name, at, last && size < 0)
		}
		if err := s.take(payload); err != nil {
			return fmt.Errorf("%s at byte %d, record %d: %w", name, at.size, s.chain.next, err)
		}
		at.size += int64(len(whole))
	}
}

// read returns the next frame, or what there is of it; nothing at the end.
func (s *scanner) read(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(frameHeader)
	n := len(head)
	if err == nil {
		n += int(min(binary.LittleEndian.Uint32(head), maxPayload))
	} else if err != io.EOF {
		return nil, err
	}
	if cap(s.buf) < n {
		s.buf = make([]byte, n, 2*n)
	}
	n, err = io.ReadFull(r, s.buf[:n])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return s.buf[:n], err
}

// bad decides what bytes are that are no frame: the torn end of the ledger, or damage.
func (s *scanner) bad(r io.Reader, rest []byte, name string, at *end, last bool) error {
	if last {
		more, err := io.ReadAll(io.LimitReader(r, 2*maxFrame))
		if err != nil {
			return err
		}
		if rest = append(rest, more...); torn(rest) {
			at.torn = int64(len(rest))
			return nil
		}
	}
	return fmt.Errorf("%w: %s at byte %d: record %d is damaged", ErrCorrupt, name, at.size, s.chain.next)
}

// take checks one record and adds it to the chain.
func (s *scanner) take(payload []byte) error {
	e, c := &s.entry, s.chain
	if err := e.parse(payload); err != nil {
		if newer(payload) {
			return fmt.Errorf("%w: record version above %d", ErrVersion, keyVersion)
		}
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := c.check(e); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if s.visit != nil {
		if err := s.visit(e, payload); err != nil {
			return err
		}
	}
	c.add(e, c.pending, payload)
	return s.meet()
}

// meet notes that the chain has come to the head that has to be met.
func (s *scanner) meet() error {
	if h := s.chain.head(); h.Seq == s.known.Seq {
		if s.known.Hash != h.Hash && s.known.Hash != [sha256.Size]byte{} {
			return fmt.Errorf("%w: the record hashes to %v, allowed: %v", ErrRollback, h, s.known)
		}
		s.met = true
	}
	return nil
}

// checkWhole refuses a ledger without its first record, that ends before a record that
// the caller knows of, or whose key is not the owner's.
func (s *scanner) checkWhole(at end, knownSeq uint64) error {
	if s.chain.records == 0 {
		return fmt.Errorf("%w: %s has a %s but no first record", ErrCorrupt, s.dir, GenesisFile)
	}
	h := s.chain.head()
	known := max(knownSeq, s.known.Seq)
	switch {
	case known > h.Seq && at.torn > 0:
		return fmt.Errorf("%w: record %d is torn, but record %d is known to have been answered", ErrCorrupt,
			s.chain.next, known)
	case known > h.Seq:
		return fmt.Errorf("%w: the last record is %d, but record %d is known to have existed", ErrRollback,
			h.Seq, known)
	case s.known.Seq > 0 && !s.met:
		return fmt.Errorf("%w: no record ends at %d", ErrRollback, s.known.Seq)
	}
	return s.chain.owned(s.dir, s.owner)
}

// errStop ends a scan early.
var errStop = errors.New("stop")
