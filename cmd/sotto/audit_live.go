//go:build !operator

package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"sotto/experiment"
	"sotto/internal/jsonfloat"
	"sotto/live/event"
	"sotto/privacy/audit"
)

// modes are those of "audit all" at the scale.
func (f *auditFlags) modes() (names []string) {
	for _, m := range auditModes {
		if f.scale != "smoke" || m.smoke > 0 {
			names = append(names, m.name)
		}
	}
	return names
}

// shown runs an audit with its page, where --live asks for one. Its stream is that of the
// page alone: what an audit finds is what it prints.
func (f *auditFlags) shown(cmd *cobra.Command, t *audit.Target, modes []string,
	run func(context.Context) error) error {
	if !f.live.Asked() {
		return run(cmd.Context())
	}
	f.events = event.NewStream(event.Simulated)
	ctx, page, err := f.live.Show(cmd, "audit", f.events, false)
	if err != nil {
		return err
	}
	defer page.Close()
	f.events.Emit(&event.Begin{What: event.OfAudit, Name: t.Name, Command: cmd.CommandPath(), Unit: "mode",
		Of: uint64(len(modes)), Engine: experiment.EngineVersion})
	f.modes64 = uint64(len(modes))
	for _, m := range modes {
		f.events.Emit(&event.Bound{Mode: m, State: event.Waiting, Lower: none, Claimed: none})
	}
	err = run(ctx)
	end := &event.End{State: event.Done}
	switch {
	case ctx.Err() != nil:
		end.State, end.Text = event.Interrupted, "an audit begins anew"
	case err != nil:
		end.State, end.Text = event.Failed, err.Error()
	}
	f.events.Emit(end)
	return err
}

var none = jsonfloat.Float(math.NaN())

// begun says that a mode looks, and what it has seen on the way.
func (f *auditFlags) begun(mode string, o *audit.Options) {
	if f.events == nil {
		return
	}
	b := event.Bound{Mode: mode, State: event.Running, Lower: none, Claimed: none, Of: o.Observations}
	f.events.Emit(&b)
	o.Looked = func(l audit.Look) {
		f.events.Emit(&event.Bound{Mode: mode, State: event.Running, Lower: jsonfloat.Float(l.Lower),
			Claimed: jsonfloat.Float(l.Claimed), Observations: 2 * l.Observations, Of: 2 * l.Of}) // of both worlds
	}
}

// ended says what a mode has found.
func (f *auditFlags) ended(mode string, r *audit.Report, err error) {
	if f.events == nil {
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
	f.events.Emit(b)
	f.done++
	f.events.Emit(&event.Progress{Done: f.done, Of: f.modes64})
}
