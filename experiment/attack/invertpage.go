package attack

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/report"
	"sotto/report/plot"
)

// images are the original and what was made of each message, with file names.
func (r *InvertReport) images() (names []string, all []plot.Grey) {
	add := func(name, caption string, pixels []float64) {
		names = append(names, name+".png")
		all = append(all, plot.Grey{Height: r.Height, Width: r.Width, Pixels: pixels, Caption: caption})
	}
	add("original", fmt.Sprintf("the private image, label %d", r.Label), r.Original)
	for _, row := range r.Rows {
		add(fmt.Sprintf("noise-%g", row.Noise),
			fmt.Sprintf("from the message, noise multiplier %g: correlation %.3f, label read as %d",
				row.Noise, row.Correlation, row.Label), row.Image)
	}
	return names, all
}

// Write puts the images into dir as PNG, and a page that has them side by side.
func (r *InvertReport) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	page := report.Page{Title: "An image from a gradient",
		Produced: "sotto, engine " + experiment.EngineVersion}
	section := report.Section{Title: fmt.Sprintf("%s, record %d of %s", r.Model, r.Record, r.Dataset),
		Text: []string{
			"One owner's image, and what an observer makes of the gradient in its first message of " +
				"DP-DSGT. All gradients are clipped to norm 1; clipping alone protects nothing.",
			"Method: " + r.Method + "."}}
	table := plot.Table{Header: []string{"noise multiplier", "epsilon of one release, delta 1e-5", "label",
		"correlation", "rms error of pixels"}}
	for _, row := range r.Rows {
		table.Rows = append(table.Rows, row.cells())
	}
	section.Tables = []plot.Table{table}
	names, images := r.images()
	for k, im := range images {
		var b bytes.Buffer
		if err := im.WritePNG(&b); err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(dir, names[k]), b.Bytes()); err != nil {
			return err
		}
		p, err := im.Picture()
		if err != nil {
			return err
		}
		section.Pictures = append(section.Pictures, p)
	}
	page.Sections = []report.Section{section}
	page.Notes = []string{
		"an observer with more knowledge may do better than this one: that noise spoils this attack is no " +
			"guarantee, epsilon is"}
	var b bytes.Buffer
	if err := report.WriteHTML(&b, page); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, "invert.html"), b.Bytes())
}

func (row *Reconstruction) cells() []string {
	return []string{fmt.Sprintf("%g", row.Noise), rundir.FormatEpsilon(float64(row.Epsilon)),
		fmt.Sprint(row.Label),
		fmt.Sprintf("%.4f", row.Correlation), fmt.Sprintf("%.4f", row.Error)}
}

// WriteText writes the figures for a person.
func (r *InvertReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "%s, record %d of %s, label %d: %s\n\n", r.Model, r.Record, r.Dataset, r.Label, r.Method)
	fmt.Fprintln(t, "noise multiplier\tepsilon\tlabel\tcorrelation\trms error")
	for _, row := range r.Rows {
		c := row.cells()
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", c[0], c[1], c[2], c[3], c[4])
	}
	return t.Flush()
}

// Err is nil: the attack claims nothing.
func (*InvertReport) Err() error { return nil }
