package endpoint

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/wire"
	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/tensor"
	"sotto/topology"
)

// Every metric that the dashboard and the alerts name is there, and every metric of the
// node's own is on the dashboard or in an alert.
func TestDashboardAndAlertsNameMetricsThatExist(t *testing.T) {
	status := stuck()
	w := httptest.NewRecorder()
	e := Endpoint{Status: func() node.Status { return status }, Node: aNode(t)}
	e.metrics(true).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var there []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)[{ ]`).FindAllStringSubmatch(w.Body.String(), -1) {
		there = append(there, m[1])
	}
	used := map[string]bool{}
	for path, least := range map[string]int{"../../deploy/grafana-dashboard.json": 20,
		"../../deploy/prometheus-rules.yaml": 8} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".json") && !json.Valid(b) {
			t.Errorf("%s is not JSON", path)
		}
		found := map[string]bool{}
		for _, name := range regexp.MustCompile(`\b(sotto|go|process)_[a-z_]+`).FindAllString(string(b), -1) {
			found[name], used[strings.TrimSuffix(name, "_bucket")] = true, true
			if !slices.Contains(there, name) {
				t.Errorf("%s names %s, which no node has", path, name)
			}
		}
		if len(found) < least {
			t.Errorf("%s names %d metrics", path, len(found))
		}
	}
	for _, name := range there {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if strings.HasPrefix(name, "sotto_") && !used[base] && name != "sotto_skipped_rounds_total" {
			t.Errorf("%s is neither on the dashboard nor in an alert", name)
		}
	}
}

// still is an algorithm of a model without parameters that never steps.
type still struct{ agent.Algorithm }

func (still) Params() tensor.Vec { return nil }

// aNode is one that does not run.
func aNode(t *testing.T) *node.Node {
	t.Helper()
	every, err := topology.New("complete", "metropolis", 2, 1, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	g, err := every.At(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := checkpoint.Open(t.TempDir(), ledger.OS{AllowVolatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	n, err := node.New(node.Config{
		Learner:   node.Learner{Algorithm: still{}, Gate: privacy.NewGate(nil, nil, nil)},
		Pace:      node.Pace{Graph: g, Rounds: 1},
		Transport: wire.NewMemory(2, 1).Open(0),
		Store:     s,
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
