// Package scaffold writes a commented start into a folder: of a simulation, of owners'
// tables, or of a federation.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"sotto/config"
)

//go:embed simulation table federation
var files embed.FS

// Kinds are what a start may be of.
var Kinds = []string{"simulation", "table", "federation"}

// New writes the start of a kind into dir, a new or an empty folder, and returns the
// names of the files.
func New(kind, dir string) ([]string, error) {
	if !slices.Contains(Kinds, kind) {
		return nil, config.Bad("kind", kind, "simulation, table or federation")
	}
	old, err := os.ReadDir(dir)
	switch {
	case err == nil && len(old) > 0:
		return nil, &config.Error{File: dir, Found: fmt.Sprintf("%s in it", old[0].Name()),
			Allowed: "a new or an empty folder: nothing is overwritten"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	all, err := files.ReadDir(kind)
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{}
	for _, f := range all {
		if made[f.Name()], err = files.ReadFile(kind + "/" + f.Name()); err != nil {
			return nil, err
		}
	}
	if kind == "table" {
		made["north.csv"], made["south.csv"] = patients(1), patients(2)
	}
	var names []string
	for name := range made {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), made[name], 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// patients are 240 made-up rows: a formula, and nobody's data. Every twelfth has no bmi.
func patients(site int) []byte {
	b := []byte("age,bmi,smoker,readmitted\n")
	for i := range 240 {
		wave := func(k float64) float64 { return math.Sin(k*float64(i+1) + float64(site)) }
		age, bmi := 55+25*wave(1.7), 27+6*wave(2.9)
		smoker, readmitted := "no", "no"
		risk := (age-55)/25 + (bmi-27)/6 + wave(5.3)
		if wave(3.1) > .4 {
			smoker = "yes"
			risk++
		}
		if risk > .3 {
			readmitted = "yes"
		}
		cell := fmt.Sprintf("%.1f", bmi)
		if i%12 == 5 {
			cell = ""
		}
		b = fmt.Appendf(b, "%.0f,%s,%s,%s\n", age, cell, smoker, readmitted)
	}
	return b
}
