// Command verifyresults re-runs a row of docs/results/runs.csv, of a study's
// docs/results/FOLDER/cells.csv, or of the table docs/results/FOLDER/STUDY.csv of a study
// that is no sweep, and compares it bit for bit. The run hash of a run covers metrics.csv
// and model.safetensors. Settings of a study's row are the study's own: a sweep's are
// found by the row's configuration digest, other studies are made whole (package
// reproduce). A row of Table 5 is compared by its first models.
//
//	go run ./internal/verifyresults              a random row of all tables
//	go run ./internal/verifyresults -row NAME    that row: a name in runs.csv,
//	                                             FOLDER/CELL such as seed000/17, or
//	                                             STUDY/ROW such as seed003-theorems/4,
//	                                             rows counted from 0
//	go run ./internal/verifyresults -seconds 30  a random row of runs.csv among those
//	                                             that took at most that long
//	go run ./internal/verifyresults -fresh 10    ten random groups of rows with other
//	                                             seeds; rows that took at most -seconds
//	go run ./internal/verifyresults -record NAME -- run FILE --set a.b=c
//	                                             adds or replaces a row
//
// Hashes hold for one architecture and for kernels with fused multiply-add, or for those
// without: rows of another kind are left out; a named one is refused.
package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/tensor"
)

const table = "docs/results/runs.csv"

var header = []string{"name", "arch", "engine", "command", "seed", "accuracy_mean", "accuracy_min",
	"accuracy_max", "epsilon_lower", "epsilon_upper", "delta", "adjacency", "accountant",
	"noise_multiplier_max", "seconds", "config_digest", "run_hash"}

// Columns that are read by number.
const (
	colName, colArch, colCommand, colSeconds, colDigest, colHash = 0, 1, 3, 14, 15, 16
)

// machine names what the bits of a result depend on.
func machine() string {
	if tensor.Kernels() == "portable" {
		return runtime.GOARCH + "/portable"
	}
	return runtime.GOARCH + "/fma"
}

func main() {
	row := flag.String("row", "", "name of the row to run again, FOLDER/CELL or STUDY/ROW")
	seconds := flag.Float64("seconds", 0,
		"only rows of runs.csv (-fresh: of studies) that took at most this long; 0: all rows of all tables")
	groups := flag.Int("fresh", 0, "run as many random groups of rows with seeds that no table has")
	record := flag.String("record", "", "run the command line after -- and store it under this name")
	flag.Parse()
	var err error
	switch {
	case *record != "":
		err = store(*record, flag.Args())
	case *groups > 0:
		err = fresh(*groups, *seconds)
	default:
		err = check(*row, *seconds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "verifyresults:", err)
		os.Exit(1)
	}
}

// row is a row of any table.
type row interface {
	name() string
	here() bool // this program on this machine can give its bits
	again() error
}

// readRows reads all tables.
func readRows() ([]row, error) {
	runs, err := readTable()
	if err != nil {
		return nil, err
	}
	cells, err := readCells()
	if err != nil {
		return nil, err
	}
	simulations, err := readSimulations()
	if err != nil {
		return nil, err
	}
	var all []row
	for _, r := range runs {
		all = append(all, recorded(r))
	}
	for i := range cells {
		all = append(all, &cells[i])
	}
	for i := range simulations {
		all = append(all, &simulations[i])
	}
	return all, nil
}

// check runs the named row again, or a random one of all tables.
func check(name string, seconds float64) error {
	rows, err := readRows()
	if err != nil {
		return err
	}
	all := len(rows)
	rows = slices.DeleteFunc(rows, func(r row) bool {
		run, ok := r.(recorded)
		return name != "" && r.name() != name || seconds > 0 && !(ok && run.seconds() <= seconds)
	})
	here := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !r.here() })
	switch {
	case len(here) > 0:
		rows = here
	case name == "" || len(rows) == 0:
		return fmt.Errorf("%s, %s and %s have no such row for %s and engine %s", table, studyTables,
			simulationTables, machine(), experiment.EngineVersion)
	} // else the named row, which is refused with the reason
	if name == "" {
		fmt.Printf("one row of %d; %d are left out: of another engine or arithmetic, or longer than asked "+
			"for\n", len(rows), all-len(rows))
	}
	for {
		i := rand.IntN(len(rows))
		err := rows[i].again()
		if name != "" || !errors.Is(err, data.ErrMissing) || len(rows) == 1 {
			return err
		}
		fmt.Printf("%s is left out: %v\n", rows[i].name(), err) // a data set that users bring
		rows = slices.Delete(rows, i, i+1)
	}
}

// recorded is a row of the table of runs.
type recorded []string

func (r recorded) name() string { return r[colName] }

func (r recorded) here() bool { return r[colArch] == machine() }

func (r recorded) seconds() float64 {
	took, _ := strconv.ParseFloat(r[colSeconds], 64)
	return took
}

func (r recorded) again() error {
	if !r.here() {
		return fmt.Errorf("%s: %w", r.name(),
			config.Bad("arch", r[colArch], machine()+", what this program computes with"))
	}
	fmt.Printf("running %s again: sotto %s\n", r.name(), r[colCommand])
	s, err := train(strings.Fields(r[colCommand]))
	if err != nil {
		return err
	}
	return same(r.name(), s.ConfigDigest, r[colDigest], s.RunHash, r[colHash])
}

// same compares what a run gave with what its row records.
func same(name, digest, recordedDigest, hash, recordedHash string) error {
	if digest != recordedDigest {
		return fmt.Errorf("%s: configuration digest %s, recorded %s", name, digest, recordedDigest)
	}
	if hash != recordedHash {
		return fmt.Errorf("%s: run hash %s, recorded %s", name, hash, recordedHash)
	}
	fmt.Printf("%s: the same bits (run hash %s)\n", name, hash)
	return nil
}

// summary is what the table needs of "sotto run --output json".
type summary struct {
	Seed     uint64 `json:"seed"`
	Engine   string `json:"engine"`
	Accuracy *struct {
		Mean, Min, Max float64
	} `json:"accuracy"`
	Privacy []struct {
		Epsilon         struct{ Lower, Upper any } `json:"epsilon"`
		Delta           float64                    `json:"delta"`
		Adjacency       string                     `json:"adjacency"`
		Accountant      string                     `json:"accountant"`
		NoiseMultiplier float64                    `json:"noise_multiplier"`
	} `json:"privacy"`
	Seconds      float64 `json:"seconds"`
	ConfigDigest string  `json:"config_digest"`
	RunHash      string  `json:"run_hash"`
}

func train(args []string) (*summary, error) {
	out, err := os.MkdirTemp("", "sotto-results-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(out)
	bin := filepath.Join(out, "sotto")
	build := exec.Command("go", "build", "-o", bin, "./cmd/sotto")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, append(args, "--output", "json", "--out", filepath.Join(out, "runs"))...)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("sotto %s: %w", strings.Join(args, " "), err)
	}
	var s summary
	return &s, json.Unmarshal(b, &s)
}

func store(name string, args []string) error {
	rows, err := readTable()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := train(args)
	if err != nil {
		return err
	}
	acc := []string{"", "", ""}
	if s.Accuracy != nil {
		acc = []string{number(s.Accuracy.Mean), number(s.Accuracy.Min), number(s.Accuracy.Max)}
	}
	lower, upper, noise := any(nil), any(nil), 0.
	for _, p := range s.Privacy {
		noise = max(noise, p.NoiseMultiplier)
		if upper == nil || fmt.Sprint(p.Epsilon.Upper) == "inf" || less(upper, p.Epsilon.Upper) {
			upper = p.Epsilon.Upper
		}
		if lower == nil || less(p.Epsilon.Lower, lower) {
			lower = p.Epsilon.Lower
		}
	}
	p := s.Privacy[0]
	row := slices.Concat([]string{name, machine(), s.Engine, strings.Join(args, " "),
		strconv.FormatUint(s.Seed, 10)}, acc,
		[]string{fmt.Sprint(lower), fmt.Sprint(upper), number(p.Delta), p.Adjacency, p.Accountant,
			number(noise), strconv.FormatFloat(s.Seconds, 'f', 1, 64), s.ConfigDigest, s.RunHash})
	rows = slices.DeleteFunc(rows, func(r []string) bool {
		return r[colName] == name && r[colArch] == machine()
	})
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.WriteAll(slices.Concat([][]string{header}, rows, [][]string{row}))
	if err := w.Error(); err != nil {
		return err
	}
	fmt.Println(strings.Join(row, " | "))
	return os.WriteFile(table, b.Bytes(), 0o644)
}

func less(a, b any) bool {
	x, ok1 := a.(float64)
	y, ok2 := b.(float64)
	return ok1 && ok2 && x < y
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func readTable() ([][]string, error) {
	f, err := os.Open(table)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", table, err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], header) {
		return nil, fmt.Errorf("%s: the header is not %s", table, strings.Join(header, ","))
	}
	return rows[1:], nil
}
