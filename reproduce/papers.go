package reproduce

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sotto/config"
	"sotto/internal/parallel"
)

// Paper is a publication with its studies, each by the part of its name that follows the
// publication's and a dash.
type Paper struct {
	Name    string // by citation
	Key     string // what results, rows and their digests call it: older than Name
	Studies map[string]Study
}

// Papers are publications. A study has two names, "seed000-table1" and "dpdl2023-table1":
// it is found by either, and its files and rows have the former.
type Papers []Paper

// Studies returns the studies by the names that their rows have.
func (p Papers) Studies() map[string]Study {
	all := map[string]Study{}
	for _, paper := range p {
		for name, s := range paper.Studies {
			all[paper.Key+"-"+name] = s
		}
	}
	return all
}

// Names returns the names of all studies' rows in order.
func (p Papers) Names() []string { return slices.Sorted(maps.Keys(p.Studies())) }

// Find returns a study, and the name that its rows have.
func (p Papers) Find(name string) (string, Study, error) {
	for _, paper := range p {
		for _, known := range []string{paper.Key, paper.Name} {
			if rest, ok := strings.CutPrefix(name, known+"-"); ok {
				if s, ok := paper.Studies[rest]; ok {
					return paper.Key + "-" + rest, s, nil
				}
			}
		}
	}
	return "", Study{}, config.Bad("study", name, config.OneOf(p.Studies()))
}

// Citation is the other name of a study's rows.
func (p Papers) Citation(name string) string {
	for _, paper := range p {
		if rest, ok := strings.CutPrefix(name, paper.Key+"-"); ok {
			return paper.Name + "-" + rest
		}
	}
	return name
}

// Run runs what is missing of the named study and returns its document, which is also
// written to Dir as CSV, Markdown and LaTeX, its plots as SVG and CSV. A sweep that was
// stopped goes on when it is called again.
func (p Papers) Run(ctx context.Context, name string, opt Options) (*Document, error) {
	name, s, err := p.Find(name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(s.Sizes(), opt.Scale) {
		return nil, config.Bad("scale", string(opt.Scale), fmt.Sprintf("one of %v for this study", s.Sizes()))
	}
	if err := parallel.Check(opt.Sweep.Workers); err != nil {
		return nil, err
	}
	d, err := s.document(ctx, name, opt)
	if err != nil {
		return nil, err
	}
	d.Name, d.Title = name, s.Title
	return d, d.write(opt.Dir)
}
