package rundir

import (
	"fmt"
	"strings"
)

// Personal is what every owner ends with, beside what it would have alone and what all
// share, on its own test records. Nothing of it has left the owner.
type Personal struct {
	Figures []string       `json:"figures"` // names
	Models  []string       `json:"models"`  // names: alone, shared, personal, own
	Lines   []PersonalLine `json:"owners"`
}

// PersonalLine is one owner.
type PersonalLine struct {
	Agent   int `json:"agent"`
	Records int `json:"records"` // it trains on
	Tests   int `json:"tests"`
	// Weights are those of the models alone, shared and personal in its own.
	Weights [3]float64 `json:"weights"`
	// Values are by model and figure; null where a figure is undefined.
	Values [][]*float64 `json:"values"`
}

// Means are over the owners that have a figure, by model; false: none has.
func (p *Personal) Means(figure int) ([]float64, bool) {
	sums, n := make([]float64, len(p.Models)), 0
	for _, l := range p.Lines {
		if l.Values[0][figure] == nil {
			continue
		}
		n++
		for k := range sums {
			sums[k] += *l.Values[k][figure]
		}
	}
	for k := range sums {
		sums[k] /= float64(n)
	}
	return sums, n > 0
}

// better reports whether a larger value of a figure is the better one.
func better(figure string) bool {
	return figure != "rmse" && figure != "log_loss" && figure != "deviance"
}

// write prints the owners, and of each whether it was worth it.
func (p *Personal) write(t textTable, names *Names) {
	if p == nil {
		return
	}
	t.row("own models", "of each owner, on its own test records; nothing of them is sent or charged")
	for f, figure := range p.Figures {
		if m, ok := p.Means(f); ok {
			t.row("  "+figure, "%s on the mean of owners", p.values(func(k int) *float64 { return &m[k] }))
		}
	}
	for _, l := range p.Lines {
		for f, figure := range p.Figures {
			if l.Values[0][f] == nil {
				continue
			}
			text := p.values(func(k int) *float64 { return l.Values[k][f] })
			if f == 0 {
				text += fmt.Sprintf("; of alone %.1f, shared %.1f, personal %.1f", l.Weights[0], l.Weights[1],
					l.Weights[2])
			}
			t.row("  "+names.Agent(l.Agent), "%s %s: %s", figure, text, p.worth(&l, f))
		}
	}
}

func (p *Personal) values(of func(k int) *float64) string {
	var all []string
	for k, m := range p.Models {
		all = append(all, fmt.Sprintf("%s %.3f", m, *of(k)))
	}
	return strings.Join(all, ", ")
}

// worth says in words what joining has brought an owner by a figure.
func (p *Personal) worth(l *PersonalLine, f int) string {
	d := *l.Values[len(p.Models)-1][f] - *l.Values[0][f]
	if !better(p.Figures[f]) {
		d = -d
	}
	switch {
	case d > 0:
		return fmt.Sprintf("joining brought %.3f", d)
	case d < 0:
		return fmt.Sprintf("joining cost %.3f", -d)
	}
	return "joining made no difference"
}
