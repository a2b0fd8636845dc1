package dpdl2023

import (
	"math"
	"os"
	"testing"

	"sotto/experiment/sweep"
	"sotto/model"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
	"sotto/rng"
	"sotto/tensor"
)

// Rows are 1 plus 4 a along (1,1,0)/√2 plus b along (0,0,1) with a and b of ±1 in all
// four pairs: variances 16 and 1, and none along (1,-1,0). Without components the mean
// square of an element is 17/3, with one 1/3, with two 0.
func TestComponents(t *testing.T) {
	x := tensor.NewMat(4, 3)
	for i, p := range [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
		a := float32(1 + 4*p[0]/math.Sqrt2)
		copy(x.Row(i), []float32{a, a, float32(1 + p[1])})
	}
	c, err := newComponents(x, 2)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []float64{17. / 3, 1. / 3, 0} {
		if got := c.loss(x, k); math.Abs(got-want) > 1e-6 {
			t.Errorf("%d components: error %g, want %g", k, got, want)
		}
	}
	code := c.code(x)
	for i := range code.Rows {
		a, b := math.Abs(float64(code.Row(i)[0])), math.Abs(float64(code.Row(i)[1]))
		if math.Abs(a-4) > 1e-5 || math.Abs(b-1) > 1e-5 {
			t.Errorf("row %d has components %g and %g, want 4 and 1 in size", i, a, b)
		}
	}
}

// Codes on three corners are separable; a code that is always the same gives the class
// that most records have.
func TestProbe(t *testing.T) {
	code, labels := tensor.NewMat(9, 2), make([]int32, 9)
	for i := range 9 {
		labels[i] = int32(3 * (i % 3))
		copy(code.Row(i), [][]float32{{0, 0}, {1, 0}, {0, 1}}[i%3])
	}
	if got, err := probe(code, labels, code, labels); err != nil || got != 100 {
		t.Errorf("separable: %g, %v", got, err)
	}
	labels[0] = 3
	code.Data = make([]float32, 18)
	if got, err := probe(code, labels, code, labels); err != nil || math.Abs(got-400./9) > 1e-9 {
		t.Errorf("constant: %g, %v, want 44.4", got, err)
	}
}

// The decoder of an autoencoder on the encoder's codes is the autoencoder: it has the
// encoder's parameters first.
func TestEncoder(t *testing.T) {
	shape := model.Shape{Height: 3, Width: 4, Channels: 1, Classes: 10}
	whole, err := model.New("autoencoder", shape, func(params any) error {
		p := params.(*model.AutoencoderParams)
		p.Hidden, p.Activation = []int{64, codeWidth}, "tanh"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := encoderOf(3, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := model.New("mlp", model.Shape{Height: 1, Width: codeWidth, Channels: 1, Classes: 12},
		func(params any) error {
			p := params.(*model.MLPParams)
			p.Hidden, p.Activation = []int{64}, "tanh"
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	theta, x := make(tensor.Vec, whole.Dim()), tensor.NewMat(5, 12)
	whole.Init(theta, rng.Public(1, "init", 0))
	for i := range x.Data {
		x.Data[i] = float32(i%7) - 3
	}
	want, code, got := tensor.NewMat(5, 12), tensor.NewMat(5, codeWidth), tensor.NewMat(5, 12)
	whole.Predict(want, theta, x, new(model.Workspace))
	encoder.Predict(code, theta[:encoder.Dim()], x, new(model.Workspace))
	decoder.Predict(got, theta[encoder.Dim():], code, new(model.Workspace))
	for i := range got.Data {
		if math.Abs(float64(got.Data[i]-want.Data[i])) > 1e-5 {
			t.Fatalf("element %d: %g, want %g", i, got.Data[i], want.Data[i])
		}
	}
}

// The table of autoencoders has the same bits for any number of workers.
func TestRowsOfRepresentation(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs mnist")
	}
	var tables [2]*reproduce.Document
	for k := range tables {
		d, err := reproduce.Papers{Paper}.Run(t.Context(), "seed000-representation",
			reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke,
				Sweep: sweep.Options{Workers: 1 + k, DataDir: dir}})
		if err != nil {
			t.Fatal(err)
		}
		tables[k] = d
	}
	reproducetest.CheckRows(t, "seed000-representation", tables)
}
