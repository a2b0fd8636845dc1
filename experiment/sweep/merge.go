package sweep

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/internal/rowfile"
)

// Merge joins the cells files of a sweep's shards. Files must have the same axes, and lie
// in directories of one sweep where these are named after it; rows of one cell must
// agree, all be of one engine and arithmetic, and no cell below the highest may be
// missing.
func Merge(paths []string) ([]byte, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	rows, codec, err := merged(paths)
	if err != nil {
		return nil, err
	}
	return rowfile.Encode(rows, codec), nil
}

// merged are the rows of Merge.
func merged(paths []string) ([]Row, rowfile.Codec[Row], error) {
	if err := oneSweep(paths); err != nil {
		return nil, rowfile.Codec[Row]{}, err
	}
	codec, err := readCellCodec(paths[0])
	if err == nil && codec.Header == nil {
		err = &config.Error{File: paths[0], Line: 1, Found: "nothing", Allowed: "the cells of a sweep"}
	}
	if err != nil {
		return nil, codec, err
	}
	rows, err := rowfile.Merge(paths, codec)
	if err != nil {
		return nil, codec, err
	}
	return rows, codec, oneKind(rows, codec)
}

// oneKind refuses rows of which one is missing before the last, and those of several
// engines or arithmetics.
func oneKind(rows []Row, codec rowfile.Codec[Row]) error {
	axes, _ := axesOf(codec.Header)
	for i, r := range rows {
		switch first := rows[0]; {
		case r.Cell != i:
			return config.Bad("cell", fmt.Sprintf("no row of cell %d", i), "all shards of the sweep")
		case r.Engine != first.Engine:
			return config.Bad("engine", fmt.Sprintf("%s in cell 0 and %s in cell %d", first.Engine,
				r.Engine, i), "one engine in all shards")
		case r.Arithmetic != first.Arithmetic && !slices.ContainsFunc(axes, ofPrecision):
			return config.Bad("arithmetic", fmt.Sprintf("%s in cell 0 and %s in cell %d",
				first.Arithmetic, r.Arithmetic, i), "one arithmetic in all shards")
		}
	}
	return nil
}

// MergeAll is [Merge] of a sweep of which each shard has left a file, with cells or
// without: that of the cell after the last must be there, where names say shards. Several
// files of which one lies in no directory of a sweep are refused, as nothing says that
// they are of one: [Sweep.MergeAll] takes them.
func MergeAll(paths []string) ([]byte, error) {
	for _, path := range paths {
		of, err := sweepOf(path)
		if err != nil {
			return nil, err
		}
		if of == "" && len(paths) > 1 {
			return nil, &config.Error{File: path, Key: "sweep",
				Found: "a folder that is not named after a sweep",
				Allowed: "the sweep's own, NAME-sweep-DIGEST; or the sweep's run file, which rows are " +
					"held against"}
		}
	}
	b, err := Merge(paths)
	if err != nil {
		return nil, err
	}
	return b, nextShard(paths, max(0, bytes.Count(b, []byte("\n"))-1))
}

// shardName is the name of a shard's file: see cellsName.
var shardName = regexp.MustCompile(`^cells-(\d+)-of-(\d+)\.csv$`)

// nextShard refuses files of which none is of the shard that would have the cell after
// the last: that nothing is missing at the end is what its file shows, empty or not.
func nextShard(paths []string, cells int) error {
	of, given := 0, map[int]bool{}
	for _, path := range paths {
		m := shardName.FindStringSubmatch(filepath.Base(path))
		if m == nil {
			return nil
		}
		shard, err := strconv.Atoi(m[1])
		n, bad := strconv.Atoi(m[2])
		if err != nil || bad != nil || n < 1 || of > 0 && n != of {
			return nil
		}
		of, given[shard] = n, true
	}
	if next := cells % max(1, of); of > 0 && !given[next] {
		return config.Bad("shard", fmt.Sprintf("no file of shard %d of %d", next, of),
			"all shards of the sweep")
	}
	return nil
}

// ofPrecision says that cells may differ in the arithmetic on one machine.
func ofPrecision(axis string) bool {
	return axis == "model" || strings.HasSuffix(axis, "precision")
}

// sweepDir is how the directory of a sweep ends: with what its digest begins with.
var sweepDir = regexp.MustCompile(`-sweep-([0-9a-f]{8})$`)

// oneSweep refuses files that lie in directories of two sweeps.
func oneSweep(paths []string) error {
	first := ""
	for _, path := range paths {
		of, err := sweepOf(path)
		switch {
		case err != nil:
			return err
		case of == "":
		case first == "":
			first = of
		case of != first:
			return &config.Error{File: path, Key: "sweep", Found: of,
				Allowed: first + ", the sweep of an earlier file"}
		}
	}
	return nil
}

// sweepOf is what the digest of the sweep in whose directory a file lies begins with; "":
// its directory is not named after one.
func sweepOf(path string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if m := sweepDir.FindStringSubmatch(filepath.Base(filepath.Dir(at))); m != nil {
		return m[1], nil
	}
	return "", nil
}

// MergeAll joins the cells files of this sweep's shards, wherever they lie. A row of
// other settings or data than those of its cell is refused, and so is a table that lacks
// one.
func (s *Sweep) MergeAll(paths []string, dataDir string) ([]byte, error) {
	if len(paths) == 0 {
		return nil, config.Bad("paths", "none", "the cells files of all shards")
	}
	rows, codec, err := merged(paths)
	if err != nil {
		return nil, err
	}
	if axes, _ := axesOf(codec.Header); !slices.Equal(axes, s.Axes) {
		return nil, &config.Error{File: paths[0], Line: 1, Key: "axes", Found: strings.Join(axes, ", "),
			Allowed: strings.Join(s.Axes, ", ") + ", those of " + s.file}
	}
	if n := len(rows); n != s.Cells() {
		return nil, config.Bad("cell", fmt.Sprintf("%d rows", n),
			fmt.Sprintf("one of each of the %d cells of %s", s.Cells(), s.file))
	}
	w := &sweeping{s: s, opt: Options{DataDir: dataDir}, cache: data.NewCache()}
	for i := range rows {
		e, err := w.build(i)
		if err != nil {
			return nil, err
		}
		if err := s.settled(&rows[i], e); err != nil {
			return nil, err
		}
	}
	return rowfile.Encode(rows, codec), nil
}

// settled refuses a row that was made with other settings or data than the experiment of
// its cell has.
func (s *Sweep) settled(r *Row, e *experiment.Experiment) error {
	now, at := experiment.OriginOf(e), fmt.Sprintf(", as %s gives for cell %d, %s", s.file, r.Cell,
		s.describe(r.Cell))
	switch {
	case r.ConfigDigest != now.ConfigDigest:
		return config.Bad("config_digest", r.ConfigDigest, now.ConfigDigest+at)
	case r.Data != "" && r.Data != now.Data:
		return config.Bad(dataColumn, r.Data, now.Data+at)
	}
	return nil
}
