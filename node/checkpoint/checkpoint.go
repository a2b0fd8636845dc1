// Package checkpoint stores what a node must find again after a crash: one of two files,
// written in turns, so that the last whole one always stands.
package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sotto/agent"
	"sotto/node/mark"
	"sotto/node/pieces"
	"sotto/privacy/ledger"
)

// ErrState says that a node's stored state cannot be used: damaged, or of another run or
// member.
var ErrState = errors.New("node: stored state does not fit")

// errNewer says that a file is whole, and of a format that this program does not know.
var errNewer = fmt.Errorf("%w: it has a newer format", ErrState)

// tagOf is the format that a whole file names.
func tagOf(body []byte) (tag string, is bool) {
	if len(body) < 4 || binary.LittleEndian.Uint32(body) > uint32(len(body)-4) {
		return "", false
	}
	tag = string(body[4 : 4+binary.LittleEndian.Uint32(body)])
	return tag, strings.HasPrefix(tag, "sotto node/")
}

// Kept is for how many rounds a node keeps what it sent: a neighbor at the barrier may
// need the last two. Rounds in which nobody hears it are not among them.
const Kept = 2

const (
	checkTag   = "sotto node/5"
	bareTag    = "sotto node/4" // is read as well: it has no marks
	wholeTag   = "sotto node/3" // is read as well: the outbox is written whole
	oldTag     = "sotto node/2"
	maxState   = 1 << 34
	hashLength = sha256.Size
)

// Checkpoint is all that a node must find again after a crash. Every part is public:
// post-processing of charged releases. Keys and stream positions are not in it, so that
// no noise can be made twice.
type Checkpoint struct {
	Run   [32]byte
	Self  agent.ID
	Round uint64 // rounds, or own wakes, that are complete
	// of the owner's ledger, after the last charge: ledger.Options.KnownSeq and KnownHead
	Head ledger.Head
	Ends
	Counts Counts
	State  []byte // of the algorithm
	Underway
	// what this node says about its ledger; nothing before it has finished
	Attestation []byte

	Placement
}

// Ends is what has come to its end.
type Ends struct {
	Exhausted bool // the budget is spent
	Done      bool // the algorithm needs no further steps
	Finished  bool // the run, for this node
}

// Underway is what neighbors may still lack, or this node of theirs.
type Underway struct {
	// messages of the round for which it sent before Outbox, which is Round-1 unless
	// chance draws links; nil: that was skipped, or there is none. In pairs: what it says
	// to all before its first meeting
	Before []byte
	Outbox []byte // messages of round Sent
	Sent   uint64 // Round, or by a clock the last wake that has sent anything
	// by a clock: the newest message of every neighbor that the last wake took in; in
	// pairs: the last reply to each
	Heard []byte
	Undo  []byte // in a meeting that Outbox is the offer of: the algorithm's state before it
	Marks []byte // what the node and others have said of themselves
}

// Placement is what decides where a checkpoint is written, and what of it.
type Placement struct {
	serial uint64 // one more with every checkpoint
	// Barrier: whoever hears this node had all of Before's messages before it completed
	// round Round. Before need not outlive that, and is left out where the other file has
	// it.
	Barrier bool
	shared  bool // Before is the other file's Outbox
	// Claims are of Before and Outbox; the last one also when there is no Outbox
	Claims [Kept]mark.Claim
}

// Counts are what happened at this node so far.
type Counts struct {
	Missing   uint64 `json:"missing"`    // frames that a round went on without
	OneSided  uint64 `json:"one_sided"`  // of these, the peer had taken this node's frame of the round
	Skipped   uint64 `json:"skipped"`    // rounds that were left out because the neighbors had moved on
	Exhausted uint64 `json:"exhausted"`  // queries that the budget refused, or that were not asked any more
	Stale     uint64 `json:"stale"`      // frames of rounds that had passed
	Replayed  uint64 `json:"replayed"`   // frames that had come before
	Refused   uint64 `json:"refused"`    // frames that were no frames, or that this node does not take
	Busy      uint64 `json:"busy"`       // meetings that this node or a neighbor had no time for
	Bytes     uint64 `json:"bytes_sent"` // taken by peers, with headers
}

// fields are the counts in the order in which they are stored.
func (c *Counts) fields() []*uint64 {
	return []*uint64{&c.Missing, &c.OneSided, &c.Skipped, &c.Exhausted, &c.Stale, &c.Replayed, &c.Refused,
		&c.Busy, &c.Bytes}
}

func u64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// encode appends tag, fixed part, blocks, the outbox without what the state holds as
// well, and the SHA-256 of all that.
func (c *Checkpoint) encode(b []byte) []byte {
	at := len(b)
	b = agent.AppendTag(b, checkTag)
	b = u64(append(b, c.Run[:]...), c.serial, uint64(c.Self), c.Round, c.Head.Seq)
	before := c.Before
	if c.shared {
		before = nil
	}
	b = u64(append(b, c.Head.Hash[:]...), flag(c.Exhausted), flag(c.Done), flag(c.Finished),
		flag(before != nil), flag(c.shared), c.Sent)
	for _, v := range c.Counts.fields() {
		b = u64(b, *v)
	}
	for _, block := range [][]byte{c.State, before, c.Attestation, c.Heard, c.Undo, c.Marks} {
		b = append(u64(b, uint64(len(block))), block...)
	}
	b = pieces.Append(b, c.Outbox, c.State)
	sum := sha256.Sum256(b[at:])
	return append(b, sum[:]...)
}

// decode reads what encode writes, or wrote before; blocks stay parts of b.
func (c *Checkpoint) decode(b []byte) error {
	if len(b) < hashLength {
		return fmt.Errorf("%w: %d bytes", ErrState, len(b))
	}
	body := b[:len(b)-hashLength]
	if sha256.Sum256(body) != [hashLength]byte(b[len(body):]) {
		return fmt.Errorf("%w: the checksum does not fit", ErrState)
	}
	tag := checkTag
	if name, is := tagOf(body); is && !slices.Contains([]string{checkTag, bareTag, wholeTag}, name) {
		return fmt.Errorf("%w: %s, allowed: %s and older: go on with the version of sotto that wrote it",
			errNewer, name, checkTag)
	}
	for _, older := range []string{bareTag, wholeTag} {
		if bytes.HasPrefix(body, agent.AppendTag(nil, older)) {
			tag = older
		}
	}
	s := agent.ReadState(body, tag)
	read32 := func() (h [32]byte) {
		for i := 0; i < 32; i += 8 {
			binary.LittleEndian.PutUint64(h[i:], s.Uint64())
		}
		return h
	}
	c.Run = read32()
	c.serial, c.Self, c.Round, c.Head.Seq = s.Uint64(), agent.ID(s.Uint64()), s.Uint64(), s.Uint64()
	c.Head.Hash = read32()
	c.Exhausted, c.Done, c.Finished = s.Uint64() == 1, s.Uint64() == 1, s.Uint64() == 1
	before, shared := s.Uint64() == 1, s.Uint64() == 1
	c.shared = shared
	c.Sent = s.Uint64()
	for _, v := range c.Counts.fields() {
		*v = s.Uint64()
	}
	if c.State, c.Before = s.Block(), s.Block(); tag == wholeTag {
		c.Outbox = s.Block()
	}
	c.Attestation, c.Heard, c.Undo = s.Block(), s.Block(), s.Block()
	if tag == checkTag {
		c.Marks = s.Block()
	}
	if tag != wholeTag {
		var err error
		if c.Outbox, err = pieces.Read(s, c.State, maxState); err != nil {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	if !before {
		c.Before = nil
	}
	return nil
}
