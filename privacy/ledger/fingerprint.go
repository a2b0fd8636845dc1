package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
)

const (
	digestSize        = 16
	minSecret         = 16
	fingerprintMagic  = "SOTTOFP1" // digests of lines alone
	tableMagic        = "SOTTOFP2" // of records by value and of people too
	fingerprintPrefix = "dataset-"
	fingerprintSuffix = ".fp"
	fingerprintHead   = len(fingerprintMagic) + digestSize + 8
)

type recordDigest [digestSize]byte

// Fingerprint is a data set as the set of its records' digests: HMAC-SHA-256 under a
// secret of the owner, cut to 128 bits. Whoever lacks the secret learns nothing from it
// but the number of distinct records, so it stays with the ledger; a digest without key
// would itself be a release. It is immutable.
type Fingerprint struct {
	check   recordDigest // of the secret, so that two secrets are not taken for two data sets
	digests []recordDigest
	layouts []layout       // of records by value, ascending by columns
	people  []recordDigest // of keys
	from    *source        // what it was made of; nil: it was read, or made of lines alone
}

// NewFingerprint digests records; secret is at least 16 random bytes that the owner keeps
// for as long as its ledgers. The records must be the raw ones, as the owner stores them:
// after other preprocessing, or with another secret, the same people would have other
// digests. The number of records must be above 0.
func NewFingerprint(secret []byte, records iter.Seq[[]byte]) (*Fingerprint, error) {
	mac, err := digester(secret)
	if err != nil {
		return nil, err
	}
	if records == nil {
		return nil, config.Bad("records", "none", "at least 1")
	}
	p := &Fingerprint{check: digestOf(mac, 'k', nil)}
	for r := range records {
		p.digests = append(p.digests, digestOf(mac, 'r', r))
	}
	if len(p.digests) == 0 {
		return nil, config.Bad("records", 0, "at least 1")
	}
	p.digests = sortedSet(p.digests)
	return p, nil
}

func compareDigests(a, b recordDigest) int { return bytes.Compare(a[:], b[:]) }

func sortedSet(d []recordDigest) []recordDigest {
	slices.SortFunc(d, compareDigests)
	return slices.Compact(d)
}

// Len returns the number of distinct records.
func (p *Fingerprint) Len() int { return len(p.digests) }

// Tag names the data set, in 32 hexadecimal digits that mean nothing without the secret.
func (p *Fingerprint) Tag() string {
	h := sha256.Sum256(p.encode())
	return hex.EncodeToString(h[:digestSize])
}

// Overlaps reports whether p and q share a record. ErrKey: they were made with different
// secrets.
func (p *Fingerprint) Overlaps(q *Fingerprint) (bool, error) {
	if p.check != q.check {
		return false, fmt.Errorf("%w: the data sets were digested with different secrets", ErrKey)
	}
	if intersect(p.digests, q.digests) > 0 {
		return true, nil
	}
	return slices.ContainsFunc(p.layouts, func(l layout) bool { return q.has(&l) }) ||
		slices.ContainsFunc(q.layouts, func(l layout) bool { return p.has(&l) }), nil
}

// union returns the records of both, which were made with one secret.
func (p *Fingerprint) union(q *Fingerprint) *Fingerprint {
	all := &Fingerprint{check: p.check, digests: sortedSet(slices.Concat(p.digests, q.digests)),
		people: sortedSet(slices.Concat(p.people, q.people)), layouts: p.merge(q)}
	if len(all.people) == 0 {
		all.people = nil
	}
	return all
}

// byValue reports whether p has more than digests of lines.
func (p *Fingerprint) byValue() bool { return len(p.layouts) > 0 || len(p.people) > 0 }

// encode writes magic, check, number of digests (u64 LE), digests in order, in format 2
// people and layouts, and SHA-256 of all that.
func (p *Fingerprint) encode() []byte {
	b := make([]byte, 0, fingerprintHead+len(p.digests)*digestSize+sha256.Size)
	if p.byValue() {
		b = append(b, tableMagic...)
	} else {
		b = append(b, fingerprintMagic...)
	}
	b = append(b, p.check[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(p.digests)))
	for i := range p.digests {
		b = append(b, p.digests[i][:]...)
	}
	if p.byValue() {
		b = p.encodeTable(b)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// parseFingerprint reads what encode writes.
func parseFingerprint(b []byte) (*Fingerprint, error) {
	bad := fmt.Errorf("%w: not an intact fingerprint", ErrCorrupt)
	if len(b) < fingerprintHead+sha256.Size {
		return nil, bad
	}
	body, sum := b[:len(b)-sha256.Size], sha256.Sum256(b[:len(b)-sha256.Size])
	n := binary.LittleEndian.Uint64(body[fingerprintHead-8:])
	body = body[fingerprintHead:]
	magic := string(b[:len(fingerprintMagic)])
	if !bytes.HasSuffix(b, sum[:]) || n == 0 || n > uint64(len(body))/digestSize {
		return nil, bad
	}
	p := &Fingerprint{check: recordDigest(b[len(fingerprintMagic):]),
		digests: cutDigests(body[:n*digestSize])}
	rest := body[n*digestSize:]
	if p.digests == nil || magic == fingerprintMagic && len(rest) > 0 ||
		magic == tableMagic && !p.parseTable(rest) || magic != fingerprintMagic && magic != tableMagic {
		return nil, bad
	}
	return p, nil
}

func fingerprintName(tag string) string { return fingerprintPrefix + tag + fingerprintSuffix }

func fingerprintTags(fsys FS, dir string) (tags []string, err error) {
	names, err := fsys.List(dir)
	for _, n := range names {
		if tag, ok := strings.CutPrefix(n, fingerprintPrefix); ok {
			if tag, ok = strings.CutSuffix(tag, fingerprintSuffix); ok {
				tags = append(tags, tag)
			}
		}
	}
	return tags, err
}

// storedFingerprints reads all fingerprints in dir, by tag. More than one is there after
// a crash while the data set grew; the records of all of them count as charged.
func storedFingerprints(fsys FS, dir string) (tags []string, all *Fingerprint, err error) {
	if tags, err = fingerprintTags(fsys, dir); err != nil {
		return nil, nil, err
	}
	for _, tag := range tags {
		name := filepath.Join(dir, fingerprintName(tag))
		p, err := readFingerprint(fsys, name)
		if err == nil && p.Tag() != tag {
			err = fmt.Errorf("%w: holds data set %s", ErrCorrupt, p.Tag())
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if all == nil {
			all = p
		} else {
			all = all.union(p)
		}
	}
	return tags, all, nil
}

func readFingerprint(fsys FS, name string) (*Fingerprint, error) {
	r, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return parseFingerprint(b)
}

// matchData compares the data set in use with those charged before. One that shares no
// record is refused, but by name it is taken; one that has grown or changed is stored
// together with all former records, which stay charged.
func (f *File) matchData() (tag string, err error) {
	old := f.chain.dataset
	tags, stored, err := storedFingerprints(f.opt.FS, f.dir)
	if err != nil {
		return "", err
	}
	if old != "" && !slices.Contains(tags, old) {
		return "", fmt.Errorf("%w: %s lacks %s", ErrCorrupt, f.dir, fingerprintName(old))
	}
	p := f.opt.Fingerprint
	switch {
	case p == nil:
		f.dataless, f.byValue = old != "", stored != nil && stored.byValue()
		return old, nil
	case old == "":
		return "", fmt.Errorf("%w: %s was made without a fingerprint", ErrDataset, f.dir)
	}
	overlap, err := stored.Overlaps(p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.dir, err)
	}
	if !overlap && !f.byName {
		return "", fmt.Errorf("%w: %s shares no record with the data in use", ErrDataset, f.dir)
	}
	all := stored.union(p)
	f.byValue = all.byValue()
	if tag = all.Tag(); slices.Contains(tags, tag) {
		return tag, nil
	}
	return f.storeFingerprint(all)
}
