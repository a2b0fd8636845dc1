// Package frame has what nodes send each other, byte for byte.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"sotto/agent"
	"sotto/node/mark"
)

// Kind says what a frame is for. The zero kind is invalid.
type Kind uint8

const (
	// Messages carries all messages of one sender to one receiver for one round; there
	// may be none.
	Messages Kind = iota + 1
	// Hello says at which round the sender stands, after it has started: it lacks the
	// frames of that round and later ones.
	Hello
	// Finished says that the sender has completed all rounds and needs nothing more. It
	// may bring the sender's Attestation.
	Finished
	// Ask wants the receiver's consent to meeting number Round of the sender's.
	Ask
	// Offer carries the sender's message in a meeting of its own.
	Offer
	// Reply carries the sender's message in the receiver's meeting.
	Reply
	// Progress says which round the sender has reached and stored, to one whom it hears
	// and may have no messages for.
	Progress
	// Token carries a token to its next holder, or a final one to whom it concerns. Its
	// round is the token's number of steps times the number of tokens, plus the token's
	// own number.
	Token
	// Taken says that the receiver's token of that round is with the sender, stored.
	Taken
	// Witness brings marks of members that the sender holds, the receiver's own first. It
	// comes from any member, and answers a hello.
	Witness
	// Change carries an amendment: the roster that is to follow the present one.
	Change
)

// Frame is what peers send each other. On the wire, little-endian:
//
//	bytes 0-3    magic "SOTF"
//	byte  4      version, 1 or 2
//	byte  5      kind
//	bytes 6-7    zero
//	bytes 8-39   run: the digest of the roster, which covers the experiment's
//	bytes 40-43  sender
//	bytes 44-51  round
//	bytes 52-55  length of the payload
//	bytes 56-59  CRC-32C of the payload
//	bytes 60-63  CRC-32C of the bytes before
//	then         the payload: of Messages, Offer, Reply and Token, messages in the form
//	             of agent.AppendMessage; of Finished an Attestation or nothing; of
//	             Hello, in version 2, terms and a time in 8 bytes; of Witness
//	             what mark.Testimony.Append writes; of Change a roster's text; of Ask,
//	             Progress and Taken nothing
//	then         in version 2, the sender's signed Mark
//
// Checksums find broken machines; authenticity and secrecy are the transport's. The mark
// is for others: its signature holds before everybody.
type Frame struct {
	Kind    Kind
	Run     [32]byte
	Sender  agent.ID
	Round   uint64
	Payload []byte
	Mark    []byte // signed; nil: the frame is of version 1
}

// Versions of the format that this package speaks.
const (
	Oldest = 1
	Newest = 2 // with marks
)

const (
	magic = "SOTF"
	// HeaderSize is the length of a frame without payload and mark, in bytes.
	HeaderSize = 64
	// MaxAmendment is the largest text of an amendment that members send each other.
	MaxAmendment = 1 << 18
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrMalformed says that bytes are not a frame that a node takes. Errors that wrap it
// name place, value found and values allowed, and hold nothing of the payload.
var ErrMalformed = errors.New("node: malformed frame")

// ErrVersion says that the peer speaks another version of the frame format. It wraps
// ErrMalformed.
var ErrVersion = fmt.Errorf("%w: version", ErrMalformed)

// Append appends the wire form of f to b.
func Append(b []byte, f *Frame) []byte {
	return append(append(AppendHeader(b, f), f.Payload...), f.Mark...)
}

// version is that of the frame.
func (f *Frame) version() byte {
	if f.Mark == nil {
		return Oldest
	}
	return Newest
}

// AppendHeader appends the header of f alone; f.Payload and f.Mark are to follow.
func AppendHeader(b []byte, f *Frame) []byte {
	at := len(b)
	b = append(b, magic...)
	b = append(b, f.version(), byte(f.Kind), 0, 0)
	b = append(b, f.Run[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(f.Sender))
	b = binary.LittleEndian.AppendUint64(b, f.Round)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(f.Payload, castagnoli))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// Size checks the header at the front of b, at least HeaderSize bytes, and returns
// the length of the whole frame. A payload above maxPayload bytes is refused: whoever
// reads from a network calls this before it makes room.
func Size(b []byte, maxPayload int) (int, error) {
	if len(b) < HeaderSize {
		return 0, fmt.Errorf("%w: %d bytes, a header has %d", ErrMalformed, len(b), HeaderSize)
	}
	if string(b[:4]) != magic {
		return 0, fmt.Errorf("%w: it opens with %q, allowed: %q", ErrMalformed, b[:4], magic)
	}
	if b[4] < Oldest || b[4] > Newest {
		return 0, fmt.Errorf("%w %d, allowed: %d to %d", ErrVersion, b[4], Oldest, Newest)
	}
	if crc32.Checksum(b[:HeaderSize-4], castagnoli) != binary.LittleEndian.Uint32(b[HeaderSize-4:]) {
		return 0, fmt.Errorf("%w: the header's checksum does not fit", ErrMalformed)
	}
	if k := Kind(b[5]); k < Messages || k > Change {
		return 0, fmt.Errorf("%w: kind %d, allowed: %d to %d", ErrMalformed, k, Messages, Change)
	}
	if b[6] != 0 || b[7] != 0 {
		return 0, fmt.Errorf("%w: bytes 6 and 7 are not zero", ErrMalformed)
	}
	n := binary.LittleEndian.Uint32(b[52:])
	if uint64(n) > uint64(max(maxPayload, 0)) {
		return 0, fmt.Errorf("%w: a payload of %d bytes, allowed: at most %d", ErrMalformed, n, maxPayload)
	}
	if b[4] >= Newest {
		return HeaderSize + int(n) + mark.Size, nil
	}
	return HeaderSize + int(n), nil
}

// Decode reads the frame that b is. Payload and Mark are parts of b.
func Decode(b []byte, maxPayload int) (Frame, error) {
	size, err := Size(b, maxPayload)
	if err != nil {
		return Frame{}, err
	}
	if len(b) != size {
		return Frame{}, fmt.Errorf("%w: %d bytes, the header says %d", ErrMalformed, len(b), size)
	}
	f := Frame{
		Kind:    Kind(b[5]),
		Run:     [32]byte(b[8:40]),
		Sender:  agent.ID(binary.LittleEndian.Uint32(b[40:])),
		Round:   binary.LittleEndian.Uint64(b[44:]),
		Payload: b[HeaderSize:],
	}
	if b[4] >= Newest {
		end := len(f.Payload) - mark.Size
		f.Payload, f.Mark = f.Payload[:end:end], f.Payload[end:]
	}
	if crc32.Checksum(f.Payload, castagnoli) != binary.LittleEndian.Uint32(b[56:]) {
		return Frame{}, fmt.Errorf("%w: the payload's checksum does not fit", ErrMalformed)
	}
	most := map[Kind]int{Messages: maxPayload, Offer: maxPayload, Reply: maxPayload, Token: maxPayload,
		Finished: mark.MaxAttestation, Witness: mark.MaxTestimony, Change: MaxAmendment}[f.Kind]
	if f.Kind == Hello && f.Mark != nil {
		most = TermsSize
	}
	if len(f.Payload) > most {
		return Frame{}, fmt.Errorf("%w: kind %d with a payload of %d bytes, allowed: %d", ErrMalformed,
			f.Kind, len(f.Payload), most)
	}
	return f, nil
}

// Read reads the bytes of one frame from r into buf, which grows if it has to. The
// size is checked before memory is taken. With an error come the bytes that were read.
// io.EOF says that r ended before the first one.
func Read(r io.Reader, maxPayload int, buf []byte) ([]byte, error) {
	if cap(buf) < HeaderSize {
		buf = make([]byte, HeaderSize, 4096)
	}
	buf = buf[:HeaderSize]
	if n, err := io.ReadFull(r, buf); err != nil {
		return buf[:n], err
	}
	size, err := Size(buf, maxPayload)
	if err != nil {
		return buf, err
	}
	if cap(buf) < size {
		buf = append(make([]byte, 0, size), buf...)
	}
	buf = buf[:size]
	if n, err := io.ReadFull(r, buf[HeaderSize:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return buf[:HeaderSize+n], err
	}
	return buf, nil
}

// DecodeMessages reads the messages of a Messages frame into dst, whose bodies are used
// again. Each must be f's sender's, for f's round, and to self or to all. At most
// maxValues values are taken over all messages, and none that is not finite.
func DecodeMessages(dst []agent.Message, f *Frame, self agent.ID, maxValues int) ([]agent.Message, error) {
	dst = dst[:0]
	for b := f.Payload; len(b) > 0; {
		if len(dst) < cap(dst) {
			dst = dst[:len(dst)+1]
		} else {
			dst = append(dst, agent.Message{})
		}
		m := &dst[len(dst)-1]
		n, err := agent.DecodeMessage(b, maxValues, m)
		if err != nil {
			return dst[:0], fmt.Errorf("%w: message %d of agent %d: %w", ErrMalformed, len(dst)-1, f.Sender,
				err)
		}
		if m.From != f.Sender || m.Round != f.Round || m.To != self && m.To != agent.Broadcast {
			return dst[:0], fmt.Errorf("%w: message %d is from %d to %d for round %d, allowed: from %d to "+
				"%d for round %d", ErrMalformed, len(dst)-1, m.From, m.To, m.Round, f.Sender, self, f.Round)
		}
		maxValues -= len(m.Body)
		b = b[n:]
	}
	return dst, nil
}

// Plain makes a frame of the first version of one of a later one; nil: there is none.
func Plain(frame []byte) []byte {
	if frame[4] == Oldest {
		return frame
	}
	f := Frame{Kind: Kind(frame[5]), Run: [32]byte(frame[8:40]),
		Sender:  agent.ID(binary.LittleEndian.Uint32(frame[40:])),
		Round:   binary.LittleEndian.Uint64(frame[44:]),
		Payload: frame[HeaderSize : len(frame)-mark.Size]}
	switch f.Kind {
	case Witness:
		return nil
	case Hello:
		f.Payload = nil
	}
	return Append(nil, &f)
}
