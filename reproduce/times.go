package reproduce

import (
	"fmt"
	"runtime"
	"strconv"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/internal/rowfile"
	"sotto/tensor"
)

// Wall times are kept apart from cells.csv, whose rows are the same bits each time.

// RunKey names a run as its row in cells.csv does.
type RunKey struct{ digest, engine, arithmetic string }

// TimeKey names the run of a row.
func TimeKey(r *sweep.Row) RunKey { return RunKey{r.ConfigDigest, r.Engine, r.Arithmetic} }

// RunTime is how long a run took, in seconds on one core, and on what.
type RunTime struct {
	Seconds float64
	Split   rundir.Split
	Cores   int    // of the machine
	Kernels string // avx512, avx2 or portable
}

var timeColumns = []string{"config_digest", "engine", "arithmetic", "seconds", "gradients", "noise", "mixing",
	"evaluation", "rest", "cores", "kernels"}

// timeRow is a line of a file of times.
type timeRow struct {
	key  RunKey
	time RunTime
}

// timeCodec is how times are written: in the order in which runs ended.
var timeCodec = rowfile.Codec[timeRow]{
	Header: timeColumns,
	Key:    func(r timeRow) string { return fmt.Sprintf("%q", r.key) },
	Encode: func(r timeRow) []string {
		line := []string{r.key.digest, r.key.engine, r.key.arithmetic}
		s := &r.time.Split
		for _, x := range []float64{r.time.Seconds, s.Gradients, s.Noise, s.Mixing, s.Evaluation, s.Rest} {
			line = append(line, strconv.FormatFloat(x, 'f', 3, 64))
		}
		return append(line, strconv.Itoa(r.time.Cores), r.time.Kernels)
	},
	Decode: parseTime,
	Row:    "run",
	Table:  "study",
}

// parseTime reads a line of a file of times.
func parseTime(f []string) (timeRow, error) {
	r := timeRow{key: RunKey{f[0], f[1], f[2]}}
	s := &r.time.Split
	var err error
	for k, dst := range []*float64{&r.time.Seconds, &s.Gradients, &s.Noise, &s.Mixing, &s.Evaluation,
		&s.Rest} {
		if *dst, err = strconv.ParseFloat(f[3+k], 64); err != nil || !(*dst >= 0) {
			return r, &config.Error{Key: timeColumns[3+k], Found: f[3+k], Allowed: "seconds, at least 0"}
		}
	}
	if r.time.Cores, err = strconv.Atoi(f[9]); err != nil || r.time.Cores < 1 {
		return r, &config.Error{Key: "cores", Found: f[9], Allowed: "a whole number, at least 1"}
	}
	r.time.Kernels = f[10]
	return r, nil
}

// timeOf is the line of a run that has just ended.
func timeOf(r *sweep.Row, s *rundir.Summary) timeRow {
	return timeRow{TimeKey(r), RunTime{s.Seconds, s.Split, runtime.NumCPU(), tensor.Kernels()}}
}

// ReadTimes reads all times of a study's directory; of several times of a run the last in
// a file counts.
func ReadTimes(dir string) (map[RunKey]RunTime, error) {
	rows, err := readBeside(dir, "times", timeCodec)
	times := map[RunKey]RunTime{}
	for _, r := range rows {
		times[r.key] = r.time
	}
	return times, err
}

// Time returns the time of a row's run.
func (f *Results) Time(r *sweep.Row) (RunTime, bool) {
	t, ok := f.Times[TimeKey(r)]
	return t, ok
}
