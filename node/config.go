package node

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"time"

	"sotto/agent"
	"sotto/config"
	"sotto/node/checkpoint"
	"sotto/node/mark"
	"sotto/node/roster"
	"sotto/privacy/ledger"
	"sotto/tensor"
	"sotto/topology"
)

// Gate answers the algorithm's queries; *privacy.Gate is one.
type Gate interface {
	// Begin tells the gate the round and the neighbors whose messages arrived in it.
	Begin(round uint64, live []agent.Neighbor)
	// Answer fills dst, after its charge is durable; privacy.ErrExhausted says that
	// nothing was released, and nothing will be; privacy.ErrAbstain that nothing was
	// released this time.
	Answer(q *agent.Query, dst tensor.Vec) error
}

// What to do about peers whose frame has not come by the deadline of a round.
const (
	Wait    = roster.Wait
	Proceed = roster.Proceed
)

// DefaultDeadline is the deadline of a round where none is chosen.
const DefaultDeadline = time.Minute

// Config is what a node is handed.
type Config struct {
	Identity
	Learner
	Pace
	Timing
	Ledgers
	Epochs
	Transport Transport
	Store     *checkpoint.Store
	Log       *slog.Logger // default: none
	// OnRound, when not nil, is called after every completed round, when it is stored. It
	// may call Params and Status.
	OnRound func(RoundReport)
}

// Identity says who the node is among the members of a run.
type Identity struct {
	Self  agent.ID
	Run   [32]byte            // digest of the signed roster
	Names []string            // of the members, for logs and status; nil: their numbers
	Keys  []ed25519.PublicKey // of the members; nil: what they attest is not looked at
	// Sign signs a message with the member's key. With it and Keys, frames carry marks:
	// see [mark.Mark]. nil: frames are of the first version, and nothing that members say
	// of themselves is compared.
	Sign func(message []byte) []byte
	// SignedTerms: Missing stands in the signed roster. Frames without marks are refused.
	SignedTerms bool
	DropLiars   bool // who gave one round two contents is left out
}

// Learner is what the node drives, and what its messages hold.
type Learner struct {
	Algorithm agent.Algorithm // as its factory made it
	Gate      Gate
	Dim       int // length of answers, at least that of the algorithm's parameters
	// Recover, when not nil, is called by New, once the algorithm has its stored state:
	// it brings what the gate keeps of former answers to where that state is. resumed:
	// there was one. After an error nothing is asked and nothing sent.
	Recover func(resumed bool) error
	// Remembers: no round can be left out, because what the gate keeps follows from all
	// answers, or because what neighbors learn is known of a whole run alone.
	Remembers bool
	// Shares: noise is shared with neighbors and must serve once. No process goes on
	// before all of them have said what they know of this node, and gives no answer
	// where one has left without a word.
	Shares bool
	// Mass: messages carry the mass of push-sum. Lost messages take theirs with them, so
	// that Missing is Wait.
	Mass bool
	// Restart makes the algorithm anew, from a model: agents begin so when members have
	// changed. nil: they cannot change.
	Restart func(model tensor.Vec) (agent.Algorithm, error)
	// BF16: messages have bfloat16 values, two bytes each, as those of algo.Rounded. No
	// other ones are taken. For runs in rounds.
	BF16 bool
}

// Pace says whom the node hears and when its algorithm steps: in rounds, unless Wakes,
// Interval or Holders say otherwise.
type Pace struct {
	Graph *topology.Graph
	// Graphs, when not nil, are those of the rounds, and Graph has all their links
	// (topology.Union). Every round before Rounds has one. Where links have one direction
	// or change, nodes tell those whom they hear which round they have reached, and
	// nobody runs ahead of somebody who hears it; where chance draws links of both
	// directions, nobody runs ahead of who hears it in that round, and rounds without
	// neighbor and query are not reported. Missing is then Wait.
	Graphs  topology.Schedule
	Rounds  uint64
	Missing string // Wait, also for "", or Proceed
	// Wakes, when not nil, is who wakes, in order, in place of rounds: every agent steps
	// at its places in the list, with the newest broadcasts as of these. Rounds is then
	// the number of this agent's wakes, and Missing is Wait.
	Wakes []agent.ID
	// Interval, when above 0, is the mean time between two wakes of this agent, in place
	// of rounds: it steps when its own Poisson clock rings, with the newest messages that
	// have come, and waits for nobody. Rounds is then the number of its wakes, and
	// Missing is Wait, which means nothing here.
	Interval time.Duration
	// Pairs: at a wake this node meets one neighbor, drawn from those it hears, and both
	// step and exchange one message. A neighbor that is in another meeting, or does not
	// answer by the deadline, is not met at that wake. For undirected graphs.
	Pairs bool
	// Holders, when not nil, says where each token of a run starts whose models walk, in
	// place of rounds. Rounds is then the number of steps of every token, and the graph
	// has links in both directions. Hop, when not nil, is the number in [0, 1) from which
	// the next holder of the visit with the given number is drawn; nil: a secret one.
	Holders []agent.ID
	Hop     func(visit uint64) float64
}

// Timing is how long a node waits; 0 stands for the default.
type Timing struct {
	Deadline    time.Duration // of a round; default DefaultDeadline
	Linger      time.Duration // how long to serve neighbors after the last round; default 10 minutes
	Retry       time.Duration // between two attempts to send, at first; default 100 ms
	RetryMax    time.Duration // and at last; default 10 s
	SendTimeout time.Duration // of one attempt; default 1 minute
	// Patience is how long no step may be made before Run ends with ErrStalled; default
	// 24 hours.
	Patience time.Duration
}

// Ledgers are what the node is told of its owner's ledger, and tells of it and hears of
// others'. All of it may be nil.
type Ledgers struct {
	Head func() ledger.Head // of the gate's ledger; nil: nothing is charged
	// Spent says what the data have cost so far, for the status. It is called often.
	Spent func() *Spent
	// Attest is asked once, at the end, what to tell the neighbors about the owner's
	// ledger. Attestations are those that earlier processes have heard, by number, nil
	// for none; OnAttestation gets every new one, in a goroutine of the transport's.
	Attest        func() *mark.Attestation
	Attestations  []*mark.Attestation
	OnAttestation func(from agent.ID, a *mark.Attestation)
	Book          func() mark.Book // what the ledger has come to; nil: nothing is charged
	// OnRollback is called before a node that was rolled back goes on, with a mark of its
	// own that somebody holds, and how many charges the ledger lacks that the mark shows:
	// of the run, and of other runs. It brings the ledger to have what was charged.
	OnRollback func(known *mark.Mark, run, others uint64) error
	// OnProof gets what shows that a member gave one round two contents, once for each
	// member, in a goroutine of the transport's.
	OnProof func(p *mark.Proof)
}

// Check refuses what New would refuse before it reads anything.
func (c Config) Check() error { return c.fill() }

func (c *Config) fill() error {
	if c.Graph == nil {
		return config.Bad("graph", "none", "that of the members")
	}
	n := c.Graph.Agents()
	if c.Missing == "" {
		c.Missing = Wait
	}
	if int(c.Self) >= n {
		return config.Bad("self", c.Self, fmt.Sprintf("0 to %d", n-1))
	}
	for _, check := range []func() error{func() error { return mark.CheckKeys(c.Keys, n) }, c.checkMissing,
		c.checkGraphs, c.checkWakes, c.checkClock, c.checkPairs, c.checkHolders} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, d := range []struct {
		key   string
		value *time.Duration
		def   time.Duration
	}{
		{"deadline", &c.Deadline, DefaultDeadline}, {"linger", &c.Linger, 10 * time.Minute},
		{"retry", &c.Retry, 100 * time.Millisecond},
		{"retry_max", &c.RetryMax, 10 * time.Second}, {"send_timeout", &c.SendTimeout, time.Minute},
		{"patience", &c.Patience, 24 * time.Hour},
	} {
		if *d.value < 0 {
			return config.Bad(d.key, *d.value, "above 0")
		}
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	if c.Names == nil {
		for i := range n {
			c.Names = append(c.Names, fmt.Sprint("agent ", i))
		}
	}
	if len(c.Names) != n {
		return config.Bad("names", len(c.Names), fmt.Sprintf("%d, one for each member", n))
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return nil
}

// checkParts refuses a node that lacks what it runs with.
func (c *Config) checkParts() error {
	for _, part := range []struct {
		key  string
		lack bool
	}{{"algorithm", c.Algorithm == nil}, {"gate", c.Gate == nil}, {"transport", c.Transport == nil},
		{"store", c.Store == nil}} {
		if part.lack {
			return config.Bad(part.key, "none", "one for the node to run with")
		}
	}
	if n := len(c.Algorithm.Params()); c.Dim < n {
		return config.Bad("dim", c.Dim, fmt.Sprintf("at least %d, the parameters of the model", n))
	}
	return nil
}

// checkMissing refuses to go on without peers where they could not catch up.
func (c *Config) checkMissing() error {
	switch {
	case c.Missing == Proceed && c.Mass:
		return config.Bad("missing", c.Missing,
			"wait, with push-sum: who goes on without a message cannot know whether it is lost, and with "+
				"it goes its mass")
	case c.Missing == Proceed && c.oneWay():
		return config.Bad("missing", c.Missing,
			"wait, where links have one direction or change: who is left out cannot be told to catch up")
	case c.Missing != Wait && c.Missing != Proceed:
		return config.Bad("missing", c.Missing, "wait or proceed")
	}
	return nil
}
