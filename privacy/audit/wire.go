package audit

import (
	"crypto/sha256"
	"math"

	"sotto/agent"
)

// Wire compares what has left one owner's live node with what its ledger was charged for.
type Wire struct {
	// Answers is how many answers the algorithm asks for in a round: one message may
	// follow from each round's. 0: its messages are no broadcasts of rounds, and are only
	// looked at for repetitions.
	Answers int

	sent     map[letter][sha256.Size]byte
	rounds   map[uint64]bool
	charges  map[uint64]int
	last     uint64 // the last round with a charge
	messages int
	altered  int
}

// letter is one message to one receiver.
type letter struct {
	kind  uint8
	to    agent.ID
	round uint64
}

// Sent notes a message: of one kind, to one receiver in one round, the same bytes
// whenever it is sent again.
func (w *Wire) Sent(kind uint8, to agent.ID, round uint64, payload []byte) {
	if w.sent == nil {
		w.sent, w.rounds = map[letter][sha256.Size]byte{}, map[uint64]bool{}
	}
	l, sum := letter{kind, to, round}, sha256.Sum256(payload)
	before, again := w.sent[l]
	switch {
	case again && before != sum:
		w.altered++
	case !again:
		w.messages++
		w.sent[l] = sum
		w.rounds[round] = true
	}
}

// Charged notes charges of the run in a round.
func (w *Wire) Charged(round uint64, count int) {
	if w.charges == nil {
		w.charges = map[uint64]int{}
	}
	w.charges[round] += count
	w.last = max(w.last, round)
}

// Report says whether a message left in two versions, and whether one left for a round
// whose answers the ledger lacks. Messages of round r follow from answers of round r-1.
// After the last charge a node only mixes.
func (w *Wire) Report(name string) *Report {
	t := Target{Name: name}
	r := t.report("wire", Options{})
	r.Confidence = 1
	r.Observations = w.messages
	r.check(Check{Name: "versions", Statistic: Figure(w.altered),
		Text: "messages that left a second time with other bytes: both follow from the same charges"})
	r.Valid = append(r.Valid,
		"the capture is of all that the node has sent since the run began; the ledger is the one that it "+
			"charges")
	if w.Answers == 0 {
		return r
	}
	missing, charges := 0, 0
	for round := range w.rounds {
		if round > 0 && round-1 <= w.last && w.charges[round-1] < w.Answers {
			missing++
		}
	}
	for _, n := range w.charges {
		charges += n
	}
	if len(w.charges) == 0 { // nothing was charged for at all
		missing = 0
		for round := range w.rounds {
			if round > 0 {
				missing++
			}
		}
	}
	r.check(Check{Name: "charges", Statistic: Figure(missing),
		Text: "rounds before the last charge whose messages left without the charges of their answers"})
	r.Checks = append(r.Checks, Check{
		Name:      "releases",
		Statistic: Figure(len(w.rounds)),
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
