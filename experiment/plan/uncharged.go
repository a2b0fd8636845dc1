package plan

import (
	"fmt"
	"math"
	"slices"

	"sotto/oracle"
	"sotto/privacy"
)

// Uncharged lists what the agent's releases under the scheme s leave out of the figure:
// the rounding of sums in float32, with the most it comes to. It is public.
func (a *Agent) Uncharged(s privacy.Scheme) ([]string, error) {
	if a.Events == nil {
		return nil, nil
	}
	var out []string
	for k := range a.Asks {
		q := a.Asks[k].Query
		m, own := a.Own[q.Oracle]
		if !own {
			var err error
			if m, err = s.At(a.Noise); err != nil {
				return nil, err
			}
		}
		if _, ok := m.(privacy.PostProcessed); ok || privacy.TakesIntegers(m) {
			continue
		}
		u, err := oracle.Uncharged(&a.Public, &q)
		if err != nil {
			return nil, err
		}
		if text := roundingText(u); u.SumError > 0 && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out, nil
}

// roundingText has the bound to two digits, rounded up.
func roundingText(u oracle.Rounding) string {
	if math.IsInf(u.SumError, 1) {
		return "the rounding of sums in float32, which nothing proven bounds for this model"
	}
	digit := math.Pow(10, math.Floor(math.Log10(u.SumError))-1)
	text := fmt.Sprintf("the rounding of sums in float32: at most %.2g of the clip for up to %d records",
		math.Ceil(u.SumError/digit)*digit, u.Records)
	if u.Drawn {
		text += fmt.Sprintf(" (a larger batch has probability below %g)", oracle.Beyond)
	}
	return text
}
