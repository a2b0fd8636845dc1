package run

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// ErrCheckpoint says that a directory holds no run that can be resumed by this program.
var ErrCheckpoint = errors.New("not a run that can go on")

// A checkpoint is the tag, the length of progress in JSON (u64), that, and the state of
// the simulation to the end of the file.
const checkpointTag = "sotto run checkpoint/2"

// progress is what a run has to remember beside the simulation itself. No key and no
// stream position is in it: streams are derived from seed, agent and charge number.
type progress struct {
	Identity    string            `json:"identity"` // configuration, data and engine
	Elapsed     time.Duration     `json:"elapsed"`
	Evaluations []savedEvaluation `json:"evaluations"`
	Ledgers     [][]ledger.Record `json:"ledgers"`
}

// savedEvaluation holds floats as bits, so that NaN and infinities survive.
type savedEvaluation struct {
	Round uint64     `json:"round"`
	Bits  []uint64   `json:"bits"` // has accuracy, accuracy, loss, consensus, epsilon
	Rows  []savedRow `json:"rows"`
}

type savedRow struct {
	Agent, Metric         string
	Value, Epsilon, Delta uint64
}

// Checkpoints that take longer than quickCheckpoint, gigabytes of large models, are to
// take a tenth of the time at most.
const (
	quickCheckpoint = time.Second
	checkpointShare = 10
)

// checkpointAt writes a checkpoint after an evaluation, unless the last one took long and
// is recent. An interruption writes one in any case, and so does the last round.
func (r *Training) checkpointAt(last bool) error {
	if !last && r.storing > quickCheckpoint && time.Since(r.stored) < checkpointShare*r.storing {
		return nil
	}
	r.stored = time.Now()
	err := r.checkpoint()
	r.storing = time.Since(r.stored)
	return err
}

func (r *Training) checkpoint() error {
	p := progress{Identity: r.e.Identity(), Elapsed: r.elapsed()}
	for i, ev := range r.evaluations {
		s := savedEvaluation{Round: ev.Round}
		acc, has := rundir.Stats{}, 0.
		if ev.Accuracy != nil {
			acc, has = *ev.Accuracy, 1
		}
		for _, x := range []float64{has, acc.Mean, acc.Min, acc.Max, ev.Loss.Mean, ev.Loss.Min, ev.Loss.Max,
			ev.Consensus, ev.Epsilon} {
			s.Bits = append(s.Bits, math.Float64bits(x))
		}
		for _, row := range r.rows[i] {
			s.Rows = append(s.Rows, savedRow{row.Agent, row.Metric, math.Float64bits(row.Value),
				math.Float64bits(row.Epsilon), math.Float64bits(row.Delta)})
		}
		p.Evaluations = append(p.Evaluations, s)
	}
	for _, l := range r.world.ledgers {
		var records []ledger.Record
		for rec, err := range l.Records() {
			if err != nil {
				return err
			}
			records = append(records, rec)
		}
		p.Ledgers = append(p.Ledgers, records)
	}
	head, err := json.Marshal(p)
	if err != nil {
		return err
	}
	err = r.dir.Stream(rundir.CheckpointFile, func(w io.Writer) error {
		b := binary.LittleEndian.AppendUint64(agent.AppendTag(nil, checkpointTag), uint64(len(head)))
		if _, err := w.Write(append(b, head...)); err != nil {
			return err
		}
		return r.world.Sim.WriteState(w)
	})
	r.saved = r.saved || err == nil
	return err
}

// saved is a checkpoint that is being read.
type saved struct {
	progress
	state *os.File // at the state of the simulation
}

// openCheckpoint reads a checkpoint up to the state of the simulation.
func openCheckpoint(path string) (*saved, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	c := &saved{state: f}
	if err := c.readHead(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return c, nil
}

func (c *saved) readHead() error {
	info, err := c.state.Stat()
	if err != nil {
		return err
	}
	want := agent.AppendTag(nil, checkpointTag)
	b := make([]byte, len(want)+8)
	if _, err := io.ReadFull(c.state, b); err != nil || string(b[:len(want)]) != string(want) {
		return fmt.Errorf("it does not open with %q: another version has made it", checkpointTag)
	}
	length := binary.LittleEndian.Uint64(b[len(want):])
	if length > uint64(info.Size()) {
		return fmt.Errorf("it has %d bytes and names %d", info.Size(), length)
	}
	head := make([]byte, length)
	if _, err := io.ReadFull(c.state, head); err != nil {
		return err
	}
	return json.Unmarshal(head, &c.progress)
}

// belongs checks that a checkpoint is one of the experiment.
func (c *saved) belongs(e *experiment.Experiment) error {
	if c.Identity != e.Identity() {
		return fmt.Errorf("%w: it was made with another configuration, other data, another engine version "+
			"than %s or other kernels than %s", ErrCheckpoint, experiment.EngineVersion, tensor.Kernels())
	}
	if len(c.Ledgers) != e.File.Topology.Agents {
		return fmt.Errorf("%w: %d ledgers, this run has %d", ErrCheckpoint, len(c.Ledgers),
			e.File.Topology.Agents)
	}
	return nil
}

// restore puts a world whose ledgers are restored into the state of a checkpoint.
func (r *Training) restore(p *saved) error {
	for _, s := range p.Evaluations {
		if len(s.Bits) != 9 {
			return fmt.Errorf("%w: an evaluation has %d figures", ErrCheckpoint, len(s.Bits))
		}
		f := make([]float64, len(s.Bits))
		for i, bits := range s.Bits {
			f[i] = math.Float64frombits(bits)
		}
		ev := evaluation{
			Round:     s.Round,
			Loss:      rundir.Stats{Mean: f[4], Min: f[5], Max: f[6]},
			Consensus: f[7],
			Epsilon:   f[8],
		}
		if f[0] == 1 {
			ev.Accuracy = &rundir.Stats{Mean: f[1], Min: f[2], Max: f[3]}
		}
		var rows []rundir.Row
		for _, row := range s.Rows {
			rows = append(rows, rundir.Row{
				Round:   s.Round,
				Agent:   row.Agent,
				Metric:  row.Metric,
				Value:   math.Float64frombits(row.Value),
				Epsilon: math.Float64frombits(row.Epsilon),
				Delta:   math.Float64frombits(row.Delta),
			})
		}
		r.evaluations, r.rows = append(r.evaluations, ev), append(r.rows, rows)
	}
	r.before = p.Elapsed
	if err := r.world.Sim.ReadState(p.state); err != nil {
		return fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return r.world.recover()
}

// resumeDir takes and reads an interrupted run's directory, whose name ends in .partial.
func resumeDir(dir string) (*rundir.Dir, *saved, *experiment.File, error) {
	dir = filepath.Clean(dir)
	base, ok := strings.CutSuffix(filepath.Base(dir), rundir.PartialSuffix)
	if !ok {
		found := "another directory"
		if info, err := os.Stat(dir); err != nil {
			found = "no such directory"
		} else if !info.IsDir() {
			found = "a file"
		} else if _, err := os.Stat(filepath.Join(dir, rundir.SummaryFile)); err == nil {
			found = "a finished run"
		}
		return nil, nil, nil, fmt.Errorf("%w: %w", ErrCheckpoint, &config.Error{File: dir, Found: found,
			Allowed: "an interrupted run's directory, whose name ends in " + rundir.PartialSuffix})
	}
	d, err := rundir.Left(filepath.Dir(dir), base)
	if err != nil {
		return nil, nil, nil, err
	}
	c, err := openCheckpoint(filepath.Join(dir, rundir.CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; it ended before its first checkpoint: start it with its run file again, and "+
			"remove this directory", err)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(fmt.Errorf("%s: %w", dir, err), d.Release())
	}
	f, err := experiment.Read(filepath.Join(dir, rundir.ConfigFile), nil)
	if err != nil {
		return nil, nil, nil, errors.Join(err, c.state.Close(), d.Release())
	}
	return d, c, f, nil
}
