package trained_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/experiment/trained"
	"sotto/model"
	"sotto/tensor"
)

// folder makes the folder of a model with the given tensors.
func folder(t *testing.T, conf, schema, samples string, tensors ...tensor.Vec) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var named []model.NamedVec
	for i, v := range tensors {
		named = append(named, model.NamedVec{Name: fmt.Sprintf("agent.%d", i), Vec: v})
	}
	b, err := model.EncodeSafetensors(map[string]string{"samples": samples, "noise": "simulated"}, named)
	if err != nil {
		t.Fatal(err)
	}
	put("model.safetensors", b)
	put("config.toml", []byte(conf+"[privacy]\nmechanism = \"none\"\nbatch_size = 9\n"))
	if schema != "" {
		put("schema.toml", []byte(schema))
	}
	return dir
}

func load(t *testing.T, dir, agent string) *trained.Model {
	t.Helper()
	m, err := trained.Load(dir, agent)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func predict(t *testing.T, m *trained.Model, x ...float32) trained.Prediction {
	t.Helper()
	p, err := m.Predict(tensor.Mat{Rows: 1, Cols: len(x), Stride: len(x), Data: x})
	if err != nil {
		t.Fatal(err)
	}
	return p[0]
}

const csvRun = "[data]\ndataset = \"csv\"\npath = \"no/such/file.csv\"\nlabel = \"ill\"\n" +
	"label_values = [\"no\", \"yes\"]\nmissing = [\"NA\"]\n[data.bounds]\nage = [0, 100]\n"

// Probabilities by hand: ln 3 is the log-odds of 3/4, and shares 1 : 2 : 5 those of
// logits ln 1, ln 2, ln 5.
func TestPredictByHand(t *testing.T) {
	ln := func(v float64) float32 { return float32(math.Log(v)) }
	one := load(t, folder(t, csvRun+"[model]\nname = \"logistic\"\n", "", "1x2x1, 2 classes",
		tensor.Vec{ln(3), 0}, tensor.Vec{ln(3), ln(81)}), "mean")
	p := predict(t, one, 1, 0)
	if p.Class != "yes" || math.Abs(p.Probabilities[1]-.75) > 1e-6 ||
		math.Abs(p.Probabilities[0]-.25) > 1e-6 {
		t.Errorf("%+v", p)
	}
	// the mean of 0 and ln 81 is ln 9
	if p = predict(t, one, 0, .5); math.Abs(p.Probabilities[1]-.75) > 1e-6 {
		t.Errorf("the mean model says %+v", p)
	}
	if p = predict(t, load(t, folder(t, csvRun+"[model]\nname = \"logistic\"\n", "", "1x2x1, 2 classes",
		tensor.Vec{0, 0}, tensor.Vec{-1, 0}), "1"), 1, 0); p.Class != "no" {
		t.Errorf("agent 1 says %+v", p)
	}
	many := load(t, folder(t, "[model]\nname = \"logistic\"\n", "", "1x1x1, 3 classes",
		tensor.Vec{0, ln(2), ln(5)}), "0")
	p = predict(t, many, 1)
	for k, want := range []float64{.125, .25, .625} {
		if math.Abs(p.Probabilities[k]-want) > 1e-6 {
			t.Errorf("class %d has %v, want %v", k, p.Probabilities[k], want)
		}
	}
	if p.Class != "2" || !slices.Equal(many.Features(), []string{"1"}) ||
		many.Kind() != trained.Probabilities {
		t.Errorf("class %s, features %v", p.Class, many.Features())
	}
	hinge := load(t, folder(t, "[model]\nname = \"layers\"\nloss = \"hinge\"\n"+
		"[[model.layers]]\nkind = \"linear\"\nunits = 1\n", "", "1x1x1, 2 classes", tensor.Vec{2, -1}), "0")
	p = predict(t, hinge, 3)
	if hinge.Kind() != trained.Margins || p.Probabilities != nil || p.Class != "1" ||
		!slices.Equal(p.Margins, []float64{5}) {
		t.Errorf("%s %+v", hinge.Kind(), p)
	}
}

const numberSchema = `version = 1
[[column]]
name = "a"
kind = "number"
bounds = [0, 10]
[target]
column = "cost"
kind = "number"
unit = "euro"
bounds = [100, 300]
`

// A prediction of 0 is the middle of bounds that were scaled to -1 to 1, 1 their end.
func TestPredictUnscales(t *testing.T) {
	conf := "[data]\ndataset = \"table\"\n[model]\nname = \"least-squares\"\n"
	for scale, want := range map[string]float64{"": .5, "scale = [-1, 1]\n": 250, "scale = [0, 1]\n": 200} {
		m := load(t, folder(t, conf, numberSchema+scale, "1x1x1, 0 classes", tensor.Vec{1}), "0")
		p := predict(t, m, .5)
		if p.Value == nil || *p.Value != want || p.Class != "" || m.Kind() != trained.Value {
			t.Errorf("%q: %+v, want %v", scale, p, want)
		}
		path := filepath.Join(t.TempDir(), "known.csv")
		if err := os.WriteFile(path, []byte("cost,a\n150,5\n900,5\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := m.ReadLabelled(path, schema.Reading{})
		if err != nil || !slices.Equal(r.Targets, []float64{150, 300}) || r.X.Row(0)[0] != .5 {
			t.Errorf("%q: %+v %v", scale, r, err)
		}
	}
}

// The layers of a JSON file with its scale give a prediction in the target's unit.
func TestJSONHasTheScaleOfTheTarget(t *testing.T) {
	conf := "[data]\ndataset = \"table\"\n[model]\nname = \"least-squares\"\n"
	for scale, want := range map[string]string{"": "", "scale = [-1, 1]\n": `{"offset":200,"slope":100}`,
		"scale = [0, 1]\n": `{"offset":100,"slope":200}`} {
		m := load(t, folder(t, conf, numberSchema+scale, "1x1x1, 0 classes", tensor.Vec{1}), "0")
		b, err := m.Export("json")
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Scale json.RawMessage `json:"scale"`
		}
		if err := json.Unmarshal(b, &file); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if len(file.Scale) > 0 {
			if err := json.Compact(&got, file.Scale); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != want {
			t.Errorf("%q: scale %s, want %s", scale, got.String(), want)
		}
	}
}

// A line break in a name ends no row of a card's table.
func TestCardKeepsRowsWhole(t *testing.T) {
	conf := "[data]\ndataset = \"csv\"\npath = \"no.csv\"\nlabel = \"ill\"\n" +
		"label_values = [\"no\", \"yes\"]\n[data.bounds]\n\"a\\nge\" = [0, 100]\n[model]\n" +
		"name = \"logistic\"\n"
	b, err := load(t, folder(t, conf, "", "1x1x1, 2 classes", tensor.Vec{1}), "0").Card()
	if err != nil || !strings.Contains(string(b), "\n| a ge | 0 to 100 |\n") {
		t.Errorf("%s %v", b, err)
	}
}

// Eight rows of each of 25 persons tell as much as one row of each: persons are drawn,
// and the figures of a person's equal rows are those of one.
func TestEvaluateDrawsPersons(t *testing.T) {
	conf := "[data]\ndataset = \"table\"\n[model]\nname = \"least-squares\"\n"
	withID := strings.Replace(numberSchema, "version = 1\n",
		"version = 1\n[[column]]\nname = \"who\"\nkind = \"id\"\n", 1)
	m := load(t, folder(t, conf, withID, "1x1x1, 0 classes", tensor.Vec{1}), "0")
	evaluate := func(rows int, id func(person, row int) string) *trained.Evaluation {
		t.Helper()
		text := "who,cost,a\n"
		for p := range 25 {
			for k := range rows {
				text += fmt.Sprintf("%s,%d,%d\n", id(p, k), 100+(p*p*37)%200, p%10)
			}
		}
		path := filepath.Join(t.TempDir(), "known.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := m.ReadLabelled(path, schema.Reading{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.Evaluate(r)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	persons := evaluate(8, func(p, _ int) string { return fmt.Sprint("p", p) })
	one := evaluate(1, func(p, _ int) string { return fmt.Sprint("p", p) })
	rows := evaluate(8, func(p, k int) string { return fmt.Sprint("p", p, "r", k) })
	nameless := evaluate(8, func(p, k int) string { return "" })
	if persons.Persons != 25 || one.Persons != 0 || rows.Persons != 0 || nameless.Persons != 0 {
		t.Errorf("%d, %d, %d and %d persons, want 25 and none", persons.Persons, one.Persons, rows.Persons,
			nameless.Persons)
	}
	width := func(e *trained.Evaluation) float64 {
		in := e.Figures["mae"].Interval
		return in[1] - in[0]
	}
	if math.Abs(width(persons)/width(one)-1) > 1e-9 || width(persons) < 2*width(rows) ||
		width(rows) != width(nameless) {
		t.Errorf("widths %v of persons, %v of one row each, %v of rows, %v without ids", width(persons),
			width(one), width(rows), width(nameless))
	}
}

func TestReadByPosition(t *testing.T) {
	m := load(t, folder(t, csvRun+"[model]\nname = \"logistic\"\n", "", "1x2x1, 2 classes",
		tensor.Vec{1, 0}), "mean")
	for text, want := range map[string]string{
		"age,weight\n50,1\n":      "",
		"age,weight,x\n50,1,2\n":  "found 3 columns of features, allowed: 2",
		"age,weight\n50,SECRET\n": "new.csv:2: column weight",
	} {
		path := filepath.Join(t.TempDir(), "new.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := m.Read(path, schema.Reading{})
		switch {
		case want == "" && (err != nil || r.X.Row(0)[0] != .5):
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "SECRET")):
			t.Errorf("%q: %v", text, err)
		}
		if _, err := m.Read(path, schema.Reading{Delimiter: "tab"}); err == nil {
			t.Error("a delimiter beside that of the run file is not refused")
		}
	}
}

// An owner's own model says so, by its file or, of older ones, by its place.
func TestOwn(t *testing.T) {
	conf := csvRun + "[model]\nname = \"logistic\"\n"
	of := folder(t, conf, "", "1x2x1, 2 classes", tensor.Vec{1, 0})
	dir := filepath.Join(t.TempDir(), "personal")
	if err := os.Rename(of, dir); err != nil {
		t.Fatal(err)
	}
	card := func(own bool) {
		t.Helper()
		m := load(t, dir, "0")
		got, err := m.Own()
		if err != nil || got != own {
			t.Errorf("%v, %v, want %v", got, err, own)
		}
		b, err := m.Card()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\n\n**This model is "+trained.OwnNote+".**\n") != own ||
			strings.Contains(string(b), "without a server") == own ||
			strings.Contains(string(b), "privacy statement") == own {
			t.Errorf("own %v:\n%s", own, b)
		}
		for _, format := range []string{"safetensors", "flat-safetensors"} {
			out, err := m.Export(format)
			if err != nil {
				t.Fatal(err)
			}
			meta, _, err := model.DecodeSafetensors(out)
			if err != nil || (meta["own"] == "true" && meta["noise"] == "none") != own {
				t.Errorf("%s of own %v says %v, %v", format, own, meta, err)
			}
		}
	}
	card(false)
	node := filepath.Join(filepath.Dir(dir), "node.json")
	if err := os.WriteFile(node, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	card(true)
	if err := os.Remove(node); err != nil {
		t.Fatal(err)
	}
	b, err := model.EncodeSafetensors(map[string]string{"samples": "1x2x1, 2 classes", "noise": "none",
		"own": "true"}, []model.NamedVec{{Name: "agent.0", Vec: tensor.Vec{1, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	card(true)
}

func digestOf(t *testing.T, text string) string {
	t.Helper()
	s, err := schema.Parse("schema.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", s.Digest())
}

func TestLoadRefuses(t *testing.T) {
	logistic := "[model]\nname = \"logistic\"\n"
	for name, c := range map[string]struct{ dir, agent, want string }{
		"nothing there": {"nowhere", "mean", "no such file or directory"},
		"no model":      {t.TempDir(), "mean", "no config.toml"},
		"an agent": {folder(t, logistic, "", "1x2x1, 2 classes", tensor.Vec{1, 0}), "7",
			`agent: found "7", allowed: mean`},
		"other size": {folder(t, logistic, "", "1x2x1, 2 classes", tensor.Vec{1}), "0", "1 parameters"},
		"not finite": {folder(t, logistic, "", "1x1x1, 2 classes", tensor.Vec{float32(math.NaN())}), "0",
			"not finite"},
		"no schema": {folder(t, "[data]\ndataset = \"table\"\n[model]\nname = \"least-squares\"\n", "",
			"1x1x1, 0 classes", tensor.Vec{1}), "0", "found no schema.toml, allowed: "},
		"other schema": {folder(t, logistic, numberSchema, "1x1x1, 2 classes", tensor.Vec{1}), "0",
			"schema.toml: found 1 features, 0 classes"},
	} {
		_, err := trained.Load(c.dir, c.agent)
		var e *config.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	conf := fmt.Sprintf("[data]\ndataset = \"table\"\nschema = \"schema.toml\"\nschema_digest = %q\n"+
		"[model]\nname = \"least-squares\"\n", digestOf(t, numberSchema))
	load(t, folder(t, conf, numberSchema, "1x1x1, 0 classes", tensor.Vec{1}), "0")
	other := strings.Replace(numberSchema, "[0, 10]", "[0, 20]", 1)
	_, err := trained.Load(folder(t, conf, other, "1x1x1, 0 classes", tensor.Vec{1}), "0")
	if !errors.Is(err, data.ErrAltered) || !strings.Contains(err.Error(), digestOf(t, other)) ||
		!strings.Contains(err.Error(), digestOf(t, numberSchema)) {
		t.Errorf("another schema of the same size: %v", err)
	}
	m := load(t, folder(t, "[model]\nname = \"autoencoder\"\nhidden = [1]\n", "", "1x1x1, 0 classes",
		make(tensor.Vec, 4)), "0")
	if _, err := m.Predict(tensor.NewMat(1, 1)); err == nil {
		t.Error("an autoencoder predicts")
	}
	m = load(t, folder(t, logistic, "", "1x2x1, 2 classes", tensor.Vec{1, 0}), "0")
	if _, err := m.Predict(tensor.NewMat(1, 3)); err == nil {
		t.Error("three features for two")
	}
}

// A cell that is no number is named, and records that were forgotten.
func TestWhatCannotBePredicted(t *testing.T) {
	m := load(t, folder(t, "[model]\nname = \"logistic\"\n", "", "1x2x1, 2 classes", tensor.Vec{1, 0}), "0")
	x := tensor.NewMat(2, 2)
	x.Row(1)[1] = float32(math.Inf(1))
	_, cell := m.Predict(x)
	_, table := m.Table(nil)
	_, evaluated := m.Evaluate(nil)
	for want, err := range map[string]error{"record 2, feature 2": cell, "records": table} {
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if evaluated == nil {
		t.Error("no records are evaluated")
	}
}
