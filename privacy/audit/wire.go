package audit

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
)

// Wire compares what has left one owner's live node with what its ledger was charged for.
type Wire struct {
	// Answers is how many answers the algorithm asks for in a round: the messages of the
	// next one follow from them. nil: messages are not held against single charges.
	Answers func(round uint64) int
	// Unnumbered says that messages have other numbers than the rounds of charges. Each
	// follows from some charge.
	Unnumbered bool

	sent     map[Letter][sha256.Size]byte
	contents map[content]bool // that have left
	releases map[release]bool
	charges  map[uint64]int
	last     uint64 // the last round with a charge
	restored []restored
	altered  int
}

// Letter is one message to one receiver, or to all.
type Letter struct {
	Kind  uint8
	To    agent.ID // agent.Broadcast: all receivers get the same
	Round uint64
	// Generation is how often the sender has said that it was rolled back. In each
	// generation a letter has one content.
	Generation uint64
}

// content is what a message says, whatever its round.
type content struct {
	kind uint8
	sum  [sha256.Size]byte
}

// release is a round whose messages have left.
type release struct{ round, generation uint64 }

// restored are charges that were added because the ledger was rolled back. They are of
// rounds from from to until-1.
type restored struct {
	from, until uint64
	count       int
}

// Sent notes a message: the same content whenever it is sent again. The content is
// without the round, so that one that is sent for a later round is known again.
func (w *Wire) Sent(l Letter, payload []byte) {
	if w.sent == nil {
		w.sent, w.releases = map[Letter][sha256.Size]byte{}, map[release]bool{}
		w.contents = map[content]bool{}
	}
	sum := sha256.Sum256(payload)
	if before, again := w.sent[l]; again {
		if before != sum {
			w.altered++
		}
		return
	}
	w.sent[l] = sum
	// Who was rolled back, or was away, says what it has said last for the rounds that
	// others are in. That follows from charges of former rounds.
	c := content{l.Kind, sum}
	if w.contents[c] {
		return
	}
	w.contents[c] = true
	w.releases[release{l.Round, l.Generation}] = true
}

// Charged notes charges of the run in a round. It is called in the order of the ledger.
func (w *Wire) Charged(round uint64, count int) {
	if w.charges == nil {
		w.charges = map[uint64]int{}
	}
	w.charges[round] += count
	w.last = max(w.last, round)
}

// Restored notes that the ledger was rolled back, and that charges of count answers were
// added: they stand for those of the rounds from the last one that Charged has named to
// the one before round, which the node was in. Once it was rolled back, later ones stand
// for rounds from the same place on: a neighbor that comes back late knows of some that
// the node has been in again by then.
func (w *Wire) Restored(round uint64, count int) {
	from := w.last
	if len(w.restored) > 0 {
		from = w.restored[0].from
	}
	w.restored = append(w.restored, restored{from, round, count})
}

// uncharged counts the rounds whose messages left without the charges of their answers.
func (w *Wire) uncharged() (missing int) {
	needed := map[uint64]int{} // answers, by round
	for r := range w.releases {
		if r.round == 0 {
			continue
		}
		if n := w.Answers(r.round - 1); n > 0 {
			needed[r.round-1] += n
		}
	}
	if len(w.charges) == 0 && len(w.restored) == 0 { // nothing was charged for at all
		return len(needed)
	}
	last, extra := w.last, slices.Clone(w.restored)
	for _, r := range extra {
		last = max(last, max(r.until, 1)-1)
	}
	// ends says that the budget may have ended within a round: one message followed from
	// fewer answers than it asks for.
	ends := func(round uint64) bool {
		return round == last && w.charges[round] > 0 && needed[round] == w.Answers(round)
	}
	var short []uint64
	for round, n := range needed {
		if round <= last && w.charges[round] < n && !ends(round) {
			short = append(short, round)
		}
	}
	slices.Sort(short)
	for _, round := range short {
		lacks := needed[round] - w.charges[round]
		for i := range extra {
			if r := &extra[i]; r.from <= round && round < r.until {
				n := min(lacks, r.count)
				lacks, r.count = lacks-n, r.count-n
			}
		}
		if lacks > 0 {
			missing++
		}
	}
	return missing
}

// Report says whether a message left in two versions, and whether one left for a round
// whose answers the ledger lacks; where messages are not held against single charges,
// whether there are any. Messages of round r follow from answers of round r-1.
// After the last charge a node only mixes. A node that was rolled back, and whose ledger
// says so, may send what it has said before for other rounds; it has one more version of
// rounds that it was in, for further charges.
func (w *Wire) Report(name string) *Report {
	t := Target{Name: name}
	r := t.report("wire", Options{})
	r.Confidence = 1
	r.Observations = len(w.sent)
	r.check(Check{Name: "versions", Statistic: Figure(w.altered),
		Text: "messages that left a second time, or for somebody else, with other bytes: both follow from " +
			"the same charges"})
	r.Valid = append(r.Valid,
		"the capture is of all that the node has sent since the run began; the ledger is the one that it "+
			"charges")
	charges := 0
	if len(w.restored) > 0 {
		for _, s := range w.restored {
			charges += s.count
		}
		r.Checks = append(r.Checks, Check{
			Name:      "rolled back",
			Statistic: Figure(charges),
			Limit:     Figure(math.Inf(1)),
			Text: fmt.Sprintf("answers that were charged for because the ledger was rolled back, times: %d",
				len(w.restored)),
		})
	}
	for _, n := range w.charges {
		charges += n
	}
	if w.Unnumbered {
		left := len(w.sent)
		if charges > 0 || len(w.restored) > 0 {
			left = 0
		}
		r.check(Check{Name: "charges", Statistic: Figure(left),
			Text: "messages that left although the ledger has no charge of the run"})
	}
	if w.Answers == nil {
		r.Checks = append(r.Checks, Check{
			Name:      "not compared",
			Statistic: Figure(charges),
			Limit:     Figure(math.Inf(1)),
			Text:      "answers that were charged for, which are not compared with single messages",
		})
		return r
	}
	r.check(Check{Name: "charges", Statistic: Figure(w.uncharged()),
		Text: "rounds before the last charge whose messages left without the charges of their answers"})
	r.Checks = append(r.Checks, Check{
		Name:      "releases",
		Statistic: Figure(len(w.releases)),
		Limit:     Figure(math.Inf(1)),
		Text:      "rounds of which messages left",
	},
		Check{
			Name:      "charged",
			Statistic: Figure(charges),
			Limit:     Figure(math.Inf(1)),
			Text:      "answers that were charged for, of which those of crashes have left in no message",
		})
	return r
}
