package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"sotto/agent"
	"sotto/node"
	"sotto/node/frame"
)

// Captured is a transport that writes every frame to w before it sends it, for an auditor
// to read: what leaves is what is written, also where it does not arrive. A frame that
// cannot be written is not sent. For each frame w gets the receiver in four bytes,
// little-endian, and the frame.
type Captured struct {
	node.Transport
	mu  sync.Mutex
	w   io.Writer
	buf []byte
	// torn is how many bytes there are at the end of a frame that could not be written
	// whole: they go before another is.
	torn int
}

// NewCaptured returns t with its frames written to w.
func NewCaptured(t node.Transport, w io.Writer) *Captured { return &Captured{Transport: t, w: w} }

// AppendTo opens a capture to go on with, or begins one. What a killed process left
// unfinished at its end is cut off. The file is the caller's to close.
func AppendTo(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	whole := int64(0)
	err = ReadCapture(f, func(s Sent) error {
		whole += 4 + frame.HeaderSize + int64(len(s.Frame.Payload)+len(s.Frame.Mark))
		return nil
	})
	if err == nil {
		err = f.Truncate(whole)
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Send implements node.Transport.
func (c *Captured) Send(ctx context.Context, to agent.ID, raw []byte) error {
	c.mu.Lock()
	c.buf = append(binary.LittleEndian.AppendUint32(c.buf[:0], uint32(to)), raw...)
	err := c.mend()
	if err == nil {
		if c.torn, err = c.w.Write(c.buf); err == nil {
			c.torn = 0
		}
	}
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: the capture cannot be written: %w", node.ErrUnreachable, err)
	}
	return c.Transport.Send(ctx, to, raw)
}

// mend takes away what a disk without room has left of a frame.
func (c *Captured) mend() error {
	if c.torn == 0 {
		return nil
	}
	f, ok := c.w.(interface {
		io.Seeker
		Truncate(size int64) error
	})
	if !ok {
		return errors.New("it ends with half a frame")
	}
	at, err := f.Seek(-int64(c.torn), io.SeekCurrent)
	if err == nil {
		c.torn = 0
		err = f.Truncate(at)
	}
	return err
}

// Sent is one frame of a capture.
type Sent struct {
	To    agent.ID
	Frame frame.Frame
}

// Messages are those that a frame of kind Messages carries to s.To, of at most maxValues
// values together.
func (s *Sent) Messages(maxValues int) ([]agent.Message, error) {
	return frame.DecodeMessages(nil, &s.Frame, s.To, maxValues)
}

// ReadCapture calls f for every frame that Captured wrote, in order. What a killed
// process left unfinished at the end is left out; other damage is an error that wraps
// frame.ErrMalformed and has the number of the frame, from 0. Errors of r and f are
// returned as well.
func ReadCapture(r io.Reader, f func(Sent) error) error {
	b := bufio.NewReader(r)
	var buf []byte
	for k := 0; ; k++ {
		var to [4]byte
		_, err := io.ReadFull(b, to[:])
		if err == nil {
			buf, err = frame.Read(b, maxCaptured, buf)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("frame %d: %w", k, err)
		}
		raw, err := frame.Decode(buf, maxCaptured)
		if err != nil {
			return fmt.Errorf("frame %d: %w", k, err)
		}
		if err := f(Sent{agent.ID(binary.LittleEndian.Uint32(to[:])), raw}); err != nil {
			return err
		}
	}
}

// maxCaptured bounds the payloads that are read: no run sends larger ones.
const maxCaptured = 1 << 30
