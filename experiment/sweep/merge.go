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
	if err := oneSweep(paths); err != nil {
		return nil, err
	}
	codec, err := readCellCodec(paths[0])
	if err != nil {
		return nil, err
	}
	rows, err := rowfile.Merge(paths, codec)
	if err != nil {
		return nil, err
	}
	axes, _ := axesOf(codec.Header)
	for i, r := range rows {
		switch first := rows[0]; {
		case r.Cell != i:
			return nil, config.Bad("cell", fmt.Sprintf("no row of cell %d", i), "all shards of the sweep")
		case r.Engine != first.Engine:
			return nil, config.Bad("engine", fmt.Sprintf("%s in cell 0 and %s in cell %d", first.Engine,
				r.Engine, i), "one engine in all shards")
		case r.Arithmetic != first.Arithmetic && !slices.ContainsFunc(axes, ofPrecision):
			return nil, config.Bad("arithmetic", fmt.Sprintf("%s in cell 0 and %s in cell %d",
				first.Arithmetic, r.Arithmetic, i), "one arithmetic in all shards")
		}
	}
	return rowfile.Encode(rows, codec), nil
}

// MergeAll is [Merge] of a sweep of which each shard has left a file, with cells or
// without: that of the cell after the last must be there, where names say shards.
func MergeAll(paths []string) ([]byte, error) {
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
		at, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		m := sweepDir.FindStringSubmatch(filepath.Base(filepath.Dir(at)))
		switch {
		case m == nil:
		case first == "":
			first = m[1]
		case m[1] != first:
			return &config.Error{File: path, Key: "sweep", Found: m[1],
				Allowed: first + ", the sweep of an earlier file"}
		}
	}
	return nil
}
