package run

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/tensor"
)

// weights writes a safetensors file and returns its path.
func weights(t *testing.T, name string, tensors ...model.NamedVec) string {
	t.Helper()
	b, err := model.EncodeSafetensors(nil, tensors)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// ramp is dim values from first on.
func ramp(dim int, first float32) tensor.Vec {
	v := make(tensor.Vec, dim)
	for i := range v {
		v[i] = first + float32(i)
	}
	return v
}

func TestInitFrom(t *testing.T) {
	dim := build(t).Task.Model.Dim()
	for name, path := range map[string]string{
		"one tensor": weights(t, "a", model.NamedVec{Name: "any", Vec: ramp(dim, 1)}),
		"layers": weights(t, "b", model.NamedVec{Name: "z", Vec: ramp(10, 1)},
			model.NamedVec{Name: "a", Vec: ramp(dim-10, 11)}),
		"agents": weights(t, "c", model.NamedVec{Name: "agent.0", Vec: ramp(dim, -1)},
			model.NamedVec{Name: "agent.1", Vec: ramp(dim, 3)}),
	} {
		e := build(t, "model.init_from="+path)
		if !slices.Equal(e.Task.Init, ramp(dim, 1)) {
			t.Errorf("%s: parameters start %v, want 1, 2, 3, ...", name, e.Task.Init[:3])
		}
		if !slices.ContainsFunc(e.Notes.Warnings, func(w string) bool { return strings.Contains(w, path) }) {
			t.Errorf("%s: nobody is told that the parameters must be public", name)
		}
	}
}

// A run goes on from another run's model file, and a file that has changed is another
// run.
func TestInitFromARun(t *testing.T) {
	first := train(t, build(t), Options{Out: t.TempDir(), Workers: 2})
	path := filepath.Join(first.Dir, rundir.ModelFile)
	e := build(t, "model.init_from="+path)
	_, agents, err := model.DecodeSafetensors(read(t, first.Dir, rundir.ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	for k := range e.Task.Init {
		mean := 0.
		for _, a := range agents {
			mean += float64(a.Vec[k]) / float64(len(agents))
		}
		if math.Abs(float64(e.Task.Init[k])-mean) > 1e-6 {
			t.Fatalf("parameter %d is %g, the agents' mean %g", k, e.Task.Init[k], mean)
		}
	}
	if !strings.Contains(string(e.Effective), e.File.Model.InitDigest) || len(e.File.Model.InitDigest) != 64 {
		t.Error("the digest is not in the effective configuration")
	}
	before := e.Identity()
	if again := build(t, "model.init_from="+path,
		"model.init_digest="+e.File.Model.InitDigest); again.Identity() != before {
		t.Error("the stated digest makes another run")
	}
	b := read(t, first.Dir, rundir.ModelFile)
	b[len(b)-1] ^= 1 // the sign-exponent byte of the last value: still finite
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if build(t, "model.init_from="+path).Identity() == before {
		t.Error("a changed file gives the same identity")
	}
	var bad *config.Error
	if _, err := parse(t, "model.init_from="+path, "model.init_digest="+
		e.File.Model.InitDigest).BuildWith("", drawn); !errors.As(err,
		&bad) || bad.Key != "model.init_digest" {
		t.Errorf("a changed file against its digest: %v", err)
	}
}

func TestInitFromRefuses(t *testing.T) {
	dim := build(t).Task.Model.Dim()
	broken := ramp(dim, 0)
	broken[3] = float32(math.NaN())
	text := filepath.Join(t.TempDir(), "weights.txt")
	if err := os.WriteFile(text, []byte("not weights"), 0o644); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "own.safetensors")
	b, err := model.EncodeSafetensors(map[string]string{"own": "true"},
		[]model.NamedVec{{Name: "x", Vec: ramp(dim, 0)}})
	if err = errors.Join(err, os.WriteFile(own, b, 0o644)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		own: "an owner's own model",
		weights(t, "short", model.NamedVec{Name: "x",
			Vec: ramp(dim-1, 0)}): "values",
		weights(t, "two", model.NamedVec{Name: "x", Vec: ramp(dim, 0)},
			model.NamedVec{Name: "agent.1", Vec: ramp(dim, 0)}): "in 2 tensors",
		weights(t, "nan", model.NamedVec{Name: "x",
			Vec: broken}): "not finite",
		text: "header",
	} {
		_, err := parse(t, "model.init_from="+path).BuildWith("", drawn)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "model.init_from" || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := parse(t, "model.init_from=nowhere.safetensors").BuildWith("", drawn); !errors.Is(err,
		fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "nowhere.safetensors") {
		t.Errorf("missing file: %v", err)
	}
	var bad *config.Error
	if _, err := parse(t, "model.init_digest=00").BuildWith("", drawn); !errors.As(err, &bad) ||
		bad.Key != "model.init_digest" {
		t.Errorf("a digest without a file: %v", err)
	}
}
