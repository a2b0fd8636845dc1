//go:build !operator

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/watch"
	"sotto/experiment"
	"sotto/experiment/run"
)

// simulateQuestions runs the questions of a run file and returns the run's folder.
var simulateQuestions = func(cmd *cobra.Command, f *queryFlags, file string, text []byte) (string, error) {
	r, err := experiment.Parse(file, text, f.set)
	if err != nil {
		return "", err
	}
	if !experiment.Asks(r) {
		return "", r.Refuse("algorithm.name", r.Algorithm.Name, "query: the run asks nothing")
	}
	e, err := r.Build(f.dataDir)
	if err != nil {
		return "", err
	}
	endsByContext(cmd.Context())
	opt := run.Options{Out: f.out, Watch: run.Watch{Command: fmt.Sprintf("sotto query %s", file)}}
	ctx, shown, err := watch.Run(cmd, &f.live, &opt.Watch, "query")
	if err != nil {
		return "", err
	}
	defer shown.Close()
	res, err := run.Run(ctx, e, opt)
	if err != nil {
		return "", err
	}
	return res.Dir, nil
}
