//go:build !operator

package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"sotto/bench"
	"sotto/cmd/sotto/cli"
	"sotto/data/catalog"
	"sotto/experiment/attack"
	"sotto/internal/keep"
	"sotto/privacy/audit"
)

func newDoctor() *cobra.Command {
	var dataDir, out string
	var output cli.Output
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine has what a run needs",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			row, flush := output.Rows(cmd.OutOrStdout())
			machine := bench.Look()
			version, _ := buildVersion()
			row("program", "%s on %s/%s, %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			row("processors", "%d, %d in use", runtime.NumCPU(), runtime.GOMAXPROCS(0))
			row("kernels", "%s", kernels(machine.Kernels, os.Getenv("SOTTO_CPU")))
			switch {
			case machine.AMX:
				row("bf16", "AMX tiles, for precision = \"bf16\"")
			case machine.Dot:
				row("bf16", "dot products of AVX512_BF16, for precision = \"bf16\"")
			default:
				row("bf16", "no fast products in use: precision = \"bf16\" works, slower than float32")
			}
			row("random keys", "%s", randomKeys(cmd.Context(), machine.Random))
			row("run folder", "%s", cli.Writable(out))
			row("cache", "%s", cacheFolder())
			dataRows(dataDir, row)
			return flush()
		},
	}
	output.Register(c)
	c.Flags().StringVar(&out, "out", "runs", "folder of run directories")
	cli.DataDirFlag(c, &dataDir)
	return c
}

// cacheFolder says where work is kept that may be deleted.
func cacheFolder() string {
	dir, ok := keep.Dir()
	if !ok {
		return "off (" + keep.Variable + ")"
	}
	return dir + ", of figures of simulations; may be deleted (" + keep.Variable + ")"
}

// randomKeys says what an audit of keys says, of this process and of two others at one
// time.
func randomKeys(ctx context.Context, random bool) string {
	t := &audit.Target{Name: "machine", Keyring: attack.Keyring(self())}
	r, err := t.Keys(ctx, audit.Options{Observations: 16, Beta: 1e-6})
	switch {
	case err != nil:
		return "FAULT: " + err.Error()
	case !random || r.Violated:
		return "FAULT: the operating system gives equal keys" + strings.Join(append([]string{""},
			r.Findings...), "; ")
	case len(r.Checks) < 2:
		return "operating system generator; no other process could be started to compare with"
	}
	return "operating system generator, none alike in three processes at one time"
}

// kernels names the kernels k in use; forced is what SOTTO_CPU asks for.
func kernels(k, forced string) string {
	return cli.Okay(forced == "" || forced == k, k+" (SOTTO_CPU forces avx512, avx2 or portable)",
		fmt.Sprintf("SOTTO_CPU asks for %q, this machine has no such kernels; in use: %s", forced, k))
}

// dataRows says which published data sets lie in dir whole.
func dataRows(dir string, row func(what, format string, args ...any)) {
	if _, err := os.Stat(dir); err != nil {
		row("data", "no folder %s: generated data sets only (SOTTO_DATA or --data-dir; sotto data fetch)",
			dir)
		return
	}
	type count struct{ good, bad, all int }
	sets := map[string]*count{}
	var order []string
	for _, s := range catalog.Verify(dir) {
		c := sets[s.Dataset]
		if c == nil {
			c = &count{}
			sets[s.Dataset] = c
			order = append(order, s.Dataset)
		}
		c.all++
		switch s.State() {
		case "ok":
			c.good++
		case "altered", "unreadable":
			c.bad++
		}
	}
	for _, name := range order {
		c := sets[name]
		switch {
		case c.bad > 0:
			row("data "+name, "FAULT: %d of %d files altered or unreadable", c.bad, c.all)
		case c.good == c.all:
			row("data "+name, "complete, checksums right")
		default:
			row("data "+name, "%d of %d files", c.good, c.all)
		}
	}
}
