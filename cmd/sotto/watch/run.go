//go:build !operator

package watch

import (
	"context"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment/run"
	"sotto/live/event"
)

// Run shows the page of what is about to run, where --live asks for it, and has it tell
// how it goes. What runs is to run under the context that comes back.
func Run(cmd *cobra.Command, l *cli.Live, w *run.Watch, name string) (context.Context, *cli.Shown,
	error) {
	w.Events = event.NewStream(event.Simulated)
	ctx, shown, err := l.Show(cmd, name, w.Events, true)
	if err == nil {
		w.Hold = shown.Hold
	}
	return ctx, shown, err
}
