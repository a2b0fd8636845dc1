package cli

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"sotto/live"
	"sotto/live/event"
	"sotto/node/keyfile"
)

// Live is the flags of the page that shows what a command does while it does it.
type Live struct {
	address, tokenFile string
	Connections        int // with the page at once; 0: as many as [live.Options] allows
}

// anyPort is where the page is without an address.
const anyPort = "127.0.0.1:0"

// Register adds --live and --live-token-file.
func (l *Live) Register(c *cobra.Command) {
	c.Flags().StringVar(&l.address, "live", "",
		"show progress on a page that this machine serves; --live=127.0.0.1:7080 sets its address")
	c.Flags().Lookup("live").NoOptDefVal = anyPort
	c.Flags().StringVar(&l.tokenFile, "live-token-file", "",
		"file with the token in the page's address, so that the address stays the same; default: a random "+
			"token")
}

// Asked reports whether there is to be a page.
func (l *Live) Asked() bool { return l.address != "" }

// Check refuses what cannot be an address.
func (l *Live) Check() error {
	if l.address == "" {
		if l.tokenFile != "" {
			return Usagef("--live-token-file: found without --live, allowed: with --live")
		}
		return nil
	}
	if err := live.CheckAddress(l.address); err != nil {
		return Usage(OfFlag(err, map[string]string{"live": "--live"}))
	}
	return nil
}

// Shown is a page beside a command. Without --live it does nothing.
type Shown struct {
	server  *live.Server
	control *live.Control
	stop    context.CancelFunc
	once    sync.Once
}

// Show begins to serve the page of a stream, and prints its address. What runs is to run
// under the context that comes back, and to call Hold between its steps; pauses says that
// it does.
func (l *Live) Show(c *cobra.Command, name string, s *event.Stream, pauses bool) (context.Context, *Shown,
	error) {
	if err := l.Check(); err != nil || !l.Asked() {
		return c.Context(), new(Shown), err
	}
	ctx, stop := context.WithCancel(c.Context())
	shown := &Shown{stop: stop}
	if pauses {
		shown.control = live.NewControl(s.Emit, stop)
	}
	if err := l.serve(c, shown, live.Of(name, s)); err != nil {
		stop()
		return nil, nil, err
	}
	return ctx, shown, nil
}

// serve begins to serve, and prints the address, also where notes are not wanted: without
// it there is no page.
func (l *Live) serve(c *cobra.Command, shown *Shown, sources ...*live.Source) (err error) {
	opt := live.Options{Address: l.address, Control: shown.control, Sources: sources,
		Connections: l.Connections}
	if l.tokenFile != "" {
		if opt.Token, err = keyfile.ReadToken(l.tokenFile); err != nil {
			return err
		}
	}
	if shown.server, err = live.Serve(opt); err == nil {
		fmt.Fprintf(c.ErrOrStderr(), "live: %s\n", shown.server.URL())
	}
	return err
}

// URL is the address of the page.
func (s *Shown) URL() string { return s.server.URL() }

// Hold waits while somebody has paused what runs.
func (s *Shown) Hold(ctx context.Context) {
	if s.control != nil {
		s.control.Hold(ctx)
	}
}

// Close ends the page, once the pages that are open have the end.
func (s *Shown) Close() {
	s.once.Do(func() {
		if s.server != nil {
			s.server.Close()
			s.stop()
		}
	})
}

// ShowStreams serves the page of streams in this process, at any free port where no
// address is given.
func (l *Live) ShowStreams(c *cobra.Command, sources []*live.Source) (*Shown, error) {
	if !l.Asked() {
		l.address = anyPort
	}
	if err := l.Check(); err != nil {
		return nil, err
	}
	shown := &Shown{stop: func() {}}
	return shown, l.serve(c, shown, sources...)
}

// ShowAll serves the page of sources that are read from files, until the command ends.
func (l *Live) ShowAll(c *cobra.Command, sources []*live.Source) error {
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, s := range sources {
		all.Go(func() { s.Follow(stop, false) })
	}
	defer all.Wait()
	defer close(stop)
	shown, err := l.ShowStreams(c, sources)
	if err != nil {
		return err
	}
	defer shown.Close()
	<-c.Context().Done()
	return nil
}
