package plan

import "sotto/oracle"

// roundingLeft is what a release says that leaves the rounding of its sums uncharged.
const roundingLeft = "the rounding of sums in float32, which nothing proven bounds for this model"

// Uncharged lists what the agent's releases leave out of the figure. It is public.
func (a *Agent) Uncharged() ([]string, error) {
	if a.Events == nil {
		return nil, nil
	}
	for k := range a.Asks {
		left, err := oracle.Uncharged(&a.Public, &a.Asks[k].Query)
		if err != nil {
			return nil, err
		}
		if left {
			return []string{roundingLeft}, nil
		}
	}
	return nil, nil
}
