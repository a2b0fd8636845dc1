package metric

import "math"

// Knows is what each tested agent's model knows: its accuracy on each class, by agent and
// class, in percent; -1 where it has no test record of it. It is nil where there are no
// classes, and above 64 agents or 20 classes, where it would take long.
func (s *Scene) Knows() [][]int8 {
	if c := s.Records.Split.Train.Classes; !s.Tests.Classify || len(s.Tests.Tested) > 64 || c > 20 {
		return nil
	}
	of := make([][]int8, len(s.Tests.Tested))
	for _, byAgent := range s.classAccuracies() {
		for k, share := range byAgent {
			percent := int8(-1)
			if !math.IsNaN(share) {
				percent = int8(math.Round(100 * share))
			}
			of[k] = append(of[k], percent)
		}
	}
	return of
}
