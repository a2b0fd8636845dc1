package event

import (
	"time"

	"sotto/internal/jsonfloat"
)

// What takes time.
const (
	OfRun       = "run"
	OfSweep     = "sweep"
	OfTune      = "tune"
	OfReproduce = "reproduce"
	OfAudit     = "audit"
	OfQuery     = "query"
	OfNode      = "node"
)

// Begin opens a stream, and goes before what follows an interruption.
type Begin struct {
	What    string `json:"what"` // OfRun and so on
	Name    string `json:"name"`
	Command string `json:"command,omitempty"` // the command line
	Dir     string `json:"dir,omitempty"`     // of the files
	Unit    string `json:"unit"`              // what is counted, in the singular: round, wake, cell
	Of      uint64 `json:"of"`                // how many there are; 0: nobody knows
	// From is the number from which an interrupted run goes on: what the stream said of
	// later ones is void.
	From   uint64 `json:"from,omitempty"`
	Engine string `json:"engine,omitempty"`
}

// Setup is what is trained on what, by whom, over which graph.
type Setup struct {
	Algorithm string `json:"algorithm,omitempty"`
	Dataset   string `json:"dataset,omitempty"`
	Model     Model  `json:"model"`
	Agents    Agents `json:"agents"`
	Graph     Graph  `json:"graph"`
	Budget    Budget `json:"budget"`
	// Noise is "simulated" where streams are seeded, which protects nobody, and "secret"
	// among real owners.
	Noise string `json:"noise"`
}

// Model is a model in words.
type Model struct {
	Name       string `json:"name"`
	Parameters int    `json:"parameters"`
}

// Agents are the participants.
type Agents struct {
	Number  int      `json:"number"`
	Names   []string `json:"names,omitempty"`   // of the owners; empty: numbers
	Classes []string `json:"classes,omitempty"` // of the label's values; empty: numbers
}

// Graph is that of the first round, with the links that a round may have: of the first 64
// graphs where they change. Links are left out above 2,000.
type Graph struct {
	Name  string   `json:"name"`
	Links [][2]int `json:"links,omitempty"`
	// At places each agent in the unit square; empty: on a circle.
	At [][2]float32 `json:"at,omitempty"`
}

// Budget is what the records of an agent may cost. Epsilon is infinite without privacy.
type Budget struct {
	Epsilon   jsonfloat.Float `json:"epsilon"`
	Delta     float64         `json:"delta"`
	Adjacency string          `json:"adjacency,omitempty"`
	Unit      string          `json:"unit,omitempty"`
}

// Progress says how far it is, at most four times a second.
type Progress struct {
	Done uint64 `json:"done"`
	Of   uint64 `json:"of"`
	// Left is expected, in seconds; 0: not known.
	Left float64 `json:"left"`
}

// Spent is the epsilon of the agent that has spent most, from its ledger.
type Spent struct {
	Done  uint64          `json:"done"` // rounds, or what is counted
	Lower jsonfloat.Float `json:"lower"`
	Upper jsonfloat.Float `json:"upper"` // the guarantee
	// Projected is what the upper end will be when all is done; 0: not known.
	Projected jsonfloat.Float `json:"projected,omitempty"`
}

// States of what runs.
const (
	Running  = "running"
	Paused   = "paused"
	Stopping = "stopping"
)

// State says that somebody has paused it, or has asked it to stop.
type State struct {
	State string `json:"state"`
}

// Note is a sentence for people.
type Note struct {
	Text string `json:"text"`
}

// How it ends.
const (
	Done        = "done"
	Interrupted = "interrupted"
	Failed      = "failed"
)

// End closes a stream.
type End struct {
	State string `json:"state"`
	Text  string `json:"text,omitempty"` // an error, or how to go on
	Dir   string `json:"dir,omitempty"`  // of the finished files
	Page  string `json:"page,omitempty"` // the page that stays, below Dir
	Facts []Fact `json:"facts,omitempty"`
}

// Fact is a figure in words.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Standing is how far a node is. It has no duration of a single step: these depend on
// private batches.
type Standing struct {
	Member string `json:"member"`
	Done   uint64 `json:"done"`
	Ready  bool   `json:"ready"`
	// Words say what the node does, or what it waits for.
	Words string `json:"words"`
	Next  string `json:"next,omitempty"` // what its owner can do
	Frames
	Account Account `json:"ledger"`
	Members Change  `json:"members"`
}

// Frames counts what came from neighbors.
type Frames struct {
	Missing uint64 `json:"missing"` // frames that had not come by the deadline
	Refused uint64 `json:"refused"`
	Skipped uint64 `json:"skipped"` // rounds
}

// Account is what the owner's ledger says.
type Account struct {
	Epsilon  jsonfloat.Float `json:"epsilon"` // upper bound, over all runs on these data
	Lifetime jsonfloat.Float `json:"lifetime"`
	Delta    float64         `json:"delta"`
	Records  uint64          `json:"records"`
}

// Change is how the members change.
type Change struct {
	Epoch int    `json:"epoch,omitempty"` // how often they have
	After uint64 `json:"after,omitempty"` // the round after which they will again
}

// Member is what a node knows of a neighbor.
type Member struct {
	Name  string    `json:"name"`
	State string    `json:"state"` // here, late, gone, done, unknown
	Since time.Time `json:"since,omitzero"`
	Round uint64    `json:"round"` // the latest that it has shown
	// Words say what is known, Next what can be done.
	Words  string `json:"words"`
	Next   string `json:"next,omitempty"`
	Ledger *Head  `json:"ledger,omitempty"` // of the member, the newest head that was seen
	Claim  *Claim `json:"claim,omitempty"`  // of its own ledger, once it has finished
}

// Head is the number and the hash of a ledger's newest record.
type Head struct {
	Records uint64 `json:"records"`
	Head    string `json:"head"`
}

// Claim is what a member says of its ledger, signed.
type Claim struct {
	Epsilon jsonfloat.Float `json:"epsilon"`
	Delta   float64         `json:"delta"`
	Records uint64          `json:"records"`
	Head    string          `json:"head,omitempty"`
}

// Machine is what the owner's machine has for a node: no record is looked at.
type Machine struct {
	DiskFree uint64 `json:"disk_free"` // bytes; 0: not known
	Warning  string `json:"warning,omitempty"`
}

func (*Begin) Kind() string    { return "begin" }
func (*Setup) Kind() string    { return "setup" }
func (*Progress) Kind() string { return "progress" }
func (*Spent) Kind() string    { return "spent" }
func (*State) Kind() string    { return "state" }
func (*Note) Kind() string     { return "note" }
func (*End) Kind() string      { return "end" }
func (*Standing) Kind() string { return "standing" }
func (*Member) Kind() string   { return "member" }
func (*Machine) Kind() string  { return "machine" }

func (*Begin) Scope() Scope    { return Public }
func (*Setup) Scope() Scope    { return Public }
func (*Progress) Scope() Scope { return Public }
func (*Spent) Scope() Scope    { return Public }
func (*State) Scope() Scope    { return Public }
func (*Note) Scope() Scope     { return Public }
func (*End) Scope() Scope      { return Public }
func (*Standing) Scope() Scope { return Public }
func (*Member) Scope() Scope   { return Public }
func (*Machine) Scope() Scope  { return Public }

func (*Begin) releasable()    {}
func (*Setup) releasable()    {}
func (*Progress) releasable() {}
func (*Spent) releasable()    {}
func (*State) releasable()    {}
func (*Note) releasable()     {}
func (*End) releasable()      {}
func (*Standing) releasable() {}
func (*Member) releasable()   {}
func (*Machine) releasable()  {}
