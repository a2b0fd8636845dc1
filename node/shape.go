package node

import (
	"fmt"

	"sotto/agent"
)

// shape lists the lengths of the messages that a node sends in a round. Its neighbors run the same algorithm: a frame with more
// messages, which would count more than once in a mean, or with bodies of another length, which algorithms do not check, is
// not one of theirs. Empty where the node's first outbox was.
type shape []int

// shapeOf reads a stored outbox.
func shapeOf(messages []byte) shape {
	var s shape
	for len(messages) > 0 {
		_, size, err := agent.MessageHead(messages)
		if err != nil {
			panic("node: a stored outbox does not decode: " + err.Error()) // its checksum fits
		}
		s = append(s, (size-agent.MessageSize(0))/4)
		messages = messages[size:]
	}
	return s
}

// check refuses messages that do not have the shape. A frame without messages fits: a neighbor may have nothing to say.
func (s shape) check(messages []agent.Message) error {
	if len(s) == 0 {
		return nil
	}
	if len(messages) > len(s) {
		return fmt.Errorf("%w: %d messages, allowed: at most %d", ErrFrame, len(messages), len(s))
	}
	for k := range messages {
		if got := len(messages[k].Body); got != s[k] {
			return fmt.Errorf("%w: message %d has %d values, allowed: %d", ErrFrame, k, got, s[k])
		}
	}
	return nil
}
