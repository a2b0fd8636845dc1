package node

import (
	"fmt"
	"strings"
	"time"
)

// Readiness says whether a node goes on. It is not about health: a node that waits for
// others is well, and starting it again helps nobody.
type Readiness struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"not_ready,omitempty"` // why not, in words
}

// patienceSteps is how many times the mean duration of a step may pass without one.
const patienceSteps = 10

// patience is how long a node that goes on may be without a step: two deadlines, or ten
// steps of the mean duration, or ten intervals of its clock, whichever is longest. It is
// public: progress.Told is the mean of many.
func patience(n *Node) time.Duration {
	return max(2*n.cfg.Deadline, patienceSteps*n.progress.Told, patienceSteps*n.cfg.Interval)
}

// readiness judges a status. It is false after a failure, while a neighbor without whom
// no step can be made cannot be reached, and when no step was made for patience(n). A
// node that has finished is ready. Node.mu is held.
func readiness(n *Node, s *Status, now time.Time) Readiness {
	no := func(format string, args ...any) Readiness {
		return Readiness{Reason: fmt.Sprintf(format, args...)}
	}
	if s.Failure != "" {
		return no("stopped: %s", s.Failure)
	}
	if s.Finished {
		return Readiness{Ready: true}
	}
	var gone, late []string
	needed := 0
	for i, l := range n.order {
		if l.mail == nil || l.forgone { // nothing of it is waited for
			continue
		}
		needed++
		switch l.state {
		case Gone:
			gone = append(gone, s.Peers[i].Name)
		case Late, Unknown:
			late = append(late, s.Peers[i].Name)
		}
	}
	// by a clock, or where rounds go on without neighbors, one of them is enough
	_, rounds := n.pace.(*barrier)
	all := n.cfg.Missing == Wait && rounds && !n.cfg.changing()
	if len(gone) > 0 && (all || len(gone) == needed) {
		return no("cannot reach %s", strings.Join(gone, ", "))
	}
	last := s.Began
	if n.last.After(last) {
		last = n.last
	}
	limit := patience(n)
	if still := now.Sub(last); !last.IsZero() && still > limit {
		why := ""
		if len(gone)+len(late) > 0 {
			why = ": waits for " + strings.Join(append(gone, late...), ", ")
		}
		return no("no %s was completed for %v, more than %v%s", strings.TrimSuffix(s.Pace, "s"),
			still.Truncate(time.Second), limit, why)
	}
	return Readiness{Ready: true}
}
