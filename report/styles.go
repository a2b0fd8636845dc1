package report

import (
	"cmp"
	"slices"

	"sotto/report/plot"
)

// setStyles gives every setting its look, the same in all plots of a page: a family has a
// colour, and its budgets have dashes, the more broken the smaller epsilon is. Where all
// are of one family, each has a colour. A setting alone looks like any first curve.
func setStyles(groups []*group) {
	if len(groups) < 2 {
		return
	}
	families := overBudgets(groups)
	if len(families) == 1 {
		for k, s := range groups {
			s.style = plot.Hue(k)
		}
		return
	}
	for k, f := range families {
		budgets := slices.Clone(f.members)
		slices.SortStableFunc(budgets, func(a, b *group) int { return cmp.Compare(b.epsilon(), a.epsilon()) })
		for n, s := range budgets {
			s.style = plot.Hue(k)
			s.style.Dash += n
		}
	}
}

// common is the look of a curve of several settings: the colour that they share, or ink
// with the dashes of its place.
func common(groups []*group, place int) plot.Style {
	style := groups[0].style
	for _, s := range groups {
		if s.style.Hue != style.Hue {
			return plot.Style{Hue: plot.Inked, Dash: place}
		}
		style.Dash = min(style.Dash, s.style.Dash)
	}
	return style
}
