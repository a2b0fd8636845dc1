// Package owner is one seat of an experiment with an owner's own file. It says what
// taking part asks and costs, makes the agent and its gate, and trains the model that
// taking part has to be compared with. What it computes from records stays with the
// owner; only the gate's answers leave.
//
// Join makes of an owner's files a member of a signed roster whose policy allows taking
// part, and a Daemon takes part: node, durable ledger, state directory and results.
package owner

import (
	"fmt"
	"iter"
	"slices"

	"sotto/agent"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/plan"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// Options say which agent of an experiment an owner is, and with which data.
type Options struct {
	experiment.Member
	// Secret is what the owner shares with a neighbor and nobody else, the same bytes at
	// both ends and others in every run: for mechanism decor. nil for an owner that only
	// plans.
	Secret func(neighbor agent.ID) []byte
}

// New builds the part of agent opt.Self. Runs without noise, with switches of
// [replication] are refused.
func New(f *experiment.File, opt Options) (*Owner, error) {
	e, own, err := f.Join(opt.Member)
	if err != nil {
		return nil, err
	}
	return &Owner{e: e, self: opt.Self, own: own, tests: oracle.BatchOf(e.Task.Split.Test),
		secret: opt.Secret}, nil
}

// Owner is one agent of an experiment with an owner's own data: what a daemon runs. Its
// gate draws secret keys. Only its Gate reads the training records; what Accuracy and
// LocalBaseline return is private and stays with the owner.
type Owner struct {
	e       *experiment.Experiment
	self    agent.ID
	own     *data.Own
	tests   *model.Batch
	secret  func(agent.ID) []byte
	bare    agent.Algorithm // the last one that Algorithm has made
	gate    *privacy.Gate   // the last one that Gate has made
	limited *runLedger      // of that gate
	tight   allowance
}

// plan is the owner's.
func (o *Owner) plan() *plan.Agent { return &o.e.Plans[0] }

// Records yields the raw lines of the owner's file.
func (o *Owner) Records() iter.Seq[[]byte] { return slices.Values(o.own.Records) }

// Fingerprint is that of the owner's file, by its lines and by value. key names the
// column of people's keys; "": none.
func (o *Owner) Fingerprint(secret []byte, key string) (*ledger.Fingerprint, error) {
	return ledger.NewTableFingerprint(secret, ledger.Table{Lines: o.Records(), Columns: o.own.Columns,
		Used: o.own.Used, Rows: o.own.Rows, Key: key})
}

// Algorithm makes the owner's agent, which attacks if the run file says so.
func (o *Owner) Algorithm() (agent.Algorithm, error) {
	a, bare, err := o.e.Algorithm(o.self)
	o.bare = bare
	return a, err
}

// ownRecords are the owner's for training.
func (o *Owner) ownRecords() oracle.Records {
	return oracle.Records{Data: o.e.Task.Split.Train, Index: o.e.Task.Parts[0]}
}

// Gate makes the gate over the owner's records, with secret keys. The ledger is the
// owner's durable one; run names this experiment in its records, so that the run's own
// limit, target_epsilon, counts over restarts. Recover goes before the first answer.
func (o *Owner) Gate(l *ledger.File, run string) (*privacy.Gate, error) {
	var err error
	if o.limited, err = o.limit(l, run); err != nil {
		return nil, err
	}
	o.gate, _, err = o.e.Gate(&experiment.Seat{Self: o.self, Records: o.ownRecords(), Ledger: o.limited,
		Secret: o.secret, Pool: oracle.NewSplitPool(1)})
	return o.gate, err
}

// EncodeModel returns a model as a safetensors file.
func (o *Owner) EncodeModel(theta tensor.Vec, run string) ([]byte, error) {
	return model.EncodeSafetensors(metadata(o.e, run), o.tensors(theta))
}

func (o *Owner) tensors(theta tensor.Vec) []model.NamedVec {
	return []model.NamedVec{{Name: fmt.Sprintf("agent.%d", o.self), Vec: o.e.Task.Expand(theta)}}
}

// metadata says what a model file of a run is.
func metadata(e *experiment.Experiment, run string) map[string]string {
	return map[string]string{"run": run, "engine": experiment.EngineVersion, "model": e.File.Model.Name,
		"noise": e.File.Privacy.Noise, "samples": rundir.FormatShape(e.Task.SampleShape())}
}
