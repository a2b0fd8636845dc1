// Command resultscheck re-runs a row of docs/results/runs.csv and compares it bit for bit. The run hash
// covers metrics.csv and model.safetensors.
//
//	go run ./internal/resultscheck              a random row
//	go run ./internal/resultscheck -row NAME    that row
//	go run ./internal/resultscheck -seconds 30  a random row among those that took at most that long
//	go run ./internal/resultscheck -record NAME -- run FILE --set a.b=c   adds or replaces a row
//
// Hashes hold for one architecture and for kernels with fused multiply-add, or for those without: rows of another
// kind are left out.
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

	"sotto/tensor"
)

const table = "docs/results/runs.csv"

var header = []string{"name", "arch", "engine", "command", "seed", "accuracy_mean", "accuracy_min", "accuracy_max", "epsilon_lower", "epsilon_upper", "delta", "adjacency", "accountant", "noise_multiplier_max", "seconds", "config_digest", "run_hash"}

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
	row := flag.String("row", "", "name of the row to run again")
	seconds := flag.Float64("seconds", 0, "only rows that took at most this long; 0: all")
	record := flag.String("record", "", "run the command line after -- and store it under this name")
	flag.Parse()
	var err error
	if *record != "" {
		err = store(*record, flag.Args())
	} else {
		err = check(*row, *seconds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "resultscheck:", err)
		os.Exit(1)
	}
}

func check(name string, seconds float64) error {
	rows, err := readTable()
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r []string) bool {
		took, _ := strconv.ParseFloat(r[colSeconds], 64)
		return r[colArch] != machine() || name != "" && r[colName] != name || seconds > 0 && took > seconds
	})
	if len(rows) == 0 {
		return fmt.Errorf("%s has no such row for %s", table, machine())
	}
	r := rows[rand.IntN(len(rows))]
	fmt.Printf("running %s again: sotto %s\n", r[colName], r[colCommand])
	s, err := run(strings.Fields(r[colCommand]))
	if err != nil {
		return err
	}
	if s.ConfigDigest != r[colDigest] {
		return fmt.Errorf("%s: configuration digest %s, recorded %s", r[colName], s.ConfigDigest, r[colDigest])
	}
	if s.RunHash != r[colHash] {
		return fmt.Errorf("%s: run hash %s, recorded %s", r[colName], s.RunHash, r[colHash])
	}
	fmt.Printf("%s: the same bits (run hash %s)\n", r[colName], s.RunHash)
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

func run(args []string) (*summary, error) {
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
	s, err := run(args)
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
	row := slices.Concat([]string{name, machine(), s.Engine, strings.Join(args, " "), strconv.FormatUint(s.Seed, 10)}, acc,
		[]string{fmt.Sprint(lower), fmt.Sprint(upper), number(p.Delta), p.Adjacency, p.Accountant, number(noise), strconv.FormatFloat(s.Seconds, 'f', 1, 64), s.ConfigDigest, s.RunHash})
	rows = slices.DeleteFunc(rows, func(r []string) bool { return r[colName] == name && r[colArch] == machine() })
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
