// Package agent defines what every decentralized learning algorithm is: a deterministic
// state machine that is stepped by a runtime, asks for private answers and hands out
// messages. It holds no privacy and no learning; those meet it only through [Query] and
// [Input].
//
// One synchronous round at an agent:
//
//	runtime: Step(Round, Inbox)   -> algorithm mixes, returns a Query
//	gate:    charge, evaluate, add noise
//	runtime: Step(Answer)         -> algorithm updates, returns an Outbox
//	runtime: persist, then send
package agent

import (
	"errors"

	"sotto/tensor"
)

// ID names one agent of an experiment: 0 .. Env.Agents-1.
type ID uint32

// Broadcast as Message.To addresses every out-neighbor of the sender in the current
// round.
const Broadcast ID = ^ID(0)

// Kind says why an algorithm is stepped. The zero Kind is invalid, so a forgotten field
// fails loudly.
type Kind uint8

const (
	// Start comes once, before anything else. The outbox is what round 0 delivers. An
	// agent that joins a running asynchronous experiment finds its neighbors' newest
	// messages in Inbox.
	Start Kind = iota + 1
	// Round carries all messages of one synchronous round in Inbox.
	Round
	// Wake says that the agent's own clock rang; Inbox has the newest message of every
	// neighbor that was heard so far, new or not. In a pairwise wake Inbox has what those
	// neighbors broadcast at their Start that were heard, Peer is the other end and the
	// outbox may hold one message, to Peer.
	Wake
	// Exchange delivers the peer's message of a pairwise wake.
	Exchange
	// Token delivers a token (one message in Inbox, whose Round and the Input's are the
	// token's steps so far); the outbox holds it again, to Peer, the next hop, which may
	// be the agent itself.
	Token
	// Answer carries the reply to the last Query.
	Answer
	// Exhausted comes instead of Answer when the privacy budget is spent: nothing was
	// released.
	Exhausted
	// Stop comes once at the end; the outbox of a Stop is dropped.
	Stop
)

var kindNames = [...]string{"invalid", "start", "round", "wake", "exchange", "token", "answer", "exhausted",
	"stop"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

var (
	// ErrKind says that an algorithm does not take this Kind of step (for instance a
	// token in a synchronous algorithm): the runtime and the algorithm do not fit.
	ErrKind = errors.New("agent: this algorithm does not take this kind of step")
	// ErrState says that a checkpoint does not belong to this algorithm, version or
	// dimension.
	ErrState = errors.New("agent: checkpoint does not fit this algorithm")
	// ErrDiverged says that an algorithm's values are no longer finite, where it asks.
	ErrDiverged = errors.New("the algorithm has diverged")
	// ErrUnanswered says that an agent's budget allows no answer, without which what all
	// agents compute would be false.
	ErrUnanswered = errors.New("the budget allows no answer, and without it those of all others would be " +
		"false: ask in another run")
	// ErrStale says that a message belongs to a round the algorithm has left behind.
	ErrStale = errors.New("agent: message of a round that has passed")
)

// Algorithm is one agent of a decentralized learning algorithm. Step is a deterministic
// function of the receiver's state and in: no clock, goroutine, I/O or randomness; it
// keeps no reference to in or to anything in points to. One goroutine at a time calls it.
type Algorithm interface {
	// Step consumes in and fills out, which the caller has Reset. Vectors in out stay
	// valid until the next Step; the runtime copies or encodes them before that, unless
	// the algorithm is a Lender. An error is final.
	Step(in *Input, out *Output) error
	// Params is the agent's current model, of length Env.Dim; valid until the next Step.
	Params() tensor.Vec
	// AppendState appends a versioned checkpoint to b. It is public by construction: an
	// algorithm holds nothing but post-processed answers and received messages.
	AppendState(b []byte) []byte
	// LoadState restores AppendState's bytes into an algorithm built from the same Env
	// and parameters.
	LoadState(b []byte) error
}

// Factory builds the algorithm of one agent.
type Factory func(Env) (Algorithm, error)

// Env is what an algorithm knows at birth. All of it is public.
type Env struct {
	Self       ID
	Agents     int // number of agents in the experiment
	Dim        int // length of the parameter vector
	Records    int // the PUBLIC record count of this agent; 0 where the count is private
	MaxRecords int // largest PUBLIC record count of any agent; 0 where counts are private
	// planned communication rounds, wakes of all agents together, or steps of each token
	Rounds uint64
	Init   tensor.Vec // common initial parameters, length Dim; copy, do not keep
	Graph  Graph
	Table  Table
	Turns
}

// Turns are what is known beforehand of when an agent is stepped, beside rounds, and of
// what it is answered.
type Turns struct {
	Tokens int // tokens that walk; 0 where none do
	// numbers of this agent's wakes among those of all agents, where they are known
	// beforehand
	Wakes []uint64
	// Noise is the standard deviation of the noise in each value of an answer to a query
	// "grad" that changes neither clip nor noise; 0 without noise, NaN where it is not
	// known beforehand.
	Noise float64
}

// Table is what is known of a model whose outputs are linear in its parameters, and of
// the rows that it is fitted to. The parameters are a matrix by row, of a row for each
// feature, the constant of an intercept among them as the last one, and a column for each
// output. The zero value says that the model is none.
type Table struct {
	Outputs   int     // at least 1, divides Dim
	Norm      float64 // public norm that rows, with their constant, are scaled to at most; > 0
	Target    float64 // unit of a bound that targets are cut to, where the loss is a square; else 0
	Slope     float64 // bounds the norm of the loss's derivative by the outputs
	Curvature float64 // bounds the eigenvalues of its second derivative, over the weight; > 0
	Weight    float64 // the largest that a row has in the moments; 0 means 1
	// Knots are the lengths of the runs of features that are one curve's heights, in
	// order; 1: a feature of its own. nil: all are.
	Knots []int
	// Noise is the standard deviation of this agent's own noise in an answer over the
	// query's clip, before Query.Noise; 0 without noise.
	Noise float64
}

// Graph is what is known beforehand of the graph of the first round and of its mixing
// matrix with eigenvalues 1 = λ_1 >= λ_2 >= ... >= λ_n.
type Graph struct {
	SLEM         float64 // second largest eigenvalue modulus max(|λ_2|, |λ_n|); 1 where it is not known
	Lambda2      float64 // λ_2; 1 where it is not known
	LambdaMin    float64 // a lower bound of λ_n, in [-1, 1]
	MinNeighbors int     // fewest neighbors that any agent hears; 0 where that is not known
}

// Input is one step's argument. Only the fields that Kind names are set.
type Input struct {
	Kind     Kind
	Round    uint64     // synchronous round, this agent's wake count, or the token's steps so far
	View     *View      // effective row of the mixing matrix for this round
	Peer     ID         // Wake of a pair: the other end. Token: next hop
	Inbox    []Message  // sorted by sender, at most one message for each sender and channel
	Returned []Message  // own messages known to be undelivered (push-sum takes their mass back)
	Answer   tensor.Vec // reply to the last Query
	Mixed    bool       // the sum of a Mixer is in its Mixed vector, and Inbox is empty
}

// Output is what one step returns.
type Output struct {
	// Outbox may leave only after the charge behind the last Answer is durable. It is
	// ignored while Query is set: messages of a round come with the step that consumes
	// its last answer.
	Outbox []Message
	// Query, when not nil, asks to be stepped again with a private answer (Answer or
	// Exhausted).
	Query *Query
	// Done says that this agent needs no further steps.
	Done bool

	query Query
}

// Reset empties o for the next step and keeps its memory.
func (o *Output) Reset() {
	clear(o.Outbox)
	o.Outbox, o.Query, o.Done = o.Outbox[:0], nil, false
}

// Ask sets the query: a private answer of the named oracle at the point at, with the
// configured clip.
func (o *Output) Ask(oracle string, at tensor.Vec) {
	o.query = Query{Oracle: oracle, At: at}
	o.Query = &o.query
}

// Broadcast queues one message to all out-neighbors.
func (o *Output) Broadcast(body tensor.Vec) {
	o.Outbox = append(o.Outbox, Message{To: Broadcast, Body: body})
}

// Query asks the gate for a private statistic. Every field is public.
type Query struct {
	Oracle string
	At     tensor.Vec
	Clip   float64 // public norm of this query; 0 means the configured one
	Noise  float64 // public factor on the configured noise; 0 means 1
	Values int     // public length of the answer, where it is not that of the run's; else 0
	// public factor of the answer in what an oracle with a state of its own goes on with;
	// 0 for all others
	Step float64
	// Operator is what the oracle computes where its name alone does not say it. Stepping
	// an algorithm once so tells whoever plans a run all that it is going to ask.
	Operator Operator
}

// Room returns room for the answer to q, of length n where q does not say: buffer, or new
// memory where that is shorter.
func (q *Query) Room(buffer tensor.Vec, n int) tensor.Vec {
	if q.Values > 0 {
		n = q.Values
	}
	if n > cap(buffer) {
		return make(tensor.Vec, n)
	}
	return buffer[:n]
}

// Operator holds the public constants of a query for more than a gradient. The zero value
// is none.
type Operator struct {
	Name   string  // of the splitting, for residuals of a fixed-point iteration
	Gamma  float64 // γ of that, > 0
	L1     float64 // λ of its soft threshold, at least 0
	Bound  float64 // of the residual's norm, > 0; 0: the run's default
	Lambda float64 // λ of the regulariser λ|θ|² that a fit minimises with, > 0
}

// Message is one vector on its way from one agent to another. The runtime stamps From and
// Round of what an algorithm sends: Round is the round whose Inbox it belongs to.
type Message struct {
	From, To ID
	Round    uint64
	Mass     float64 // push-sum weight; 0 where unused
	Body     tensor.Vec
}

// Neighbor is one entry of a row (or column) of the mixing matrix.
type Neighbor struct {
	ID     ID
	Weight float64
}

// View is one agent's row of the mixing matrix as it holds in this round: the weight of
// neighbors whose message is missing is already on SelfWeight, and they are not in In.
// The runtime owns it; it is valid during the step.
type View struct {
	SelfWeight float64
	In         []Neighbor // senders into this agent, sorted by ID; Weight = w_{self,j}
	Out        []Neighbor // receivers of this agent's broadcasts, sorted by ID; Weight = w_{j,self}
	Missing    int        // in-neighbors of the graph whose message is missing this round
}

// Weight returns the effective weight of a message from id, 0 if id is not an
// in-neighbor.
func (v *View) Weight(id ID) float64 {
	lo, hi := 0, len(v.In)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if v.In[mid].ID < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(v.In) && v.In[lo].ID == id {
		return v.In[lo].Weight
	}
	return 0
}

// Adopt takes all weight from the agent itself, as that of a new member, which has no
// model of its own yet: it takes the mean of those of In, by their weights. Without In
// nothing changes.
func (v *View) Adopt() {
	all := 0.
	for _, nb := range v.In {
		all += nb.Weight
	}
	if all <= 0 {
		return
	}
	for i := range v.In {
		v.In[i].Weight /= all
	}
	v.SelfWeight = 0
}
