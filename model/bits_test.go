package model_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

const digestKey = "MODEL_DIGEST"

// TestDigest prints a digest of gradients and outputs when the variable is set:
// TestInstructionSetsAgree runs it in other processes.
func TestDigest(t *testing.T) {
	if os.Getenv(digestKey) == "" {
		t.Skip("run by TestInstructionSetsAgree")
	}
	h := sha256.New()
	for _, k := range slices.Concat(tasks, layerTasks, []task{mlp64, convnet, cnn}) {
		m, batch := k.build(t), k.batch(39, 3)
		theta, dst := start(m, 1), make(tensor.Vec, m.Dim())
		var w model.Workspace
		for _, views := range []int{1, 3} {
			batch.Views = views
			m.ClippedGradientSum(dst, theta, batch, 0.1, &w)
		}
		z := tensor.NewMat(batch.Len(), m.Outputs())
		m.Predict(z, theta, batch.X, &w)
		for _, v := range slices.Concat(dst, z.Data) {
			binary.Write(h, binary.LittleEndian, math.Float32bits(v))
		}
	}
	fmt.Printf("%s %x\n", tensor.Kernels(), h.Sum(nil))
}

// TestInstructionSetsAgree: AVX2 and AVX-512 give every model the same bits.
func TestInstructionSetsAgree(t *testing.T) {
	if tensor.Kernels() != "avx512" {
		t.Skipf("needs AVX-512; kernels in use: %s", tensor.Kernels())
	}
	digest := func(set string) (kernels, sum string) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDigest$")
		cmd.Env = append(os.Environ(), digestKey+"=1", "SOTTO_CPU="+set)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := fmt.Sscan(string(out), &kernels, &sum); err != nil {
			t.Fatal(err)
		}
		return kernels, sum
	}
	first, a := digest("avx512")
	second, b := digest("avx2")
	if first != "avx512" || second != "avx2" || a != b {
		t.Errorf("%s gives %s, %s gives %s", first, a, second, b)
	}
}

// FuzzLayers: no list of layers makes the constructor panic, and what it builds has a
// consistent size.
func FuzzLayers(f *testing.F) {
	for _, k := range layerTasks {
		if p, ok := k.params.(model.LayersParams); ok {
			b, err := json.Marshal(p.Layers)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, uint8(k.shape.Height), uint8(k.shape.Width), uint8(k.shape.Channels),
				uint8(k.shape.Classes))
		}
	}
	f.Add([]byte(`[{"kind":"conv2d","filters":16777216,"kernel":16777216,"stride":9223372036854775807}]`),
		uint8(3), uint8(3), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, h, w, c, classes uint8) {
		p := model.LayersParams{Delta: 1}
		if json.Unmarshal(b, &p.Layers) != nil {
			return
		}
		m, err := model.New("layers", image(int(h), int(w), int(c), int(classes)), decoder(p))
		if err != nil {
			return
		}
		sum := 0
		for _, l := range model.Explain(m) {
			sum += l.Params
		}
		if sum != m.Dim() || m.Outputs() != max(1, int(classes)) {
			t.Errorf("%s: %d parameters in layers, %d in all; %d outputs", b, sum, m.Dim(), m.Outputs())
		}
	})
}
