package account

import (
	"math"
	"sotto/privacy/account/loss"
)

// table holds the tails of one event on the grid h*(lo+i).
type table struct {
	h    float64
	lo   int
	at   []tails
	pair pair
}

// support finds t0 < t1 such that the losses outside have probability at most mass under
// P above t1 and under P below t0, and the same for the mirrored pair; atoms at infinity
// do not count.
func (p pair) support(mass float64) (t0, t1 float64) {
	at := p.scan()
	limit := at(1e6)
	pInf, qInf := limit.pUp, at(-1e6).qLo
	t1 = loss.Edge(func(t float64) bool { v := p.scan()(t); return v.pUp-pInf <= mass && v.qUp <= mass })
	t0 = -loss.Edge(func(t float64) bool { v := p.scan()(-t); return v.qLo-qInf <= mass && v.pLo <= mass })
	if t0 > t1 {
		t0, t1 = t1, t0
	}
	return t0, t1
}

// tabulate evaluates the tails on the grid points that cover [t0, t1].
func (p pair) tabulate(h, t0, t1 float64) table {
	lo, hi := int(math.Floor(t0/h)), int(math.Ceil(t1/h))
	if hi == lo {
		hi++
	}
	tab := table{h: h, lo: lo, at: make([]tails, hi-lo+1), pair: p}
	at := p.scan()
	for i := range tab.at {
		tab.at[i] = at(h * float64(lo+i))
	}
	return tab
}

// cell returns the probabilities of (t_i, t_{i+1}] by the tails that cancel less.
func (tab *table) cell(i int) (p, q float64) {
	a, b := &tab.at[i], &tab.at[i+1]
	p, q = a.pUp-b.pUp, a.qUp-b.qUp
	if b.pLo < a.pUp {
		p = b.pLo - a.pLo
	}
	if b.qLo < a.qUp {
		q = b.qLo - a.qLo
	}
	return math.Max(0, p), math.Max(0, q)
}

// connect applies connect-the-dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022):
// the loss of each cell is split between the two grid points so that its P- and
// Q-probabilities stay. The resulting profile is the linear interpolation of delta in
// e^eps: an upper bound that touches the true profile on the grid. Equivalently every
// loss is rounded at random by at most h with an upward drift below h^2/8 e^h, which
// gives the lower bounds. Mass above the grid goes to infinity, mass below it moves up to
// the first point. mirrored builds the pair (Q, P).
func (tab table) connect(mirrored bool, count int) loss.Law {
	n := len(tab.at)
	out := loss.Law{H: tab.h, Off: tab.lo, P: make([]float64, n), Count: float64(count)}
	first, last := &tab.at[0], &tab.at[n-1]
	up := -math.Expm1(-tab.h)
	if !mirrored {
		out.Inf, out.InfQ, out.P[0] = last.pUp, last.qUp, first.pLo
		for i := 0; i+1 < n; i++ {
			p, q := tab.cell(i)
			if p == 0 {
				continue
			}
			high := loss.UpperShare(p, q, tab.h*float64(tab.lo+i), up)
			out.P[i] += p - high
			out.P[i+1] += high
		}
		return out.Trim()
	}
	out.Off = -(tab.lo + n - 1)
	out.Inf, out.InfQ, out.P[0] = first.qLo, first.pLo, last.qUp
	for i := 0; i+1 < n; i++ { // cell [-t_{i+1}, -t_i) of the mirrored loss, indices n-2-i and n-1-i
		p, q := tab.cell(i)
		if q == 0 {
			continue
		}
		high := loss.UpperShare(q, p, -tab.h*float64(tab.lo+i+1), up)
		out.P[n-2-i] += q - high
		out.P[n-1-i] += high
	}
	return out.Trim()
}
