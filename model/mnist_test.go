package model_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"sotto/internal/long"
	"sotto/model"
	"sotto/model/modeltest"
	"sotto/tensor"
)

// mnist reads one half of the data set, the images normalised by the public constants
// .1307 and .3081.
func mnist(t *testing.T, dir, half string) *model.Batch {
	t.Helper()
	payload := func(name string, header int) []byte {
		f, err := os.Open(filepath.Join(dir, half+name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return b[header:]
	}
	labels, pixels := payload("-labels-idx1-ubyte.gz", 8), payload("-images-idx3-ubyte.gz", 16)
	b := &model.Batch{X: tensor.NewMat(len(labels), 784), Labels: make([]int32, len(labels))}
	for i, v := range labels {
		b.Labels[i] = int32(v)
	}
	for i, v := range pixels {
		b.X.Data[i] = (float32(v)/255 - 0.1307) / 0.3081
	}
	return b
}

// TestNetworksLearnMNIST: 200 steps of clipped gradient descent with batches of 64, 256
// with the tag long, classify at least 88% of the 10,000 test images (Bayrooti, Gao,
// Prorok 2023 reach 96 to 98% with the first in 2,000 rounds; Papernot et al. 2021 98%
// with the second).
func TestNetworksLearnMNIST(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs mnist")
	}
	train, test := mnist(t, filepath.Join(dir, "mnist"), "train"),
		mnist(t, filepath.Join(dir, "mnist"), "t10k")
	size := 64
	if long.Tests {
		size = 256
	}
	for _, kind := range []string{"convnet", "cnn"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			image := model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}
			m := task{kind: kind, shape: image}.build(t)
			theta, sum := start(m, 1), make(tensor.Vec, m.Dim())
			r := modeltest.Source(2)
			batch := &model.Batch{X: tensor.NewMat(size, 784), Labels: make([]int32, size)}
			chosen := make([]int, size)
			var w model.Workspace
			for range 200 {
				for i := range chosen {
					chosen[i] = int(r.Uint64() % uint64(train.Len()))
					batch.Labels[i] = train.Labels[chosen[i]]
					copy(batch.X.Row(i), train.X.Row(chosen[i]))
				}
				sum.Zero()
				m.ClippedGradientSum(sum, theta, batch, 10, &w)
				theta.AddScaled(-0.1/float64(size), sum)
			}
			e := model.Evaluate(m, theta, test, &w)
			t.Logf("%s: %d of %d correct, loss %.3f", kind, e.Correct, e.Samples, e.Loss)
			if e.Accuracy() < 0.88 {
				t.Errorf("%s: accuracy %.3f, want at least .88", kind, e.Accuracy())
			}
		})
	}
}
