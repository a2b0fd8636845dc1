package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/sweep"
)

// Row returns the run that a row of a study's cells.csv holds, ready to run again: among
// all studies' runs of every size the one with the row's values whose configuration has
// the row's digest. axes are the file's; dataDir is the data folder. Rows of another
// engine, or that were computed with other arithmetic than this machine's, have other
// last bits: they give a *config.Error.
func (p Papers) Row(axes []string, row *sweep.Row, dataDir string) (*experiment.Experiment, error) {
	f, err := p.find(axes, row, dataDir)
	if err != nil {
		return nil, err
	}
	return f.experiment, nil
}

// WithSeed returns the run of the row, as Row finds it, with another seed. It gives a
// *config.Error where the run's settings name no seed.
func (p Papers) WithSeed(axes []string, row *sweep.Row, seed uint64, dataDir string) (
	*experiment.Experiment, error) {
	f, err := p.find(axes, row, dataDir)
	if err != nil {
		return nil, err
	}
	set := slices.Clone(f.cell.Set)
	i := slices.IndexFunc(set, func(s string) bool { return strings.HasPrefix(s, "seed=") })
	if i < 0 {
		return nil, config.Bad("seed", "none", "a run whose settings have a seed")
	}
	set[i] = fmt.Sprintf("seed=%d", seed)
	return f.build(sweep.Cell{Values: f.cell.Values, Set: set}, dataDir)
}

// found is a run of a study.
type found struct {
	name       string
	study      *Study
	cell       sweep.Cell
	experiment *experiment.Experiment
	cache      *data.Cache // nil: every run reads its data anew
}

func (f *found) build(c sweep.Cell, dataDir string) (*experiment.Experiment, error) {
	one, err := sweep.New(f.name, []byte(f.study.Base), f.study.Axes, []sweep.Cell{c})
	if err != nil {
		return nil, err
	}
	file, err := one.Cell(0)
	if err != nil {
		return nil, err
	}
	return file.BuildWith(dataDir, f.cache)
}

func (p Papers) find(axes []string, row *sweep.Row, dataDir string) (*found, error) {
	if row.Engine != experiment.EngineVersion {
		return nil, config.Bad("engine", row.Engine, experiment.EngineVersion+", the version of this program")
	}
	tried := map[string]bool{}
	all := p.Studies()
	for _, name := range p.Names() {
		s := all[name]
		if s.Cells == nil || !slices.Equal(s.Axes, axes) {
			continue
		}
		for _, scale := range s.Sizes() {
			for _, c := range s.Cells(scale) {
				key := s.Base + strings.Join(c.Set, "\n")
				if tried[key] || !slices.Equal(c.Values, row.Values) {
					continue
				}
				tried[key] = true
				f := &found{name: name, study: &s, cell: c}
				e, err := f.build(c, dataDir)
				switch {
				case err != nil:
					return nil, err
				case e.Digest() != row.ConfigDigest:
					continue
				case e.Arithmetic() != row.Arithmetic:
					return nil, config.Bad("arithmetic", row.Arithmetic,
						e.Arithmetic()+", what this machine computes with")
				}
				f.experiment = e
				return f, nil
			}
		}
	}
	return nil, config.Bad("config_digest", row.ConfigDigest,
		fmt.Sprintf("that of a study's run with the values %s", strings.Join(row.Values, ",")))
}
