package node

import (
	"context"
	"time"
)

// left is how many attempts to reach a neighbor that has finished must fail before it
// counts as having left: its answer to the last frame may be lost, and nobody is there to
// give another.
const left = 5

// linger serves neighbors until none needs anything more.
func (n *Node) linger(ctx context.Context) error {
	timer := time.NewTimer(n.cfg.Linger)
	defer timer.Stop()
	for {
		if came, err := n.pace.attend(); err != nil {
			return err
		} else if came { // neighbors still meet this node
			continue
		}
		n.mu.Lock()
		waiting, debt := 0, n.debt
		n.debt = nil
		for _, l := range n.order {
			if !l.finished || len(l.queue) > 0 && l.failed < left {
				waiting++
			}
		}
		n.mu.Unlock()
		if debt != nil { // a neighbor that is back late
			if err := n.repay(debt, true); err != nil {
				return err
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			n.cfg.Log.Warn("leaves although not every neighbor has finished", "neighbors", waiting)
			return nil
		case <-n.events:
		}
	}
}
