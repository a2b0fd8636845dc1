package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
	"sotto/reproduce"
	"sotto/reproduce/dpdl2023"
	"sotto/reproduce/papers"
)

// simulationTables are the tables of studies that are no sweeps, among others.
const simulationTables = "docs/results/*/*.csv"

// simulated is a row of the table of a study that is made whole, at full size.
type simulated struct {
	study        string
	number       int    // in the table, from 0
	method       string // its first cell
	engine       string
	digest, hash string
}

func (s *simulated) name() string { return fmt.Sprintf("%s/%d", s.study, s.number) }

// here says that this program on this machine can give the row's bits.
func (s *simulated) here() bool { return s.engine == reproduce.Engine() }

// readSimulations reads the tables of all studies that are no sweeps.
func readSimulations() ([]simulated, error) {
	paths, err := filepath.Glob(simulationTables)
	if err != nil {
		return nil, err
	}
	var all []simulated
	studies := papers.All.Studies()
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".csv")
		if s, ok := studies[name]; !ok || s.Sweep() {
			continue
		}
		rows, err := readSimulation(name, path)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// readSimulation reads the table of one study.
func readSimulation(study, path string) ([]simulated, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	hash := reproduce.HashColumn
	if slices.Contains(dpdl2023.FirstModelsOf, study) {
		hash = dpdl2023.FirstHashColumn
	}
	var at []int
	for _, column := range []string{reproduce.DigestColumn, hash, reproduce.EngineColumn} {
		k := -1
		if len(rows) > 0 {
			k = slices.Index(rows[0], column)
		}
		if k < 0 {
			return nil, &config.Error{
				File:    path,
				Line:    1,
				Key:     "columns",
				Found:   "no " + column,
				Allowed: "the columns that sotto reproduce " + study + " writes",
			}
		}
		at = append(at, k)
	}
	var all []simulated
	for n, r := range rows[1:] {
		all = append(all, simulated{
			study:  study,
			number: n,
			method: r[0],
			engine: r[at[2]],
			digest: r[at[0]],
			hash:   r[at[1]],
		})
	}
	return all, nil
}

// again makes the row again and compares.
func (s *simulated) again() error {
	if !s.here() {
		return fmt.Errorf("%s: %w", s.name(), config.Bad(reproduce.EngineColumn, s.engine,
			reproduce.Engine()+", what this program computes with"))
	}
	dataDir := cmp.Or(os.Getenv("SOTTO_DATA"), "data")
	if slices.Contains(dpdl2023.FirstModelsOf, s.study) {
		fmt.Printf("running %s again: the first models of %s\n", s.name(), s.method)
		digest, hash, err := dpdl2023.FirstModels(context.Background(), s.study, s.method, dataDir)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name(), err)
		}
		return same(s.name(), digest, s.digest, hash, s.hash)
	}
	fmt.Printf("running %s again: the whole study\n", s.name())
	dir, err := os.MkdirTemp("", "sotto-results-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	opt := reproduce.Options{Dir: dir, Scale: reproduce.Full}
	opt.Sweep.DataDir = dataDir
	if _, err := papers.All.Run(context.Background(), s.study, opt); err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	made, err := readSimulation(s.study, filepath.Join(dir, s.study+".csv"))
	if err != nil {
		return err
	}
	return s.compare(made)
}

// compare looks for the row in the table that was made again.
func (s *simulated) compare(made []simulated) error {
	if s.number >= len(made) {
		return fmt.Errorf("%s: the study has %d rows", s.name(), len(made))
	}
	m := made[s.number]
	return same(s.name(), m.digest, s.digest, m.hash, s.hash)
}
