package owner

import (
	"fmt"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/experiment"
	"sotto/experiment/plan"
	"sotto/node"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/topology"
)

// Terms of taking part are what an owner's policy is asked about, and what a plan shows.
// All of it is public.
type Terms struct {
	Protocol
	Queries
	Price
	Warnings  []string
	Uncharged []string // what the figures leave out, see plan.Agent.Uncharged
}

// Drawn is what batches draw: persons, with all of their records, or records.
func (t *Terms) Drawn() string {
	if t.Unit.Kind == account.UnitPerson {
		return "person"
	}
	return "record"
}

// Batches says how large they are, and whose figure that is where the owner's is secret.
func (t *Terms) Batches() string {
	whose := ""
	if t.Adjacency.HidesCount() && t.Unit.Kind != account.UnitOwner {
		whose = " by the run file"
	}
	return fmt.Sprintf("%.4g expected%s, each %s drawn with probability %.4g", t.Batch, whose, t.Drawn(),
		t.Rate)
}

// Protocol says what is run, and what goes over the network.
type Protocol struct {
	Algorithm string
	Dataset   string
	Rounds    uint64        // rounds, steps of every token, or the owner's own wakes
	Holders   []agent.ID    // where each token starts; nil where models do not walk
	Interval  time.Duration // mean time between two wakes; 0 in rounds
	Pairs     bool          // two agents meet at a wake
	Push      bool          // messages carry the mass of push-sum, which must not get lost
	BF16      bool          // messages have bfloat16 values
	Dim       int
	Extra     int // values of the longest answer behind the Dim of the model
}

// Queries say what is asked of the data, and with what noise it is answered.
type Queries struct {
	Records int // for training; the adjacencies of owners' runs make it public, 0 where it is not
	// Batch is the expected number of records or persons in a batch: what the run file
	// states, where their number is secret, and 1 where an owner is the unit.
	Batch   float64
	Rate    float64
	Charges int // of the whole run
	Reserve int // further ones of every kind, for answers that crashes lose
	// CheckpointGrowth is by how many bytes every answer makes checkpoints longer, from
	// which a private iterate is recovered.
	CheckpointGrowth int
	Noise            float64
	NoiseKind        string
	// Curious, of mechanism decor, is whose secrets its figures allow an adversary to
	// have: neighbors, one or none.
	Curious    string
	Provenance privacy.Provenance
}

// Price says what that costs.
type Price struct {
	Costs      []plan.Cost // of all answers
	Adjacency  account.Adjacency
	Unit       account.Unit
	Delta      float64
	Target     float64 // epsilon that the run may spend; 0: no limit but the policy's
	Accountant string
}

// protocolOf is what the run file alone says.
func protocolOf(f *experiment.File) Protocol {
	return Protocol{
		Algorithm: f.Algorithm.Name,
		Dataset:   f.Data.Dataset,
		Rounds:    f.OwnSteps(),
		Holders:   holders(f),
		Interval:  f.Interval(),
		Pairs:     f.Pacing == agent.PacingPairs,
		Push:      f.Has(algo.Mass),
		BF16:      f.Algorithm.Short(),
	}
}

// tell tells a node how its run goes.
func (x *Protocol) tell(c *node.Config, graph *topology.Graph, graphs topology.Schedule) {
	c.Graph, c.Rounds = graph, x.Rounds
	c.Holders, c.Interval, c.Pairs = x.Holders, x.Interval, x.Pairs
	c.Mass, c.BF16 = x.Push, x.BF16
	if len(topology.Period(graphs)) != 1 {
		c.Graphs = graphs
	}
}

// batchOf is the expected number of records or persons in a batch. A run file that states
// sample_rate beside batch_size draws by the rate, and divides sums by the size.
func batchOf(o *Owner) float64 {
	p := &o.plan().Public
	if o.e.File.Privacy.SampleRate > 0 && p.Records > 0 {
		return p.SampleRate * float64(p.Records) * float64(max(1, p.Draws))
	}
	return p.ExpectedBatchSize
}

// Terms returns what is planned.
func (o *Owner) Terms() (Terms, error) {
	f, p, t := o.e.File, o.plan(), &o.e.Setup.Target
	m, err := o.e.Setup.Scheme.Mechanism(o.self, p.Noise, o.secret)
	if err != nil {
		return Terms{}, f.At("privacy", err)
	}
	uncharged, err := p.Uncharged()
	if err != nil {
		return Terms{}, f.At("privacy", err)
	}
	x := protocolOf(f)
	x.Dim, x.Extra = o.e.Task.Model.Dim(), p.Extra()
	return Terms{
		Protocol: x,
		Queries: Queries{
			Records:          p.Public.Records,
			Batch:            batchOf(o),
			Rate:             p.Public.SampleRate,
			Charges:          p.Queries(),
			Reserve:          t.Reserve,
			CheckpointGrowth: o.growth(),
			Noise:            p.Noise,
			NoiseKind:        f.Privacy.Noise,
			Curious:          f.Privacy.Curious,
			Provenance:       m.Provenance(),
		},
		Price: Price{
			Costs:      p.Costs(),
			Adjacency:  t.Adjacency,
			Unit:       t.Unit,
			Delta:      t.Delta,
			Target:     t.Epsilon,
			Accountant: t.Accountant,
		},
		Warnings:  o.e.Notes.Warnings,
		Uncharged: uncharged,
	}, nil
}
