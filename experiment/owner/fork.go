package owner

import (
	"errors"
	"fmt"
	"strings"

	"sotto/node"
)

// Forked names the neighbors that follow another roster than a node, and says what to do;
// "": none is known to. Two amendments may have been signed for one change of members.
func Forked(s *node.Status) string {
	var who []string
	for i := range s.Peers {
		switch p := &s.Peers[i]; p.Fork {
		case "":
		case "another":
			who = append(who, p.Name+" follows another one")
		default:
			who = append(who, p.Name+" follows "+p.Fork)
		}
	}
	if who == nil {
		return ""
	}
	epoch := s.Epoch
	if s.Change > 0 {
		epoch++
	}
	if epoch == 0 { // nobody has amended anything
		return fmt.Sprintf("not all have this run's roster: %s. Compare digests (sotto roster verify), and "+
			"have all follow one roster", strings.Join(who, ", "))
	}
	return fmt.Sprintf("not all follow this node's roster for epoch %d: %s. Whoever has not heard of the "+
		"amendment needs the file; of two amendments one has to be withdrawn, see \"Two amendments for one "+
		"epoch\" in docs/upkeep.md", epoch, strings.Join(who, ", "))
}

// splitBy is the error of a node that has waited too long for neighbors that follow
// another roster; nil: it has not, or not for such.
func splitBy(err error, s *node.Status) error {
	fork := Forked(s)
	if fork == "" || !errors.Is(err, node.ErrStalled) {
		return nil
	}
	return fmt.Errorf("%w: %d %s; %s", node.ErrStalled, s.Round, s.Pace, fork)
}
