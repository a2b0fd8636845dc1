package account

import (
	"fmt"
	"strconv"
	"strings"

	"sotto/privacy/account/figure"
)

// memo has what accountants of this process have answered.
var memo figure.Memo

// Figures is the memory of this process, which every accountant asks before it composes.
// A figure that it is made to learn is believed: a program whose figures are guarantees
// teaches it none.
func Figures() *figure.Memo { return &memo }

// question is what is asked of what one unit meets: its name and all that the answer
// depends on besides the accountant, the pair's relation and the events. The zero
// question is not worth remembering.
type question string

func ask(name string, at float64, more ...any) question {
	return question(fmt.Sprint(name, " ", strconv.FormatFloat(at, 'x', -1, 64), " ", more))
}

// remembered answers q about l, from memory where it was asked before.
func (t *tally) remembered(q question, l []entry, of func(l []entry) (Interval, error)) (Interval, error) {
	if q == "" || len(l) == 0 {
		return of(l)
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%s\n%v\n%v\n%s\n", t.name, t.adjacency, t.unit, q)
	for i := range l {
		fmt.Fprintf(&key, "%d %s\n", l[i].count, l[i].key)
		if key.Len() > figure.MaxKey {
			return of(l)
		}
	}
	f, err := memo.Of(key.String(), func() (figure.Figure, error) {
		i, err := of(l)
		return figure.Figure(i), err
	})
	return Interval(f), err
}
