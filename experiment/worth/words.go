package worth

import (
	"fmt"
	"strings"
)

// Say writes the answer in rows, for the owner of so many records.
func (a *Answer) Say(row func(what, format string, args ...any), records int) {
	var fewer []string
	for _, p := range a.Curve {
		fewer = append(fewer, fmt.Sprintf("%.3f with %d", float64(p.Value), p.Records))
	}
	row("alone", "%s %.3f (%.3f to %.3f), by cross-validation of your %d records; %s", a.Figure,
		float64(a.Alone.Value), float64(a.Alone.Low), float64(a.Alone.High), records,
		strings.Join(fewer, ", "))
	for k := range a.Lines {
		row(fmt.Sprintf("epsilon %g", a.Lines[k].Epsilon), "%s", a.say(&a.Lines[k]))
	}
}

// say says what one epsilon would bring.
func (a *Answer) say(l *Line) string {
	alone := float64(a.Alone.Value)
	text := fmt.Sprintf("expect %s %.3f alone, %.3f to %.3f together where others are like you, %.3f to "+
		"%.3f where they are not: ", a.Figure, alone, alone+float64(l.Alike.Low),
		alone+float64(l.Alike.High), alone+float64(l.Unlike.Low), alone+float64(l.Unlike.High))
	switch l.Alike.Sign() {
	case 1:
		text += fmt.Sprintf("joining brings %.3f on the mean", float64(l.Alike.Value))
	case -1:
		text += fmt.Sprintf("joining costs %.3f on the mean", -float64(l.Alike.Value))
	default:
		text += "these simulations see no difference"
	}
	switch n := len(l.Looked); {
	case l.From > 0:
		return text + fmt.Sprintf("; it pays from about %d records of each other member on", l.From)
	case n == 0:
		return text + fmt.Sprintf("; this run cannot be simulated with %d to %d records of each other member",
			least, most)
	case l.Looked[0] > least || l.Looked[n-1] < most:
		return text + fmt.Sprintf("; with %d to %d records of each other member it does not pay, and with "+
			"other numbers up to %d the run cannot be simulated", l.Looked[0], l.Looked[n-1], most)
	}
	return text + fmt.Sprintf("; with up to %d records of each other member it does not pay", most)
}
