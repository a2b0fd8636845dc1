package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the report for reading.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "kernels\t%s, %d workers, %.3g s for each model, %.0f s in all\n", r.Kernels, r.Workers,
		r.Seconds, r.MeasuredSeconds)
	fmt.Fprintf(t, "multiply-adds\t%.0f GFLOP/s, %.0f on one core\n", r.PeakGFLOPS, r.PeakGFLOPSOne)
	fmt.Fprintf(t, "memory (triad)\t%.1f GB/s, %.1f on one core\n", r.BandwidthGBs, r.BandwidthGBsOne)
	fmt.Fprintf(t, "noise\t%.2f ns a coordinate, %.0f ns in integers, one core\n", r.Noise.Normal,
		r.Noise.Integer)
	fmt.Fprintf(t, "mixing\t%.1f GB/s read and written\n", r.MixingGBs)
	fmt.Fprintf(t, "memory used\t%.0f MB, benchmark data included\n", r.PeakMemoryMB)
	fmt.Fprintf(t, "\nproduct, one core\tGFLOP/s\tof peak\n")
	for _, p := range r.Products {
		fmt.Fprintf(t, "%s\t%.0f\t%.0f %%\n", p.Name, p.GFLOPS, 100*p.Share)
	}
	fmt.Fprintf(t,
		"\nsamples a second, %d agents, batch %d\tparameters\tprivate\tnot private\tprice\tits range\tof "+
			"peak\tin integers\tits price\tmemory\n", r.Agents, r.BatchSize)
	for i := range r.Models {
		m := &r.Models[i]
		integer, price := "-", "-"
		if m.Integer > 0 {
			integer, price = count(m.Integer), fmt.Sprintf("%.2f", m.IntegerPrice)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%.3f\t%.3f to %.3f\t%.0f %%\t%s\t%s\t%.0f MB\n", m.Name, m.Parameters,
			count(m.Private), count(m.Plain),
			m.Price, m.PriceMin, m.PriceMax, 100*m.Share, integer, price, m.MemoryMB)
	}
	for i := range r.Models {
		m := &r.Models[i]
		if len(m.Layers) == 0 {
			continue
		}
		fmt.Fprintf(t,
			"\nlayers of %s\tinputs\toutputs\tparameters\tpositions\tnorm\tmultiply-adds\tof gradients\n",
			m.Name)
		for _, l := range m.Layers {
			norm := l.Norm
			if norm == "" {
				norm = "-"
			}
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", l.Name, l.In, l.Out, l.Params, l.Positions,
				norm, count(l.MACs), count(l.GradientMACs))
		}
	}
	return t.Flush()
}

// count writes a number with three digits or so: 1.20 M, 305 k, 71.2.
func count(x float64) string {
	switch {
	case x >= 1e9:
		return fmt.Sprintf("%.3g G", x/1e9)
	case x >= 1e6:
		return fmt.Sprintf("%.3g M", x/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%.3g k", x/1e3)
	}
	return fmt.Sprintf("%.3g", x)
}
