package agent

// Pacing says how a runtime drives an algorithm: which Kinds of step it is given.
type Pacing uint8

const (
	// PacingRounds is synchronous rounds: every agent is stepped with Round.
	PacingRounds Pacing = iota
	// PacingWakes has agents wake by their own clocks and broadcast.
	PacingWakes
	// PacingPairs has agents wake with one neighbor, and both exchange one message.
	PacingPairs
	// PacingTokens has tokens go from agent to agent; who holds one is stepped with
	// Token.
	PacingTokens
)

// Clocked reports whether agents wake by their own clocks.
func (p Pacing) Clocked() bool { return p == PacingWakes || p == PacingPairs }

var pacingNames = [...]string{"rounds", "wakes", "pairs", "tokens"}

func (p Pacing) String() string {
	if int(p) < len(pacingNames) {
		return pacingNames[p]
	}
	return "invalid"
}
