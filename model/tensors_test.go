package model_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sotto/model"
	"sotto/tensor"
)

// Every parameter is in one place of the layers, and comes back.
func TestLayersRoundTrip(t *testing.T) {
	for _, k := range slices.Concat([]task{mlp64, convnet}, tasks, layerTasks) {
		t.Run(k.name, func(t *testing.T) {
			m := k.build(t)
			theta := k.start(m, 5)
			layers, err := model.Layers(m, theta)
			if err != nil {
				t.Fatal(err)
			}
			b, err := model.EncodeSafetensors(nil, layers)
			if err != nil {
				t.Fatal(err)
			}
			_, read, err := model.DecodeSafetensors(b)
			if err != nil {
				t.Fatal(err)
			}
			back, err := model.FromLayers(m, read)
			if err != nil || !slices.Equal(back, theta) {
				t.Errorf("%v: the parameters do not come back", err)
			}
			if _, err := model.FromLayers(m, read[1:]); err == nil {
				t.Error("a layer may lack")
			}
			if _, err := model.FromLayers(m, append(read, model.NamedVec{Name: "x"})); err == nil {
				t.Error("a tensor too many is accepted")
			}
		})
	}
}

// The shapes and names that torch.nn.Sequential(Linear(4, 3), ReLU(), Linear(3, 2)) has.
func TestLayersAreNamed(t *testing.T) {
	m, err := model.New("mlp", model.Shape{Height: 1, Width: 4, Channels: 1, Classes: 2},
		func(p any) error { p.(*model.MLPParams).Hidden = []int{3}; return nil })
	if err != nil {
		t.Fatal(err)
	}
	theta := make(tensor.Vec, m.Dim())
	theta[1] = 7 // from input 0 to unit 1
	layers, err := model.Layers(m, theta)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, l := range layers {
		got += fmt.Sprint(l.Name, l.Dims, " ")
	}
	if want := "0.weight[3 4] 0.bias[3] 2.weight[2 3] 2.bias[2] "; got != want || layers[0].Vec[1*4+0] != 7 {
		t.Errorf("%s, want %s", got, want)
	}
}

// A reader of the NPY format (numpy/lib/format.py, version 1.0) and dense layers, in
// Python's own numbers.
const denseInPython = `
import ast, json, struct, sys, zipfile
spec = json.load(open(sys.argv[2]))
arrays = {}
with zipfile.ZipFile(sys.argv[1]) as z:
    for name in z.namelist():
        b = z.read(name)
        assert b[:8] == b"\x93NUMPY\x01\x00"
        n = struct.unpack("<H", b[8:10])[0]
        head = ast.literal_eval(b[10:10 + n].decode())
        assert head["descr"] == "<f4" and not head["fortran_order"]
        count = 1
        for d in head["shape"]:
            count *= d
        arrays[name[:-4]] = (head["shape"], struct.unpack("<%df" % count, b[10 + n:]))
rows = []
for x in spec["x"]:
    for k in spec["layers"]:
        (out, width), w = arrays["%d.weight" % k]
        bias = arrays["%d.bias" % k][1] if "%d.bias" % k in arrays else [0] * out
        x = [sum(w[j * width + i] * x[i] for i in range(width)) + bias[j] for j in range(out)]
        if k != spec["layers"][-1]:
            x = [max(v, 0) for v in x]
    rows.append(x)
print(json.dumps(rows))
`

func TestLayersInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the layers of an NPZ file are not recomputed by another program")
	}
	for _, k := range []struct {
		kind   string
		layers []int
		decode func(any) error
	}{
		{"mlp", []int{0, 2, 4}, func(p any) error { p.(*model.MLPParams).Hidden = []int{6, 5}; return nil }},
		{"logistic", []int{0}, func(p any) error { p.(*model.LinearParams).Intercept = true; return nil }},
		{"logistic", []int{0}, nil},
	} {
		m, err := model.New(k.kind, model.Shape{Height: 1, Width: 4, Channels: 1, Classes: 3}, k.decode)
		if err != nil {
			t.Fatal(err)
		}
		theta, x := make(tensor.Vec, m.Dim()), tensor.NewMat(7, 4)
		for i := range theta {
			theta[i] = float32(math.Sin(float64(3*i + 1)))
		}
		rows := make([][]float32, x.Rows)
		for i := range x.Data {
			x.Data[i] = float32(math.Cos(float64(5 * i)))
			rows[i/4] = append(rows[i/4], x.Data[i])
		}
		layers, err := model.Layers(m, theta)
		if err != nil {
			t.Fatal(err)
		}
		npz, err := model.EncodeNPZ(layers)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := json.Marshal(map[string]any{"x": rows, "layers": k.layers})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for name, b := range map[string][]byte{"m.npz": npz, "spec.json": spec} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command(python, "-c", denseInPython, filepath.Join(dir, "m.npz"),
			filepath.Join(dir, "spec.json")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var got [][]float64
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		want := tensor.NewMat(x.Rows, m.Outputs())
		m.Predict(want, theta, x, new(model.Workspace))
		for i := range got {
			for j, v := range want.Row(i) {
				if math.Abs(got[i][j]-float64(v)) > 1e-5 {
					t.Fatalf("%s, record %d: %v in Python, %v here", k.kind, i, got[i], want.Row(i))
				}
			}
		}
	}
}
