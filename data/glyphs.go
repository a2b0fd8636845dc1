package data

import (
	"math/rand/v2"

	"sotto/config"
	"sotto/data/glyph"
	"sotto/internal/parallel"
)

// GlyphParams are the parameters of the generator "glyphs".
type GlyphParams struct {
	Train     int  `toml:"train"`     // records, 1 to 1,000,000; default 6000
	Test      int  `toml:"test"`      // records, 1 to 1,000,000; default 2000
	Normalize bool `toml:"normalize"` // (x - .125)/.25, constants of the generator; default true
	Resize    int  `toml:"resize"`    // side in pixels, 4 to 256; 0 is 28
}

const (
	glyphMean = .125
	glyphStd  = .25
)

// glyphs draws digits: strokes of one of several shapes for each class, bent by a smooth
// random field, rotated, sheared, scaled and shifted, drawn with a pen of random width
// and pressure, with stray pen marks and pixel noise. Classes are drawn uniformly. Record
// i depends on the seed and i only, so that more records extend a data set; results are
// the same on machines of one architecture.
func glyphs(decode func(any) error, src Source) (*Split, error) {
	p := GlyphParams{Train: 6000, Test: 2000, Normalize: true}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := recordCount("train", p.Train); err != nil {
		return nil, err
	}
	if err := recordCount("test", p.Test); err != nil {
		return nil, err
	}
	if err := (&ImageParams{Resize: p.Resize}).validate(); err != nil {
		return nil, err
	}
	draw := func(part uint64, n int) *Dataset {
		const size = glyph.Side * glyph.Side
		px := &Images{Height: glyph.Side, Width: glyph.Side, Channels: 1,
			Pixels: make([]byte, n*size), Labels: make([]int32, n)}
		const few = 100 // records that one goroutine takes at a time
		_ = parallel.With((n+few-1)/few, 0, func(k int, pen *glyph.Canvas) error {
			state := rand.NewPCG(0, 0)
			r := rand.New(state)
			for i := few * k; i < min(n, few*k+few); i++ {
				state.Seed(src.Seed, part<<32|uint64(i))
				px.Labels[i] = int32(r.IntN(10))
				pen.Draw(px.Pixels[i*size:(i+1)*size], int(px.Labels[i]), r)
			}
			return nil
		})
		var mean, std []float64
		if p.Normalize {
			mean, std = []float64{glyphMean}, []float64{glyphStd}
		}
		return px.dataset("glyphs", digits, p.Resize, 0, mean, std)
	}
	split := &Split{Train: draw(1, p.Train), Test: draw(2, p.Test)}
	return split.seal(p, src.Seed, nil), nil
}

func recordCount(key string, n int) error {
	if n < 1 || n > 1_000_000 {
		return config.Bad(key, n, "1 to 1,000,000")
	}
	return nil
}
