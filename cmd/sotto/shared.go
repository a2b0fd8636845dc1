package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"sotto/experiment/figurecache"
	"sotto/live/event"
)

// rememberFigures runs a simulation or its plan with the figures of those before. What is
// run must state no guarantee: see figurecache.
func rememberFigures(simulate func() error) error {
	c := figurecache.Open()
	err := simulate()
	_ = c.Save() // it saves time the next time, and nothing depends on it
	return err
}

// progress shows rounds: a line for each evaluation, and on a terminal a bar below them.
type progress struct {
	w   io.Writer
	bar *progressbar.ProgressBar
	tty bool

	of   uint64
	unit string
}

func newProgress(w io.Writer) *progress {
	file, ok := w.(*os.File)
	return &progress{w: w, tty: ok && term.IsTerminal(int(file.Fd()))}
}

// hear shows what a run says of itself.
func (p *progress) hear(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.Begin:
		p.of, p.unit = b.Of, b.Unit
	case *event.Evaluation:
		if b.Done > 0 {
			p.update(b.Done, p.of, b.Words)
		}
	case *event.Progress:
		p.update(b.Done, b.Of, "")
	}
}

func (p *progress) update(round, rounds uint64, evaluation string) {
	if !p.tty {
		if evaluation != "" {
			fmt.Fprintf(p.w, "%s %d of %d  %s\n", cmp.Or(p.unit, "round"), round, rounds, evaluation)
		}
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(int64(rounds), progressbar.OptionSetWriter(p.w),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionSetDescription("training"),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish())
	}
	if evaluation != "" { // beside a sentence, no bar has room in 80 columns
		p.bar.Clear()
		fmt.Fprintf(p.w, "%s %d of %d  %s\n", cmp.Or(p.unit, "round"), round, rounds, evaluation)
	}
	p.bar.Set64(int64(round))
}

func (p *progress) close() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

func okay(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return "FAULT: " + no
}

// writable tries to make a file below dir, or below the nearest folder that exists.
func writable(dir string) string {
	at := filepath.Clean(dir)
	for {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			break
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at = up
	}
	f, err := os.CreateTemp(at, ".sotto-doctor-*")
	if err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err)
	}
	f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Sprintf("FAULT: %s: %v", dir, err)
	}
	return dir + ", writable"
}
