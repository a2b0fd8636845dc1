package main

import (
	"fmt"
	"io"
)

// legend says what the colours mean, in their order.
var legend = []struct{ class, color, text string }{
	{"records", "#fbe3c8", "imports package data: may see records"},
	{"sealed", "#d6e6f7", "may never import data, model or oracle"},
	{"other", "#f4f4f4", "does not import data"},
}

// writeSVG draws the house with the lowest floor at the bottom.
func writeSVG(w io.Writer, h *house, class func(pkg string) string) {
	height := floorPitch*float64(len(h.floors)) + 2*gap
	top := func(n *node) float64 { return gap + floorPitch*float64(len(h.floors)-1-n.floor) }
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `+
		`font-family="monospace" font-size="11">`+"\n", h.width, height)
	fmt.Fprintln(w, "<title>The packages of sotto on their floors; lines are imports, downward</title>")
	fmt.Fprintf(w, `<rect width="%.0f" height="%.0f" fill="#fff"/>`+"\n", h.width, height)
	fmt.Fprintln(w, `<g fill="none" stroke="#8a8a8a" stroke-width="0.8">`)
	for _, row := range h.floors {
		for _, n := range row {
			if n.name == "" {
				fmt.Fprintf(w, `<path d="M%.1f %.1fv%.1f"/>`+"\n", n.x, top(n), boxHeight)
			}
			for _, to := range n.down {
				from, into := top(n)+boxHeight, top(to)
				half := (from + into) / 2
				fmt.Fprintf(w, `<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>`+"\n",
					n.x, from, n.x, half, to.x, half, to.x, into)
			}
		}
	}
	for _, l := range h.level {
		y := top(l[0]) + boxHeight
		fmt.Fprintf(w, `<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>`+"\n",
			l[0].x, y, l[0].x, y+14, l[1].x, y+14, l[1].x, y)
	}
	fmt.Fprintln(w, "</g>")
	fmt.Fprintln(w, `<g stroke="#333" stroke-width="0.8" text-anchor="middle">`)
	for _, row := range h.floors {
		for _, n := range row {
			if n.name != "" {
				box(w, n.x, top(n), n.width, n.name, color(class(n.name)))
			}
		}
	}
	x := gap
	for _, l := range legend {
		width := charWidth*float64(len(l.text)) + gap
		box(w, x+width/2, height-gap-boxHeight/2, width, l.text, l.color)
		x += width + gap
	}
	fmt.Fprintln(w, "</g>\n</svg>")
}

func box(w io.Writer, x, top, width float64, text, color string) {
	fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" rx="3" fill="%s"/>`+
		`<text x="%.1f" y="%.1f" stroke="none">%s</text>`+"\n",
		x-width/2, top, width, boxHeight, color, x, top+boxHeight/2+4, text)
}

func color(class string) string {
	for _, l := range legend {
		if l.class == class {
			return l.color
		}
	}
	return "none"
}
