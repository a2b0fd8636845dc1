package reproduce

import (
	"fmt"
	"slices"
	"sotto/experiment/sweep"
	"strings"

	"sotto/config"
	"sotto/experiment"
)

// Row returns the run that a row of a study's cells.csv holds, ready to run again: among
// all studies' runs of every size the one with the row's values whose configuration has
// the row's digest. axes are the file's; dataDir is the data folder. Rows of another
// engine, or that were computed with other arithmetic than this machine's, have other
// last bits: they give a *config.Error.
func (p Papers) Row(axes []string, row *sweep.Row, dataDir string) (*experiment.Experiment, error) {
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
			e, err := s.withDigest(name, scale, row, dataDir, tried)
			if err != nil {
				return nil, err
			}
			if e == nil {
				continue
			}
			if e.Arithmetic() != row.Arithmetic {
				return nil, config.Bad("arithmetic", row.Arithmetic,
					e.Arithmetic()+", what this machine computes with")
			}
			return e, nil
		}
	}
	return nil, config.Bad("config_digest", row.ConfigDigest,
		fmt.Sprintf("that of a study's run with the values %s", strings.Join(row.Values, ",")))
}

// withDigest builds the study's runs with the row's values until one has its digest; nil
// where none has. tried are the settings that had another.
func (s *Study) withDigest(name string, scale Scale, row *sweep.Row, dataDir string,
	tried map[string]bool) (*experiment.Experiment, error) {
	cells := slices.DeleteFunc(s.Cells(scale), func(c sweep.Cell) bool {
		return !slices.Equal(c.Values, row.Values) || tried[s.Base+strings.Join(c.Set, "\n")]
	})
	if len(cells) == 0 {
		return nil, nil
	}
	study, err := sweep.New(name, []byte(s.Base), s.Axes, cells)
	if err != nil {
		return nil, err
	}
	for i, c := range cells {
		tried[s.Base+strings.Join(c.Set, "\n")] = true
		f, err := study.Cell(i)
		if err != nil {
			return nil, err
		}
		e, err := f.Build(dataDir)
		if err != nil {
			return nil, err
		}
		if e.Digest() == row.ConfigDigest {
			return e, nil
		}
	}
	return nil, nil
}
