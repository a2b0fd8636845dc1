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
	"sotto/experiment"
	"sotto/experiment/plan"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
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
	e, records, err := f.Join(opt.Member)
	if err != nil {
		return nil, err
	}
	return &Owner{e: e, self: opt.Self, records: records, tests: oracle.BatchOf(e.Task.Split.Test),
		secret: opt.Secret}, nil
}

// Owner is one agent of an experiment with an owner's own data: what a daemon runs. Its
// gate draws secret keys. Only its Gate reads the training records; what Accuracy and
// LocalBaseline return is private and stays with the owner.
type Owner struct {
	e       *experiment.Experiment
	self    agent.ID
	records [][]byte
	tests   *model.Batch
	secret  func(agent.ID) []byte
	bare    agent.Algorithm // the last one that Algorithm has made
	gate    *privacy.Gate   // the last one that Gate has made
}

// plan is the owner's.
func (o *Owner) plan() *plan.Agent { return &o.e.Plans[0] }

// Records yields the raw lines of the owner's file, for ledger.NewFingerprint.
func (o *Owner) Records() iter.Seq[[]byte] { return slices.Values(o.records) }

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
	limited, err := o.limit(l, run)
	if err != nil {
		return nil, err
	}
	o.gate, _, err = o.e.Gate(&experiment.Seat{Self: o.self, Records: o.ownRecords(), Ledger: limited,
		Secret: o.secret, Pool: oracle.NewSplitPool(1)})
	return o.gate, err
}

// limit is the ledger as one run may use it, less what the run has charged before.
// Without target_epsilon an algorithm of rounds is limited by the owner's lifetime budget
// alone.
func (o *Owner) limit(l *ledger.File, run string) (*runLedger, error) {
	limited, p := &runLedger{File: l}, o.plan()
	if p.Limited || o.e.File.Pace.OwnPlans {
		var err error
		if limited.filter, err = p.Quota(); err != nil {
			return nil, err
		}
	}
	shared := o.e.Setup.Scheme.Shared()
	if limited.filter == nil && !shared {
		return limited, nil
	}
	for r, err := range l.Records() {
		if err == nil && r.Kind == ledger.Charge && r.Run == run {
			if shared {
				limited.from = max(limited.from, r.Round+1)
			}
			if limited.filter != nil {
				err = limited.filter.Admit(*r.Event, int(r.Count))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return limited, nil
}

// runLedger admits no more than one run may charge.
type runLedger struct {
	*ledger.File
	filter *account.CountFilter // nil: what the ledger's own budget admits
	round  uint64
	// rounds before it have had answers in another process, or may have, whose shared
	// noise must not serve again
	from uint64
}

// SetRound notes the round of later charges.
func (r *runLedger) SetRound(round uint64) {
	r.round = round
	r.File.SetRound(round)
}

// Charge implements ledger.Ledger.
func (r *runLedger) Charge(ev account.Event) (uint64, error) {
	if r.round < r.from {
		return 0, fmt.Errorf("%w: round %d", privacy.ErrAbstain, r.round)
	}
	if r.filter != nil {
		if err := r.filter.Admit(ev, 1); err != nil {
			return 0, fmt.Errorf("what the run may charge: %w", err)
		}
	}
	return r.File.Charge(ev)
}

// EncodeModel returns a model as a safetensors file.
func (o *Owner) EncodeModel(theta tensor.Vec, run string) ([]byte, error) {
	return o.encode(run,
		[]model.NamedVec{{Name: fmt.Sprintf("agent.%d", o.self), Vec: o.e.Task.Expand(theta)}})
}

func (o *Owner) encode(run string, tensors []model.NamedVec) ([]byte, error) {
	meta := map[string]string{"run": run, "engine": experiment.EngineVersion, "model": o.e.File.Model.Name,
		"noise": o.e.File.Privacy.Noise, "samples": rundir.FormatShape(o.e.Task.SampleShape())}
	return model.EncodeSafetensors(meta, tensors)
}
