package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment/runfile"
	"sotto/topology"
)

// finished is what a report shows of one run.
type finished struct {
	dir     string // of the finished run
	command string // that makes the same run again
	summary Summary
	rows    []Row
	graph   *topology.Graph
	config  []byte
	keys    map[string]string // the configuration's dotted keys and values
	ledgers []ledgerHead
}

// ledgerHead is the end of a ledger that some agents have in common.
type ledgerHead struct {
	agents, head string
	records      int
}

// readFinished reads the run directory at dir.
func readFinished(dir string) (*finished, error) {
	r := &finished{dir: dir, command: "sotto run " + shellWord(filepath.Join(dir, configFile))}
	notRun := func(why string) error {
		return &config.Error{File: dir, Found: why, Allowed: "a finished run's directory, or a sweep's"}
	}
	b, err := os.ReadFile(filepath.Join(dir, summaryFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Stat(dir); statErr != nil {
			return nil, statErr
		}
		if strings.HasSuffix(strings.TrimRight(dir, "/"), partialSuffix) {
			return nil, notRun("an unfinished run; sotto run --resume goes on with it")
		}
		return nil, notRun("no " + summaryFile)
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(b, &r.summary); err != nil {
		return nil, notRun(fmt.Sprintf("a %s that cannot be read: %v", summaryFile, err))
	}
	if len(r.summary.Privacy) == 0 {
		return nil, notRun("a " + summaryFile + " without privacy figures")
	}
	if r.config, err = os.ReadFile(filepath.Join(dir, configFile)); err != nil {
		return nil, err
	}
	if err := r.readKeys(); err != nil {
		return nil, err
	}
	if r.rows, err = ReadMetrics(dir); err != nil {
		return nil, err
	}
	if r.graph, err = RunGraph(dir); err != nil {
		return nil, err
	}
	return r, r.readLedgers(filepath.Join(dir, filepath.FromSlash(ledgerFile)))
}

// RunGraph returns the graph of a finished run's first round.
func RunGraph(dir string) (*topology.Graph, error) {
	path := filepath.Join(dir, topologyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	g := new(topology.Graph)
	if err := json.Unmarshal(b, g); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// readKeys flattens the configuration.
func (r *finished) readKeys() error {
	doc, err := runfile.Parse(filepath.Join(r.dir, configFile), r.config)
	if err != nil {
		return err
	}
	r.keys = doc.Values()
	r.keys["engine"] = r.summary.Engine
	return nil
}

// readLedgers counts the records of the run's ledgers.
func (r *finished) readLedgers(path string) error {
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
		if err := dec.Decode(&line); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.ledgers = append(r.ledgers, ledgerHead{line.Agents, line.Head, len(line.Records)})
	}
	return nil
}

// ReadMetrics returns the rows of a finished run's metrics.csv, in its order.
func ReadMetrics(dir string) ([]Row, error) {
	path := filepath.Join(dir, metricsFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return decodeMetrics(path, b)
}

// decodeMetrics reads what encodeMetrics writes; name is for errors.
func decodeMetrics(name string, b []byte) ([]Row, error) {
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(lines) == 0 || !slices.Equal(lines[0], metricsHeader) {
		return nil, &config.Error{
			File:    name,
			Line:    1,
			Found:   "another header",
			Allowed: strings.Join(metricsHeader, ","),
		}
	}
	rows := make([]Row, 0, len(lines)-1)
	for i, f := range lines[1:] {
		r := Row{Agent: f[1], Metric: f[2]}
		if r.Round, err = strconv.ParseUint(f[0], 10, 64); err != nil {
			return nil, &config.Error{
				File:    name,
				Line:    i + 2,
				Key:     metricsHeader[0],
				Found:   strconv.Quote(f[0]),
				Allowed: "a whole number, at least 0",
			}
		}
		for k, dst := range []*float64{&r.Value, &r.Epsilon, &r.Delta} {
			if *dst, err = strconv.ParseFloat(f[3+k], 64); err != nil {
				return nil, &config.Error{
					File:    name,
					Line:    i + 2,
					Key:     metricsHeader[3+k],
					Found:   strconv.Quote(f[3+k]),
					Allowed: "a number",
				}
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// findRuns lists the run directories that paths name: runs themselves, and those below a
// sweep's directory or a folder of runs, by name.
func findRuns(paths []string) ([]string, error) {
	var dirs []string
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return nil, &config.Error{File: path, Found: "a file", Allowed: "a run's directory, or a sweep's"}
		}
		if _, err := os.Stat(filepath.Join(path, summaryFile)); err == nil {
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
			if _, err := os.Stat(filepath.Join(below, e.Name(), summaryFile)); err == nil &&
				!strings.HasSuffix(e.Name(), partialSuffix) {
				dirs = append(dirs, filepath.Join(below, e.Name()))
				found++
			}
		}
		if cells, _ := filepath.Glob(filepath.Join(path, "cells*.csv")); found == 0 && len(cells) > 0 {
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
