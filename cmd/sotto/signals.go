package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
)

// watched is a context that knows whether anybody waits for its end.
type watched struct {
	context.Context
	asked atomic.Bool
}

func (w *watched) Done() <-chan struct{} {
	w.asked.Store(true)
	return w.Context.Done()
}

func (w *watched) Err() error {
	w.asked.Store(true)
	return w.Context.Err()
}

// endsByContext says that a command ends by ctx from here on, with what it does then.
func endsByContext(ctx context.Context) { _ = ctx.Err() }

// stoppedError is an error of a command that a signal has ended.
type stoppedError struct {
	error
	signal syscall.Signal
}

func (e stoppedError) Error() string {
	return strings.ReplaceAll(e.error.Error(), context.Canceled.Error(), "interrupted")
}

func (e stoppedError) Unwrap() error { return e.error }

// code is what shells expect of a process that a signal has ended: 130 after Ctrl-C, 143
// after SIGTERM.
func (e stoppedError) code() int { return 128 + int(e.signal) }

// underSignals runs a command with a context that the first SIGINT or SIGTERM ends. A
// command that has not looked at it by then, and every command at the second signal, ends
// at once: what has to survive on disk survives a crash as well.
func underSignals(stderr io.Writer, command func(context.Context) error) error {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctx := &watched{Context: parent}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer close(signals)
	defer signal.Stop(signals)
	var first atomic.Int64
	go func() {
		for s := range signals {
			by := stoppedError{signal: s.(syscall.Signal)}
			if !ctx.asked.Load() || !first.CompareAndSwap(0, int64(by.signal)) {
				fmt.Fprintf(stderr, "sotto: stopped by signal: %v\n", s)
				os.Exit(by.code())
			}
			cancel()
		}
	}()
	err := command(ctx)
	if s := first.Load(); s != 0 && err != nil {
		return stoppedError{err, syscall.Signal(s)}
	}
	return err
}
