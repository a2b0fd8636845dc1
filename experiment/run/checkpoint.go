package run

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sotto/agent"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// ErrCheckpoint says that a directory holds no run that can be resumed by this program.
var ErrCheckpoint = errors.New("experiment: not a resumable run")

const checkpointTag = "sotto run checkpoint/1"

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
	b := agent.AppendTag(nil, checkpointTag)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(head)))
	b = append(b, head...)
	at := len(b)
	b = r.world.Sim.AppendState(binary.LittleEndian.AppendUint64(b, 0))
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	err = r.dir.Put(rundir.CheckpointFile, b)
	r.saved = r.saved || err == nil
	return err
}

// readCheckpoint checks that b belongs to the experiment and returns its parts.
func readCheckpoint(e *experiment.Experiment, b []byte) (p progress, state []byte, err error) {
	if p, state, err = decodeCheckpoint(b); err != nil {
		return p, nil, err
	}
	if p.Identity != e.Identity() {
		return p, nil,
			fmt.Errorf("%w: it was made with another configuration, other data, another engine version "+
				"than %s or other kernels than %s", ErrCheckpoint, experiment.EngineVersion, tensor.Kernels())
	}
	if len(p.Ledgers) != e.File.Topology.Agents {
		return p, nil, fmt.Errorf("%w: %d ledgers, this run has %d", ErrCheckpoint, len(p.Ledgers),
			e.File.Topology.Agents)
	}
	return p, state, nil
}

// restore puts a world whose ledgers are restored into the state of a checkpoint.
func (r *Training) restore(p progress, state []byte) error {
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
	if err := r.world.Sim.LoadState(state); err != nil {
		return fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return r.world.recover()
}

// decodeCheckpoint splits what checkpoint writes.
func decodeCheckpoint(b []byte) (p progress, state []byte, err error) {
	s := agent.ReadState(b, checkpointTag)
	head, state := s.Block(), s.Block()
	if err := s.Close(); err != nil {
		return p, nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if err := json.Unmarshal(head, &p); err != nil {
		return p, nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return p, state, nil
}

// resumeDir reads an interrupted run's directory, whose name ends in .partial.
func resumeDir(dir string) (*rundir.Dir, []byte, *experiment.File, error) {
	dir = filepath.Clean(dir)
	base, ok := strings.CutSuffix(filepath.Base(dir), rundir.PartialSuffix)
	if !ok {
		return nil, nil, nil, fmt.Errorf("%w: %s: an interrupted run's directory ends in %s", ErrCheckpoint,
			dir, rundir.PartialSuffix)
	}
	b, err := os.ReadFile(filepath.Join(dir, rundir.CheckpointFile))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	f, err := experiment.Read(filepath.Join(dir, rundir.ConfigFile), nil)
	if err != nil {
		return nil, nil, nil, err
	}
	return &rundir.Dir{Out: filepath.Dir(dir), Name: base, Path: dir}, b, f, nil
}
