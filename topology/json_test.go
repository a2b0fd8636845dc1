package topology_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/topology"
)

// A complete graph of many agents is written by its one weight, and read back with the
// same bits; of few, or with weights of several sizes, by its links.
func TestCompleteJSON(t *testing.T) {
	none := func(any) error { return nil }
	for _, tc := range []struct {
		graph   string
		agents  int
		compact bool
	}{{"complete", 64, false}, {"complete", 65, true}, {"complete", 700, true}, {"ring", 700, false}} {
		s, err := topology.New(tc.graph, "", tc.agents, 1, none)
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.At(0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		read := new(topology.Graph)
		if err := json.Unmarshal(b, read); err != nil {
			t.Fatal(err)
		}
		if compact := strings.Contains(string(b), `"edges":[],"every_pair"`); compact != tc.compact {
			t.Errorf("%s of %d: compact %v", tc.graph, tc.agents, compact)
		}
		for i := range agent.ID(tc.agents) {
			if !slices.Equal(g.In(i), read.In(i)) || !slices.Equal(g.Out(i), read.Out(i)) ||
				g.SelfWeight(i) != read.SelfWeight(i) || read.Symmetric() != g.Symmetric() {
				t.Fatalf("%s of %d: row %d is another", tc.graph, tc.agents, i)
			}
		}
		if tc.compact && len(b) > 100+30*tc.agents {
			t.Errorf("%d bytes for %d agents", len(b), tc.agents)
		}
	}
	for _, text := range []string{
		`{"agents":2,"graph":"x","symmetric":true,"edges":[[0,1,0.5]],"every_pair":0.5,"self":[0.5,0.5]}`,
		`{"agents":2,"graph":"x","symmetric":false,"edges":[],"every_pair":0.5,"self":[0.5,0.5]}`,
		`{"agents":1048577,"graph":"x","symmetric":true,"edges":[],"every_pair":0.5,"self":[0` +
			strings.Repeat(",0", 1<<20) + `]}`,
	} {
		if err := json.Unmarshal([]byte(text), new(topology.Graph)); err == nil {
			t.Errorf("%.80s is read", text)
		}
	}
}
