package exposure

import (
	"slices"

	"sotto/privacy/account/network"
)

// Views are what the adversaries of a [Case] learn.
type Views struct {
	*Case
	views      []*network.View
	formula    [][]float64               // by adversary; nil: not asked for, or no single observer
	determined []*network.Reconstruction // by adversary; nil: not asked for
}

// Views computes them: with the published per-message formula for comparison, and with
// whose values adversaries would get exactly if nothing were noised.
func (c *Case) Views(formula, reconstruct bool) (*Views, error) {
	r := &Views{Case: c}
	var err error
	if r.views, err = c.Gossip.Views(c.Adversaries); err != nil {
		return nil, err
	}
	if reconstruct {
		for _, a := range c.Adversaries {
			d, err := c.Gossip.Reconstruct(a)
			if err != nil {
				return nil, err
			}
			r.determined = append(r.determined, d)
		}
	}
	if !formula {
		return r, nil
	}
	r.formula = make([][]float64, len(c.Adversaries))
	for i, a := range c.Adversaries {
		if m := a.Members(); len(m) == 1 {
			if r.formula[i], err = c.Gossip.MuffliatoPrinted(m[0]); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// member reports that agent u belongs to adversary i.
func (r *Views) member(u, i int) bool { return isMember(u, r.Adversaries[i]) }

// upper is the upper end of u's epsilon against adversary i.
func (r *Views) upper(u, i int) float64 { return r.views[i].Epsilon(u, r.Mu, r.Delta).Upper }

// worst returns the pair with the largest leak, the first of several; ok is false where
// nobody is left to observe.
func (r *Views) worst() (u, i int, ok bool) {
	for k, v := range r.views {
		w := v.Worst()
		if w >= 0 && (!ok || v.Leak[w] > r.views[i].Leak[u]) {
			u, i, ok = w, k, true
		}
	}
	return u, i, ok
}

// distanceSummary is what adversaries learn at one distance.
type distanceSummary struct {
	distance, pairs int
	most, mean      float64
	u, i            int // a pair with the largest leak
}

func (r *Views) byDistance() []distanceSummary {
	at := map[int]*distanceSummary{}
	for i, a := range r.Adversaries {
		for u, d := range r.distances(a) {
			if r.member(u, i) {
				continue
			}
			s := at[d]
			if s == nil {
				s = &distanceSummary{distance: d, most: -1}
				at[d] = s
			}
			leak := r.views[i].Leak[u]
			s.pairs++
			s.mean += leak
			if leak > s.most {
				s.most, s.u, s.i = leak, u, i
			}
		}
	}
	var out []distanceSummary
	for _, s := range at {
		s.mean /= float64(s.pairs)
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b distanceSummary) int { return a.distance - b.distance })
	return out
}
