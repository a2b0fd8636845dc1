package ledger_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"

	"sotto/internal/long"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

const crashDir = "owner/ledger"

// life is one ledger that is used, crashes and is taken up again, and what the world
// outside has seen of it.
type life struct {
	disk     *ledgertest.CrashFS
	answered map[uint64]string // number -> event of every charge that returned: its answer may have left
	notes    []string          // overrides that returned
	last     uint64            // the highest number seen outside
	born     bool              // Create returned
	uses     int
	keys     keyChange
}

// keyChange is which key a ledger has, and which one it may have: that of a rotation
// which did not return.
type keyChange struct{ now, next byte }

func newLife() *life {
	return &life{disk: ledgertest.NewCrashFS(), answered: map[uint64]string{}}
}

func crashOptions(disk *ledgertest.CrashFS, known uint64) ledger.Options {
	return ledger.Options{Key: key(1), Accountant: "gdp", FS: disk, SegmentSize: 2500, KnownSeq: known}
}

// use opens the ledger, checks it, and charges it until the disk crashes or a few charges
// are made. It closes it sometimes.
func (l *life) use(r *rand.Rand, events []account.Event, data []*ledger.Fingerprint) error {
	o := crashOptions(l.disk, l.last)
	if err := l.settle(o); err != nil {
		return err
	}
	o.Key = key(1 + l.keys.now)
	o.Fingerprint = data[r.IntN(len(data))]
	var f *ledger.File
	var err error
	if l.born {
		f, err = ledger.Open(crashDir, o)
	} else if f, err = ledger.Create(crashDir, genesis(), o); err == nil {
		l.born = true
	} else if errors.Is(err, fs.ErrExist) { // it was complete, only nobody was told
		l.born = true
		f, err = ledger.Open(crashDir, o)
	}
	if err != nil {
		return err
	}
	if err := l.check(f); err != nil {
		return err
	}
	for range 2 + r.IntN(8) {
		if r.IntN(12) == 0 {
			if err := l.rotate(f); err != nil {
				return err
			}
		}
		if r.IntN(10) == 0 {
			note := fmt.Sprintf("note %d", r.Uint32())
			if err := f.Override(note); err != nil {
				return err
			}
			l.notes = append(l.notes, note)
			continue
		}
		ev := events[r.IntN(len(events))]
		seq, err := f.Charge(ev)
		if err != nil {
			return err
		}
		if _, again := l.answered[seq]; again || seq <= l.last {
			return fmt.Errorf("number %d was given out before", seq)
		}
		l.answered[seq], l.last = ev.Key(), seq
	}
	if r.IntN(6) == 0 {
		return f.Close()
	}
	return nil // the process ends without a word
}

// rotate gives the ledger the next key.
func (l *life) rotate(f *ledger.File) error {
	l.keys.next = l.keys.now + 1
	if err := f.Rotate(key(1 + l.keys.next)); err != nil {
		return err
	}
	l.keys.now = l.keys.next
	return nil
}

// settle finds the key after a crash: the old one or the new one opens the ledger, never
// both, and a second rotation completes the first.
func (l *life) settle(o ledger.Options) error {
	if l.keys.now == l.keys.next {
		return nil
	}
	old, next := key(1+l.keys.now), key(1+l.keys.next)
	_, err1 := ledger.Read(crashDir, ledger.Options{FS: l.disk, PublicKey: publicOf(old)})
	_, err2 := ledger.Read(crashDir, ledger.Options{FS: l.disk, PublicKey: publicOf(next)})
	if (err1 == nil) == (err2 == nil) || err1 != nil && !errors.Is(err1, ledger.ErrKey) ||
		err2 != nil && !errors.Is(err2, ledger.ErrKey) {
		return fmt.Errorf("after a crash the old key: %w; the new one: %w", err1, err2)
	}
	done, err := ledger.Rotate(crashDir, ledger.Replacement{Old: old, New: next}, o)
	if err != nil {
		return err
	}
	if done.Changed != (err1 == nil) {
		return fmt.Errorf("rotated again: %+v", done)
	}
	l.keys.now = l.keys.next
	return nil
}

func publicOf(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// check compares a ledger that was just opened with what was seen: it verifies, and holds
// every charge that was answered, under its number.
func (l *life) check(f *ledger.File) error {
	if head := f.Head().Seq; head <= l.last {
		return fmt.Errorf("the open record has number %d after %d", head, l.last)
	}
	if _, err := ledger.Verify(crashDir, crashOptions(l.disk, l.last)); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	charges, notes := map[uint64]string{}, []string{}
	for rec, err := range f.Records() {
		if err != nil {
			return err
		}
		switch rec.Kind {
		case ledger.Charge:
			charges[rec.Seq] = rec.Event.Key()
		case ledger.Override:
			notes = append(notes, rec.Note)
		}
	}
	if len(charges) < len(l.answered) {
		return fmt.Errorf("%d charges for %d answers", len(charges), len(l.answered))
	}
	for seq, key := range l.answered {
		if charges[seq] != key {
			return fmt.Errorf("answer %d is charged as %q, want %q", seq, charges[seq], key)
		}
	}
	for _, n := range l.notes {
		if !slices.Contains(notes, n) {
			return fmt.Errorf("override %q is lost", n)
		}
	}
	return nil
}

func crashEvents(t testing.TB) (events []account.Event, data []*ledger.Fingerprint) {
	for _, s := range []float64{1e4, 2e4, 3e4} {
		events = append(events, gaussian(t, s))
	}
	return events, []*ledger.Fingerprint{people(t, "a", "b"), people(t, "b", "c", "d"),
		people(t, "a", "b", "c")}
}

// crashMany runs lives until the given number of crashes, each followed by a check. A
// life starts anew every 12 uses, so that half-made ledgers are met as well.
func crashMany(t testing.TB, crashes int, seed uint64, lie bool) error {
	events, data := crashEvents(t)
	r := rand.New(rand.NewPCG(seed, 1))
	l := newLife()
	for n := 0; n < crashes; {
		l.disk.CrashAt, l.disk.SyncsLie = 1+r.IntN(40), lie
		err := l.use(r, events, data)
		switch {
		case err != nil && !errors.Is(err, ledgertest.ErrCrashed):
			return fmt.Errorf("after %d crashes: %w", n, err)
		case err != nil:
			n++
		}
		l.disk = l.disk.Recover(r.IntN) // a process that just ends may lose the power as well
		if l.uses++; l.uses == 12 {
			l = newLife()
		}
	}
	return nil
}

// 400 crashes at random changes of the disk, 10,000 with the tag long; whatever survives
// of the unsynced ones, no answer lacks its charge and no number is given out twice. A
// disk whose syncs do nothing is found within as many, and TestCrashAtEveryChange leaves
// no change to chance.
func TestCrashes(t *testing.T) {
	t.Parallel()
	crashes := 400
	if long.Tests {
		crashes = 10_000
	}
	if err := crashMany(t, crashes, 1, false); err != nil {
		t.Error(err)
	}
}

// The harness finds a disk whose syncs do nothing.
func TestCrashesFindLyingDisk(t *testing.T) {
	t.Parallel()
	if err := crashMany(t, 400, 2, true); err == nil {
		t.Error("400 crashes of a disk that never syncs went unnoticed")
	} else {
		t.Log(err)
	}
}

// Every change of two fixed histories crashes in turn, with every kind of survival; of
// six with the tag long.
func TestCrashAtEveryChange(t *testing.T) {
	t.Parallel()
	events, data := crashEvents(t)
	histories := uint64(2)
	if long.Tests {
		histories = 6
	}
	for seed := range histories {
		for at := 1; ; at++ {
			l := newLife()
			l.disk.CrashAt = at
			r := rand.New(rand.NewPCG(3, seed))
			var err error
			for range 4 {
				if err = l.use(r, events, data); err != nil {
					break
				}
				l.disk.CrashAt = max(1, l.disk.CrashAt-l.disk.Changes)
				crashed := l.disk.CrashAt
				l.disk = l.disk.Recover(func(int) int { return 0 }) // a process that ended and lost nothing
				l.disk.CrashAt = crashed
			}
			if err == nil {
				break // the history is over
			}
			if !errors.Is(err, ledgertest.ErrCrashed) {
				t.Fatalf("seed %d, change %d: %v", seed, at, err)
			}
			l.disk = l.disk.Recover(r.IntN)
			l.disk.CrashAt = 0
			if err := l.use(r, events, data); err != nil {
				t.Fatalf("seed %d, change %d: %v", seed, at, err)
			}
		}
	}
}

// A disk error poisons the ledger: nothing is written any more, and a new Open finds all
// that was answered.
func TestDiskErrorPoisons(t *testing.T) {
	t.Parallel()
	events, _ := crashEvents(t)
	for at := 1; at <= 40; at++ {
		disk := ledgertest.NewCrashFS()
		f, err := ledger.Create(crashDir, genesis(), crashOptions(disk, 0))
		if err != nil {
			t.Fatal(err)
		}
		disk.FailAt = disk.Changes + at
		l := &life{disk: disk, answered: map[uint64]string{}, born: true}
		for err == nil {
			var seq uint64
			if seq, err = f.Charge(events[0]); err == nil {
				l.answered[seq], l.last = events[0].Key(), seq
			}
		}
		if !errors.Is(err, ledger.ErrPoisoned) || !errors.Is(err, ledgertest.ErrDisk) {
			t.Fatalf("change %d: %v", at, err)
		}
		head, changes := f.Head(), disk.Changes
		for range 2 {
			if _, err := f.Charge(events[1]); !errors.Is(err, ledger.ErrPoisoned) {
				t.Fatalf("charge of a poisoned ledger: %v", err)
			}
		}
		if err := f.Override("x"); !errors.Is(err, ledger.ErrPoisoned) {
			t.Fatalf("override of a poisoned ledger: %v", err)
		}
		if err := f.Close(); !errors.Is(err, ledger.ErrPoisoned) {
			t.Fatalf("close of a poisoned ledger: %v", err)
		}
		if f.Head() != head || disk.Changes != changes {
			t.Fatal("a poisoned ledger was changed")
		}
		l.disk = disk.Recover(rand.New(rand.NewPCG(4, uint64(at))).IntN)
		r := rand.New(rand.NewPCG(4, uint64(at)))
		if err := l.use(r, events, []*ledger.Fingerprint{nil}); err != nil {
			t.Fatalf("change %d: %v", at, err)
		}
	}
}

// A disk error at any change of creating, opening, charging and closing is survived by
// the next two processes, and by all of twelve with the tag long.
func TestDiskErrorThenRestart(t *testing.T) {
	t.Parallel()
	events, data := crashEvents(t)
	for at := 1; at <= 120; at++ {
		l := newLife()
		r := rand.New(rand.NewPCG(6, uint64(at%7)))
		l.disk.FailAt = at
		failed, since := 0, 0
		for range 12 {
			if since += failed; since > 3 && !long.Tests { // the one that fails, and two
				break
			}
			switch err := l.use(r, events, data); {
			case errors.Is(err, ledgertest.ErrDisk):
				failed++
			case err != nil:
				t.Fatalf("change %d: %v", at, err)
			}
			rest := max(0, l.disk.FailAt-l.disk.Changes)
			l.disk = l.disk.Recover(func(int) int { return 0 }) // the process ends, the machine goes on
			l.disk.FailAt = rest
		}
		if failed != 1 {
			t.Fatalf("change %d: %d failures, want 1", at, failed)
		}
	}
}

// Every change of a rotation of two ledgers crashes in turn, with the old key or without.
// The same call completes what was begun.
func TestRotateAllCrashes(t *testing.T) {
	t.Parallel()
	const folder = "owner"
	for _, lost := range []bool{false, true} {
		for at := 1; ; at++ {
			disk := ledgertest.NewCrashFS()
			var totals uint64
			for _, dir := range []string{"owner/a", "owner/b"} {
				f, err := ledger.Create(dir, genesis(), crashOptions(disk, 0))
				if err != nil {
					t.Fatal(err)
				}
				charge(t, f, gaussian(t, 1e4), 12) // a new segment is near
				totals += f.Total()
				closed(t, f)
			}
			r := ledger.Replacement{Old: key(1), New: key(2)}
			if lost {
				r = ledger.Replacement{New: key(2), Lost: true}
			}
			disk = disk.Clone()
			disk.CrashAt = at
			err := ledger.RotateAll(folder, r, crashOptions(disk, 0), func(ledger.RotatedKey) {})
			over := err == nil
			if !over && !errors.Is(err, ledgertest.ErrCrashed) {
				t.Fatalf("change %d: %v", at, err)
			}
			disk = disk.Recover(rand.New(rand.NewPCG(7, uint64(at))).IntN)
			n := 0
			if err := ledger.RotateAll(folder, r, crashOptions(disk, 0), func(ledger.RotatedKey) {
				n++
			}); err != nil || n != 2 {
				t.Fatalf("change %d: %d ledgers, %v", at, n, err)
			}
			for _, dir := range []string{"owner/a", "owner/b"} {
				o := crashOptions(disk, 0)
				o.PublicKey = owner(2)
				rep, err := ledger.Verify(dir, o)
				if err != nil || len(rep.Keys) != 2 || rep.Segments < 2 || len(rep.Notes) != 0 ||
					(len(rep.Overrides) == 1) != lost {
					t.Fatalf("change %d: %+v, %v", at, rep, err)
				}
				totals -= rep.Charges
			}
			if totals != 0 {
				t.Fatalf("change %d: charges differ by %d", at, totals)
			}
			if over {
				break
			}
		}
	}
}
