// Command gen writes the assembly kernels of package tensor and their Go declarations
// into the folder named by its argument. Run it through go generate; a test compares its
// output with the files that are checked in.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen <folder>")
		os.Exit(2)
	}
	for name, text := range files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// files returns the generated files by name.
func files() map[string][]byte {
	tiles, stubs := tileFiles()
	return map[string][]byte{
		"tiles_amd64.s":      tiles,
		"tiles_amd64.go":     stubs,
		"transpose_amd64.s":  transposeFile(),
		"mish_amd64.s":       mishFile(),
		"conv_amd64.s":       convFile(),
		"vec_amd64.s":        vecFile(),
		"noise_amd64.s":      noiseFile(),
		"noisepoly.go":       noiseConstants(),
		"fourier_amd64.s":    fourierFile(),
		"special_amd64.s":    specialFile(),
		"specialpoly.go":     specialConstants(),
		"scale_amd64.s":      scaleFile(),
		"im2col_amd64.s":     im2colFile(),
		"norm_amd64.s":       normFile(),
		"activation_amd64.s": activationFile(),
		"maxpool_amd64.s":    maxPoolFile(),
		"amx_amd64.s":        amxFile(),
		"integer_amd64.s":    integerFile(),
		"packed_amd64.s":     packedFile(),
		"dot_amd64.s":        dotFile(),
		"sums_amd64.s":       sumsFile(),
	}
}
