package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"sotto/agent"
	"sotto/node"
	"sotto/node/nodetest"
)

// answers is the transport of a member that answers every frame of member 0 with one
// refusal.
type answers struct {
	node.Transport
	refusal node.Refusal
}

func (a answers) Serve(h node.Handler) {
	a.Transport.Serve(func(from agent.ID, b []byte) error {
		err := h(from, b)
		if from == 0 {
			return a.refusal
		}
		return err
	})
}

// What one member answers without a proof ends no other node: neither that another
// process has its key, nor that terms differ, nor anything else.
func TestOneAnswerEndsNobody(t *testing.T) {
	for _, refusal := range []node.Refusal{node.RefusedTwin, node.RefusedTerms, node.RefusedEpoch,
		node.RefusedVersion, node.RefusedLiar, node.RefusedBehind, node.RefusedBusy, node.Refusal(200)} {
		for _, signed := range []bool{true, false} {
			if !signed && refusal == node.RefusedVersion {
				continue // a member of another version: both go on with the older one
			}
			synctest.Test(t, func(t *testing.T) {
				change := func(i int, c *node.Config) {
					c.Missing, c.Deadline, c.Linger = node.Proceed, 10*time.Second, time.Minute
					c.Patience, c.SignedTerms = 10*time.Minute, signed
					if i == 1 {
						c.Transport = answers{c.Transport, refusal}
					}
				}
				r := prepare(t, nodetest.Options{Factory: factory(t, "dsgd"), Change: change}, openMemory)
				for i := range r.nodes {
					r.start(t, i)
				}
				time.Sleep(time.Hour)
				for i, n := range r.nodes {
					if s := n.Status(); i != 1 && (!s.Finished || s.Failure != "") {
						t.Errorf("answers %q, signed terms %v: agent %d stands at round %d: %s",
							refusal.Error(), signed, i, s.Round, s.Failure)
					}
				}
				for i := range r.nodes {
					r.halt(i)
				}
			})
		}
	}
}
