package event

import "sotto/internal/jsonfloat"

// Stats are a figure over agents.
type Stats struct {
	Mean jsonfloat.Float `json:"mean"`
	Min  jsonfloat.Float `json:"min"`
	Max  jsonfloat.Float `json:"max"`
}

// Evaluation is a look at all models of a simulation.
type Evaluation struct {
	Done    uint64           `json:"done"` // rounds, or what is counted
	Metrics map[string]Stats `json:"metrics"`
	// Words are the same for a line of text.
	Words string `json:"words"`
}

// Knows is what each agent's model knows: its accuracy on each class, by agent and class,
// in percent; -1 where there is no test record of it.
type Knows struct {
	Done    uint64   `json:"done"`
	Percent [][]int8 `json:"percent"`
}

// Traffic is what went over the links since the run began.
type Traffic struct {
	Done    uint64 `json:"done"`
	Bytes   uint64 `json:"bytes"` // by all agents, one count for each receiver
	Sent    uint64 `json:"sent"`  // messages
	Dropped uint64 `json:"dropped"`
	Late    uint64 `json:"late"`
	// ByLink has the links of the setup in their order: messages lost and late in either
	// direction, and sent, since the run began or was resumed. Empty where they are not
	// counted.
	ByLink      [][3]uint64 `json:"by_link,omitempty"`
	BytesByLink []uint64    `json:"bytes_by_link,omitempty"` // bytes sent, likewise
}

// Time says where time goes, in seconds since the run began or was resumed. Times of
// steps depend on batches, and so on records: no node tells them.
type Time struct {
	Done       uint64  `json:"done"`
	Elapsed    float64 `json:"elapsed"`
	Rate       float64 `json:"samples_per_second"` // expected samples of all agents
	Gradients  float64 `json:"gradients"`
	Noise      float64 `json:"noise"`
	Mixing     float64 `json:"mixing"`
	Evaluation float64 `json:"evaluation"`
	Rest       float64 `json:"rest"`
}

// Grid is the cells of a sweep, or the trials of a search, before they run.
type Grid struct {
	Axes []string `json:"axes"`
	// Cells are their values on the axes; left out above 5,000, and where they are
	// secret.
	Cells [][]string `json:"cells,omitempty"`
	// Score is what the search compares; "" for a sweep.
	Score string `json:"score,omitempty"`
}

// States of a cell beside Running, Done and Failed.
const Waiting = "waiting"

// Cell is one cell of a sweep, or one trial. A search whose trials are secret has none.
type Cell struct {
	Cell   int      `json:"cell"` // its number, from 0
	State  string   `json:"state"`
	Values []string `json:"values,omitempty"`
	Dir    string   `json:"dir,omitempty"` // of its run, below that of the sweep
	// Figures are of a finished one: accuracy, loss, rmse, epsilon, score, seconds.
	Figures map[string]jsonfloat.Float `json:"figures,omitempty"`
}

// Bound is what one mode of an audit has found so far. The records attacked are the
// auditor's own.
type Bound struct {
	Mode         string          `json:"mode"`
	Name         string          `json:"name,omitempty"`
	State        string          `json:"state"` // Running, Done, or a word why it does not apply
	Lower        jsonfloat.Float `json:"lower"` // of epsilon; null: the mode bounds none
	Claimed      jsonfloat.Float `json:"claimed"`
	Observations int             `json:"observations"`
	Of           int             `json:"of"`
	Violated     bool            `json:"violated"`
	Text         string          `json:"text,omitempty"`
}

// Own is what an owner's node says of the owner's own records. It stays on that machine.
type Own struct {
	Facts []Fact `json:"facts"`
}

func (*Evaluation) Kind() string { return "evaluation" }
func (*Knows) Kind() string      { return "knows" }
func (*Traffic) Kind() string    { return "traffic" }
func (*Time) Kind() string       { return "time" }
func (*Grid) Kind() string       { return "grid" }
func (*Cell) Kind() string       { return "cell" }
func (*Bound) Kind() string      { return "bound" }
func (*Own) Kind() string        { return "own" }

func (*Evaluation) Scope() Scope { return Simulated }
func (*Knows) Scope() Scope      { return Simulated }
func (*Traffic) Scope() Scope    { return Simulated }
func (*Time) Scope() Scope       { return Simulated }
func (*Grid) Scope() Scope       { return Simulated }
func (*Cell) Scope() Scope       { return Simulated }
func (*Bound) Scope() Scope      { return Simulated }
func (*Own) Scope() Scope        { return Local }
