package glyph_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"sotto/data/glyph"
)

// A canvas that has drawn other glyphs draws the same pixels as a new one, and every
// digit has ink of its own kind: a mean between 3 and 40 % of black, and
// pixels of the pen.
func TestDraw(t *testing.T) {
	var used glyph.Canvas
	for digit := range 10 {
		for seed := range uint64(20) {
			r := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }
			again, fresh := make([]byte, glyph.Side*glyph.Side), make([]byte, glyph.Side*glyph.Side)
			used.Draw(again, digit, r())
			new(glyph.Canvas).Draw(fresh, digit, r())
			if !bytes.Equal(again, fresh) {
				t.Fatalf("digit %d, seed %d: a canvas remembers", digit, seed)
			}
			sum, dark := 0, 0
			for _, v := range fresh {
				sum += int(v)
				if v > 128 {
					dark++
				}
			}
			if mean := float64(sum) / 255 / glyph.Side / glyph.Side; mean < .03 || mean > .4 || dark < 20 {
				t.Errorf("digit %d, seed %d: %.0f %% of black, %d dark pixels", digit, seed, 100*mean, dark)
			}
		}
	}
}

// Two digits from the same state differ.
func TestDigitsDiffer(t *testing.T) {
	var c glyph.Canvas
	all := make([][]byte, 10)
	for digit := range all {
		all[digit] = make([]byte, glyph.Side*glyph.Side)
		c.Draw(all[digit], digit, rand.New(rand.NewPCG(1, 1)))
		for other := range digit {
			if bytes.Equal(all[digit], all[other]) {
				t.Errorf("%d and %d are drawn alike", digit, other)
			}
		}
	}
}
