package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sotto/config"
	"sotto/internal/atomicfile"
	"sotto/internal/jsontext"
	"sotto/topology"
)

// Run is a finished run as its files tell of it.
type Run struct {
	Dir     string // of the finished run
	Command string // that makes the same run again
	Summary Summary
	Rows    []Row           // of metrics.csv
	Graph   *topology.Graph // of the first round
	Config  []byte          // the configuration in force
	Ledgers []LedgerHead
	Answers []byte // answers.json; nil: the run asked nothing
	Shapes  []byte // shapes.json; nil: the model has none
}

// LedgerHead is the end of a ledger that some agents have in common.
type LedgerHead struct {
	Agents, Head string
	Records      int
}

// Again is the command that makes the run of a configuration again.
func Again(configPath string) string { return "sotto run " + shellWord(configPath) }

// Again is what makes the run in the directory at dir again.
func (s *Summary) Again(dir string) string {
	if s.Dataset == inMemory {
		return "experiment.BuildOn, in a program that has the records"
	}
	return Again(filepath.Join(dir, ConfigFile))
}

// inMemory is data/memory.Name.
const inMemory = "memory"

// Read reads the run directory at dir.
func Read(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	notRun := func(why string) error {
		return &config.Error{File: dir, Found: why, Allowed: "a finished run's directory, or a sweep's"}
	}
	b, err := os.ReadFile(filepath.Join(dir, SummaryFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Stat(dir); statErr != nil {
			return nil, statErr
		}
		if strings.HasSuffix(strings.TrimRight(dir, "/"), PartialSuffix) {
			return nil, notRun("an unfinished run; sotto run --resume goes on with it")
		}
		return nil, notRun("no " + SummaryFile)
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(b, &r.Summary); err != nil {
		return nil, jsontext.Error(filepath.Join(dir, SummaryFile), b, err, "the summary of a run")
	}
	r.Command = r.Summary.Again(dir)
	if len(r.Summary.Privacy) == 0 {
		return nil, notRun("a " + SummaryFile + " without privacy figures")
	}
	if r.Config, err = os.ReadFile(filepath.Join(dir, ConfigFile)); err != nil {
		return nil, err
	}
	if r.Rows, err = ReadMetrics(dir); err != nil {
		return nil, err
	}
	if r.Graph, err = ReadGraph(dir); err != nil {
		return nil, err
	}
	if r.Summary.Names, err = ReadNames(dir); err != nil {
		return nil, err
	}
	r.Answers, err = os.ReadFile(filepath.Join(dir, AnswersFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r.Shapes, err = os.ReadFile(filepath.Join(dir, ShapesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return r, r.readLedgers(filepath.Join(dir, filepath.FromSlash(LedgerFile)))
}

// ReadGraph returns the graph of a finished run's first round.
func ReadGraph(dir string) (*topology.Graph, error) {
	path := filepath.Join(dir, TopologyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	g := new(topology.Graph)
	if err := json.Unmarshal(b, g); err != nil {
		return nil, jsontext.Error(path, b, err, "the graph of a run")
	}
	return g, nil
}

// readLedgers counts the records of the run's ledgers.
func (r *Run) readLedgers(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	for dec.More() {
		var line struct {
			Agents  string            `json:"agents"`
			Head    string            `json:"head"`
			Records []json.RawMessage `json:"records"`
		}
		if err := jsontext.Next(path, b, dec, &line, "the ledgers of a run"); err != nil {
			return err
		}
		r.Ledgers = append(r.Ledgers, LedgerHead{line.Agents, line.Head, len(line.Records)})
	}
	return nil
}

// Find lists the run directories that paths name: runs themselves, and those below a
// sweep's directory or a folder of runs, by name.
func Find(paths []string) ([]string, error) {
	var dirs []string
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return nil, &config.Error{File: path, Found: "a file", Allowed: "a run's directory, or a sweep's"}
		}
		if _, err := os.Stat(filepath.Join(path, SummaryFile)); err == nil {
			dirs = append(dirs, path)
			continue
		}
		below := path
		if _, err := os.Stat(filepath.Join(path, "runs")); err == nil {
			below = filepath.Join(path, "runs")
		}
		entries, err := os.ReadDir(below)
		if err != nil {
			return nil, err
		}
		found := 0
		for _, e := range entries {
			if _, err := os.Stat(filepath.Join(below, e.Name(), SummaryFile)); err == nil &&
				!strings.HasSuffix(e.Name(), PartialSuffix) {
				dirs = append(dirs, filepath.Join(below, e.Name()))
				found++
			}
		}
		if cells, _ := atomicfile.Glob(path, "cells*.csv"); found == 0 && len(cells) > 0 {
			return nil, &config.Error{File: path, Found: "a sweep without run directories",
				Allowed: "a sweep that was run without --discard-runs"}
		}
		if found == 0 {
			dirs = append(dirs, path) // whose error says what is missing
		}
	}
	return dirs, nil
}

// shellWord quotes s where a shell would not take it as one word.
func shellWord(s string) string {
	if strings.ContainsAny(s, " \t\n\"'[]$*?;&|<>()\\`!#~{}") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
