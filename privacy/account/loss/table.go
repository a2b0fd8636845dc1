package loss

import "math"

// Tails are the probabilities that a loss lies above or not above some t, under P and
// under Q.
type Tails struct{ PUp, QUp, PLo, QLo float64 }

// Mirrored are the tails of the mirrored pair at -t.
func (v Tails) Mirrored() Tails { return Tails{PUp: v.QLo, QUp: v.PLo, PLo: v.QUp, QLo: v.PUp} }

// Scan gives the tails of one event. It may remember the last t, for ascending calls, and
// must not be shared.
type Scan func(t float64) Tails

// Table holds the tails of one event on the grid h*(lo+i).
type Table struct {
	h  float64
	lo int
	at []Tails
}

// Support finds t0 < t1 such that the losses outside have probability at most mass under
// P above t1 and under P below t0, and the same for the mirrored pair; atoms at infinity
// do not count.
func Support(scan func() Scan, mass float64) (t0, t1 float64) {
	at := scan()
	limit := at(1e6)
	pInf, qInf := limit.PUp, at(-1e6).QLo
	t1 = Edge(func(t float64) bool { v := scan()(t); return v.PUp-pInf <= mass && v.QUp <= mass })
	t0 = -Edge(func(t float64) bool { v := scan()(-t); return v.QLo-qInf <= mass && v.PLo <= mass })
	if t0 > t1 {
		t0, t1 = t1, t0
	}
	return t0, t1
}

// Tabulate evaluates the tails on the grid points that cover [t0, t1].
func Tabulate(s Source, h, t0, t1 float64) Table {
	lo, hi := int(math.Floor(t0/h)), int(math.Ceil(t1/h))
	if hi == lo {
		hi++
	}
	tab := Table{h: h, lo: lo, at: make([]Tails, hi-lo+1)}
	fill := s.filler()
	var t column
	for first := 0; first < len(tab.at); first += block {
		out := tab.at[first:min(first+block, len(tab.at))]
		for i := range out {
			t[i] = h * float64(lo+first+i)
		}
		fill(out, t[:len(out)])
	}
	return tab
}

// Connect applies connect-the-dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022):
// the loss of each cell is split between the two grid points so that its P- and
// Q-probabilities stay. The resulting profile is the linear interpolation of delta in
// e^eps: an upper bound that touches the true profile on the grid. Equivalently every
// loss is rounded at random by at most h with an upward drift below h^2/8 e^h, which
// gives the lower bounds. Mass above the grid goes to infinity, mass below it moves up to
// the first point. mirrored builds the pair (Q, P).
func (tab Table) Connect(mirrored bool, count int) Law {
	n := len(tab.at)
	out := Law{H: tab.h, Off: tab.lo, P: make([]float64, n), Count: float64(count)}
	first, last := &tab.at[0], &tab.at[n-1]
	up := -math.Expm1(-tab.h)
	if !mirrored {
		out.Inf, out.InfQ, out.P[0] = last.PUp, last.QUp, first.PLo
		for i := 0; i+1 < n; i++ {
			p, q := between(&tab.at[i], &tab.at[i+1])
			if p == 0 {
				continue
			}
			high := UpperShare(p, q, tab.h*float64(tab.lo+i), up)
			out.P[i] += p - high
			out.P[i+1] += high
		}
		return out.Trim()
	}
	out.Off = -(tab.lo + n - 1)
	out.Inf, out.InfQ, out.P[0] = first.QLo, first.PLo, last.QUp
	for i := 0; i+1 < n; i++ { // cell [-t_{i+1}, -t_i) of the mirrored loss, indices n-2-i and n-1-i
		p, q := between(&tab.at[i], &tab.at[i+1])
		if q == 0 {
			continue
		}
		high := UpperShare(q, p, -tab.h*float64(tab.lo+i+1), up)
		out.P[n-2-i] += q - high
		out.P[n-1-i] += high
	}
	return out.Trim()
}

// between returns the probabilities of losses between two points by the tails that cancel
// less.
func between(a, b *Tails) (p, q float64) {
	p, q = a.PUp-b.PUp, a.QUp-b.QUp
	if b.PLo < a.PUp {
		p = b.PLo - a.PLo
	}
	if b.QLo < a.QUp {
		q = b.QLo - a.QLo
	}
	return max(0, p), max(0, q)
}
