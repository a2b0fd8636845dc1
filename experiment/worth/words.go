package worth

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Say writes the answer in rows, for the owner of so many records; owner is its name, ""
// where the owner reads it.
func (a *Answer) Say(row func(what, format string, args ...any), records int, owner string) {
	var fewer []string
	for _, p := range a.Curve {
		fewer = append(fewer, fmt.Sprintf("%.3f with %d", float64(p.Value), p.Records))
	}
	whose := fmt.Sprintf("your %d records", records)
	if owner != "" {
		whose = fmt.Sprintf("the %d records of %s", records, owner)
	}
	row("alone", "%s %.3f (%.3f to %.3f), by cross-validation of %s; %s", a.Figure,
		float64(a.Alone.Value), float64(a.Alone.Low), float64(a.Alone.High), whose,
		strings.Join(fewer, ", "))
	for k := range a.Lines {
		row(fmt.Sprintf("epsilon %g", a.Lines[k].Epsilon), "%s", a.say(&a.Lines[k], owner))
	}
	for _, r := range a.refusals() {
		row("not simulated", "with %d records of each other member: %s", r.Records, r.Why)
	}
}

// refusals are the first of each line, each once.
func (a *Answer) refusals() (all []Refusal) {
	for _, l := range a.Lines {
		if len(l.Refused) > 0 && !slices.Contains(all, l.Refused[0]) {
			all = append(all, l.Refused[0])
		}
	}
	return all
}

// say says what one epsilon would bring.
func (a *Answer) say(l *Line, owner string) string {
	if owner == "" {
		owner = "you"
	}
	alone := float64(a.Alone.Value)
	text := fmt.Sprintf("expect %s %.3f alone, %.3f to %.3f together where others are like %s, %.3f to "+
		"%.3f where they are not: ", a.Figure, alone, alone+float64(l.Alike.Low),
		alone+float64(l.Alike.High), owner, alone+float64(l.Unlike.Low), alone+float64(l.Unlike.High))
	switch gain := float64(l.Alike.Value); {
	case l.Alike.Sign() == 0:
		text += "with the records that they have these simulations see no difference"
	case math.Abs(gain) < shown:
		text += "with the records that they have joining changes less than 0.001 on the mean"
	case gain > 0:
		text += fmt.Sprintf("with the records that they have joining brings %.3f on the mean "+
			"(standard error %.2g)", gain, float64(l.Alike.Error))
	default:
		text += fmt.Sprintf("with the records that they have joining costs %.3f on the mean "+
			"(standard error %.2g)", -gain, float64(l.Alike.Error))
	}
	return text + l.sayFrom() + l.sayRefused()
}

// sayFrom says with how many records of each other member joining pays.
func (l *Line) sayFrom() string {
	not, pays := l.Looked, []int(nil)
	if at := slices.Index(l.Looked, l.From); l.From > 0 && at >= 0 {
		not, pays = l.Looked[:at], l.Looked[at:]
	}
	switch {
	case len(l.Looked) == 0:
		return ""
	case len(pays) == 0:
		return fmt.Sprintf("; if each of them had %s, a gain is not shown", list(not, "or"))
	case len(not) == 0:
		return fmt.Sprintf("; if each of them had %s, it pays", list(pays, "or"))
	}
	return fmt.Sprintf("; if each of them had %s, it pays, with %s a gain is not shown", list(pays, "or"),
		list(not, "or"))
}

// sayRefused says with how many records the run cannot be simulated.
func (l *Line) sayRefused() string {
	if len(l.Refused) == 0 {
		return ""
	}
	var all []int
	for _, r := range l.Refused {
		all = append(all, r.Records)
	}
	return fmt.Sprintf("; with %s each the run cannot be simulated", list(all, "or"))
}

// list is "10, 20 or 40".
func list(numbers []int, word string) string {
	texts := make([]string, len(numbers))
	for k, n := range numbers {
		texts[k] = strconv.Itoa(n)
	}
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " " + word + " " + texts[last]
}
