package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

const (
	sum1 = crashDir + "/000001.sum"
	sum2 = crashDir + "/000002.sum"
)

// unseal removes the seals.
func unseal(d *ledgertest.CrashFS) {
	names, _ := d.List(crashDir)
	for _, n := range names {
		if strings.HasSuffix(n, ".sum") {
			d.Put(filepath.Join(crashDir, n), nil)
		}
	}
}

// counting counts the bytes that are read of segments.
type counting struct {
	*ledgertest.CrashFS
	read map[string]bool
}

func (c counting) Open(name string) (io.ReadCloser, error) {
	c.read[filepath.Base(name)] = true
	return c.CrashFS.Open(name)
}

// A start reads the newest seal and the segment after it, and knows what one that reads
// everything knows: budget, counts of runs, overrides, numbers.
func TestStartReadsTheLastSegmentOnly(t *testing.T) {
	disk, last, head := small(t)
	open := func(d *ledgertest.CrashFS) (*ledger.File, map[string]bool) {
		t.Helper()
		fs := counting{d, map[string]bool{}}
		o := crashOptions(d, last)
		o.FS = fs
		f, err := ledger.Open(crashDir, o)
		if err != nil {
			t.Fatal(err)
		}
		return f, fs.read
	}
	quick, read := open(disk.Clone())
	if read["000001.log"] || read["000002.log"] || !read["000003.log"] {
		t.Errorf("read %v, want the last segment only", read)
	}
	bare := disk.Clone()
	unseal(bare)
	whole, read := open(bare)
	if !read["000001.log"] || !read["000002.log"] {
		t.Errorf("without seals %v were read", read)
	}
	if bare.Content(sum1) == nil || !bytes.Equal(bare.Content(sum2), disk.Content(sum2)) {
		t.Error("missing seals were not made anew, or are others")
	}
	same(t, quick, whole)
	if quick.Head().Seq != head.Seq+1 {
		t.Errorf("head %d after %d", quick.Head().Seq, head.Seq)
	}
	charge(t, quick, gaussian(t, 1e4), 1)
	closed(t, quick)
	closed(t, whole)
}

// same says in what two ledgers differ.
func same(t testing.TB, a, b *ledger.File) {
	t.Helper()
	x, errx := a.Spent()
	y, erry := b.Spent()
	if errx != nil || erry != nil || x != y || a.Head() != b.Head() || a.Total() != b.Total() ||
		!reflect.DeepEqual(a.Overrides(), b.Overrides()) {
		t.Errorf("spent %+v and %+v, head %v and %v, %d and %d charges, overrides %q and %q", x, y, a.Head(),
			b.Head(), a.Total(), b.Total(), a.Overrides(), b.Overrides())
	}
	for _, run := range []string{"", "run-1", "run-2", "lost"} {
		if x, y := a.Run(run), b.Run(run); !reflect.DeepEqual(x, y) {
			t.Errorf("run %q: %+v and %+v", run, x, y)
		}
	}
}

// Damage before the last seal is found by Verify, and by Open where sizes do not fit; a
// damaged seal costs nothing but time.
func TestDamageBehindSeals(t *testing.T) {
	disk, last, _ := small(t)
	o := func(d *ledgertest.CrashFS) ledger.Options { return crashOptions(d, last) }
	for i := 0; i < len(disk.Content(seg1)); i += 7 {
		d := disk.Clone()
		edited := bytes.Clone(d.Content(seg1))
		edited[i] ^= 1
		d.Put(seg1, edited)
		if _, err := ledger.Verify(crashDir, o(d)); !errors.Is(err, ledger.ErrCorrupt) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	for name, edit := range map[string]func(b []byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"record":  func(b []byte) []byte { return b[:len(b)-8-len(last1(t, b))] },
		"emptied": func([]byte) []byte { return []byte{} },
		"longer":  func(b []byte) []byte { return append(bytes.Clone(b), b...) },
	} {
		for _, seg := range []string{seg1, seg2} {
			d := disk.Clone()
			d.Put(seg, edit(d.Content(seg)))
			if _, err := ledger.Open(crashDir, o(d)); !named(err) {
				t.Errorf("%s: %s: open: %v", seg, name, err)
			}
		}
	}
	for _, sum := range []string{sum1, sum2} {
		content := disk.Content(sum)
		for i := 0; i < len(content); i += 3 {
			d := disk.Clone()
			edited := bytes.Clone(content)
			edited[i] ^= 1
			d.Put(sum, edited)
			r, err := ledger.Verify(crashDir, o(d))
			if err != nil || len(r.Notes) != 1 {
				t.Fatalf("%s: byte %d: %+v, %v", sum, i, r.Notes, err)
			}
			f, err := ledger.Open(crashDir, o(d))
			if err != nil {
				t.Fatalf("%s: byte %d: %v", sum, i, err)
			}
			if sum == sum2 && !bytes.Equal(d.Content(sum2), content) {
				t.Fatalf("%s: byte %d: it was not made anew", sum, i)
			}
			closed(t, f)
		}
	}
}

// last1 is the last payload of a segment.
func last1(t testing.TB, b []byte) []byte {
	all := frames(t, b)
	return all[len(all)-1]
}

// A head behind the last seal is met, and one that the ledger never had is not.
func TestKnownHeadBehindSeals(t *testing.T) {
	disk, last, _ := small(t)
	var heads []ledger.Head
	prev := ledger.Head{}
	for r, err := range ledger.History(crashDir, crashOptions(disk, 0)) {
		if err != nil {
			t.Fatal(err)
		}
		prev.Seq = r.Seq
		heads = append(heads, prev)
	}
	hashes := map[uint64][32]byte{}
	for _, seg := range []string{seg1, seg2, seg3} {
		for _, p := range frames(t, disk.Content(seg)) {
			hashes[uint64(len(hashes)+1)] = sha256.Sum256(p)
		}
	}
	for _, h := range heads {
		h.Hash = hashes[h.Seq]
		d := disk.Clone()
		o := crashOptions(d, last)
		o.KnownHead = h
		if _, err := ledger.Open(crashDir, o); err != nil {
			t.Errorf("head %d: %v", h.Seq, err)
		}
		h.Hash[0] ^= 1
		o = crashOptions(disk.Clone(), last)
		o.KnownHead = h
		if _, err := ledger.Open(crashDir, o); !errors.Is(err, ledger.ErrRollback) {
			t.Errorf("head %d with another hash: %v", h.Seq, err)
		}
	}
}

// Whatever is charged by whichever runs, a start with seals knows what one without knows.
func TestSealedEqualsWhole(t *testing.T) {
	events := []account.Event{gaussian(t, 1e4), gaussian(t, 2e4), gaussian(t, 3e4)}
	rapid.Check(t, func(rt *rapid.T) {
		disk := ledgertest.NewCrashFS()
		o := crashOptions(disk, 0)
		var f *ledger.File
		var err error
		for life := range rapid.IntRange(1, 4).Draw(rt, "lives") {
			o.Run = rapid.SampledFrom([]string{"", "run-1", "run-2"}).Draw(rt, "run")
			o.SegmentSize = int64(rapid.IntRange(300, 3000).Draw(rt, "size"))
			if life == 0 {
				f, err = ledger.Create(crashDir, genesis(), o)
			} else {
				f, err = ledger.Open(crashDir, o)
			}
			if err != nil {
				rt.Fatal(err)
			}
			for range rapid.IntRange(0, 20).Draw(rt, "calls") {
				f.SetRound(uint64(rapid.IntRange(0, 9).Draw(rt, "round")))
				switch rapid.IntRange(0, 9).Draw(rt, "call") {
				case 0:
					err = f.Override("note")
				case 1:
					head := f.Head().Seq
					err = f.RollBack(ledger.RolledBack{Run: "lost", From: head + 3, To: head,
						Evidence: []byte{byte(life), byte(head)},
						Charges: []ledger.ChargeOf{{Count: 2, Event: events[0]},
							{Count: 1, Event: events[2]}}})
				default:
					_, err = f.Charge(rapid.SampledFrom(events).Draw(rt, "event"))
				}
				if err != nil {
					rt.Fatal(err)
				}
			}
			if err := f.Close(); err != nil {
				rt.Fatal(err)
			}
			disk = disk.Clone()
			o.FS = disk
		}
		if _, err := ledger.Verify(crashDir, o); err != nil {
			rt.Fatal(err)
		}
		bare := disk.Clone()
		unseal(bare)
		quick, err := ledger.Open(crashDir, o)
		if err != nil {
			rt.Fatal(err)
		}
		o.FS = bare
		whole, err := ledger.Open(crashDir, o)
		if err != nil {
			rt.Fatal(err)
		}
		same(t, quick, whole)
	})
}
