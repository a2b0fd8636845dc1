package attack

import (
	"fmt"
	"os"

	"sotto/node"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
)

// Wire compares what has left a node, by the capture of one run, with what the ledger in
// dir was charged for, after it has verified the ledger. The algorithm asks for so many
// answers in a round; 0: messages in two versions are looked for alone.
func Wire(capture, dir string, answers int) (*audit.Report, error) {
	if _, err := ledger.Verify(dir, ledger.Options{}); err != nil {
		return nil, err
	}
	file, err := os.Open(capture)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	w := &audit.Wire{Answers: answers}
	run, frames := "", 0
	err = node.ReadCapture(file, func(s node.Sent) error {
		of := fmt.Sprintf("%x", s.Frame.Run[:16])
		if frames++; run != "" && of != run {
			return fmt.Errorf("frame %d: of run %s, the frames before are of %s: capture every run to a "+
				"file of its own", frames-1, of, run)
		}
		run = of
		switch s.Frame.Kind {
		case node.Token, node.Offer, node.Reply: // their numbers are not those of the charges' rounds
			w.Answers = 0
		case node.Messages:
		default:
			return nil
		}
		w.Sent(uint8(s.Frame.Kind), s.To, s.Frame.Round, s.Frame.Payload)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", capture, err)
	}
	for r, err := range ledger.History(dir, ledger.Options{}) {
		if err != nil {
			return nil, err
		}
		if r.Kind == ledger.Charge && r.Run == run {
			w.Charged(r.Round, int(r.Count))
		}
	}
	return w.Report("run " + run), nil
}
