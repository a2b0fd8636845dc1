// Package campaign runs the studies of all papers as one list of runs that many
// processes share: each takes every n-th run, a process that was stopped goes on, and the
// rows of all are joined at the end.
package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/sweep"
	"sotto/internal/atomicfile"
	"sotto/internal/parallel"
	"sotto/reproduce"
)

// Part is what has one folder of a campaign: the studies that read the same runs, or one
// that is made whole each time.
type Part struct {
	Folder  string // the name of the first of Studies
	Studies []string
	Runs    int // cells; 1 for a study that is made whole
	First   int // number of the first of them in the campaign
	Scale   reproduce.Scale
	Sweep   bool
}

// Options say what a campaign is and which part of it a process runs. Only Scale and
// Studies change what is made.
type Options struct {
	Dir     string          // folder of the parts' folders
	Studies []string        // either name of each; none: all
	Scale   reproduce.Scale // Short: the full size of a study that has no short one
	Sweep   sweep.Options   // DataDir, Workers, Shard and Shards are read
	// Progress, when not nil, is called after every run with the folder of its part.
	Progress func(folder string, p sweep.Progress)
}

// Parts lists a campaign in the order in which it is run, by name. Errors are
// *config.Error: a study that is not known, a scale.
func Parts(papers reproduce.Papers, names []string, scale reproduce.Scale) ([]Part, error) {
	if !slices.Contains(reproduce.Scales, scale) {
		return nil, config.Bad("scale", string(scale), fmt.Sprintf("one of %v", reproduce.Scales))
	}
	if len(names) == 0 {
		names = papers.Names()
	}
	var chosen []string
	for _, n := range names {
		known, _, err := papers.Find(n)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, known)
	}
	slices.Sort(chosen)
	var parts []Part
	at := map[string]int{} // parts by what they run
	first := 0
	for _, name := range slices.Compact(chosen) {
		_, s, _ := papers.Find(name)
		p := Part{Folder: name, Studies: []string{name}, Runs: 1, First: first, Scale: scale,
			Sweep: s.Sweep()}
		if scale == reproduce.Short && !slices.Contains(s.Sizes(), scale) {
			p.Scale = reproduce.Full
		}
		if p.Sweep {
			cells := s.Cells(p.Scale)
			p.Runs = len(cells)
			key := fmt.Sprintf("%q %q %q", s.Base, s.Axes, cells)
			if k, ok := at[key]; ok {
				parts[k].Studies = append(parts[k].Studies, name)
				continue
			}
			at[key] = len(parts)
		}
		parts = append(parts, p)
		first += p.Runs
	}
	return parts, nil
}

// share is the part's own number of a campaign's shard: runs are dealt out one by one
// over the whole campaign, so that small studies do not all fall on the first shards.
func (p *Part) share(shard, shards int) int { return ((shard-p.First)%shards + shards) % shards }

// divide takes no number of shards as one.
func (o *Options) divide() error {
	if o.Sweep.Shards == 0 {
		o.Sweep.Shards = 1
	}
	if o.Sweep.Shards < 1 {
		return config.Bad("shards", o.Sweep.Shards, "at least 1")
	}
	return nil
}

// Run runs what is missing of a shard, one part after the other. An error of one part,
// as of a data set that is not there, does not keep it from the others; the end of ctx
// does.
func Run(ctx context.Context, papers reproduce.Papers, opt Options) error {
	if err := opt.divide(); err != nil {
		return err
	}
	if s := opt.Sweep.Shard; s < 0 || s >= opt.Sweep.Shards {
		return config.Bad("shard", s, fmt.Sprintf("0 to %d", opt.Sweep.Shards-1))
	}
	if err := parallel.Check(opt.Sweep.Workers); err != nil {
		return err
	}
	parts, err := Parts(papers, opt.Studies, opt.Scale)
	if err != nil {
		return err
	}
	var failed []error
	for i := range parts {
		if err := parts[i].run(ctx, papers, &opt); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("%s: %w", parts[i].Folder, err)
			}
			failed = append(failed, fmt.Errorf("%s: %w", parts[i].Folder, err))
		}
	}
	return errors.Join(failed...)
}

func (p *Part) run(ctx context.Context, papers reproduce.Papers, opt *Options) error {
	o := p.options(opt)
	o.Sweep.Shards, o.Sweep.Shard = opt.Sweep.Shards, p.share(opt.Sweep.Shard, opt.Sweep.Shards)
	if opt.Progress != nil {
		o.Sweep.Progress = func(s sweep.Progress) { opt.Progress(p.Folder, s) }
	}
	if p.Sweep {
		if o.Sweep.Shard >= p.Runs {
			return nil
		}
		_, err := papers.Run(ctx, p.Folder, o)
		return err
	}
	if o.Sweep.Shard != 0 {
		return nil
	}
	if p.stands(o.Dir) == nil {
		return nil // an earlier process has made it
	}
	o.Sweep.Shard, o.Sweep.Shards = 0, 1
	if _, err := papers.Run(ctx, p.Folder, o); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(o.Dir, madeFile), []byte(p.made()+"\n"))
}

// madeFile lies beside the table of a study that is made whole, and says of what size and
// engine that is.
const madeFile = "made.txt"

func (p *Part) made() string {
	return fmt.Sprintf("scale %s, engine %s", p.Scale, experiment.EngineVersion)
}

// stands says with nil that the table in dir is of the part's size and this engine.
func (p *Part) stands(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, p.Folder+".csv")); err != nil {
		return err
	}
	path := filepath.Join(dir, madeFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if found := strings.TrimSpace(string(b)); found != p.made() {
		return &config.Error{File: path, Line: 1, Found: found, Allowed: p.made()}
	}
	return nil
}

func (p *Part) options(opt *Options) reproduce.Options {
	o := reproduce.Options{Dir: filepath.Join(opt.Dir, p.Folder), Scale: p.Scale}
	o.Sweep.DataDir, o.Sweep.Workers = opt.Sweep.DataDir, opt.Sweep.Workers
	return o
}

// Merge joins the rows of all shards to one cells.csv a part, and writes the tables and
// plots of all studies from them. What is missing is an error, which names every part;
// the others are written.
func Merge(ctx context.Context, papers reproduce.Papers, opt Options) error {
	if err := opt.divide(); err != nil {
		return err
	}
	parts, err := Parts(papers, opt.Studies, opt.Scale)
	if err != nil {
		return err
	}
	var failed []error
	for i := range parts {
		if err := parts[i].merge(ctx, papers, &opt); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", parts[i].Folder, err))
		}
	}
	return errors.Join(failed...)
}

func (p *Part) merge(ctx context.Context, papers reproduce.Papers, opt *Options) error {
	o := p.options(opt)
	if !p.Sweep {
		return p.stands(o.Dir)
	}
	var joined []byte
	if _, err := os.Stat(filepath.Join(o.Dir, "cells.csv")); opt.Sweep.Shards == 1 && err != nil {
		return config.Bad("shards", 1, "how many there were: "+o.Dir+" has no cells.csv, which one leaves")
	}
	if opt.Sweep.Shards > 1 {
		shards := fmt.Sprintf("cells-*-of-%d.csv", opt.Sweep.Shards)
		paths, err := atomicfile.Glob(o.Dir, shards)
		if err != nil {
			return err
		}
		if joined, err = sweep.Merge(paths); err != nil {
			return err
		}
		if rows := strings.Count(string(joined), "\n") - 1; rows < p.Runs {
			return config.Bad("rows", max(0, rows), fmt.Sprintf("%d, those of all shards", p.Runs))
		}
	}
	o.Finished, o.Whole = true, true
	for _, name := range p.Studies {
		if _, err := papers.Run(ctx, name, o); err != nil {
			return err
		}
	}
	if joined == nil {
		return nil
	}
	return atomicfile.Write(filepath.Join(o.Dir, "cells.csv"), joined)
}
