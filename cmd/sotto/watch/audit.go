//go:build !operator

package watch

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment"
	"sotto/internal/jsonfloat"
	"sotto/live/event"
	"sotto/privacy/audit"
)

// Audit tells a stream what an audit looks at and finds. A nil *Audit tells nobody.
type Audit struct {
	events   *event.Stream
	done, of uint64 // modes
}

var none = jsonfloat.Float(math.NaN())

// NewAudit says which modes of an audit are to come.
func NewAudit(s *event.Stream, of, command string, modes []string) *Audit {
	a := &Audit{events: s, of: uint64(len(modes))}
	s.Emit(&event.Begin{What: event.OfAudit, Name: of, Command: command, Unit: "mode", Of: a.of,
		Engine: experiment.EngineVersion})
	for _, m := range modes {
		s.Emit(&event.Bound{Mode: m, State: event.Waiting, Lower: none, Claimed: none})
	}
	return a
}

// ShowAudit runs an audit with its page, where the flags ask for one. Its stream is that
// of the page alone: what an audit finds is what it prints.
func ShowAudit(cmd *cobra.Command, l *cli.Live, of string, modes []string,
	run func(context.Context, *Audit) error) error {
	if !l.Asked() {
		return run(cmd.Context(), nil)
	}
	s := event.NewStream(event.Simulated)
	ctx, page, err := l.Show(cmd, "audit", s, false)
	if err != nil {
		return err
	}
	defer page.Close()
	told := NewAudit(s, of, cmd.CommandPath(), modes)
	err = run(ctx, told)
	told.Over(ctx, err)
	return err
}

// Begun says that a mode looks, and what it sees on the way.
func (a *Audit) Begun(mode string, o *audit.Options) {
	if a == nil {
		return
	}
	a.events.Emit(&event.Bound{Mode: mode, State: event.Running, Lower: none, Claimed: none,
		Of: o.Observations})
	o.Looked = func(l audit.Look) { // observations of both worlds, as the report counts them
		a.events.Emit(&event.Bound{Mode: mode, State: event.Running, Lower: jsonfloat.Float(l.Lower),
			Claimed: jsonfloat.Float(l.Claimed), Observations: 2 * l.Observations, Of: 2 * l.Of})
	}
}

// Ended says what a mode has found.
func (a *Audit) Ended(mode string, r *audit.Report, err error) {
	if a == nil {
		return
	}
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
			b.Text = fmt.Sprintf("%d checks of %d observations", len(r.Checks), r.Observations)
		}
	}
	a.events.Emit(b)
	a.done++
	a.events.Emit(&event.Progress{Done: a.done, Of: a.of})
}

// Over says how the audit has ended.
func (a *Audit) Over(ctx context.Context, err error) {
	end := &event.End{State: event.Done}
	switch {
	case ctx.Err() != nil:
		end.State, end.Text = event.Interrupted, "an audit begins anew"
	case err != nil:
		end.State, end.Text = event.Failed, err.Error()
	}
	a.events.Emit(end)
}
