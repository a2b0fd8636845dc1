package sim

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"sotto/agent"
	"sotto/tensor"
)

// writer writes a checkpoint part by part, so that no more than the state of one agent is
// held a second time. The first error stays.
type writer struct {
	w    *bufio.Writer
	part []byte // of the block or vector that is written
	err  error
}

// writeState opens a checkpoint, has fill write it, and reports the first error.
func writeState(to io.Writer, tag string, fill func(w *writer)) error {
	w := &writer{w: bufio.NewWriterSize(to, 1<<16)}
	w.put(agent.AppendTag(nil, tag))
	fill(w)
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

func (w *writer) put(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

func (w *writer) u64(vs ...uint64) {
	var b [8]byte
	for _, v := range vs {
		binary.LittleEndian.PutUint64(b[:], v)
		w.put(b[:])
	}
}

func (w *writer) vec(v tensor.Vec) {
	w.part = agent.AppendVec(w.part[:0], v)
	w.put(w.part)
}

// block writes what fill appends, with its length in front.
func (w *writer) block(fill func([]byte) []byte) {
	w.part = fill(w.part[:0])
	w.u64(uint64(len(w.part)))
	w.put(w.part)
}

// message writes a message as a block.
func (w *writer) message(m *agent.Message) {
	w.block(func(b []byte) []byte { return agent.AppendMessage(b, m) })
}

func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// reader reads what a writer wrote. After the first error all reads give zero.
type reader struct {
	r    *bufio.Reader
	part []byte
	err  error
}

// readState opens a checkpoint, has fill read it, and reports the first error. Bytes left
// over are one. All errors but those of fill wrap agent.ErrState.
func readState(from io.Reader, tag string, fill func(r *reader) error) error {
	r := &reader{r: bufio.NewReaderSize(from, 1<<16)}
	want := agent.AppendTag(nil, tag)
	if got := r.take(uint64(len(want))); r.err != nil || string(got) != string(want) {
		return fmt.Errorf("simulation checkpoint: %w: it does not open with %q: another version has made it",
			agent.ErrState, tag)
	}
	err := fill(r)
	if r.err != nil {
		err = r.err
	}
	if err == nil {
		if _, end := r.r.ReadByte(); end != io.EOF {
			err = fmt.Errorf("%w: bytes after its end", agent.ErrState)
		}
	}
	if err != nil {
		return fmt.Errorf("simulation checkpoint: %w", err)
	}
	return nil
}

// largestPart is how much is read at a time: a length that is not true then ends the
// reading before it takes memory.
const largestPart = 1 << 22

// take returns the next n bytes, which are valid until the next call.
func (r *reader) take(n uint64) []byte {
	r.part = r.part[:0]
	for have := 0; uint64(have) < n && r.err == nil; have = len(r.part) {
		more := int(min(n-uint64(have), largestPart))
		r.part = slices.Grow(r.part, more)[:have+more]
		if _, err := io.ReadFull(r.r, r.part[have:]); err != nil {
			r.err = fmt.Errorf("%w: %d bytes are needed, and it ends: %w", agent.ErrState, n, err)
		}
	}
	if r.err != nil {
		return nil
	}
	return r.part
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) float() float64 { return math.Float64frombits(r.u64()) }

func (r *reader) vec(v tensor.Vec) {
	if b := r.take(4 * uint64(len(v))); b != nil {
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

// algorithm restores an agent's from the next block.
func (r *reader) algorithm(a *Agent) error {
	if b := r.take(r.u64()); r.err == nil {
		return a.Algorithm.LoadState(b)
	}
	return r.err
}

func (r *reader) message() (agent.Message, error) {
	var m agent.Message
	b := r.take(r.u64())
	if r.err != nil {
		return m, r.err
	}
	n, err := agent.DecodeMessage(b, 1<<31-1, &m)
	if err == nil && n != len(b) {
		err = fmt.Errorf("%w: %d bytes too many", agent.ErrState, len(b)-n)
	}
	return m, err
}
