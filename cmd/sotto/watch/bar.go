// Package watch is how a person watches what takes time: a bar of progress, the live
// page,
// and a first look.
package watch

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"sotto/live/event"
)

// Bar shows rounds: a line for each evaluation, and on a terminal a bar below them.
type Bar struct {
	w   io.Writer
	bar *progressbar.ProgressBar
	// Terminal: there is one, so that a bar is drawn.
	Terminal bool

	of    uint64
	unit  string
	audit bool   // it follows one
	mode  string // of the audit, that is looked at
}

// NewBar shows progress on w.
func NewBar(w io.Writer) *Bar {
	file, ok := w.(*os.File)
	return &Bar{w: w, Terminal: ok && term.IsTerminal(int(file.Fd()))}
}

// Hear shows what a run says of itself.
func (p *Bar) Hear(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.Begin:
		p.of, p.unit, p.audit = b.Of, b.Unit, b.What == event.OfAudit
	case *event.Evaluation:
		if b.Done > 0 {
			p.update(b.Done, p.of, b.Words)
		}
	case *event.Progress:
		if !p.audit {
			p.update(b.Done, b.Of, "")
		}
	case *event.Bound: // a bar for each mode
		if b.Mode != p.mode {
			p.Close()
			p.mode, p.bar = b.Mode, nil
		}
		if b.State == event.Running && b.Of > 0 {
			p.update(uint64(b.Observations), uint64(b.Of), "")
		}
	}
}

func (p *Bar) update(round, rounds uint64, evaluation string) {
	if !p.Terminal {
		if evaluation != "" {
			fmt.Fprintf(p.w, "%s %d of %d  %s\n", cmp.Or(p.unit, "round"), round, rounds, evaluation)
		}
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(int64(rounds), progressbar.OptionSetWriter(p.w),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetDescription(cmp.Or(p.mode, "training")),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish())
	}
	if evaluation != "" { // beside a sentence, no bar has room in 80 columns
		p.bar.Clear()
		fmt.Fprintf(p.w, "%s %d of %d  %s\n", cmp.Or(p.unit, "round"), round, rounds, evaluation)
	}
	if p.bar.GetMax64() != int64(rounds) {
		p.bar.ChangeMax64(int64(rounds))
	}
	p.bar.Set64(int64(round))
}

// Close ends it.
func (p *Bar) Close() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

// Download shows the progress of one file.
func (p *Bar) Download(file string, done, total int64) {
	if p.bar == nil || p.bar.GetMax64() != total {
		p.Close()
		p.bar = progressbar.DefaultBytes(total, file)
	}
	p.bar.Set64(done)
}
