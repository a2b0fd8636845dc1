package ledger

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"sotto/privacy/account"
)

func benchOptions() Options {
	return Options{
		Key:        testKey(),
		Accountant: "gdp",
		Run:        "bench",
		Agent:      "agent-17",
		FS:         OS{AllowVolatile: true},
	}
}

func benchGenesis() Genesis {
	return Genesis{
		Adjacency:  account.AddRemove,
		Unit:       account.Record(),
		Budget:     account.Budget{Epsilon: 1, Delta: 1e-6},
		MinRecords: 1000,
	}
}

func benchEvent(t testing.TB) account.Event {
	t.Helper()
	ev, err := account.Gaussian(1e6, 1)
	if err != nil {
		t.Fatal(err)
	}
	ev.Adjacency, ev.Unit, ev.Clip, ev.Oracle, ev.Sampler = account.AddRemove, account.Record(), 1, "grad",
		"full/1"
	return ev
}

// BenchmarkCharge times a charge against one bare write and fdatasync of the same size to
// a file beside it, in turn, so that both see the same disk. ratio is that of the
// medians.
func BenchmarkCharge(b *testing.B) {
	dir := b.TempDir()
	f, err := Create(filepath.Join(dir, "ledger"), benchGenesis(), benchOptions())
	if err != nil {
		b.Fatal(err)
	}
	bare, err := OS{}.Create(filepath.Join(dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	var charges, writes []time.Duration
	timed := func(f func() error) time.Duration {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	size := 0
	for b.Loop() {
		before := f.at.size
		ev := benchEvent(b) // a new value each time, as a gate makes it
		charges = append(charges, timed(func() error { _, err := f.Charge(ev); return err }))
		size = int(f.at.size - before)
		frame := bytes.Repeat([]byte{'x'}, size)
		writes = append(writes, timed(func() error {
			if _, err := bare.Write(frame); err != nil {
				return err
			}
			return bare.Sync()
		}))
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Nanoseconds())
	}
	c, w := median(charges), median(writes)
	b.ReportMetric(c, "ns/charge")
	b.ReportMetric(w, "ns/write+sync")
	b.ReportMetric(c/w, "ratio")
	b.ReportMetric(float64(size), "B/record")
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// memorySegments writes a ledger of n charges without syncs, in segments of the default
// size.
func memorySegments(b testing.TB, dir string, n int) {
	b.Helper()
	o := benchOptions()
	o.FS = unsynced{OS{AllowVolatile: true}}
	f, err := Create(dir, benchGenesis(), o)
	if err != nil {
		b.Fatal(err)
	}
	events := []account.Event{benchEvent(b), benchEvent(b)}
	events[1].Oracle = "hess"
	for i := range n {
		f.SetRound(uint64(i))
		if _, err := f.Charge(events[i%2]); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// unsynced is the operating system's file system without fdatasync, to make large ledgers
// quickly.
type unsynced struct{ OS }

type unsyncedFile struct{ Appender }

func (unsyncedFile) Sync() error { return nil }

func (u unsynced) Create(name string) (Appender, error) {
	a, err := u.OS.Create(name)
	return unsyncedFile{a}, err
}

// BenchmarkVerify verifies and opens a ledger of 1,000,000 charges and prints how much
// memory that took.
func BenchmarkVerify(b *testing.B) {
	const n = 1_000_000
	dir := filepath.Join(b.TempDir(), "ledger")
	memorySegments(b, dir, n)
	for name, run := range map[string]func() error{
		"verify": func() error {
			r, err := Verify(dir, benchOptions())
			if err == nil && r.Charges != n {
				err = fmt.Errorf("%d charges", r.Charges)
			}
			return err
		},
		"open": func() error {
			f, err := Open(dir, benchOptions())
			if err != nil {
				return err
			}
			return f.Close()
		},
	} {
		b.Run(name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20),
				"MiB-allocated/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
		})
	}
}

// Verify holds no record longer than it looks at it: ten times the records cost the same
// memory, give or take.
func TestVerifyMemoryIsBounded(t *testing.T) {
	allocated := func(n int) uint64 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(n))
		memorySegments(t, dir, n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Verify(dir, benchOptions()); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := allocated(1000), allocated(10_000)
	if large > small+1<<20 {
		t.Errorf("%d bytes for 1,000 records, %d for 10,000", small, large)
	}
}
