package trained_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sotto/data/schema"
	"sotto/experiment/trained"
	"sotto/tensor"
)

// runtimeVariable names the folder whose node_modules has onnxruntime-node:
//
//	ONNXRUNTIME_NODE_INSTALL_CUDA=skip npm install onnxruntime-node
const runtimeVariable = "SOTTO_ONNXRUNTIME"

// executeJS runs a graph on columns and prints its outputs.
const executeJS = `
const ort = require('onnxruntime-node'), fs = require('fs');
(async () => {
  const s = await ort.InferenceSession.create(process.argv[2]);
  const columns = JSON.parse(fs.readFileSync(process.argv[3])), feeds = {};
  for (const [name, c] of Object.entries(columns)) {
    feeds[name] = typeof c[0] === 'string' && c[0][0] === '=' ?
      new ort.Tensor('string', c.map(v => v.slice(1)), [c.length, 1]) :
      new ort.Tensor('float32', c.map(Number), [c.length, 1]);
  }
  const out = await s.run(feeds), all = {};
  for (const [name, t] of Object.entries(out)) {
    all[name] = {dims: t.dims.map(Number), values: Array.from(t.data, String)};
  }
  console.log(JSON.stringify(all));
})().catch(e => { console.error(String(e)); process.exit(1); });
`

type output struct {
	Dims   []int    `json:"dims"`
	Values []string `json:"values"`
}

// execute runs a graph in ONNX Runtime. Columns hold "=text" for a category, else a
// number.
func execute(t *testing.T, graph []byte, columns map[string][]string) map[string]output {
	t.Helper()
	at := os.Getenv(runtimeVariable)
	if at == "" {
		t.Skipf("%s is not set: no ONNX Runtime executes the graph", runtimeVariable)
	}
	dir := t.TempDir()
	in, err := json.Marshal(columns)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"m.onnx": graph, "run.js": []byte(executeJS), "in.json": in} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("node", filepath.Join(dir, "run.js"), filepath.Join(dir, "m.onnx"),
		filepath.Join(dir, "in.json"))
	c.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(at, "node_modules"))
	b, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	all := map[string]output{}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return all
}

// oddSchema has every rule for a missing cell, and names that no programming language
// has.
const oddSchema = `version = 1
intercept = true
missing_cells = ["", "NA"]
[[column]]
name = "age (years)"
kind = "number"
bounds = [18, 98]
missing = "mean of bounds"
indicator = true
[[column]]
name = ".größe \"dry\", 日"
kind = "number"
bounds = [-2.5, 4]
scale = [-1, 1]
missing = 1.25
[[column]]
name = "value"
kind = "number"
bounds = [1000, 5000]
missing = "drop"
[[column]]
name = "label"
kind = "category"
categories = ["F", "M"]
other = true
missing = "other"
indicator = true
[[column]]
name = "../ward"
kind = "category"
categories = ["north", "süd", "3"]
missing = "drop"
[[column]]
name = "pain"
kind = "category"
categories = ["none", "some"]
missing = "some"
[[column]]
name = "site"
kind = "category"
categories = ["a"]
other = true
missing = "drop"
`

// The odd table by columns, as a file has it.
func oddTable(rows int) (names []string, cells [][]string) {
	names = []string{"age (years)", ".größe \"dry\", 日", "value", "label", "../ward", "pain", "site"}
	state := uint64(7)
	draw := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state >> 33 % uint64(n))
	}
	pick := func(of ...string) string { return of[draw(len(of))] }
	number := func(lo, hi float64, missing string) string {
		if draw(6) == 0 {
			return missing
		}
		return strconv.FormatFloat(lo+(hi-lo)*float64(draw(1000))/1000, 'g', 5, 64)
	}
	for range rows {
		cells = append(cells, []string{number(0, 120, ""), number(-4, 6, "NA"), number(0, 9000, "NA"),
			pick("F", "M", "X", "", "NA"), pick("north", "süd", "3", "3", "3", "NA"),
			pick("none", "some", ""),
			pick("a", "a", "b", "zz", "")})
	}
	return names, cells
}

// graphColumns are the cells as inputs of the graph.
func graphColumns(names []string, cells [][]string) map[string][]string {
	in := map[string][]string{}
	for k, name := range names {
		for _, row := range cells {
			switch {
			case k >= 3:
				in[name] = append(in[name], "="+row[k])
			case row[k] == "" || row[k] == "NA":
				in[name] = append(in[name], "NaN")
			default:
				in[name] = append(in[name], row[k])
			}
		}
	}
	return in
}

// ONNX Runtime says of a raw table what Predict says of what Read has made of it.
func TestRawONNX(t *testing.T) {
	names, cells := oddTable(200)
	path := filepath.Join(t.TempDir(), "new.csv")
	var text strings.Builder
	text.WriteString(quoteRow(names))
	for _, row := range cells {
		text.WriteString(quoteRow(row))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	classes := "[target]\ncolumn = \"y\"\nkind = \"class\"\nvalues = [\"no\", \"yes\"]\n"
	for name, c := range map[string]struct {
		model, target string
		params        int
		count         int
	}{
		"logistic": {"name = \"logistic\"\n", classes, 16, 2},
		"mlp": {"name = \"mlp\"\nhidden = [5]\nactivation = \"tanh\"\n",
			strings.Replace(classes, "\"yes\"", "\"yes\", \"per'haps\"", 1), 16*5 + 5 + 5*3 + 3, 3},
		"hinge": {"name = \"layers\"\n" +
			"loss = \"hinge\"\n[[model.layers]]\nkind = \"linear\"\nunits = 1\n", classes,
			17, 2},
		"count": {"name = \"poisson\"\n",
			"[target]\ncolumn = \"y\"\nkind = \"number\"\nbounds = [0, 50]\n", 16, 0},
		"cost": {"name = \"least-squares\"\n",
			"[target]\ncolumn = \"y\"\nkind = \"number\"\nbounds = [10, 50]\nscale = [-1, 1]\n", 16, 0},
	} {
		t.Run(name, func(t *testing.T) {
			theta := make(tensor.Vec, c.params)
			for i := range theta {
				theta[i] = float32(math.Sin(float64(3*i + 1)))
			}
			m := load(t, folder(t, "[data]\ndataset = \"table\"\n[model]\n"+c.model, oddSchema+c.target,
				fmt.Sprintf("1x16x1, %d classes", c.count), theta), "0")
			graph, err := m.Export("onnx")
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.Read(path, schema.Reading{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := m.Predict(r.X)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Lines) < 60 || len(r.Dropped) < 60 {
				t.Fatalf("%d rows are kept, %d dropped: the test shows little", len(r.Lines), len(r.Dropped))
			}
			got := execute(t, graph, graphColumns(names, cells))
			for i, line := range r.Lines {
				agrees(t, got, line-2, &want[i])
			}
			for _, line := range r.Dropped {
				if label := got["label_"]; label.Dims != nil && label.Values[line-2] != "" {
					t.Errorf("line %d is dropped and has label %s", line, label.Values[line-2])
				}
				for _, name := range []string{"value_", "margins", "probabilities"} {
					if out := got[name]; out.Dims != nil && row(t, out, line-2)[0] == row(t, out, line-2)[0] {
						t.Errorf("line %d is dropped and has %s %v", line, name, row(t, out, line-2))
					}
				}
			}
		})
	}
}

func quoteRow(cells []string) string {
	quoted := make([]string, len(cells))
	for k, c := range cells {
		quoted[k] = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
	}
	return strings.Join(quoted, ";") + "\n"
}

// row is row i of an output of numbers.
func row(t *testing.T, o output, i int) []float64 {
	t.Helper()
	var all []float64
	for _, s := range o.Values[i*o.Dims[1] : (i+1)*o.Dims[1]] {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// agrees holds row i of the graph's outputs against a prediction.
func agrees(t *testing.T, got map[string]output, i int, want *trained.Prediction) {
	t.Helper()
	numbers, name := want.Probabilities, "probabilities"
	if want.Value != nil {
		numbers, name = []float64{*want.Value}, "value_" // a column is called value
	} else if label := got["label_"].Values[i]; label != want.Class {
		t.Errorf("row %d: label %q, want %q", i, label, want.Class)
	}
	if want.Margins != nil {
		numbers, name = want.Margins, "margins"
	}
	of := row(t, got[name], i)
	for k := range numbers {
		if !(math.Abs(of[k]-numbers[k]) <= 1e-5*max(1, math.Abs(numbers[k]))) {
			t.Fatalf("row %d: %s %v, want %v", i, name, of, numbers)
		}
	}
}
