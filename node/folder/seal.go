package folder

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"filippo.io/age"

	"sotto/agent"
	"sotto/node/frame"
	"sotto/node/mark"
)

// session is a random number: of one start of a node, or of a session that others write
// for.
type session [8]byte

// label says which frame a file is about. Names of files are labels, and both the
// signature and what is encrypted cover them, so that a file means nothing under another
// name, in another folder, or at another start of its receiver's node.
type label struct {
	taken          bool     // the answer to a frame
	sender         agent.ID // of the frame
	receiver       agent.ID
	number         uint64 // of the frame, from 1, in the sender's session
	from, to       session
	writer, reader agent.ID // of the file
}

// frameLabel is that of a frame, answer that of its answer.
func frameLabel(sender, receiver agent.ID, number uint64, from, to session) label {
	return label{sender: sender, receiver: receiver, number: number, from: from, to: to, writer: sender,
		reader: receiver}
}

func (l label) answer() label {
	l.taken, l.writer, l.reader = true, l.receiver, l.sender
	return l
}

func (l label) file() string {
	end := "frame"
	if l.taken {
		end = "taken"
	}
	return fmt.Sprintf("%016x-%x-%x.%s", l.number, l.from[:], l.to[:], end)
}

var fileName = regexp.MustCompile(`^([0-9a-f]{16})-([0-9a-f]{16})-([0-9a-f]{16})\.(frame|taken)$`)

// readLabel reads the name of a file that writer has written for reader.
func readLabel(name string, writer, reader agent.ID) (label, bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return label{}, false
	}
	number, _ := strconv.ParseUint(m[1], 16, 64) // 16 digits
	var from, to session
	hex.Decode(from[:], []byte(m[2]))
	hex.Decode(to[:], []byte(m[3]))
	if m[4] == "taken" {
		return frameLabel(reader, writer, number, from, to).answer(), true
	}
	return frameLabel(writer, reader, number, from, to), true
}

// labelSize is the length of a label in a file.
const labelSize = 1 + 4 + 4 + 8 + 8 + 8 + sha256.Size

func (x *sealer) encode(l label) []byte {
	b := []byte{0}
	if l.taken {
		b[0] = 1
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(l.sender))
	b = binary.LittleEndian.AppendUint32(b, uint32(l.receiver))
	b = binary.LittleEndian.AppendUint64(b, l.number)
	b = append(append(b, l.from[:]...), l.to[:]...)
	return append(b, x.digest[:]...)
}

// signed is what a file's signature covers.
func (x *sealer) signed(l label, sealed []byte) []byte {
	sum := sha256.Sum256(sealed)
	return append(append([]byte("sotto folder file\n"), x.encode(l)...), sum[:]...)
}

// sealer makes and opens files for the members of a roster.
type sealer struct {
	key        ed25519.PrivateKey
	members    []Member
	digest     [sha256.Size]byte // of their keys
	recipients []age.Recipient   // by agent
	identity   age.Identity
	maxPayload int
}

// seal makes a file: a signature, and label and body encrypted to the reader.
func (x *sealer) seal(l label, body []byte) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(body) + len(body)/2048 + 1024)
	b.Write(make([]byte, ed25519.SignatureSize))
	w, err := age.Encrypt(&b, x.recipients[l.reader])
	if err != nil {
		return nil, err
	}
	w.Write(x.encode(l)) // Close has the error
	w.Write(body)
	if err := w.Close(); err != nil {
		return nil, err
	}
	file := b.Bytes()
	copy(file, ed25519.Sign(x.key, x.signed(l, file[ed25519.SignatureSize:])))
	return file, nil
}

// errForged says that a file is not what its name says.
var errForged = errors.New("truncated, altered, or not signed by its member for this place")

// unseal opens a file of another member's. Nothing is decrypted whose signature does not
// fit. max is the length of the body.
func (x *sealer) unseal(l label, file []byte, max int) ([]byte, error) {
	if len(file) < ed25519.SignatureSize {
		return nil, errForged
	}
	sealed := file[ed25519.SignatureSize:]
	if !ed25519.Verify(x.members[l.writer].Key, x.signed(l, sealed), file[:ed25519.SignatureSize]) {
		return nil, errForged
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), x.identity)
	if err != nil {
		return nil, err
	}
	head := make([]byte, labelSize)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	if !bytes.Equal(head, x.encode(l)) { // sealed by somebody else, and signed again
		return nil, errForged
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(max)+1))
	if err == nil && len(b) > max {
		err = fmt.Errorf("a body of more than %d bytes", max)
	}
	return b, err
}

// maxBody is the length of the longest frame, its mark included, maxFile that of the
// longest file.
func (x *sealer) maxBody() int { return x.maxPayload + frame.HeaderSize + mark.Size }

func (x *sealer) maxFile() int { return x.maxBody() + x.maxBody()/2048 + 2048 }

// announced is what the signature of a session file covers.
func (x *sealer) announced(i agent.ID, s session) []byte {
	b := append([]byte("sotto folder session\n"), x.digest[:]...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(i)), s[:]...)
}
