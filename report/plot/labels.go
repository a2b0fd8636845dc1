package plot

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Names at the ends of curves.
const (
	mostNamed   = 8   // curves
	nameRunes   = 32  // of a name; what is longer is cut
	nameLetters = 11. // their size
	nameGap     = 13.5
	nameKey     = 22. // a piece of the line before a name
)

// named is what stands at the end of a curve.
type named struct {
	text, short string
	curve       int
	x, y        float64 // the end
}

// name finds which curves coincide and what stands at the ends of curves: nothing where
// there are too many, or where a cut would leave names alike.
func (o *onPage) name() {
	o.groups, o.names, o.right = nil, nil, 14
	shown := o.legend()
	at := map[string]int{} // by what is drawn
	for _, i := range shown {
		mid, band := o.lines(o.Curves[i])
		drawn := o.path(len(mid), mid.XY) + o.path(len(band), band.XY)
		k, ok := at[drawn]
		if !ok {
			k, at[drawn] = len(o.groups), len(o.groups)
			o.groups = append(o.groups, nil)
		}
		o.groups[k] = append(o.groups[k], i)
	}
	widest, seen := 0., map[string]bool{"": true}
	var names []named
	for _, g := range o.groups {
		for k, text := range o.endNames(g) {
			mid, _ := o.lines(o.Curves[g[k]])
			last := mid[len(mid)-1]
			n := named{text: text, short: cut(text, nameRunes), curve: g[k], x: o.x.at(last.X),
				y: dataHeight - o.y.at(last.Y)}
			if seen[n.short] {
				return
			}
			seen[n.short] = true
			widest = max(widest, wide(n.short, nameLetters))
			names = append(names, n)
		}
	}
	if len(shown) > 0 && len(shown) <= mostNamed {
		o.names, o.right = names, 8+nameKey+1.04*widest+4
	}
}

// together names curves that coincide.
func (o *onPage) together(group []int) string {
	var all []string
	for _, i := range group {
		all = append(all, o.Curves[i].Name)
	}
	if len(all) > 1 {
		all[len(all)-1] += ": the same"
	}
	return strings.Join(all, " and ")
}

// endNames are one line for curves that coincide where it is short, or one for each.
func (o *onPage) endNames(group []int) []string {
	if all := o.together(group); len(group) == 1 || len([]rune(all)) <= nameRunes {
		return []string{all}
	}
	lines := []string{o.Curves[group[0]].Name}
	for _, i := range group[1:] {
		lines = append(lines, "same: "+o.Curves[i].Name)
	}
	return lines
}

// labels writes the names at the ends of curves, moved apart, with a thin line to those
// that were moved far.
func (o *onPage) labels() {
	if len(o.names) == 0 {
		return
	}
	slices.SortStableFunc(o.names, func(a, b named) int { return int(100*a.y) - int(100*b.y) })
	var ends []float64
	for _, n := range o.names {
		ends = append(ends, n.y)
	}
	o.WriteString(`<g class="labels">`)
	edge := o.left + o.x.length
	for k, y := range spread(ends, nameGap, 2, dataHeight-2) {
		n, p := o.names[k], o.pen(o.names[k].curve)
		if far := n.y - y; far > 4 || far < -4 || n.x < o.x.length-24 {
			fmt.Fprintf(o, `<path class="leader" d="M%.2f,%.2fL%.2f,%.2f" style="stroke:%s"/>`,
				o.left+n.x+4, dataTop+n.y, edge+6, dataTop+y, p.css())
		}
		title := ""
		if n.short != n.text {
			title = "<title>" + html.EscapeString(n.text) + "</title>"
		}
		fmt.Fprintf(o, `<g class="label" data-curve="%d" transform="translate(%.2f %.2f)">%s`+
			`<text x="%g" dy=".35em">%s%s</text></g>`, n.curve, edge+8, dataTop+y, o.key(n.curve), nameKey,
			html.EscapeString(n.short), title)
	}
	o.WriteString(`</g>`)
}

// key is a piece of the line of curve i, with its mark.
func (o *onPage) key(i int) string {
	p := o.pen(i)
	s := fmt.Sprintf(`<path d="M0,0H18" style="%s"/>`, p.line())
	if o.Markers && !o.Curves[i].Dashed {
		s += fmt.Sprintf(`<path transform="translate(9 0)" %s/>`, p.shape())
	}
	return s
}

// legendBelow are the names below the drawing: always there, and hidden by the page where
// they stand at the ends of curves.
func (o *onPage) legendBelow() string {
	if len(o.groups) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<ul class="legend">`)
	for _, g := range o.groups {
		fmt.Fprintf(&b, `<li><svg class="plot" width="18" height="10" viewBox="0 -5 18 10" `+
			`aria-hidden="true">%s</svg>%s</li>`, o.key(g[0]), html.EscapeString(o.together(g)))
	}
	return b.String() + `</ul>`
}

// spread moves ascending heights apart by gap at least, between low and high, each as
// little as can be: those that are too near stand around their middle.
func spread(at []float64, gap, low, high float64) []float64 {
	type block struct {
		sum float64
		n   int
	}
	middle := func(b block) float64 { return b.sum / float64(b.n) }
	var blocks []block
	for k, y := range at {
		b := block{sum: y - gap*float64(k), n: 1}
		for len(blocks) > 0 && middle(blocks[len(blocks)-1]) > middle(b) {
			last := blocks[len(blocks)-1]
			b = block{sum: b.sum + last.sum, n: b.n + last.n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	var out []float64
	most := high - gap*float64(len(at)-1)
	for _, b := range blocks {
		for range b.n {
			out = append(out, min(max(middle(b), low), most)+gap*float64(len(out)))
		}
	}
	return out
}
