package experiment

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sotto/config"
)

const trialsFile = "trials.csv"

// TrialRow is one finished trial of a search, or one member of a population after one
// generation.
type TrialRow struct {
	Generation, Trial int      // generations and trials count from 1; random search has one generation
	From              int      // the member whose weights it went on from; 0: its own, or none
	Values            []string // of the space's keys in order, as TOML

	Score              float64 // what the search compares: larger is better
	Accuracy, Loss     float64 // of held-out records, mean over agents; NaN where they are not observed
	Epsilon            float64 // of the trial's ledgers, upper end; NaN for members of a population
	ConfigDigest       string
	Engine, Arithmetic string
	RunHash            string
	Run                string // directory below that of the search; "" for members of a population
}

var (
	trialColumns  = []string{"generation", "trial", "from"} // the space's keys follow
	resultColumns = []string{"score", "accuracy", "loss", "epsilon", "config_digest", "engine", "arithmetic",
		"run_hash", "run"}
)

func (r *TrialRow) fields() []string {
	f := []string{strconv.Itoa(r.Generation), strconv.Itoa(r.Trial), strconv.Itoa(r.From)}
	f = append(f, r.Values...)
	for _, x := range []float64{r.Score, r.Accuracy, r.Loss, r.Epsilon} {
		f = append(f, number(x))
	}
	return append(f, r.ConfigDigest, r.Engine, r.Arithmetic, r.RunHash, r.Run)
}

// parseTrial reads what fields writes.
func parseTrial(f []string, keys int) (TrialRow, error) {
	var r TrialRow
	var err error
	for k, dst := range []*int{&r.Generation, &r.Trial, &r.From} {
		if *dst, err = strconv.Atoi(f[k]); err != nil || *dst < 0 || k < 2 && *dst == 0 {
			return r, config.Bad(trialColumns[k], f[k], "a whole number from 1, or 0 for from")
		}
	}
	r.Values, f = f[3:3+keys], f[3+keys:]
	for k, dst := range []*float64{&r.Score, &r.Accuracy, &r.Loss, &r.Epsilon} {
		if *dst, err = strconv.ParseFloat(f[k], 64); err != nil {
			return r, config.Bad(resultColumns[k], f[k], "a number")
		}
	}
	r.ConfigDigest, r.Engine, r.Arithmetic, r.RunHash, r.Run = f[4], f[5], f[6], f[7], f[8]
	return r, nil
}

func encodeTrials(header []string, rows []TrialRow) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if header != nil {
		w.Write(header) // a bytes.Buffer does not fail
	}
	for i := range rows {
		w.Write(rows[i].fields())
	}
	w.Flush()
	return b.Bytes()
}

// decodeTrials reads a trials file with the given header; a last line without an end,
// which a crash leaves, is dropped. name is for errors.
func decodeTrials(name string, b []byte, header []string) (rows []TrialRow, err error) {
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	if len(b) == 0 {
		return nil, nil
	}
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !slices.Equal(lines[0], header) {
		return nil, &config.Error{
			File:    name,
			Line:    1,
			Found:   strings.Join(lines[0], ","),
			Allowed: "the columns of this search: " + strings.Join(header, ","),
		}
	}
	for i, f := range lines[1:] {
		r, err := parseTrial(f, len(header)-len(trialColumns)-len(resultColumns))
		if err != nil {
			var bad *config.Error
			if errors.As(err, &bad) {
				bad.File, bad.Line = name, i+2
			}
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// trialTable is the trials file of a search, appended to row by row.
type trialTable struct {
	path   string
	header []string
	mu     sync.Mutex
	rows   map[[2]int]TrialRow // by generation and trial
	file   *os.File
}

// openTrials reads what earlier processes have finished and opens the file for more.
func openTrials(dir string, t *Tuning) (*trialTable, error) {
	tab := &trialTable{path: filepath.Join(dir, trialsFile), rows: map[[2]int]TrialRow{},
		header: slices.Clone(trialColumns)}
	for _, d := range t.space {
		tab.header = append(tab.header, d.key)
	}
	tab.header = append(tab.header, resultColumns...)
	b, err := os.ReadFile(tab.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows, err := decodeTrials(tab.path, b, tab.header)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		tab.rows[[2]int{r.Generation, r.Trial}] = r
	}
	if err := writeAtomic(tab.path, encodeTrials(tab.header, tab.sorted())); err != nil {
		return nil, err
	}
	tab.file, err = os.OpenFile(tab.path, os.O_APPEND|os.O_WRONLY, 0o644)
	return tab, err
}

func (t *trialTable) sorted() []TrialRow {
	rows := make([]TrialRow, 0, len(t.rows))
	for _, r := range t.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b TrialRow) int {
		if a.Generation != b.Generation {
			return a.Generation - b.Generation
		}
		return a.Trial - b.Trial
	})
	return rows
}

// find returns the row of a trial if it was made with this configuration, values, engine
// and arithmetic.
func (t *trialTable) find(generation, trial, from int, e *Experiment) (TrialRow, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.rows[[2]int{generation, trial}]
	return r, ok && r.From == from && r.ConfigDigest == e.Digest() && r.Engine == EngineVersion &&
		r.Arithmetic == e.Arithmetic()
}

// add appends a row and waits until it is on disk.
func (t *trialTable) add(r TrialRow) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.file.Write(encodeTrials(nil, []TrialRow{r})); err != nil {
		return err
	}
	t.rows[[2]int{r.Generation, r.Trial}] = r
	return t.file.Sync()
}

// finish writes the rows in order.
func (t *trialTable) finish() ([]TrialRow, error) {
	rows := t.sorted()
	return rows, writeAtomic(t.path, encodeTrials(t.header, rows))
}

func (t *trialTable) close() { t.file.Close() }

var nan = math.NaN()

// bestFirst orders rows by score; a score that is not a number is the worst, the lower
// number of equal ones comes first.
func bestFirst(rows []TrialRow) []TrialRow {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b TrialRow) int {
		switch x, y := sortable(a.Score), sortable(b.Score); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return a.Trial - b.Trial
	})
	return rows
}

func sortable(score float64) float64 {
	if math.IsNaN(score) {
		return math.Inf(-1)
	}
	return score
}
