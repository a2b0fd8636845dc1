package mark

import "slices"

// Compared is how many rounds lie between two marks of a member that those who hear it
// compare with each other.
const Compared = 16

// Signed is a mark with its signature, as it came; without bytes it is none.
type Signed struct {
	Mark
	Bytes []byte
}

// compared reports whether a mark is one that members compare.
func (h *Signed) compared() bool { return h.Sent != NoRound && h.Sent%Compared == 0 }

// History is what is kept of one member's marks.
type History struct {
	Last    Signed   // the newest one
	Earlier []Signed // of the rounds before, at most two, and of two rounds to compare
	Former  []Signed // the newest ones of processes before, at most two: see Lineage
}

// Keep notes a mark that was verified.
func (a *History) Keep(h Signed) {
	if a.Last.Bytes != nil && !h.After(&a.Last.Mark) && h.Sent == a.Last.Sent {
		return
	}
	if a.Last.Bytes == nil || h.After(&a.Last.Mark) {
		if a.Last, h = h, a.Last; h.Bytes != nil && h.Process != a.Last.Process {
			a.Former = append(a.Former, h)
			a.Former = a.Former[max(0, len(a.Former)-2):]
		}
	}
	if h.Bytes == nil {
		return
	}
	a.Earlier = append(a.Earlier, h)
	plain, compared := 0, 0
	for i := len(a.Earlier) - 1; i >= 0; i-- {
		e := &a.Earlier[i]
		count := &plain
		if e.compared() {
			count = &compared
		}
		if *count++; *count > 2 || e.Generation < a.Last.Generation {
			a.Earlier = slices.Delete(a.Earlier, i, i+1)
		}
	}
}

// Recall takes in a mark that was kept, the newest of a member first.
func (a *History) Recall(signed []byte) {
	h := Signed{Mark: Read(signed), Bytes: signed}
	if a.Last.Bytes == nil {
		a.Last = h
	} else {
		a.Former = append(a.Former, h)
	}
}

// Contradiction finds a mark that gives a round another content than m does.
func (a *History) Contradiction(m *Mark) *Signed {
	for _, h := range append([]Signed{a.Last}, a.Earlier...) {
		if h.Bytes != nil && m.Contradicts(&h.Mark) {
			return &h
		}
	}
	return nil
}

// Shown is the newest mark that members compare; nil: there is none.
func (a *History) Shown() *Signed {
	all := append([]Signed{a.Last}, a.Earlier...)
	var best *Signed
	for i := range all {
		if h := &all[i]; h.Bytes != nil && h.compared() && (best == nil || h.Sent > best.Sent) {
			best = h
		}
	}
	return best
}

// ByProcess are the newest marks of the present process and of those before it.
func (a *History) ByProcess() (all []Signed) {
	for _, h := range append([]Signed{a.Last}, a.Former...) {
		if h.Bytes != nil {
			all = append(all, h)
		}
	}
	return all
}
