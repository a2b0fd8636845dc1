package owner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/endpoint"
	"sotto/privacy/ledger"
)

// Files of a state directory beside the checkpoint.
const (
	StatusFile    = rundir.StatusFile
	ModelFile     = "model.safetensors"
	StatementFile = "privacy.json"
	roundsFile    = "rounds.csv"
	wakesFile     = "wakes.csv"
	resultFile    = rundir.OwnFile
	headsFile     = "heads.json"
)

// record appends who took part in a round.
func (p *process) record(r node.RoundReport) {
	p.asking.Do(func() { // its neighbors have said where it was
		os.Remove(filepath.Join(p.State, checkpoint.RestoredFile)) // mostly it is not there
	})
	if p.Node.Interval > 0 {
		p.recordWake(r)
		return
	}
	var names []string
	for _, i := range r.Missing {
		names = append(names, p.Roster.Members[i].Name)
	}
	p.line(roundsFile, "round,missing,one_sided,skipped,exhausted",
		fmt.Sprintf("%d,%s,%d,%t,%t", r.Round, strings.Join(names, " "), r.OneSided, r.Skipped, r.Exhausted))
}

// recordWake appends when the clock rang and which broadcast of whom the wake took in:
// NAME:NUMBER, number 0 being that of the sender's start.
func (p *process) recordWake(r node.RoundReport) {
	var heard []string
	for _, h := range r.Heard {
		heard = append(heard, fmt.Sprintf("%s:%d", p.Roster.Members[h.From].Name, h.Round))
	}
	woke := ""
	if !r.Called { // else it was a neighbor's clock that rang
		woke = r.Woke.UTC().Format(time.RFC3339Nano)
	}
	p.line(wakesFile, "wake,time,heard,exhausted",
		fmt.Sprintf("%d,%s,%s,%t", r.Round, woke, strings.Join(heard, " "), r.Exhausted))
}

// line appends to a file of the state directory, below its header.
func (p *process) line(name, header, text string) {
	f, err := os.OpenFile(filepath.Join(p.State, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		p.Node.Log.Error("a step is not recorded", "error", err)
		return
	}
	defer f.Close()
	if at, err := f.Seek(0, io.SeekEnd); err == nil && at == 0 {
		fmt.Fprintln(f, header)
	}
	fmt.Fprintln(f, text)
}

// report keeps the status file current and answers HTTP, until done is called with what
// the node has ended with.
func (p *process) report(n *node.Node) (done func(error), err error) {
	p.former = formerly(n.Marks())
	said, err := newTeller(p)
	if err != nil {
		return nil, err
	}
	var l net.Listener
	if p.HTTP != "" {
		if l, err = endpoint.ListenLocal(p.HTTP); err != nil {
			return nil, fmt.Errorf("--http: %w", err)
		}
	}
	var all sync.WaitGroup
	if l != nil {
		p.Node.Log.Info("status", "address", p.HTTP, "listens", l.Addr().String())
		e := p.Endpoint
		e.Status, e.Node = n.Status, n
		all.Go(func() { e.Serve(l) })
	}
	stop := make(chan struct{})
	all.Go(func() {
		for {
			s := n.Status()
			p.writeStatus(s)
			said.status(&s, time.Now())
			p.keepMarks(n.Marks())
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
		}
	})
	return func(err error) {
		close(stop)
		if l != nil {
			l.Close()
		}
		all.Wait()
		p.mu.Lock()
		p.costs.at = time.Time{} // what is written last is exact
		p.mu.Unlock()
		s, now := n.Status(), time.Now()
		end(&s, err, now)
		p.writeStatus(s)
		if broken := said.ended(&s, err, now); broken != nil {
			p.Node.Log.Warn("the stream of events has a gap", "error", broken)
		}
		p.keepMarks(n.Marks())
	}, nil
}

// end makes of a node's last status that of how it has ended. The process of one whose
// members change goes on with another node.
func end(s *node.Status, err error, now time.Time) {
	switch {
	case errors.Is(err, node.ErrChange):
		s.Ready, s.Reason = false, "the members change"
		return
	case err != nil && !errors.Is(err, context.Canceled):
		s.Failure = err.Error()
	}
	s.Ended = now
}

// writeStatus replaces the status file.
func (p *process) writeStatus(s node.Status) {
	b, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = p.write(StatusFile, b)
	}
	if err != nil {
		p.Node.Log.Warn("no status", "error", err)
	}
}

// write replaces a file of the state directory at once. A loss of power leaves the old
// bytes or the new ones, but for those of the status, which are written once a second.
func (p *process) write(name string, b []byte) error {
	path := filepath.Join(p.State, name)
	if name != StatusFile {
		return atomicfile.WriteMode(path, b, 0o600)
	}
	if err := os.WriteFile(path+".tmp", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// aside puts a damaged file away, so that the node goes on as if it had never been there.
// Another error than that of a damaged file comes back.
func aside(path string, log *slog.Logger, err error) error {
	var bad *config.Error
	if !errors.As(err, &bad) && !errors.Is(err, ledger.ErrCorrupt) {
		return err
	}
	log.Error("a file is damaged and was put aside: the node goes on without what it held", "file",
		path, "as", path+damaged, "error", err)
	return os.Rename(path, path+damaged)
}

// damaged ends the name of a file that was put aside.
const damaged = ".damaged"
