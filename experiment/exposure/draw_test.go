//go:build !operator

package exposure

import (
	"math"
	"testing"

	"sotto/report/plot"
)

// An adversary's own row is drawn in grey.
func TestDrawnPath(t *testing.T) {
	c, err := newCase(t, func(*Settings) {})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Views(true, true)
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Draw("heatmap")
	if err != nil {
		t.Fatal(err)
	}
	if v := d.(plot.HeatMap).Values; v[0][0] != 1 || !math.IsNaN(v[2][0]) {
		t.Errorf("drawn: %v", v)
	}
}
