package attack

import (
	"fmt"
	"math"
	"os"

	"sotto/agent"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/roster"
	"sotto/node/wire"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
)

// Wire compares what has left a node, by the capture of one run, with what the ledger in
// dir was charged for, after it has verified the ledger. The rounds ask as asks says;
// nil: messages in two versions are looked for alone. Messages of rounds and wakes are
// the same for all neighbors. Charges that were added because the ledger was rolled back
// count for the rounds that they stand for.
// Where the run's members have changed the capture has frames of several rosters: those
// that the node has sent to others are known, rosters are further ones.
func Wire(capture, dir string, asks *agent.Schedule, rosters ...*roster.Roster) (*audit.Report, error) {
	if _, err := ledger.Verify(dir, ledger.Options{}); err != nil {
		return nil, err
	}
	file, err := os.Open(capture)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	w := new(audit.Wire)
	if asks != nil {
		w.Answers = asks.At
	}
	run, frames := "", 0
	first := map[[32]byte][32]byte{} // of a roster's digest: that of the first one of its run
	for _, r := range rosters {
		first[r.Digest()] = r.Run()
	}
	err = wire.ReadCapture(file, func(s wire.Sent) error {
		if s.Frame.Kind == frame.Change {
			if r, err := roster.Parse("an amendment", s.Frame.Payload); err == nil {
				first[r.Digest()] = r.Run()
			}
		}
		origin, amended := first[s.Frame.Run]
		if !amended {
			origin = s.Frame.Run
		}
		of := fmt.Sprintf("%x", origin[:16])
		if frames++; run != "" && of != run {
			return fmt.Errorf("frame %d: of run %s, the frames before are of %s: capture every run to a "+
				"file of its own, and name amended rosters", frames-1, of, run)
		}
		run = of
		l := audit.Letter{Kind: uint8(s.Frame.Kind), To: s.To, Round: s.Frame.Round}
		if s.Frame.Mark != nil {
			l.Generation = mark.Read(s.Frame.Mark).Generation
		}
		what := s.Frame.Payload
		switch s.Frame.Kind {
		case frame.Token, frame.Offer, frame.Reply: // their numbers are not those of the charges' rounds
			w.Answers, w.Unnumbered = nil, true
		case frame.Messages:
			l.To = agent.Broadcast
			var err error
			if what, err = unnumbered(&s); err != nil {
				return fmt.Errorf("frame %d: %w", frames-1, err)
			}
			if len(what) == 0 { // as of a new member in its first round
				return nil
			}
		default:
			return nil
		}
		w.Sent(l, what)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", capture, err)
	}
	for r, err := range ledger.History(dir, ledger.Options{}) {
		if err != nil {
			return nil, err
		}
		switch {
		case r.Run != run:
		case r.Kind == ledger.Charge:
			w.Charged(r.Round, int(r.Count))
		case r.Kind == ledger.Restored:
			w.Restored(r.Round, lost(r.Lost))
		}
	}
	r := w.Report("run " + run)
	if w.Answers != nil && asks.Until == math.MaxUint64 {
		r.Valid = append(r.Valid, fmt.Sprintf("every round is taken to ask %d times: a state directory says "+
			"which rounds do", asks.At(0)))
	}
	return r, nil
}

// EveryRound is an algorithm that asks so often in every round; nil where it is 0.
func EveryRound(answers int) *agent.Schedule {
	if answers == 0 {
		return nil
	}
	return &agent.Schedule{Answers: []int{answers}, Until: math.MaxUint64}
}

// unnumbered is what the messages of a frame say, without their round and the numbers of
// members, which are others after an amendment.
func unnumbered(s *wire.Sent) (all []byte, err error) {
	messages, err := s.Messages(len(s.Frame.Payload))
	for i := range messages {
		messages[i].Round, messages[i].From, messages[i].To = 0, 0, agent.Broadcast
		all = agent.AppendMessage(all, &messages[i])
	}
	return all, err
}

// lost is how many answers the charges of a rollback stand for. Nobody knows of which
// kinds the missing ones were, so that all are charged as each kind.
func lost(l *ledger.Lost) (answers int) {
	for _, c := range l.Charges {
		answers = max(answers, int(c.Count))
	}
	return answers
}
