//go:build beside

package tensor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// besideShapes are rows, inner length and columns of C = A B.
var besideShapes = [][3]int{
	{256, 784, 64}, {256, 784, 256}, {32, 784, 64}, {32, 784, 256}, {256, 576, 64},
	{256, 1152, 128}, {64, 2304, 256}, {256, 4608, 512}, {1024, 1024, 1024},
	{256, 2048, 2048}, {32, 2048, 2048}, {256, 784, 10},
}

// TestBeside measures products on one thread beside gonum, and beside PyTorch (python3
// with torch) and oneDNN (cc with libdnnl) where they are installed. Programs take turns.
// Each entry is the best of three turns of .3 s, in GFLOP/s, and ours over it.
//
//	go test ./tensor -tags beside -run Beside -v -cpu 1
func TestBeside(t *testing.T) {
	var names []string
	for _, s := range besideShapes {
		names = append(names, fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]))
	}
	programs := []string{"sotto", "gonum"}
	commands := map[string][]string{}
	if err := exec.Command("python3", "-c", "import torch").Run(); err != nil {
		t.Log("no PyTorch:", err)
	} else {
		programs = append(programs, "torch")
		commands["torch"] = []string{"python3", "testdata/beside/product.py"}
	}
	program := filepath.Join(t.TempDir(), "product")
	cc := exec.Command("cc", "-O2", "-o", program, "testdata/beside/product.c", "-ldnnl")
	if b, err := cc.CombinedOutput(); err != nil {
		t.Logf("no oneDNN: %v\n%s", err, b)
	} else {
		programs = append(programs, "oneDNN")
		commands["oneDNN"] = []string{program}
	}
	best := map[string]float64{} // by program and shape
	for range 3 {
		for _, p := range programs {
			for name, flops := range measure(t, p, commands[p], names) {
				best[p+name] = max(best[p+name], flops)
			}
		}
	}
	t.Logf("kernels %s, peak %.0f GFLOP/s", Kernels(), peak()/1e9)
	for _, name := range names {
		line := fmt.Sprintf("| %s | %.0f |", name, best["sotto"+name])
		for _, p := range programs[1:] {
			line += fmt.Sprintf(" %.0f (%.2f) |", best[p+name], best["sotto"+name]/best[p+name])
		}
		t.Log(line)
	}
}

// measure returns GFLOP/s by shape.
func measure(t *testing.T, program string, command, names []string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	if command == nil {
		for i, name := range names {
			out[name] = measureHere(program == "gonum", besideShapes[i])
		}
		return out
	}
	c := exec.Command(command[0], slices.Concat(command[1:], names)...)
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	b, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	for line := range strings.Lines(string(bytes.TrimSpace(b))) {
		var name string
		var flops float64
		if _, err := fmt.Sscan(line, &name, &flops); err != nil {
			t.Fatalf("%s: %q: %v", program, line, err)
		}
		out[name] = flops
	}
	return out
}

func measureHere(gonum bool, shape [3]int) float64 {
	m, k, n := shape[0], shape[1], shape[2]
	a, b, c := make(Vec, m*k), make(Vec, k*n), make(Vec, m*n)
	for i := range a {
		a[i] = float32(i%17) - 8
	}
	for i := range b {
		b[i] = float32(i%13) - 6
	}
	general := func(v Vec, rows, cols int) blas32.General {
		return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: v}
	}
	least := time.Hour
	for stop := time.Now().Add(300 * time.Millisecond); time.Now().Before(stop); {
		began := time.Now()
		for range 8 {
			if gonum {
				blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, general(a, m, k), general(b, k, n), 0,
					general(c, m, n))
			} else {
				MulNN(Mat{m, n, n, c}, Mat{m, k, k, a}, Mat{k, n, n, b}, false)
			}
		}
		least = min(least, time.Since(began)/8)
	}
	return 2e-9 * float64(m) * float64(k) * float64(n) / least.Seconds()
}
