package mark_test

import (
	"bytes"
	"testing"

	"sotto/agent"
	"sotto/node/mark"
)

func book(run, others uint64) *mark.Book { return &mark.Book{Charges: run, Total: run + others} }

// word is a mark of a process after so many charges.
func word(process, run, others uint64) *mark.Mark {
	return &mark.Mark{Process: process, Book: *book(run, others)}
}

// Whatever order words come in, the ledger is told of at least what left it, and of no
// more where the lineage knows the process.
func TestLineage(t *testing.T) {
	type told struct{ process, run, want uint64 }
	for name, c := range map[string]struct {
		ends [][2]uint64 // of processes, with the run's charges
		told []told
	}{
		"an honest restart":            {[][2]uint64{{7, 161}}, []told{{7, 161, 0}, {7, 64, 0}, {3, 100, 0}}},
		"one that nobody has heard of": {[][2]uint64{{0, 40}}, []told{{9, 40, 0}}},
		"a snapshot at 100":            {[][2]uint64{{7, 100}}, []told{{7, 120, 20}, {7, 161, 41}}},
		"its later processes":          {[][2]uint64{{7, 100}}, []told{{8, 161, 61}, {8, 170, 9}}},
		"a second start":               {[][2]uint64{{7, 100}, {9, 150}}, []told{{9, 150, 0}, {7, 161, 61}}},
		"and unknown processes":        {[][2]uint64{{7, 100}, {9, 150}}, []told{{8, 161, 61}}},
		"two restores of one snapshot": {[][2]uint64{{7, 100}}, []told{{7, 161, 61}, {9, 150, 50}}},
		"in the other order":           {[][2]uint64{{7, 100}}, []told{{9, 150, 50}, {7, 161, 61}}},
	} {
		var l mark.Lineage
		for _, e := range c.ends {
			l.Begin(e[0], book(e[1], 5))
		}
		for k, w := range c.told {
			m := word(w.process, w.run, 5)
			if run, others := l.Missing(m); run != w.want || others != 0 {
				t.Errorf("%s, word %d: %d charges missing and %d of others, want %d", name, k, run, others,
					w.want)
			}
			l.Charged(m)
			if run, _ := l.Missing(m); run != 0 {
				t.Errorf("%s, word %d: %d are missing once they are charged", name, k, run)
			}
		}
	}
	var l mark.Lineage
	l.Begin(7, book(100, 5))
	if run, others := l.Missing(word(7, 90, 9)); run != 0 || others != 4 {
		t.Errorf("of other runs: %d and %d, want 0 and 4", run, others)
	}
}

// However often a member starts while a neighbor is away, it keeps the earliest end, and
// those of its last processes.
func TestLineageIsBounded(t *testing.T) {
	m := mark.Memory{Process: 500}
	for p := range uint64(500) {
		m.Lineage.Begin(p, book(10+p, 0))
	}
	if n := len(m.Encode()); n > 2000 {
		t.Errorf("a memory of %d bytes", n)
	}
	for process, past := range map[uint64]uint64{0: 10, 499: 509, 480: 490, 250: 10, 1000: 10} {
		if run, _ := m.Lineage.Missing(word(process, 600, 0)); run != 600-past {
			t.Errorf("process %d: %d missing, want %d", process, run, 600-past)
		}
	}
}

func TestMemory(t *testing.T) {
	signed := bytes.Repeat([]byte{3}, mark.Size)
	m := mark.Memory{Generation: 2, Process: 9, Claims: []mark.Claim{{Sent: 4}, {Sent: 5}},
		Members: []mark.Remembered{{Member: 1, Backs: 3, Lied: true, Signed: signed},
			{Member: 1, Forgot: true, Signed: signed}}}
	m.Lineage.Begin(7, book(100, 5))
	b := m.Encode()
	back, err := mark.ReadMemory(b, 2, 2)
	if err != nil || !bytes.Equal(back.Encode(), b) || back.Generation != 2 || len(back.Members) != 2 {
		t.Fatalf("%+v, %v", back, err)
	}
	if a, b := back.Members[0], back.Members[1]; !a.Lied || a.Forgot || b.Lied || !b.Forgot {
		t.Errorf("%+v", back.Members)
	}
	if run, _ := back.Lineage.Missing(word(7, 160, 5)); run != 60 {
		t.Errorf("%d missing, want 60", run)
	}
	with := *back
	with.Values = 7
	c := with.Encode()
	if again, err := mark.ReadMemory(c, 2, 2); err != nil || again.Values != 7 || again.Process != 9 {
		t.Errorf("with a length: %+v, %v", again, err)
	}
	for k := range b {
		if _, err := mark.ReadMemory(c[:k], 2, 2); err == nil {
			t.Errorf("the first %d of %d bytes are a memory", k, len(c))
		}
		if _, err := mark.ReadMemory(b[:k], 2, 2); err == nil {
			t.Errorf("the first %d of %d bytes are a memory", k, len(b))
		}
	}
	if _, err := mark.ReadMemory(b, 2, 1); err == nil {
		t.Error("more marks than members")
	}
	// what the version before wrote: no process and no lineage
	tag := len(agent.AppendTag(nil, "sotto node marks/2"))
	old := append(agent.AppendTag(nil, "sotto node marks/1"), b[tag:tag+8]...)
	old = append(old, b[tag+16+3*8+3*8:]...)
	back, err = mark.ReadMemory(old, 2, 2)
	if err != nil || back.Generation != 2 || back.Process != 0 || len(back.Members) != 2 ||
		back.Claims[1].Sent != 5 {
		t.Errorf("%+v, %v", back, err)
	}
}

func FuzzReadMemory(f *testing.F) {
	m := mark.Memory{Claims: make([]mark.Claim, 2)}
	m.Lineage.Begin(7, book(100, 5))
	f.Add(m.Encode())
	m.Values = 7
	f.Add(m.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := mark.ReadMemory(b, 2, 4)
		if err != nil {
			return
		}
		again, err := mark.ReadMemory(m.Encode(), 2, 4)
		if err != nil || !bytes.Equal(again.Encode(), m.Encode()) {
			t.Errorf("%x: %v", b, err)
		}
	})
}
