package sim

import (
	"encoding/binary"
	"fmt"

	"sotto/agent"
)

func u64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// block appends what fill appends, with its length in front.
func block(b []byte, fill func([]byte) []byte) []byte {
	at := len(b)
	b = fill(u64(b, 0))
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	return b
}

func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// load restores the algorithm from the next block of a checkpoint.
func (a *Agent) load(r *agent.State) error {
	b := r.Block()
	if r.Err() != nil {
		return nil // the reader keeps it for Close
	}
	return a.Algorithm.LoadState(b)
}

// appendMessage and readMessage write and read a message as a block.
func appendMessage(b []byte, m *agent.Message) []byte {
	return block(b, func(b []byte) []byte { return agent.AppendMessage(b, m) })
}

func readMessage(r *agent.State) (agent.Message, error) {
	var m agent.Message
	b := r.Block()
	if err := r.Err(); err != nil {
		return m, err
	}
	n, err := agent.DecodeMessage(b, 1<<31-1, &m)
	if err == nil && n != len(b) {
		err = fmt.Errorf("%w: %d bytes too many", agent.ErrState, len(b)-n)
	}
	return m, err
}
