//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pages that stay, of a run, a sweep, a search, a study, an audit, a node and of
// questions, have no script but that of figures, and fit every window.
func TestPagesThatStay(t *testing.T) {
	dir := t.TempDir()
	sotto(t, "run", "--quiet", "--out", filepath.Join(dir, "runs"), "--set", "rounds=60")
	sotto(t, "tune", "../../examples/tune.toml", "--out", filepath.Join(dir, "tunes"), "--set",
		"tune.trials=3")
	sotto(t, "audit", "step", "--observations", "100", "--out", filepath.Join(dir, "audits"))
	sotto(t, "sweep", "../../examples/sweep.toml", "--out", filepath.Join(dir, "sweeps"), "--set",
		"rounds=60", "--sweep", "algorithm.name=dsgd,dsgt", "--sweep", "privacy.target_epsilon=1,4",
		"--sweep", "seed=1,2")
	sotto(t, "reproduce", "seed003-figure1", "--scale", "smoke", "--dir", filepath.Join(dir, "study"))
	for name, path := range map[string]string{
		"page-run":   filepath.Join(only(t, filepath.Join(dir, "runs")), "report.html"),
		"page-sweep": filepath.Join(only(t, filepath.Join(dir, "sweeps")), "report.html"),
		"page-study": filepath.Join(dir, "study", "seed003-figure1.html"),
		"page-node":  nodePage(t, dir),
		"page-query": answersPage(t, dir),
		"page-audit": filepath.Join(only(t, filepath.Join(dir, "audits")), "report.html"),
		"page-tune":  filepath.Join(only(t, filepath.Join(dir, "tunes")), "report.html")} {
		p := openFile(t, path)
		if value[bool](p, `document.scripts.length > (document.querySelector(".drawn") ? 1 : 0)`) ||
			!value[bool](p, `document.querySelector(".lead").innerText.length > 20`) {
			t.Errorf("%s: another script, or no sentence", name)
		}
		p.look(name)
	}
}

// nodePage is the page of a member of three that have trained to the end.
func nodePage(t *testing.T, dir string) string {
	t.Helper()
	nodes := hospitals(t, dir, 30)
	var all []*started
	for _, args := range nodes {
		all = append(all, start(t, args...))
	}
	for _, s := range all {
		<-s.done
		if s.err != nil {
			t.Fatal(s.err, s.text())
		}
	}
	path := filepath.Join(dir, "node.html")
	sotto(t, "report", filepath.Join(dir, "state-va"), "--out", path)
	return path
}

const asks = `name = "wards"
rounds = 3
[topology]
graph = "complete"
agents = 2
[data]
dataset = "table"
partition = "natural"
schema = "schema.toml"
[model]
name = "mean"
[algorithm]
name = "query"
ask = ["histogram(age, 5) by sex", "mean(age) by ill", "table(sex, ill)"]
[privacy]
target_epsilon = 5.0
target_delta = 1e-3
`

const wards = `version = 1
[[column]]
name = "age"
kind = "number"
bounds = [0, 100]
[[column]]
name = "sex"
kind = "category"
categories = ["F", "M"]
[target]
column = "ill"
kind = "class"
values = ["no", "yes"]
`

// answersPage is the page of questions that a run has answered.
func answersPage(t *testing.T, dir string) string {
	t.Helper()
	files := map[string]string{"asks.toml": asks, "schema.toml": wards}
	for ward := range 2 {
		var rows strings.Builder
		rows.WriteString("age,sex,ill\n")
		for k := range 100 {
			fmt.Fprintf(&rows, "%d,%s,%s\n", 20+(k*37+11*ward)%60, []string{"F", "M"}[k%2],
				[]string{"no", "no", "yes"}[(k/2+ward)%3])
		}
		files[fmt.Sprintf("%d.csv", ward+1)] = rows.String()
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sotto(t, "query", filepath.Join(dir, "asks.toml"), "--out", filepath.Join(dir, "asked"), "--set",
		fmt.Sprintf("data.paths=[%q, %q]", filepath.Join(dir, "1.csv"), filepath.Join(dir, "2.csv")))
	return filepath.Join(only(t, filepath.Join(dir, "asked")), "report.html")
}

// openFile opens a page that is a file.
func openFile(t *testing.T, path string) *tab {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/page" {
			w.Write(b)
		}
	}))
	t.Cleanup(s.Close)
	return open(t, s.URL+"/page")
}
