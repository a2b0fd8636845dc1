package reproduce

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"sotto/internal/atomicfile"
	"sotto/report/plot"
)

// Document is a table of results with what has to be said about it, and its plots.
type Document struct {
	Name, Title string
	Header      []string
	Rows        [][]string
	Notes       []string
	Figures     []plot.Figure
	Maps        []plot.HeatMap
}

// drawing is a plot with the heading that names it.
type drawing struct {
	plot.Drawing
	title string
}

// drawings are all plots.
func (d *Document) drawings() (all []drawing) {
	for _, f := range d.Figures {
		all = append(all, drawing{f, f.Title})
	}
	for _, m := range d.Maps {
		all = append(all, drawing{m, m.Title})
	}
	return all
}

// Add appends a row to the table.
func (d *Document) Add(cells ...any) { d.Rows = append(d.Rows, Cells(cells...)) }

// DropEmpty removes the columns that no row fills, if there are rows.
func (d *Document) DropEmpty() {
	for k := len(d.Header) - 1; k >= 0 && len(d.Rows) > 0; k-- {
		if slices.ContainsFunc(d.Rows, func(r []string) bool { return r[k] != "" }) {
			continue
		}
		d.Header = slices.Delete(d.Header, k, k+1)
		for i, r := range d.Rows {
			d.Rows[i] = slices.Delete(r, k, k+1)
		}
	}
}

// Cells are figures as text: fractional ones with four digits, samples as mean ± sd.
func Cells(cells ...any) []string {
	row := make([]string, len(cells))
	for i, c := range cells {
		if x, ok := c.(float64); ok {
			row[i] = fmt.Sprintf("%.4g", x)
		} else {
			row[i] = fmt.Sprint(c)
		}
	}
	return row
}

// Text aligns the table for a terminal.
func (d *Document) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n\n", d.Name, d.Title)
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(d.Header, "\t"))
	for _, r := range d.Rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	t.Flush() // a bytes.Buffer takes everything
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.Bytes()
}

// CSV holds the table alone.
func (d *Document) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(d.Header)
	w.WriteAll(d.Rows)
	return b.Bytes()
}

// Markdown is a section with the table, its notes, and its plots as files in the same
// folder.
func (d *Document) Markdown() []byte {
	var b bytes.Buffer
	line := func(cells []string) {
		escaped := make([]string, len(cells))
		for i, c := range cells {
			escaped[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(escaped, " | "))
	}
	fmt.Fprintf(&b, "## %s: %s\n\n", d.Name, d.Title)
	line(d.Header)
	fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(d.Header)))
	for _, r := range d.Rows {
		line(r)
	}
	b.WriteByte('\n')
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	for _, f := range d.drawings() {
		fmt.Fprintf(&b, "\n![%s](%s.svg)\n", f.title, f.FileName())
	}
	return b.Bytes()
}

// latexText is what tables are made of, for a LaTeX that knows ASCII alone.
var latexText = strings.NewReplacer("&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`, "$", `\$`, "{", `\{`,
	"}", `\}`, "^", `\textasciicircum{}`, "~", `\textasciitilde{}`, `\`, `\textbackslash{}`,
	"±", `$\pm$`, "λ2/n", `$\lambda_2/n$`, "∞", `$\infty$`,
	"x̄", `$\bar{x}$`, "²", "$^2$", "√", `$\surd$`,
	"‖", `$\Vert$`, "∇", `$\nabla$`, "≤", `$\le$`, "≥", `$\ge$`, "·", `$\cdot$`, "×", `$\times$`,
	"α", `$\alpha$`, "β", `$\beta$`, "γ", `$\gamma$`, "δ", `$\delta$`, "ε", `$\varepsilon$`,
	"ζ", `$\zeta$`, "κ", `$\kappa$`, "λ", `$\lambda$`, "μ", `$\mu$`, "ξ", `$\xi$`, "ρ", `$\rho$`,
	"σ", `$\sigma$`, "τ", `$\tau$`, "Δ", `$\Delta$`, "Ξ", `$\Xi$`, "Σ", `$\Sigma$`, "Λ", `$\Lambda$`)

// LaTeX is a tabular environment, to be put into a table.
func (d *Document) LaTeX() []byte {
	var b bytes.Buffer
	line := func(cells []string) {
		fmt.Fprintf(&b, "%s \\\\\n", latexText.Replace(strings.Join(cells, "\x00")))
	}
	fmt.Fprintf(&b, "%% %s: %s\n\\begin{tabular}{%s}\n\\hline\n", d.Name, d.Title,
		strings.Repeat("l", len(d.Header)))
	line(d.Header)
	b.WriteString("\\hline\n")
	for _, r := range d.Rows {
		line(r)
	}
	b.WriteString("\\hline\n\\end{tabular}\n")
	return bytes.ReplaceAll(b.Bytes(), []byte{0}, []byte(" & "))
}

// write puts the document into dir: its table in three forms, and its plots as SVG with
// their values as CSV.
func (d *Document) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := map[string][]byte{d.Name + ".csv": d.CSV(), d.Name + ".md": d.Markdown(),
		d.Name + ".tex": d.LaTeX()}
	page, err := d.Page()
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	files[d.Name+".html"] = page
	for _, f := range d.drawings() {
		var picture, values bytes.Buffer
		if err := errors.Join(plot.WriteSVG(&picture, f.Drawing), plot.WriteCSV(&values,
			f.Drawing)); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		files[f.FileName()+".svg"], files[f.FileName()+".csv"] = picture.Bytes(), values.Bytes()
	}
	// shards of a study may write at the same time; the table comes last and says that
	// all is there
	last := d.Name + ".csv"
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(n string) bool { return n == last })
	for _, name := range append(names, last) {
		if err := atomicfile.Write(filepath.Join(dir, name), files[name]); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return nil
}
