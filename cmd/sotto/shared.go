package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"sotto/config"
	"sotto/experiment/figurecache"
	"sotto/experiment/runfile"
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
}

func newProgress(w io.Writer) *progress {
	file, ok := w.(*os.File)
	return &progress{w: w, tty: ok && term.IsTerminal(int(file.Fd()))}
}

func (p *progress) update(round, rounds uint64, evaluation string) {
	if !p.tty {
		if evaluation != "" {
			fmt.Fprintf(p.w, "round %d of %d  %s\n", round, rounds, evaluation)
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
		fmt.Fprintf(p.w, "round %d of %d  %s\n", round, rounds, evaluation)
	}
	p.bar.Set64(int64(round))
}

func (p *progress) close() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

// decodeSettings decodes "key=value" flags into parameter structs, strictly: each key
// must be known to the first struct that is decoded.
func decodeSettings(set []string) func(any) error {
	return func(params any) error {
		for _, s := range set {
			key, value, ok := strings.Cut(s, "=")
			if !ok {
				return usageError{fmt.Errorf("--set: found %q, allowed: key=value", s)}
			}
			dec := func(v string) error {
				d := toml.NewDecoder(strings.NewReader(key + " = " + v))
				return d.DisallowUnknownFields().Decode(params)
			}
			if dec(value) == nil || dec(runfile.WithZeros(value)) == nil {
				continue
			}
			if err := dec(fmt.Sprintf("%q", value)); err != nil { // a bare string
				return config.Bad(key, value, "a parameter of this graph or data set, of the right type")
			}
		}
		return nil
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
