package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sotto/internal/atomicfile"
)

// Names of the files in a run directory.
const (
	configFile     = "config.toml"
	manifestFile   = "manifest.json"
	metricsFile    = "metrics.csv"
	summaryFile    = "summary.json"
	privacyFile    = "privacy.json"
	ledgerFile     = "ledger/simulated.jsonl"
	topologyFile   = "topology.json"
	modelFile      = "model.safetensors"
	reportFile     = "report.html"
	checkpointFile = "checkpoint.bin"
	wakesFile      = "wakes.csv"

	partialSuffix = ".partial"
)

// runDir is a run directory under construction: everything is written into NAME.partial,
// which becomes NAME by one rename when the run is complete. A finished run is never
// touched again.
type runDir struct {
	out, name string
	path      string
	// write puts a file on disk; tests replace it to fill the disk.
	write func(path string, b []byte) error
}

// newRunDir makes out/name.partial; where that or a finished run of that name exists,
// name-2 and so on.
func newRunDir(out, name string) (*runDir, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	for i := 1; ; i++ {
		d := &runDir{out: out, name: name, write: atomicfile.Write}
		if i > 1 {
			d.name = fmt.Sprintf("%s-%d", name, i)
		}
		if _, err := os.Lstat(filepath.Join(out, d.name)); err == nil {
			continue
		}
		d.path = filepath.Join(out, d.name+partialSuffix)
		err := os.Mkdir(d.path, 0o755)
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// put writes one file of the run.
func (d *runDir) put(name string, b []byte) error {
	path := filepath.Join(d.path, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	if err := d.write(path, b); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	return nil
}

// finish drops the checkpoint and gives the directory its final name.
func (d *runDir) finish() (string, error) {
	if err := os.Remove(filepath.Join(d.path, checkpointFile)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("run directory: %w", err)
	}
	base := d.name
	for i := 2; ; i++ {
		final := filepath.Join(d.out, d.name)
		if _, err := os.Lstat(final); errors.Is(err, fs.ErrNotExist) {
			err := os.Rename(d.path, final)
			if err == nil {
				return final, nil
			}
			if !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
				return "", fmt.Errorf("run directory: %w", err)
			}
		}
		d.name = fmt.Sprintf("%s-%d", base, i)
	}
}
