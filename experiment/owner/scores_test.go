package owner_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/experiment/owner"
	"sotto/internal/jsonfloat"
	"sotto/tensor"
)

// right separates the classes of ownTable, wrong calls every record by the other's name,
// and part is right where y is small.
var (
	right = tensor.Vec{5, -5}
	wrong = tensor.Vec{-5, 5}
	part  = tensor.Vec{5, -1}
)

func scoresFor(t *testing.T, o *owner.Owner, together []tensor.Vec, alone tensor.Vec) *owner.Scores {
	t.Helper()
	s, err := owner.ScoresOf(o, together, alone)
	if err != nil || s == nil {
		t.Fatalf("scores %v, %v", s, err)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
	return s
}

// figureOf is nil where there is none.
func figureOf(m *owner.ModelScores, name string) float64 {
	if v := m.Figures[name].Value; v != nil {
		return *v
	}
	return math.NaN()
}

// The figures agree with Accuracy, count all test records, and say which of two models is
// better, beyond the interval of the difference.
func TestScores(t *testing.T) {
	o, err := ownerOf(t, ownerRun, ownTable(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, theta := range []tensor.Vec{right, wrong, part} {
		s := scoresFor(t, o, []tensor.Vec{theta}, nil)
		if want, _ := o.Accuracy(theta); figureOf(s.Together, "accuracy") != want {
			t.Errorf("accuracy %v, want %v", figureOf(s.Together, "accuracy"), want)
		}
		counted := 0
		for _, row := range s.Together.Confusion {
			for _, n := range row {
				counted += n
			}
		}
		if counted != o.TestRecords() || s.Alone != nil || s.LessAlone != nil || s.WorseThanAlone() ||
			len(s.Classes) != 2 {
			t.Errorf("%d records, scores %+v", counted, s)
		}
	}
	good := scoresFor(t, o, []tensor.Vec{right}, wrong)
	if good.WorseThanAlone() || !good.BetterThanBaseline() || figureOf(good.Together, "auroc") != 1 ||
		figureOf(good.Alone, "auroc") != 0 || figureOf(good.Baseline, "auroc") != .5 {
		t.Errorf("a model that is right: %+v", good)
	}
	if bad := scoresFor(t, o, []tensor.Vec{wrong}, right); !bad.WorseThanAlone() || bad.BetterThanBaseline() {
		t.Errorf("a model that is wrong: %+v", bad)
	}
	// models that are equal are not worse, and several count as their mean
	if scoresFor(t, o, []tensor.Vec{part}, part).WorseThanAlone() {
		t.Error("a model is worse than itself")
	}
	both := scoresFor(t, o, []tensor.Vec{right, wrong}, nil)
	a, _ := o.Accuracy(right)
	b, _ := o.Accuracy(wrong)
	if math.Abs(figureOf(both.Together, "accuracy")-(a+b)/2) > 1e-12 || both.Together.Confusion != nil {
		t.Errorf("two models: %+v", both.Together)
	}
	broken := scoresFor(t, o, []tensor.Vec{{float32(math.NaN()), 1}}, right)
	if !math.IsNaN(figureOf(broken.Together, "auroc")) || broken.Together.Figures["auroc"].Undefined == "" {
		t.Errorf("a model that is no number: %+v", broken.Together)
	}
}

// A hinge loss gives margins, of which no probability is made.
func TestScoresOfMargins(t *testing.T) {
	run := strings.Replace(ownerRun, `name = "logistic"`,
		"name = \"layers\"\nloss = \"hinge\"\nlayers = [{kind = \"linear\", units = 1}]", 1)
	o, err := ownerOf(t, run, ownTable(t))
	if err != nil {
		t.Fatal(err)
	}
	s := scoresFor(t, o, []tensor.Vec{{5, -5, 0}}, nil)
	if figureOf(s.Together, "auroc") != 1 || s.Together.Figures["log_loss"].Undefined == "" ||
		s.Together.Calibration != nil {
		t.Errorf("scores of margins: %+v", s.Together)
	}
}

// A regression is scored by r2, and its baseline is the mean of the training targets.
func TestScoresOfARegression(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.csv")
	text := "x,y,target\n"
	for i := range 120 {
		text += fmt.Sprintf("%d,%d,%d\n", i%11, i%7, i%11)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := strings.NewReplacer(`label = "class"`, `target = "target"`,
		"label_values = [\"no\", \"yes\"]\n", "",
		"logistic", "least-squares").Replace(ownerRun)
	o, err := ownerOf(t, run, path)
	if err != nil {
		t.Fatal(err)
	}
	s := scoresFor(t, o, []tensor.Vec{{1, 0}}, tensor.Vec{0, 0})
	r2 := figureOf(s.Baseline, "r2")
	if s.Headline() != "r2" || s.Classes != nil || r2 > 0 || r2 < -.5 || s.Together.Confusion != nil ||
		figureOf(s.Together, "mae") >= figureOf(s.Alone, "mae") {
		t.Errorf("scores of a regression: %+v, %+v", s.Together, s.Baseline)
	}
}

// A model that reconstructs has neither classes nor a target.
func TestNoScores(t *testing.T) {
	o, err := ownerOf(t, ownerAverage, ownTable(t))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := owner.ScoresOf(o, []tensor.Vec{{0, 0}}, nil); s != nil || err != nil {
		t.Errorf("scores %+v, %v", s, err)
	}
}

// A loss that is no number is null in own.json: the file could not be written, and the
// run ended with an error that came of private records.
func TestResultOfADivergedModel(t *testing.T) {
	b, err := json.Marshal(owner.Result{Metric: "loss", Value: jsonfloat.Float(math.NaN())})
	if err != nil || !strings.Contains(string(b), `"together":null`) {
		t.Errorf("%s, %v", b, err)
	}
}
