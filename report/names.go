package report

import (
	"strconv"
	"strings"
)

// agentName is what holds model i of a run: an agent by its name, or a token by its
// number.
func (r *run) agentName(i int) string {
	if r.Summary.Tokens > 0 {
		return strconv.Itoa(i)
	}
	return r.Summary.Names.Agent(i)
}

func (s *group) agentName(i int) string { return s.runs[0].agentName(i) }

func (s *group) className(c int) string { return s.runs[0].Summary.Names.Class(c) }

// mostInLegend is the most agents whose names stand below a graph.
const mostInLegend = 24

// legend says who the numbers of a graph are.
func (r *run) legend() string {
	names := r.Summary.Names.Agents
	if len(names) == 0 || len(names) > mostInLegend {
		return ""
	}
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = strconv.Itoa(i) + " " + name
	}
	return " Agents: " + strings.Join(parts, ", ") + "."
}
