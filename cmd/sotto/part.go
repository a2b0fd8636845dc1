//go:build !operator

package main

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"sotto/cmd/sotto/cli"
	"sotto/experiment/sweep"
)

// partFlags name the part of all cells that a process is to run.
type partFlags struct {
	shard  string
	shards int
	only   []string
}

func (f *partFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.shard, "shard", "", "i/n: run the cells whose number modulo n is i, from 0")
	fl.IntVar(&f.shards, "shards", 0, "n: like --shard i/n, with i from the environment of an array job")
	fl.StringArrayVar(&f.only, "only", nil,
		"run only the cells that have this value of an axis, axis=value (repeatable)")
}

// read returns the part that flags and the environment of an array job name.
func (f *partFlags) read(env func(string) string) (part sweep.Part, err error) {
	if part.Shard, part.Shards, err = f.division(env); err != nil {
		return part, err
	}
	part.Only, err = f.values()
	return part, err
}

// values are those of axes that flags name.
func (f *partFlags) values() (map[string]string, error) {
	only := map[string]string{}
	for _, s := range f.only {
		axis, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, cli.Usagef("--only: found %q, allowed: axis=value", s)
		}
		if old, twice := only[axis]; twice {
			return nil, cli.Usagef("--only: found %s=%s and %s, allowed: one value of an axis", axis, old, s)
		}
		only[axis] = value
	}
	return only, nil
}

// division returns the shard.
func (f *partFlags) division(env func(string) string) (shard, shards int, err error) {
	const allowed = "i/n with 0 <= i < n"
	switch {
	case f.shard != "" && f.shards != 0:
		return 0, 0, cli.Usagef("--shard and --shards: found both, allowed: one of them")
	case f.shard != "":
		i, n, ok := strings.Cut(f.shard, "/")
		shard, err = strconv.Atoi(i)
		if err == nil {
			shards, err = strconv.Atoi(n)
		}
		if !ok || err != nil || shard < 0 || shard >= shards {
			return 0, 0, cli.Usagef("--shard: found %q, allowed: %s", f.shard, allowed)
		}
		return shard, shards, nil
	case f.shards != 0:
		for _, name := range []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"} {
			v := env(name)
			if v == "" {
				continue
			}
			if shard, err = strconv.Atoi(v); err != nil || shard < 0 || shard >= f.shards {
				return 0, 0, cli.Usagef("%s: found %q, allowed: 0 to %d with --shards %d", name, v,
					f.shards-1, f.shards)
			}
			return shard, f.shards, nil
		}
		return 0, 0,
			cli.Usagef("--shards: found neither JOB_COMPLETION_INDEX nor SLURM_ARRAY_TASK_ID "+
				"in the environment; --shard %s names the shard", "i/n")
	}
	return 0, 1, nil
}
