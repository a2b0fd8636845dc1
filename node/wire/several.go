package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sotto/agent"
	"sotto/node"
)

// several are transports of which each may reach some of the members.
type several []node.Transport

// NewSeveral returns a transport of others. A frame goes by the first of them; where that
// does not know whether it arrived, by the second, and so on. Each has an equal share of
// the time that is left. It has no use for a single one.
func NewSeveral(ways ...node.Transport) node.Transport { return several(ways) }

// Serve implements node.Transport.
func (s several) Serve(h node.Handler) {
	var mu sync.Mutex
	turns := map[agent.ID]*sync.Mutex{}
	for _, t := range s {
		t.Serve(func(from agent.ID, frame []byte) error {
			mu.Lock()
			turn := turns[from]
			if turn == nil {
				turn = new(sync.Mutex)
				turns[from] = turn
			}
			mu.Unlock()
			turn.Lock()
			defer turn.Unlock()
			return h(from, frame)
		})
	}
}

// Send implements node.Transport.
func (s several) Send(ctx context.Context, to agent.ID, frame []byte) error {
	var all []error
	var texts []string
	for i, t := range s {
		err := send(ctx, t, to, frame, len(s)-i)
		if !errors.Is(err, node.ErrUnreachable) {
			return err
		}
		all = append(all, err)
		texts = append(texts, strings.TrimPrefix(err.Error(), node.ErrUnreachable.Error()+": "))
		if ctx.Err() != nil {
			break
		}
	}
	return &unreached{fmt.Sprintf("%v: %s", node.ErrUnreachable, strings.Join(texts, "; then ")), all}
}

// unreached is why a frame may not have arrived by any way.
type unreached struct {
	text string
	all  []error
}

func (u *unreached) Error() string   { return u.text }
func (u *unreached) Unwrap() []error { return u.all }

// send sends by one way, in one of so many shares of the time that is left.
func send(ctx context.Context, t node.Transport, to agent.ID, frame []byte, shares int) error {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(shares))
		defer cancel()
	}
	return t.Send(ctx, to, frame)
}

// Close implements node.Transport.
func (s several) Close() error {
	errs := make([]error, len(s))
	var all sync.WaitGroup
	for i, t := range s {
		all.Go(func() { errs[i] = t.Close() })
	}
	all.Wait()
	return errors.Join(errs...)
}
