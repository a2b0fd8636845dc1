package report

import (
	"bytes"
	"fmt"
	"strings"

	"sotto/experiment/rundir"
	"sotto/report/plot"
)

// Statement makes the page of a finished run's or node's privacy statement, for printing
// and signing: who, what, the figures in words, and room for a name. It fails where the
// statement does not follow from the ledger.
func Statement(engine, dir string) ([]byte, error) {
	stated, err := rundir.Statements(dir)
	if err != nil {
		return nil, err
	}
	names, err := rundir.ReadNames(dir)
	if err != nil {
		return nil, err
	}
	p := Page{Title: "Privacy statement", Produced: "Made by sotto, engine " + engine + "."}
	for i := range stated {
		s := &stated[i]
		g, ok := rundir.GuaranteeOf(&s.Statement)
		if !ok {
			continue
		}
		var clauses []rundir.Clause
		title := "Agents " + names.List(s.Agents)
		if rundir.IsNode(dir) {
			n, err := rundir.ReadNode(dir)
			if err != nil {
				return nil, err
			}
			title, clauses = n.Member, n.Background(&s.Statement)
		}
		clauses = append(clauses, g.Explain()...)
		p.Sections = append(p.Sections, Section{Title: title, Text: []string{s.Text},
			Tables: []plot.Table{clauseTable(clauses)}})
	}
	p.Sections = append(p.Sections, Section{Title: "Signature", Tables: []plot.Table{{
		Header: []string{"name", "role", "date", "signature"},
		Rows:   [][]string{{blank, blank, blank, blank}},
	}}})
	var b bytes.Buffer
	err = WriteHTML(&b, p)
	return b.Bytes(), err
}

// blank is room to write in.
var blank = strings.Repeat("\u00a0", 32)

func clauseTable(clauses []rundir.Clause) plot.Table {
	t := plot.Table{Header: []string{"", ""}}
	for _, c := range clauses {
		t.Rows = append(t.Rows, []string{c.Term, c.Text})
	}
	return t
}

// guaranteeSection says in words what a run's figures mean, for the agent that has spent
// most.
func guaranteeSection(s *rundir.Summary) Section {
	worst := 0
	for i, p := range s.Privacy {
		if p.Epsilon.Upper > s.Privacy[worst].Epsilon.Upper {
			worst = i
		}
	}
	p := s.Privacy[worst]
	g := rundir.Guarantee{Unit: p.Unit, Adjacency: p.Adjacency, Epsilon: p.Epsilon, Delta: p.Delta,
		Simulated: s.Noise == "simulated", Noiseless: p.Noiseless()}
	return Section{Title: "What the guarantee means", Tables: []plot.Table{clauseTable(g.Explain())},
		Text: []string{fmt.Sprintf("For agent %s, which has spent most.", s.Names.Agent(p.Agent))}}
}
