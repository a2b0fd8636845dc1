package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sotto/experiment/rundir"
	"sotto/node"
)

// Files of a state directory beside the checkpoint.
const (
	statusFile    = "status.json"
	roundsFile    = "rounds.csv"
	wakesFile     = "wakes.csv"
	modelFileName = "model.safetensors"
	statementFile = "privacy.json"
	ownFile       = "own.json"
)

// one is the singular of a pace.
func one(pace string) string { return strings.TrimSuffix(pace, "s") }

// record appends who took part in a round.
func (p *peer) record(r node.RoundReport) {
	if p.config.Interval > 0 {
		p.recordWake(r)
		return
	}
	var names []string
	for _, i := range r.Missing {
		names = append(names, p.roster.Members[i].Name)
	}
	p.line(roundsFile, "round,missing,one_sided,skipped,exhausted",
		fmt.Sprintf("%d,%s,%d,%t,%t", r.Round, strings.Join(names, " "), r.OneSided, r.Skipped, r.Exhausted))
}

// recordWake appends when the clock rang and which broadcast of whom the wake took in:
// NAME:NUMBER, number 0 being that of the sender's start.
func (p *peer) recordWake(r node.RoundReport) {
	var heard []string
	for _, h := range r.Heard {
		heard = append(heard, fmt.Sprintf("%s:%d", p.roster.Members[h.From].Name, h.Round))
	}
	woke := ""
	if !r.Called { // else it was a neighbor's clock that rang
		woke = r.Woke.UTC().Format(time.RFC3339Nano)
	}
	p.line(wakesFile, "wake,time,heard,exhausted",
		fmt.Sprintf("%d,%s,%s,%t", r.Round, woke, strings.Join(heard, " "), r.Exhausted))
}

// line appends to a file of the state directory, below its header.
func (p *peer) line(name, header, text string) {
	f, err := os.OpenFile(filepath.Join(p.f.state, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		p.log.Error("a step is not recorded", "error", err)
		return
	}
	defer f.Close()
	if at, err := f.Seek(0, io.SeekEnd); err == nil && at == 0 {
		fmt.Fprintln(f, header)
	}
	fmt.Fprintln(f, text)
}

// report keeps the status file current and answers HTTP, until done is called.
func (p *peer) report(n *node.Node) (done func(), err error) {
	var l net.Listener
	if p.f.http != "" {
		if l, err = node.ListenLocal(p.f.http); err != nil {
			return nil, err
		}
	}
	var all sync.WaitGroup
	if l != nil {
		p.log.Info("status", "address", "http://"+l.Addr().String())
		all.Go(func() { node.Serve(l, n.Status) })
	}
	stop := make(chan struct{})
	all.Go(func() {
		for {
			if err := p.writeStatus(n); err != nil {
				p.log.Warn("no status", "error", err)
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
		}
	})
	return func() {
		close(stop)
		if l != nil {
			l.Close()
		}
		all.Wait()
		p.mu.Lock()
		p.asked = time.Time{} // what is written last is exact
		p.mu.Unlock()
		if err := p.writeStatus(n); err != nil {
			p.log.Warn("no status", "error", err)
		}
	}, nil
}

func (p *peer) writeStatus(n *node.Node) error {
	b, err := json.MarshalIndent(n.Status(), "", "  ")
	if err != nil {
		return err
	}
	return p.write(statusFile, b)
}

// write replaces a file of the state directory at once.
func (p *peer) write(name string, b []byte) error {
	path := filepath.Join(p.f.state, name)
	if err := os.WriteFile(path+".tmp", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// ownResult is what the owner alone may see: statistics of its private records.
type ownResult struct {
	Name    string   `json:"name"`
	Metric  string   `json:"metric"`
	Value   float64  `json:"together"`
	Alone   *float64 `json:"alone,omitempty"`
	Tests   int      `json:"test_records"`
	Epsilon float64  `json:"epsilon"` // upper bound, over all runs on these data
	Delta   float64  `json:"delta"`
	Charges int      `json:"charges"`
	Over    uint64   `json:"answers_longer_than_pad,omitempty"` // of the last process
	Note    string   `json:"note"`
}

// finish leaves model, signed statement and the owner's own figures, and says where.
func (p *peer) finish(n *node.Node, w io.Writer) error {
	tokens := n.Tokens()
	b, err := p.owner.EncodeModel(n.Params(), p.run())
	if tokens != nil {
		b, err = p.owner.EncodeTokens(tokens, p.run())
	}
	if err == nil {
		err = p.write(modelFileName, b)
	}
	if err != nil {
		return err
	}
	path := filepath.Join(p.f.state, statementFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		s, err := p.ledger.Statement(p.facts.NoiseKind, p.timing())
		if err != nil {
			return err
		}
		b, err := json.MarshalIndent(s, "", "  ")
		if err == nil {
			err = p.write(statementFile, append(b, '\n'))
		}
		if err != nil {
			return err
		}
	}
	r := ownResult{Name: p.roster.Members[p.self].Name, Tests: p.owner.TestRecords(),
		Note: "statistics of private records: for the owner alone"}
	if r.Value, r.Metric = p.owner.Accuracy(n.Params()); tokens != nil { // the mean of theirs
		r.Value = 0
		for _, v := range tokens {
			value, _ := p.owner.Accuracy(v)
			r.Value += value / float64(len(tokens))
		}
	}
	if p.f.alone {
		alone, err := p.owner.Alone()
		if err != nil {
			return err
		}
		r.Alone = &alone
	}
	c, err := p.ledger.Spent()
	if err != nil {
		return err
	}
	for record, err := range p.ledger.Records() {
		if err != nil {
			return err
		}
		if record.Event != nil {
			r.Charges += int(record.Count)
		}
	}
	r.Epsilon, r.Delta, r.Over = c.Epsilon.Upper, c.Delta, p.padded.Over()
	if b, err = json.MarshalIndent(r, "", "  "); err != nil {
		return err
	}
	if err := p.write(ownFile, append(b, '\n')); err != nil {
		return err
	}
	return p.say(w, &r, n.Status())
}

// timing is what a statement says that it does not cover. It does not depend on private
// data: whether a pad was long enough does.
func (p *peer) timing() string {
	if p.f.pad > 0 {
		return fmt.Sprintf("timing of replies that took longer than their pad of %v, and of those that "+
			"were made without it", p.f.pad)
	}
	return "timing of replies: it depends a little on the sizes of private batches"
}

func (p *peer) say(w io.Writer, r *ownResult, s node.Status) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(what, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	if s.Pace == node.InVisits {
		row("visits", "%d, of %d tokens", s.Round, len(p.facts.Holders))
	} else if s.Pace == node.InWakes {
		row("wakes", "%d of %d, %d without the neighbor that was drawn, %d met on one side only", s.Round,
			s.Rounds, s.Counts.Missing+s.Counts.Busy, s.Counts.OneSided)
	} else {
		row("rounds", "%d, %d frames missing, %d of them one-sided, %d rounds skipped", s.Round,
			s.Counts.Missing, s.Counts.OneSided, s.Counts.Skipped)
	}
	row("epsilon", "%s at delta %g over all runs on these data, %d charges", rundir.FormatFine(r.Epsilon),
		r.Delta,
		r.Charges)
	row(r.Metric, "%.4g on %d own test records", r.Value, r.Tests)
	if r.Over > 0 {
		row("pad", "%d answers took longer than %v: choose a longer --pad", r.Over, p.f.pad)
	}
	if r.Alone != nil {
		row("alone", "%.4g, trained on the own records only, without noise", *r.Alone)
	}
	row("model", "%s", filepath.Join(p.f.state, modelFileName))
	row("statement", "%s, signed; sotto ledger verify %s recomputes it",
		filepath.Join(p.f.state, statementFile), p.ledger.Dir())
	return t.Flush()
}

func newStatus() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "status DIR",
		Short: "What the node with this state directory is doing, or did last",
		Args:  exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			b, err := os.ReadFile(filepath.Join(args[0], statusFile))
			if err != nil {
				return err
			}
			if output == "json" {
				_, err := cmd.OutOrStdout().Write(append(b, '\n'))
				return err
			}
			var s node.Status
			if err := json.Unmarshal(b, &s); err != nil {
				return fmt.Errorf("%s: %w", statusFile, err)
			}
			return sayStatus(cmd.OutOrStdout(), &s)
		},
	}
	outputFlag(c, &output)
	return c
}

func sayStatus(w io.Writer, s *node.Status) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(what, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	row("member", "%s", s.Name)
	left := ""
	if s.Left > 0 {
		left = fmt.Sprintf(", about %v left", time.Duration(float64(s.Left)*float64(time.Second)))
	}
	if s.Rounds == 0 {
		row(s.Pace, "%d", s.Round)
	} else {
		row(one(s.Pace), "%d of %d%s", s.Round, s.Rounds, left)
	}
	switch {
	case s.Failure != "":
		row("STOPPED", "%s", s.Failure)
	case s.Finished:
		row("state", "finished")
	case s.Exhausted:
		row("state", "the privacy budget is spent: mixes only")
	}
	if p := s.Privacy; p != nil {
		row("privacy", "epsilon %s of %g at delta %g, %d ledger records", rundir.FormatFine(p.Epsilon),
			p.Lifetime,
			p.Delta, p.Records)
	}
	c := &s.Counts
	row("frames", "%d missing, %d one-sided, %d refused, %d old or repeated; %d rounds skipped", c.Missing,
		c.OneSided, c.Refused, c.Stale+c.Replayed, c.Skipped)
	if c.Busy > 0 {
		row("busy", "%d meetings that this member or a neighbor had no time for", c.Busy)
	}
	for _, p := range s.Peers {
		text := fmt.Sprintf("%s since %s, %s %d", p.State, p.Since.Format(time.DateTime), one(s.Pace),
			p.Round)
		if p.Fault != "" {
			text += ": " + p.Fault
		}
		if c := p.Attestation; c != nil {
			text += fmt.Sprintf("; it claims epsilon %s at delta %g, %d ledger records",
				rundir.FormatFine(c.Epsilon), c.Delta, c.Head.Seq)
		}
		row(p.Name, "%s", text)
	}
	return t.Flush()
}
