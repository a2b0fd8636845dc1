package agent

// Schedule says how often an agent asks in each of its rounds or wakes: over and over as
// in Answers, and nothing from Until on. What it asks at the start is round 0's.
type Schedule struct {
	Answers []int  `json:"answers"`
	Until   uint64 `json:"until"`
}

// At is how often the agent asks in a round.
func (s *Schedule) At(round uint64) int {
	if round >= s.Until || len(s.Answers) == 0 {
		return 0
	}
	return s.Answers[round%uint64(len(s.Answers))]
}

// Add goes on with a round of so many queries.
func (s *Schedule) Add(n int) {
	period := uint64(len(s.Answers))
	if period == 0 || s.Answers[s.Until%period] != n {
		for k := period; k < s.Until; k++ {
			s.Answers = append(s.Answers, s.Answers[k%period])
		}
		s.Answers = append(s.Answers, n)
	}
	s.Until++
}
