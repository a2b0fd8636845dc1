package plot

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
)

// Grey is an image of height x width pixels from 0 (black) to 1 (white), row by row.
type Grey struct {
	Height, Width int
	Pixels        []float64
	Caption       string
}

// enlarged is how many pixels of a file stand for one of an image on each side.
const enlarged = 6

// WritePNG writes the image, enlarged six times. Values outside of [0, 1] are cut off,
// NaN is black.
func (g Grey) WritePNG(w io.Writer) error {
	im := image.NewGray(image.Rect(0, 0, enlarged*g.Width, enlarged*g.Height))
	for y := range enlarged * g.Height {
		for x := range enlarged * g.Width {
			v := g.Pixels[y/enlarged*g.Width+x/enlarged]
			if !(v > 0) {
				v = 0
			}
			im.SetGray(x, y, color.Gray{Y: uint8(math.Round(255 * min(1, v)))})
		}
	}
	return png.Encode(w, im)
}

// Picture is the image for a page.
func (g Grey) Picture() (Picture, error) {
	var b bytes.Buffer
	if err := g.WritePNG(&b); err != nil {
		return Picture{}, err
	}
	w, h := enlarged*g.Width, enlarged*g.Height
	svg := fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+
			`<image width="%d" height="%d" href="data:image/png;base64,%s"/></svg>`,
		w, h, w, h, w, h, base64.StdEncoding.EncodeToString(b.Bytes()))
	return Picture{SVG: template.HTML(svg), Caption: g.Caption}, nil
}
