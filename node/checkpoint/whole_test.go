package checkpoint

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"sotto/agent"
	"sotto/node/pieces"
)

// The state of the version before has its outbox whole, and is taken.
func TestWholeOutboxIsRead(t *testing.T) {
	c := Checkpoint{Round: 4, State: []byte("state"), Underway: Underway{Outbox: []byte("outbox")}}
	b := c.encode(nil)
	whole := agent.AppendTag(nil, wholeTag)
	fixed := len(b) - hashLength - len(pieces.Append(nil, c.Outbox, c.State)) - 5*8 - 8 - len(c.State)
	whole = append(whole, b[len(whole):fixed]...)
	for _, block := range []string{"state", "", "outbox", "", "", ""} {
		whole = append(u64(whole, uint64(len(block))), block...)
	}
	sum := sha256.Sum256(whole)
	var got Checkpoint
	if err := got.decode(append(whole, sum[:]...)); err != nil || got.Round != 4 ||
		fmt.Sprintf("%s %s", got.State, got.Outbox) != "state outbox" {
		t.Errorf("%+v, %v", got, err)
	}
}
