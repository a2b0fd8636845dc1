package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/internal/long"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

// model is what a ledger whose key changes must say.
type model struct {
	keys    []ledger.HeldKey
	charges uint64
	heads   []ledger.SignedHead
}

func (m *model) key() byte { return byte(len(m.keys)) }

// rotated notes that the record with number seq gave the ledger its next key.
func (m *model) rotated(seq uint64, note string) {
	m.keys = append(m.keys, ledger.HeldKey{Seq: seq, PublicKey: hexKey(m.key() + 1), Note: note})
}

// leads reports whether whoever trusts key n can follow to the present one.
func (m *model) leads(n byte) bool {
	return !slices.ContainsFunc(m.keys[n:], func(k ledger.HeldKey) bool { return k.Note != "" })
}

// keyAt is the number of the key that held at a record.
func (m *model) keyAt(seq uint64) (n byte) {
	for _, k := range m.keys {
		if k.Seq <= seq {
			n++
		}
	}
	return n
}

// step does one thing with an open ledger.
func (m *model) step(rt *rapid.T, f *ledger.File, events []account.Event) {
	var err error
	switch rapid.IntRange(0, 9).Draw(rt, "call") {
	case 0, 1:
		if err = f.Rotate(key(m.key() + 1)); err == nil {
			m.rotated(f.Head().Seq, "")
			err = f.Rotate(key(m.key()))
		}
	case 2:
		h := f.SignedHead()
		for n := byte(1); n <= m.key(); n++ {
			if got := h.Verify(owner(n), nil); (got == nil) != m.leads(n) {
				rt.Fatalf("a head from key %d of %+v: %v", n, m.keys, got)
			}
		}
		m.heads = append(m.heads, h)
	case 3:
		err = f.Override("note")
	default:
		m.charges++
		_, err = f.Charge(rapid.SampledFrom(events).Draw(rt, "event"))
	}
	if err != nil {
		rt.Fatal(err)
	}
}

// state compares a statement with what must follow from the keys.
func (m *model) state(rt *rapid.T, f *ledger.File) {
	s, err := f.Statement(ledger.About{Noise: "exact"})
	if err != nil {
		rt.Fatal(err)
	}
	if fmt.Sprint(s.Keys()) != fmt.Sprint(m.keys) || fmt.Sprint(f.Keys()) != fmt.Sprint(m.keys) {
		rt.Fatalf("keys %+v and %+v, want %+v", s.Keys(), f.Keys(), m.keys)
	}
	for n := byte(1); n <= m.key(); n++ {
		if err := s.Verify(owner(n)); (err == nil) != m.leads(n) {
			rt.Fatalf("a statement from key %d of %+v: %v", n, m.keys, err)
		}
	}
	for _, h := range m.heads {
		n := m.keyAt(h.Seq)
		if h.PublicKey != hexKey(n) {
			rt.Fatalf("the head of record %d is signed by %s", h.Seq, h.PublicKey)
		}
		if err := s.Follows(&h); (err == nil) != m.leads(n) {
			rt.Fatalf("a statement after a head by key %d of %+v: %v", n, m.keys, err)
		}
	}
}

// Whatever is charged, sealed, rotated, lost and opened again in whichever order: every
// key is found with its place, statements and heads lead from whom they must, the ledger
// verifies, and a start with seals knows what one without knows. Histories are short, and
// twice as long with the tag long.
func TestRotationsInAnyOrder(t *testing.T) {
	events := []account.Event{gaussian(t, 1e4), gaussian(t, 2e4)}
	lives, calls := 3, 10
	if long.Tests {
		lives, calls = 5, 15
	}
	rapid.Check(t, func(rt *rapid.T) {
		disk := ledgertest.NewCrashFS()
		m := &model{keys: []ledger.HeldKey{{Seq: 1, PublicKey: hexKey(1)}}}
		for life := range rapid.IntRange(1, lives).Draw(rt, "lives") {
			o := keyed(disk, m.key())
			o.SegmentSize = int64(rapid.IntRange(300, 4000).Draw(rt, "size"))
			var f *ledger.File
			var err error
			if life == 0 {
				f, err = ledger.Create(crashDir, genesis(), o)
			} else {
				f, err = ledger.Open(crashDir, o)
			}
			if err != nil {
				rt.Fatal(err)
			}
			for range rapid.IntRange(0, calls).Draw(rt, "calls") {
				m.step(rt, f, events)
			}
			if m.charges > 0 {
				m.state(rt, f)
			}
			if err := f.Close(); err != nil {
				rt.Fatal(err)
			}
			switch rapid.IntRange(0, 3).Draw(rt, "between") {
			case 0:
				unseal(disk)
			case 1:
				done, err := ledger.Rotate(crashDir, ledger.Replacement{New: key(m.key() + 1), Lost: true}, o)
				if err != nil || !done.Changed {
					rt.Fatalf("%+v, %v", done, err)
				}
				m.rotated(done.Key.Seq, done.Key.Note)
			}
			disk = disk.Clone()
			r, err := ledger.Verify(crashDir, ledger.Options{FS: disk, Accountant: "gdp",
				PublicKey: owner(m.key())})
			if err != nil || fmt.Sprint(r.Keys) != fmt.Sprint(m.keys) || r.Charges != m.charges ||
				len(r.Notes) != 0 {
				rt.Fatalf("%+v, %v, want keys %+v", r, err, m.keys)
			}
		}
		bare := disk.Clone()
		unseal(bare)
		quick, err := ledger.Open(crashDir, keyed(disk, m.key()))
		if err != nil {
			rt.Fatal(err)
		}
		whole, err := ledger.Open(crashDir, keyed(bare, m.key()))
		if err != nil {
			rt.Fatal(err)
		}
		same(t, quick, whole)
		if fmt.Sprint(quick.Keys()) != fmt.Sprint(whole.Keys()) {
			rt.Fatalf("keys %v with seals, %v without", quick.Keys(), whole.Keys())
		}
	})
}

// Seals from before a rotation that get lost after it are made anew by the key that holds
// now; they count, and differ in nothing but the signature. One that a strange key has
// signed does not.
func TestSealsMadeAnewAfterRotation(t *testing.T) {
	disk, last, _ := small(t)
	o := crashOptions(disk, last)
	if _, err := ledger.Rotate(crashDir, ledger.Replacement{Old: key(1), New: key(2)}, o); err != nil {
		t.Fatal(err)
	}
	before := [][]byte{disk.Content(sum1), disk.Content(sum2)}
	d := disk.Clone()
	unseal(d)
	f, err := ledger.Open(crashDir, keyed(d, 2))
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	for i, name := range []string{sum1, sum2} {
		now := d.Content(name)
		a, _, _ := bytes.Cut(now, []byte(`,"signature"`))
		b, _, _ := bytes.Cut(before[i], []byte(`,"signature"`))
		if bytes.Equal(now, before[i]) || !bytes.Equal(a, b) {
			t.Errorf("%s was not made anew: %s", name, now)
		}
	}
	r, err := ledger.Verify(crashDir, crashOptions(d, last))
	if err != nil || len(r.Notes) != 0 {
		t.Errorf("notes %q, %v", r.Notes, err)
	}
	counted := counting{d.Clone(), map[string]bool{}}
	at := keyed(d, 2)
	at.FS = counted
	if f, err = ledger.Open(crashDir, at); err != nil || counted.read["000001.log"] {
		t.Errorf("a start read %v, %v", counted.read, err)
	}
	closed(t, f)
	// whom nobody knows: the same content, signed by a key that the ledger never had
	other := d.Clone()
	if _, err := ledger.Rotate(crashDir, ledger.Replacement{New: key(9), Lost: true},
		crashOptions(other, last)); err != nil {
		t.Fatal(err)
	}
	unseal(other)
	if f, err = ledger.Open(crashDir, keyed(other, 9)); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	forged := d.Clone()
	forged.Put(sum1, other.Content(sum1))
	r, err = ledger.Verify(crashDir, crashOptions(forged, last))
	if err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "000001.sum") {
		t.Errorf("a seal by a strange key: notes %q, %v", r.Notes, err)
	}
}

// An owner's folder of ledgers gets the new key as a whole; then data are found with the
// new key and not with the old one, names of populations hold, and ledgers of no name get
// one from the new key.
func TestRotateAll(t *testing.T) {
	const heart, lungs, bones = "id,v\n1,1\n2,2\n", "id,v\n8,1\n9,2\n", "id,v\n17,1\n19,2\n"
	disk := ledgertest.NewCrashFS()
	o := crashOptions(disk, 0)
	s := shelf{t, "owner", o}
	where := map[string]string{}
	var err error
	for _, x := range []struct{ text, name string }{{lungs, "lungs"}, {bones, ""}, {heart, ""},
		{heart, "heart"}} {
		if where[x.text], _, err = s.use(x.text, x.name, false); err != nil {
			t.Fatal(err)
		}
	}
	r := ledger.Replacement{Old: key(1), New: key(2)}
	none := func(ledger.RotatedKey) { t.Error("a rotation was reported") }
	before := disk.Changes
	strange := ledger.Replacement{Old: key(3), New: key(2)}
	if err := ledger.RotateAll("owner", strange, o, none); !errors.Is(err, ledger.ErrKey) ||
		disk.Changes != before {
		t.Errorf("by a strange key: %v", err)
	}
	if err := ledger.RotateAll("nobody", r, o, none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	for n := range 2 {
		var done []string
		if err := ledger.RotateAll("owner", r, o, func(k ledger.RotatedKey) {
			if k.Changed != (n == 0) || k.Key.PublicKey != hexKey(2) {
				t.Errorf("%+v", k)
			}
			done = append(done, k.Dir)
		}); err != nil || len(done) != 3 {
			t.Fatalf("%v, %v", done, err)
		}
	}
	if _, _, err := s.use(heart, "heart", false); !errors.Is(err, ledger.ErrKey) ||
		!strings.Contains(err.Error(), "which was rotated at record") {
		t.Errorf("with the old key: %v", err)
	}
	s.o = keyed(disk, 2)
	for text, name := range map[string]string{heart: "heart", lungs: "lungs", bones: "bones"} {
		for range 2 { // bones gets its name by the first
			dir, found, err := s.use(text, name, false)
			if err != nil || dir != where[text] || found.Population != name {
				t.Errorf("%s: %s, %+v, %v", name, dir, found, err)
			}
		}
	}
	if _, found, err := s.use("id,v\n77,7\n", "bones", false); err != nil || found.Match != ledger.ByName {
		t.Errorf("by name: %+v, %v", found, err)
	}
	// a single ledger, and names by all keys that there were
	if err := ledger.RotateAll(where[heart], ledger.Replacement{Old: key(2), New: key(3)}, o,
		func(ledger.RotatedKey) {}); err != nil {
		t.Fatal(err)
	}
	if err := ledger.RotateAll("owner", ledger.Replacement{Old: key(2), New: key(3)}, o,
		func(ledger.RotatedKey) {}); err != nil {
		t.Fatal(err)
	}
	s.o = keyed(disk, 3)
	for text, name := range map[string]string{heart: "heart", lungs: "lungs", bones: "bones"} {
		if dir, found, err := s.use(text, name, false); err != nil || dir != where[text] ||
			found.Population != name {
			t.Errorf("%s after the second rotation: %s, %+v, %v", name, dir, found, err)
		}
	}
	name := where[bones] + "/population.json"
	disk.Put(name, bytes.Replace(disk.Content(name), []byte("bones"), []byte("stone"), 1))
	if _, _, err := s.use(bones, "bones", false); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("a forged name: %v", err)
	}
}
