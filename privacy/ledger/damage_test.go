package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"sotto/internal/long"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// frames splits a segment after the description of the format: length u32 LE, CRC-32C u32
// LE, payload.
func frames(t testing.TB, b []byte) (payloads [][]byte) {
	t.Helper()
	for len(b) > 0 {
		n := binary.LittleEndian.Uint32(b)
		sum := binary.LittleEndian.Uint32(b[4:])
		p := b[8 : 8+n]
		if crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) != sum {
			t.Fatal("checksum")
		}
		payloads = append(payloads, p)
		b = b[8+n:]
	}
	return payloads
}

func join(payloads ...[]byte) (b []byte) {
	for _, p := range payloads {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(p)))
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)))
		b = append(b, p...)
	}
	return b
}

const (
	seg1 = crashDir + "/000001.log"
	seg2 = crashDir + "/000002.log"
	seg3 = crashDir + "/000003.log"
	gen  = crashDir + "/genesis.json"
)

// small makes a ledger of three segments; the last one holds a rotate record, charges and
// a close.
func small(t testing.TB) (disk *ledgertest.CrashFS, last uint64, head ledger.Head) {
	t.Helper()
	disk = ledgertest.NewCrashFS()
	o := crashOptions(disk, 0)
	o.SegmentSize = 1200
	f, err := ledger.Create(crashDir, genesis(), o)
	if err != nil {
		t.Fatal(err)
	}
	for disk.Content(seg3) == nil {
		charge(t, f, gaussian(t, 1e4), 1)
	}
	if err := f.Override("x"); err != nil {
		t.Fatal(err)
	}
	last = charge(t, f, gaussian(t, 2e4), 1)
	closed(t, f)
	return disk.Clone(), last, f.Head()
}

// The format is what the package says, read without the package.
func TestFormat(t *testing.T) {
	disk, _, head := small(t)
	g, ok := bytes.CutSuffix(disk.Content(gen), []byte("\n"))
	if !ok {
		t.Fatal("the genesis does not end its line")
	}
	prev, seq := sha256.Sum256(g), 0.0
	for _, name := range []string{seg1, seg2, seg3} {
		for _, p := range frames(t, disk.Content(name)) {
			var r map[string]any
			if err := json.Unmarshal(p, &r); err != nil {
				t.Fatal(err)
			}
			if r["prev"] != hex.EncodeToString(prev[:]) || r["seq"] != seq+1 || r["unit"] != "record" ||
				r["adjacency"] != "add-remove" {
				t.Fatalf("record %s after %x", p, prev)
			}
			if keys := sortedAsWritten(t, p); !slices.IsSorted(keys) {
				t.Errorf("keys %v", keys)
			}
			seq += r["count"].(float64)
			prev = sha256.Sum256(p)
		}
	}
	if seq != float64(head.Seq) || prev != head.Hash {
		t.Errorf("the chain ends at %g %x, the head is %d %v", seq, prev, head.Seq, head)
	}
}

// sortedAsWritten lists the keys of the object in their order.
func sortedAsWritten(t *testing.T, p []byte) (keys []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(p))
	d.Token()
	for d.More() {
		k, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k.(string))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// named says that err is one that the package names.
func named(err error) bool {
	return slices.ContainsFunc([]error{ledger.ErrCorrupt, ledger.ErrRollback, ledger.ErrVersion,
		ledger.ErrKey, ledger.ErrClaim}, func(e error) bool {
		return errors.Is(err, e)
	})
}

// openAndVerify tries both on a copy of disk; they must agree, but that Open cuts a torn
// tail.
func openAndVerify(t testing.TB, disk *ledgertest.CrashFS, o ledger.Options) (ledger.Report, error) {
	t.Helper()
	o.FS = disk
	r, err := ledger.Verify(crashDir, o)
	o.FS = disk.Clone()
	f, openErr := ledger.Open(crashDir, o)
	if (err == nil) != (openErr == nil) {
		t.Fatalf("verify: %v; open: %v", err, openErr)
	}
	for _, e := range []error{err, openErr} {
		if e != nil && !named(e) {
			t.Fatalf("error without a name: %v", e)
		}
	}
	if openErr == nil {
		charge(t, f, gaussian(t, 1e4), 1)
		closed(t, f)
		if after, err := ledger.Verify(crashDir, o); err != nil || after.Charges != r.Charges+1 ||
			after.Torn != 0 {
			t.Fatalf("after open: %+v, %v", after, err)
		}
	}
	return r, err
}

// Files are cut at and beside every end of a record and at each third byte, at every byte
// with the tag long.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	disk, last, _ := small(t)
	whole, err := ledger.Verify(crashDir, crashOptions(disk, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{seg1, seg2, seg3, gen} {
		content := disk.Content(name)
		ends := map[int]bool{0: true}
		if name != gen {
			n := 0
			for _, p := range frames(t, content) {
				n += 8 + len(p)
				ends[n] = true
			}
		}
		for cut := range len(content) {
			if near := ends[cut-1] || ends[cut] || ends[cut+1]; !near && cut%3 > 0 && !long.Tests {
				continue
			}
			d := disk.Clone()
			d.Put(name, content[:cut])
			if name != seg3 {
				if _, err := ledger.Verify(crashDir, crashOptions(d, 0)); !named(err) {
					t.Fatalf("%s cut at %d: %v", name, cut, err)
				}
				continue
			}
			r, err := openAndVerify(t, d, crashOptions(d, 0))
			if err != nil || r.Charges > whole.Charges || (r.Torn == 0) != ends[cut] {
				t.Fatalf("cut at %d: %+v, %v", cut, r, err)
			}
			// the close alone may go if the last charge is known
			_, err = openAndVerify(t, d, crashOptions(d, last))
			if held := r.LastSeq >= last; held != (err == nil) {
				t.Fatalf("cut at %d with charge %d known: %v", cut, last, err)
			}
		}
	}
}

func TestEditEveryByte(t *testing.T) {
	t.Parallel()
	disk, _, head := small(t)
	for _, name := range []string{seg1, seg2, seg3, gen} {
		content := disk.Content(name)
		lastRecord := len(content)
		if name == seg3 {
			all := frames(t, content)
			lastRecord -= 8 + len(all[len(all)-1])
		}
		for i := range content {
			flips := []byte{1, 0x20, 0x80}
			if !long.Tests {
				flips = flips[i%3:][:1] // every byte is changed, one of the three bits in each
			}
			for _, x := range flips {
				d := disk.Clone()
				edited := bytes.Clone(content)
				edited[i] ^= x
				d.Put(name, edited)
				o := crashOptions(d, 0)
				r, err := ledger.Verify(crashDir, o)
				if err == nil && (i < lastRecord || r.Torn == 0) {
					t.Fatalf("%s: byte %d changed by %#x was accepted: %+v", name, i, x, r)
				}
				if err != nil && !named(err) {
					t.Fatalf("%s: byte %d: error without a name: %v", name, i, err)
				}
				if err != nil {
					continue
				}
				o.KnownHead = head
				if _, err := ledger.Verify(crashDir, o); !named(err) {
					t.Fatalf("%s: byte %d changed by %#x under a known head: %v", name, i, x, err)
				}
			}
		}
	}
}

func TestRearranged(t *testing.T) {
	disk, last, head := small(t)
	other, _, _ := small(t) // the same charges in another ledger
	a, b, c := frames(t, disk.Content(seg1)), disk.Content(seg2), disk.Content(seg3)
	n := len(a)
	swapped := append([][]byte{a[0], a[2], a[1]}, a[3:]...)
	newer := bytes.Clone(a[1])
	newer[len(newer)-2] = '4'
	for name, x := range map[string]struct {
		edit func(d *ledgertest.CrashFS)
		want error
	}{
		"swapped records": {func(d *ledgertest.CrashFS) { d.Put(seg1, join(swapped...)) }, ledger.ErrCorrupt},
		"record removed":  {func(d *ledgertest.CrashFS) { d.Put(seg1, join(a[:n-1]...)) }, ledger.ErrCorrupt},
		"record twice": {func(d *ledgertest.CrashFS) {
			d.Put(seg1, append(join(a...), join(a[n-1])...))
		}, ledger.ErrCorrupt},
		"record reads the same": {func(d *ledgertest.CrashFS) {
			d.Put(seg1,
				join(append([][]byte{bytes.Replace(a[0], []byte(`{"`), []byte(`{ "`), 1)}, a[1:]...)...))
		}, ledger.ErrCorrupt},
		"segments swapped": {func(d *ledgertest.CrashFS) {
			d.Put(seg2, c)
			d.Put(seg3, b)
		}, ledger.ErrCorrupt},
		"first segment gone":  {func(d *ledgertest.CrashFS) { d.Put(seg1, nil) }, ledger.ErrCorrupt},
		"middle segment gone": {func(d *ledgertest.CrashFS) { d.Put(seg2, nil) }, ledger.ErrCorrupt},
		"all segments gone": {func(d *ledgertest.CrashFS) {
			d.Put(seg1, nil)
			d.Put(seg2, nil)
			d.Put(seg3, nil)
		}, ledger.ErrCorrupt},
		"segment of another ledger": {func(d *ledgertest.CrashFS) {
			d.Put(seg2, other.Content(seg2))
		}, ledger.ErrCorrupt},
		"genesis of another ledger": {func(d *ledgertest.CrashFS) {
			d.Put(gen, other.Content(gen))
		}, ledger.ErrCorrupt},
		"newer genesis": {func(d *ledgertest.CrashFS) {
			d.Put(gen, bytes.Replace(d.Content(gen), []byte(`"v":1}`), []byte(`"v":3,"x":0}`), 1))
		}, ledger.ErrVersion},
		"newer record": {func(d *ledgertest.CrashFS) {
			d.Put(seg1, join(a[0], newer))
			d.Put(seg2, nil)
			d.Put(seg3, nil)
		}, ledger.ErrVersion},
		"last segment gone": {func(d *ledgertest.CrashFS) { d.Put(seg3, nil) }, ledger.ErrRollback},
		"another history": {func(d *ledgertest.CrashFS) {
			for _, n := range []string{gen, seg1, seg2, seg3} {
				d.Put(n, other.Content(n))
			}
		}, ledger.ErrRollback},
	} {
		d := disk.Clone()
		x.edit(d)
		unseal(d)
		o := crashOptions(d, last)
		if x.want == ledger.ErrRollback && name == "another history" {
			o.KnownHead = head
		}
		if _, err := openAndVerify(t, d, o); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A head that the ledger had is accepted; one that it never had, or with no record at its
// number, is not.
func TestKnownHead(t *testing.T) {
	disk, _, head := small(t)
	o := crashOptions(disk, head.Seq)
	o.KnownHead = head
	if _, err := openAndVerify(t, disk, o); err != nil {
		t.Error(err)
	}
	o.KnownHead.Hash[3] ^= 1
	if _, err := openAndVerify(t, disk, o); !errors.Is(err, ledger.ErrRollback) {
		t.Errorf("a hash that never was: %v", err)
	}
	o.KnownHead = ledger.Head{Seq: head.Seq + 1}
	if _, err := openAndVerify(t, disk, o); !errors.Is(err, ledger.ErrRollback) {
		t.Errorf("a number that never was: %v", err)
	}
}

// What was cut is noted.
func TestTornTailIsNoted(t *testing.T) {
	disk, last, _ := small(t)
	content := disk.Content(seg3)
	disk.Put(seg3, content[:len(content)-3])
	if _, err := ledger.Open(crashDir, crashOptions(disk.Clone(), last+1)); !errors.Is(err,
		ledger.ErrCorrupt) {
		t.Errorf("a torn record that is known: %v", err)
	}
	f, err := ledger.Open(crashDir, crashOptions(disk, last))
	if err != nil {
		t.Fatal(err)
	}
	all := ledgertest.Records(t, f)
	if r := all[len(all)-1]; r.Kind != ledger.Opened || !strings.Contains(r.Note, "cut a torn record of") ||
		r.Seq != last+1 {
		t.Errorf("last record %+v", r)
	}
	closed(t, f)
}

// Export's lines chain as sha256sum would check them, and end at a fault.
func TestExport(t *testing.T) {
	disk, _, head := small(t)
	var b bytes.Buffer
	if err := ledger.Export(&b, crashDir, crashOptions(disk, 0)); err != nil {
		t.Fatal(err)
	}
	var prev string
	n := 0
	for line := range bytes.Lines(b.Bytes()) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		var r struct{ Prev string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Prev != prev {
			t.Fatalf("line %d follows %s, want %s", n, r.Prev, prev)
		}
		prev = fmt.Sprintf("%x", sha256.Sum256(line))
		n++
	}
	if prev != head.String() || uint64(n) != head.Seq+1 {
		t.Errorf("%d lines end at %s, the head is %d %v", n, prev, head.Seq, head)
	}
	count := 0
	for _, err := range ledger.History(crashDir, crashOptions(disk, 0)) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if uint64(count) != head.Seq {
		t.Errorf("history of %d records, want %d", count, head.Seq)
	}
	disk.Put(seg2, nil)
	if err := ledger.Export(&b, crashDir, crashOptions(disk, 0)); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("export of a damaged ledger: %v", err)
	}
	last := error(nil)
	for _, err := range ledger.History(crashDir, crashOptions(disk, 0)) {
		last = err
	}
	if !errors.Is(last, ledger.ErrCorrupt) {
		t.Errorf("history of a damaged ledger: %v", last)
	}
}
