package mark

import (
	"encoding/binary"
	"slices"
)

// A Lineage is what a member's ledger had come to when each process of its node before
// this one had ended, as the next one found it. A mark that says more of such a process
// shows that the member was restored from a snapshot in between, and how many charges the
// ledger lacks: what the process has charged after the snapshot is nowhere else.
//
// A process that the lineage does not have was one of those that the restored member does
// not know of. It has charged what it says after some place where the lineage parts from
// it, of which nobody knows which it was: the earliest one counts.
//
// The zero Lineage is that of a member all of whose neighbors have said what they know:
// what was missing then is in the ledger.
type Lineage struct {
	floor sum // at the earliest end
	ends  []end
}

// sum is a part of a book.
type sum struct {
	run    uint64 // charges of the run
	others uint64 // charges of other runs
}

func sumOf(b *Book) sum { return sum{b.Charges, b.Total - min(b.Total, b.Charges)} }

type end struct {
	process uint64
	at      sum
}

// most is how many ends are kept: beyond it those in the middle are taken for processes
// that nobody knows.
const most = 64

// Begin notes what a process finds that another one, 0 for none, has left.
func (l *Lineage) Begin(former uint64, b *Book) {
	if len(l.ends) == 0 {
		l.floor = sumOf(b)
	}
	l.note(former, sumOf(b))
}

// note makes s the end of a process.
func (l *Lineage) note(process uint64, s sum) {
	for i := range l.ends {
		if l.ends[i].process == process {
			l.ends[i].at = s
			return
		}
	}
	if l.ends = append(l.ends, end{process, s}); len(l.ends) > most {
		l.ends = slices.Delete(l.ends, 1, 2)
	}
}

// past is what the ledger has of what a process has charged.
func (l *Lineage) past(process uint64) sum {
	for _, e := range l.ends {
		if e.process == process {
			return e.at
		}
	}
	return l.floor
}

// Missing is how many charges the ledger lacks that a mark of another process shows: of
// the run, and of other runs.
func (l *Lineage) Missing(m *Mark) (run, others uint64) {
	s, past := sumOf(&m.Book), l.past(m.Process)
	return s.run - min(s.run, past.run), s.others - min(s.others, past.others)
}

// Charged notes that what Missing said of a mark is in the ledger now.
func (l *Lineage) Charged(m *Mark) {
	s, past := sumOf(&m.Book), l.past(m.Process)
	l.note(m.Process, sum{max(s.run, past.run), max(s.others, past.others)})
}

func (l *Lineage) append(b []byte) []byte {
	b = u64(b, l.floor.run, l.floor.others, uint64(len(l.ends)))
	for _, e := range l.ends {
		b = u64(b, e.process, e.at.run, e.at.others)
	}
	return b
}

// read reads what append writes from the front of b.
func (l *Lineage) read(b []byte) (rest []byte, ok bool) {
	const head, entry = 3 * 8, 3 * 8
	if len(b) < head {
		return nil, false
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	l.floor = sum{at(0), at(1)}
	count := at(2)
	if b = b[head:]; count > most || uint64(len(b)) < count*entry {
		return nil, false
	}
	for ; count > 0; count-- {
		l.ends = append(l.ends, end{at(0), sum{at(1), at(2)}})
		b = b[entry:]
	}
	return b, true
}
