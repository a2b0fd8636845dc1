package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"sotto/agent"
	"sotto/node"
)

// Brief is a transport whose errors are one short line: a neighbor that is not there yet
// is no news of three lines.
type Brief struct {
	node.Transport
	Rename *strings.Replacer // of ids that errors hold, to names of members; nil: none is
}

// Send implements Transport.
func (b Brief) Send(ctx context.Context, to agent.ID, frame []byte) error {
	err := b.Transport.Send(ctx, to, frame)
	if !errors.Is(err, node.ErrUnreachable) {
		return err
	}
	return &unreachable{b.brief(err), err}
}

// unreachable is an error with a shorter text.
type unreachable struct {
	text string
	err  error
}

func (u *unreachable) Error() string { return u.text }
func (u *unreachable) Unwrap() error { return u.err }

// brief says why a peer cannot be reached: what the system says of it where that is
// known, else all that there is, on one line.
func (b Brief) brief(err error) string {
	var errno syscall.Errno
	var host *net.DNSError
	switch {
	case errors.As(err, &errno):
		return fmt.Sprintf("cannot be reached: %v", errno)
	case errors.As(err, &host):
		return fmt.Sprintf("cannot be reached: %s: %s", host.Name, host.Err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "cannot be reached: no answer in time"
	}
	text := OneLine(err.Error())
	if b.Rename != nil {
		text = b.Rename.Replace(text)
	}
	return text
}

// OneLine joins the lines of a text.
func OneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}
