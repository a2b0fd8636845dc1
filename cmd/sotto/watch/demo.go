//go:build !operator

package watch

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sotto/cmd/sotto/cli"
	"sotto/experiment"
	"sotto/experiment/attack"
	"sotto/experiment/run"
	"sotto/live"
	"sotto/live/event"
	"sotto/privacy/audit"
)

// step is one of the demo: a run of the built-in task with settings, or an attack on it.
type step struct {
	name, say, look string
	set             []string
	attack          bool
}

var steps = []step{
	{"alone", "Ten agents hold three digits each, and nobody talks. Nothing leaves, so nothing is spent.",
		"Each ring on the page is an agent; a piece is filled as far as its model knows that digit. " +
			"Alone each " +
			"knows three of ten.",
		[]string{"algorithm.name=local", "privacy.mechanism=none", "privacy.target_epsilon=0"}, false},
	{"together",
		"Now they talk: each sends its model to two neighbors on a ring, and averages what it gets. " +
			"Every step adds noise, under epsilon 4.",
		"The rings fill: each agent learns digits that it has never seen. The odometer is what any one " +
			"record " +
			"has cost so far, at most.",
		nil, false},
	{"the graph", "The same on a complete graph: everybody hears everybody.",
		"The band around the curve, from the worst agent to the best, closes sooner: the consensus " +
			"distance " +
			"falls faster. It costs more messages.",
		[]string{"topology.graph=complete"}, false},
	{"the budget",
		"The same ring under epsilon 1: what one record can reveal is bounded more tightly, so there " +
			"is more noise.",
		"The accuracy is lower, and the odometer ends at 1. That is the price, and you choose it.",
		[]string{"privacy.target_epsilon=1"}, false},
	{"the attack", "An auditor attacks the second run's own messages: is a certain record in there, or not?",
		"The bar is what it can prove, the line is the claim. A bar beyond the line would refute the " +
			"claim. " +
			"What it cannot prove, it may still not exclude.",
		nil, true},
}

// Demo is the command that shows a newcomer what there is.
func Demo() *cobra.Command {
	var out string
	var l cli.Live
	c := &cobra.Command{
		Use:   "demo",
		Short: "A first look in five steps, with the live page open: alone, together, graph, budget, attack",
		Long: cli.Unwrap(`\
A first look in five steps, with the live page open: agents learn alone, together, on another graph
and under a smaller budget, and an auditor attacks them. It takes under a minute and needs no data.
On a terminal, Enter goes on to the next step. The page stays until Ctrl-C.`),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, &l, out) },
	}
	c.Flags().StringVar(&out, "out", "runs", "folder of run directories")
	l.Register(c)
	return c
}

func demo(cmd *cobra.Command, l *cli.Live, out string) error {
	streams, sources := make([]*event.Stream, len(steps)), make([]*live.Source, len(steps))
	for i, s := range steps {
		streams[i] = event.NewStream(event.Simulated)
		sources[i] = live.Of(fmt.Sprintf("%d %s", i+1, s.name), streams[i])
	}
	shown, err := l.ShowStreams(cmd, sources)
	if err != nil {
		return err
	}
	defer shown.Close()
	browse(shown.URL())
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	enter := keys(ctx)
	for i, s := range steps {
		fmt.Fprintf(w, "\n%d of %d, %s\n  %s\n  %s?s=%d\n", i+1, len(steps), s.name, s.say, shown.URL(), i)
		began := time.Now()
		if err := s.run(ctx, streams[i], out); err != nil {
			return err
		}
		fmt.Fprintf(w, "  %s (%.1f s)\n", s.look, time.Since(began).Seconds())
		if i < len(steps)-1 {
			enter("  Enter goes on.")
		}
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintln(w, "\nThe page stays until Ctrl-C. Next: sotto new DIR begins a run of your own.")
		<-ctx.Done()
	}
	return nil
}

// keys waits for Enter on a terminal, and elsewhere for nothing.
func keys(ctx context.Context) func(prompt string) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return func(string) {}
	}
	lines := make(chan struct{})
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- struct{}{}
		}
	}()
	return func(prompt string) {
		fmt.Fprintln(os.Stdout, prompt)
		select {
		case <-lines:
		case <-ctx.Done():
		}
	}
}

// run makes a step, and tells its stream.
func (s *step) run(ctx context.Context, to *event.Stream, out string) error {
	f, err := experiment.Read("", append([]string{"evaluate.every=5"}, s.set...))
	if err != nil {
		return err
	}
	e, err := f.Build("")
	if err != nil {
		return err
	}
	if s.attack {
		return s.audit(ctx, to, e)
	}
	to.Emit(&event.Note{Text: s.say + " " + s.look})
	_, err = run.Run(ctx, e, run.Options{Out: out, Watch: run.Watch{Events: to,
		Command: strings.Join(append([]string{"sotto run"}, s.set...), " --set ")}})
	return err
}

// audit attacks single releases of the run.
func (s *step) audit(ctx context.Context, to *event.Stream, e *experiment.Experiment) error {
	t, err := attack.Target(e, attack.Options{})
	if err != nil {
		return err
	}
	told := NewAudit(to, Kept{Of: "the attack", Command: "sotto audit step", Modes: []string{"step"}})
	to.Emit(&event.Note{Text: s.say + " " + s.look})
	o := audit.Options{Observations: 1000, Beta: .05}
	if err := told.Begun("step", &o); err != nil {
		return err
	}
	r, err := t.Step(ctx, o)
	told.Ended("step", r, err)
	told.Over(ctx, err)
	return err
}
