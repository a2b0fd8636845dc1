//go:build !operator

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/attack"
	"sotto/internal/atomicfile"
	"sotto/internal/jsonfloat"
	"sotto/live/event"
	"sotto/privacy/audit"
)

// Audit tells a stream what an audit looks at and finds.
type Audit struct {
	events *event.Stream
	kept   Kept
	opened bool   // its directory
	paged  bool   // its page is there
	done   uint64 // modes
}

var none = jsonfloat.Float(math.NaN())

// NewAudit says which modes of an audit are to come.
func NewAudit(s *event.Stream, k Kept) *Audit {
	a := &Audit{events: s, kept: k}
	s.Emit(&event.Begin{What: event.OfAudit, Name: k.Of, Command: k.Command, Dir: filepath.ToSlash(k.Dir),
		Unit: "mode", Of: uint64(len(k.Modes)), Engine: experiment.EngineVersion})
	for _, m := range k.Modes {
		s.Emit(&event.Bound{Mode: m, State: event.Waiting, Lower: none, Claimed: none})
	}
	return a
}

// Kept says what an audit is of, and where it is kept.
type Kept struct {
	Of      string   // the run's name
	Dir     string   // of the page, what was found and the events; "": nothing is kept
	Command string   // the command line
	Modes   []string // to come
}

// Files of an audit's directory, beside its events.
const (
	pageFile     = "report.html"
	findingsFile = "findings.json"
)

// ShowAudit runs an audit, shows its page where the flags ask for one, and keeps what it
// has found. An audit begins anew: what its directory had is replaced.
func ShowAudit(cmd *cobra.Command, l *cli.Live, k Kept,
	run func(context.Context, *Audit) ([]*audit.Report, error)) ([]*audit.Report, error) {
	s := event.NewStream(event.Simulated)
	if bar := NewBar(cli.Notes(cmd)); bar.Terminal {
		defer bar.Close()
		s.Follow(bar.Hear)
	}
	ctx, page, err := l.Show(cmd, "audit", s, false)
	if err != nil {
		return nil, err
	}
	defer page.Close()
	told := NewAudit(s, k)
	reports, err := run(ctx, told)
	if len(reports) > 0 && k.Dir != "" {
		failed := k.keep(reports)
		told.paged, err = failed == nil, errors.Join(err, failed)
	}
	told.Over(ctx, err)
	return reports, errors.Join(err, s.Close())
}

// keep writes what was found, as a page and as JSON.
func (k *Kept) keep(reports []*audit.Report) error {
	b, err := attack.Page(k.Command, reports)
	if err != nil {
		return err
	}
	found, err := json.MarshalIndent(reports, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.Write(filepath.Join(k.Dir, pageFile), b),
		atomicfile.Write(filepath.Join(k.Dir, findingsFile), append(found, '\n')))
}

// open makes the directory, once it is known that there is something to look at.
func (a *Audit) open() error {
	k := &a.kept
	if k.Dir == "" || a.opened {
		return nil
	}
	a.opened = true
	if err := os.MkdirAll(k.Dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{event.File, pageFile, findingsFile} {
		if err := os.Remove(filepath.Join(k.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return a.events.Keep(filepath.Join(k.Dir, event.File), 0o644)
}

// Begun says that a mode looks, and what it sees on the way. Its error is that of the
// audit's directory.
func (a *Audit) Begun(mode string, o *audit.Options) error {
	if err := a.open(); err != nil {
		return err
	}
	a.events.Emit(&event.Bound{Mode: mode, State: event.Running, Lower: none, Claimed: none,
		Of: o.Observations})
	o.Looked = func(l audit.Look) { // observations of both worlds, as the report counts them
		a.events.Emit(&event.Bound{Mode: mode, State: event.Running, Lower: jsonfloat.Float(l.Lower),
			Claimed: jsonfloat.Float(l.Claimed), Observations: 2 * l.Observations, Of: 2 * l.Of})
	}
	return nil
}

// Ended says what a mode has found.
func (a *Audit) Ended(mode string, r *audit.Report, err error) {
	b := &event.Bound{Mode: mode, State: event.Done, Lower: none, Claimed: none}
	switch {
	case audit.NotApplicable(err):
		b.State, b.Text = "does not apply", err.Error()
	case err != nil:
		b.State, b.Text = event.Failed, err.Error()
	default:
		b.Lower, b.Claimed = jsonfloat.Float(r.EpsilonLower), jsonfloat.Float(r.Claimed)
		b.Observations, b.Of, b.Violated = r.Observations, r.Observations, r.Violated
		if b.Text = strings.Join(r.Findings, "; "); b.Text == "" && len(r.Checks) > 0 {
			b.Text = fmt.Sprintf("%s of %s", config.Count(len(r.Checks), "check"),
				config.Count(r.Observations, "observation"))
		}
	}
	a.events.Emit(b)
	a.done++
	a.events.Emit(&event.Progress{Done: a.done, Of: uint64(len(a.kept.Modes))})
}

// Over says how the audit has ended.
func (a *Audit) Over(ctx context.Context, err error) {
	end := &event.End{State: event.Done, Dir: filepath.ToSlash(a.kept.Dir)}
	if a.paged {
		end.Page = pageFile
	}
	switch {
	case ctx.Err() != nil:
		end.State, end.Text = event.Interrupted, "an audit begins anew"
	case err != nil:
		end.State, end.Text = event.Failed, err.Error()
	}
	a.events.Emit(end)
}
