package reproduce

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/tensor"
)

// Wall times are kept apart from cells.csv, whose rows are the same bits each time.

// timeKey names a run as its row in cells.csv does.
type timeKey struct{ digest, engine, arithmetic string }

// runTime is how long a run took, in seconds on one core, and on what.
type runTime struct {
	seconds float64
	split   experiment.Split
	cores   int    // of the machine
	kernels string // avx512, avx2 or portable
}

var timeColumns = []string{"config_digest", "engine", "arithmetic", "seconds", "gradients", "noise", "mixing",
	"evaluation", "rest", "cores", "kernels"}

// timeFile appends to a shard's times.
type timeFile struct {
	dir           string
	shard, shards int
	err           error // the first
}

func (t *timeFile) path() string {
	if t.shards <= 1 {
		return filepath.Join(t.dir, "times.csv")
	}
	return filepath.Join(t.dir, fmt.Sprintf("times-%d-of-%d.csv", t.shard, t.shards))
}

// add appends a finished run.
func (t *timeFile) add(p *experiment.SweepProgress) {
	f, err := os.OpenFile(t.path(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		info, statErr := f.Stat()
		w := csv.NewWriter(f)
		if statErr == nil && info.Size() == 0 {
			w.Write(timeColumns)
		}
		line := []string{p.Row.ConfigDigest, p.Row.Engine, p.Row.Arithmetic}
		for _, x := range []float64{p.Seconds, p.Split.Gradients, p.Split.Noise, p.Split.Mixing,
			p.Split.Evaluation, p.Split.Rest} {
			line = append(line, strconv.FormatFloat(x, 'f', 3, 64))
		}
		w.Write(append(line, strconv.Itoa(runtime.NumCPU()), tensor.Kernels()))
		w.Flush()
		err = errors.Join(statErr, w.Error(), f.Close())
	}
	if t.err == nil {
		t.err = err
	}
}

// readTimes reads all time files of a study's directory; of several times of a run the
// last in a file counts.
func readTimes(dir string) (map[timeKey]runTime, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "times*.csv"))
	if err != nil {
		return nil, err
	}
	times := map[timeKey]runTime{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := decodeTimes(times, path, string(b)); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// decodeTimes adds the times of one file; a last line without an end, which a crash
// leaves, is dropped.
func decodeTimes(times map[timeKey]runTime, path, text string) error {
	text = text[:strings.LastIndexByte(text, '\n')+1]
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(lines) == 0 {
		return nil
	}
	if !slices.Equal(lines[0], timeColumns) {
		return &config.Error{
			File:    path,
			Line:    1,
			Found:   strings.Join(lines[0], ","),
			Allowed: strings.Join(timeColumns, ","),
		}
	}
	for i, f := range lines[1:] {
		var r runTime
		for k, dst := range []*float64{&r.seconds, &r.split.Gradients, &r.split.Noise, &r.split.Mixing,
			&r.split.Evaluation, &r.split.Rest} {
			if *dst, err = strconv.ParseFloat(f[3+k], 64); err != nil || !(*dst >= 0) {
				return &config.Error{
					File:    path,
					Line:    i + 2,
					Key:     timeColumns[3+k],
					Found:   f[3+k],
					Allowed: "seconds, at least 0",
				}
			}
		}
		if r.cores, err = strconv.Atoi(f[9]); err != nil || r.cores < 1 {
			return &config.Error{
				File:    path,
				Line:    i + 2,
				Key:     "cores",
				Found:   f[9],
				Allowed: "a whole number, at least 1",
			}
		}
		r.kernels = f[10]
		times[timeKey{f[0], f[1], f[2]}] = r
	}
	return nil
}

// time returns the time of a row's run.
func (f *found) time(r *experiment.CellRow) (runTime, bool) {
	t, ok := f.times[timeKey{r.ConfigDigest, r.Engine, r.Arithmetic}]
	return t, ok
}
