package plot

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"
)

// namespaces are attributes that an SVG file needs and an SVG inside HTML does not;
// without them a page names no address.
var namespaces = regexp.MustCompile(`\s+xmlns(:xlink)?="[^"]*"`)

// Inline returns d as an SVG element for a page, a figure with its title and its legend.
// Its ink, its grid and the colours of its curves are variables of the page (--ink,
// --grid, --p0 and so on), so that it fits a dark one. Each point of a figure says its
// values under the pointer, and the page's script can look into a part of its axes.
func Inline(d Drawing) (template.HTML, error) {
	if f, ok := d.(Figure); ok {
		return f.shown()
	}
	var b bytes.Buffer
	if err := WriteSVG(&b, d); err != nil {
		return "", err
	}
	at := max(0, bytes.Index(b.Bytes(), []byte("<svg")))
	svg := string(namespaces.ReplaceAll(b.Bytes()[at:], nil))
	svg = themed(svg)
	kind := "ink"
	if _, ok := d.(HeatMap); ok { // its numbers stand on coloured cells
		kind = "cells"
	}
	svg = strings.Replace(svg, "<svg ", `<svg class="`+kind+`" `, 1)
	return template.HTML(described(svg, d.FileName(), d.heading(), d.About())), nil
}

// themed has the page choose ink, grid and the colours of curves.
func themed(svg string) string {
	replace := []string{"#DDDDDD", "var(--grid,#DDDDDD)", "#222222", "var(--ink,#222222)"}
	for k, c := range palette[:len(palette)-1] {
		hex := fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
		replace = append(replace, hex, fmt.Sprintf("var(--p%d,%s)", k, hex))
	}
	return strings.NewReplacer(replace...).Replace(svg)
}

// described says what an SVG element shows to those who do not see it. id is that of
// nothing else on the page.
func described(svg, id, title, about string) string {
	start, inside, _ := strings.Cut(svg, ">")
	return fmt.Sprintf(`%[1]s role="img" aria-labelledby="%[2]s-title %[2]s-about">`+
		`<title id="%[2]s-title">%[3]s</title><desc id="%[2]s-about">%[4]s</desc>%[5]s`, start,
		html.EscapeString(id), html.EscapeString(title), html.EscapeString(about), inside)
}
