package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/node/p2p"
	"sotto/node/roster"
)

// logFlags say how a daemon logs. Level may change while it runs.
type logFlags struct {
	format, text string
	quiet        bool // warnings and errors only
	verbose      bool // all
	Level        slog.LevelVar
	rename       *strings.Replacer // of libp2p's ids, to names of members; nil: none is known
}

func (l *logFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&l.format, "log-format", "text", "text or json, one line for each event")
	c.Flags().StringVar(&l.text, "log-level", "info",
		"debug, info, warn or error; the policy's log_level overrides it and is read again on SIGHUP")
}

// open makes the logger, also of libp2p's own lines.
func (l *logFlags) open(w io.Writer) (*slog.Logger, error) {
	level, err := roster.ParseLogLevel(cmp.Or(l.text, "info"))
	if err != nil {
		return nil, cli.Usagef("--log-level: found %q, allowed: %s", l.text, roster.LogLevels)
	}
	if l.quiet {
		level = max(level, slog.LevelWarn)
	}
	if l.verbose {
		level = min(level, slog.LevelDebug)
	}
	l.Level.Set(level)
	o := &slog.HandlerOptions{Level: &l.Level, ReplaceAttr: l.replace}
	var h slog.Handler
	switch l.format {
	case "text", "": // "": of a command without the flag
		h = slog.NewTextHandler(w, o)
	case "json":
		h = slog.NewJSONHandler(w, o)
	default:
		return nil, cli.Usagef("--log-format: found %q, allowed: text, json", l.format)
	}
	p2p.LogTo(foreign{h, &l.Level})
	return slog.New(h), nil
}

// replace makes one line of every value, with the names of members in it.
func (l *logFlags) replace(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch a.Value.Kind() {
	case slog.KindString:
		text = a.Value.String()
	case slog.KindAny:
		err, ok := a.Value.Any().(error)
		if !ok {
			return a
		}
		text = err.Error()
	default:
		return a
	}
	text = p2p.OneLine(text)
	if l.rename != nil {
		text = l.rename.Replace(text)
	}
	return slog.String(a.Key, text)
}

// know tells the log what libp2p calls the members of a roster.
func (l *logFlags) know(r *roster.Roster) {
	var pairs []string
	for i, key := range r.Keys() {
		if name := p2p.Name(key); name != "" {
			pairs = append(pairs, name, r.Members[i].Name)
		}
	}
	l.rename = strings.NewReplacer(pairs...)
}

// foreign passes lines of a library: errors alone, unless all is asked for.
type foreign struct {
	slog.Handler
	level *slog.LevelVar
}

// Enabled implements slog.Handler.
func (f foreign) Enabled(_ context.Context, l slog.Level) bool {
	return l >= slog.LevelError || f.level.Level() <= slog.LevelDebug
}

// WithAttrs implements slog.Handler.
func (f foreign) WithAttrs(as []slog.Attr) slog.Handler {
	return foreign{f.Handler.WithAttrs(as), f.level}
}

// WithGroup implements slog.Handler.
func (f foreign) WithGroup(name string) slog.Handler {
	return foreign{f.Handler.WithGroup(name), f.level}
}
