package live

import (
	"context"
	"sync"

	"sotto/live/event"
)

// Control pauses and stops what runs in this process.
type Control struct {
	say  func(event.Body)
	stop context.CancelFunc

	mu      sync.Mutex
	waiting chan struct{} // closed when it goes on; nil: it runs
	stopped bool
}

// NewControl says what happens on a stream; stop ends the context of what runs.
func NewControl(say func(event.Body), stop context.CancelFunc) *Control {
	return &Control{say: say, stop: stop}
}

// Hold waits while it is paused.
func (c *Control) Hold(ctx context.Context) {
	c.mu.Lock()
	wait := c.waiting
	c.mu.Unlock()
	if wait == nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-wait:
	}
}

// Pause has what runs wait at its next step.
func (c *Control) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil && !c.stopped {
		c.waiting = make(chan struct{})
		c.say(&event.State{State: event.Paused})
	}
}

// Resume lets it go on.
func (c *Control) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting != nil {
		close(c.waiting)
		c.waiting = nil
		c.say(&event.State{State: event.Running})
	}
}

// Stop ends it as Ctrl-C does: it can go on later.
func (c *Control) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.stopped = true
		c.say(&event.State{State: event.Stopping})
		c.stop()
	}
}
