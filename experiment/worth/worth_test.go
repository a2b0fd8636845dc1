package worth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/model/score"
	"sotto/rng"
	"sotto/tensor"
)

const runFile = `
name = "worth"

[topology]
graph = "complete"
agents = 6

[data]
dataset = "logistic-regression"
partition = "natural"
agents = 6
dim = 4
records = 30

[model]
name = "MODEL"

[algorithm]
name = "newton"

[privacy]
target_epsilon = 1.0
target_delta = 1e-5
`

// records are n records of four numbers around 0; of the label's logistic law, or of
// numbers with normal errors of .1.
func records(n int, classify bool) *data.Dataset {
	r := rng.Public(7, "records of a test")
	d := &data.Dataset{X: tensor.NewMat(n, 4), Shape: [3]int{1, 1, 4}}
	d.RowNorm = 2
	z := make([]float64, 5)
	for i := range n {
		r.Normals(z)
		row, sum := d.X.Row(i), 0.
		for k := range row {
			row[k] = float32(min(max(z[k]/2, -1), 1))
			sum += float64(row[k]) * []float64{4, -3, 2, 0}[k]
		}
		if !classify {
			d.Targets = append(d.Targets, float32(sum/10+.1*z[4]))
			continue
		}
		d.Classes = 2
		label := int32(0)
		if r.Float64() < 1/(1+math.Exp(-sum)) {
			label = 1
		}
		d.Labels = append(d.Labels, label)
	}
	return d
}

func question(t *testing.T, model string, n int, others int, epsilons ...float64) *Question {
	t.Helper()
	f, err := experiment.Parse("worth.toml", []byte(strings.Replace(runFile, "MODEL", model, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	q := &Question{File: f, Records: records(n, model == "logistic"), Own: n, Epsilons: epsilons, Worlds: 6,
		Seed: 1, Workers: 2}
	for range 5 {
		q.Others = append(q.Others, others)
	}
	return q
}

// Who has 30 records gains where others have 2,000 at a weak guarantee; at a strong one
// with few records the shared model is far worse than the one alone, and the owner's own
// hardly.
func TestAsk(t *testing.T) {
	q := question(t, "logistic", 30, 2000, 8)
	q.Worlds = 12
	a, err := Ask(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	l := a.Lines[0]
	if a.Figure != "auroc" || l.Alike.Sign() != 1 || l.Shared.Sign() != 1 || l.Alike.Value > .3 ||
		len(a.Curve) != 2 || !(a.Alone.Low < a.Alone.Value && a.Alone.Value < a.Alone.High) {
		t.Errorf("%+v", a)
	}
	if a, err = Ask(context.Background(), question(t, "logistic", 200, 10, .1)); err != nil {
		t.Fatal(err)
	}
	if l = a.Lines[0]; l.Shared.Value > -.1 || l.Alike.Value < -.03 || l.Alike.Sign() > 0 || l.From != 0 {
		t.Errorf("%+v", l)
	}
}

// Numbers are compared by R2, and what is said does not depend on workers.
func TestNumbers(t *testing.T) {
	q := question(t, "least-squares", 40, 500, 3)
	a, err := Ask(context.Background(), q)
	if err != nil || a.Figure != "r2" || !(a.Alone.Value > .5) {
		t.Fatalf("%+v, %v", a, err)
	}
	q.Workers = 1
	if b, err := Ask(context.Background(), q); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("one worker says %+v (%v), two %+v", b, err, a)
	}
}

// Of numbers of records which the run's batch is too large for nothing is said, but that.
func TestNumbersThatCannotBeLookedAt(t *testing.T) {
	for _, c := range []struct {
		batch, own int
		looked     []int
		said       string
	}{
		{50, 60, []int{80, 160, 320, 640}, "; if each of them had 80, 160, 320 or 640, a gain is not " +
			"shown; with 10, 20 or 40 each the run cannot be simulated"},
		{650, 700, nil, "; with 10, 20, 40, 80, 160, 320 or 640 each the run cannot be simulated"},
		{5, 60, []int{10, 20, 40, 80, 160, 320, 640}, "; if each of them had 10, 20, 40, 80, 160, 320 or " +
			"640, a gain is not shown"},
	} {
		q := question(t, "logistic", c.own, c.own, .1)
		var err error
		q.File, err = experiment.Parse("worth.toml", []byte(strings.Replace(runFile, "MODEL", "logistic", 1)),
			[]string{"algorithm.name=dsgd", "rounds=2", "privacy.max_grad_norm=1",
				fmt.Sprint("privacy.batch_size=", c.batch)})
		if err != nil {
			t.Fatal(err)
		}
		q.Worlds = 2
		a, err := Ask(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if l := &a.Lines[0]; l.From != 0 || !slices.Equal(l.Looked, c.looked) ||
			!strings.HasSuffix(a.say(l, ""), c.said) {
			t.Errorf("batch %d: %v, %s", c.batch, l.Looked, a.say(l, ""))
		}
		if r := a.refusals(); (len(r) == 1) != (c.batch > 10) || len(r) == 1 && (r[0].Records != 10 ||
			!strings.HasPrefix(r[0].Why, "privacy.batch_size: found ")) {
			t.Errorf("batch %d: %+v", c.batch, r)
		}
	}
}

// A gain is shown where it stands out of the worlds' spread, for all looks together, and
// three digits show it. The t of 19 degrees of freedom has quantile 2.093 at .975, and
// 2.861 at .995, by published tables.
func TestPays(t *testing.T) {
	of := func(mean, ratio float64) []float64 { // of 20 worlds: the mean is ratio standard errors
		gains := make([]float64, 20)
		for k := range gains {
			gains[k] = mean + mean/ratio*math.Sqrt(19)*float64(2*(k%2)-1)
		}
		return gains
	}
	for _, c := range []struct {
		mean, ratio float64
		looks       int
		want        bool
	}{
		{.01, 2.08, 1, false}, {.01, 2.11, 1, true}, {.01, 2.85, 5, false}, {.01, 2.87, 5, true},
		{.00049, 50, 5, false}, {.00051, 50, 5, true}, {-.01, 50, 1, false},
	} {
		if got := pays(of(c.mean, c.ratio), c.looks); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if pays([]float64{1}, 1) || pays(nil, 1) {
		t.Error("one world pays")
	}
}

// Joining pays from a number on where it pays there, at every larger one, and with the
// members as they are where they have as many.
func TestFrom(t *testing.T) {
	yes, no, tiny := []float64{.1, .1, .11}, []float64{.1, -.1, .05}, []float64{.0001, .0001, .00011}
	looked := []int{40, 80, 160, 320, 640}
	for name, c := range map[string]struct {
		at    [][]float64
		alike []float64
		fewest,
		want int
	}{
		"all":                    {[][]float64{yes, yes, yes, yes, yes}, yes, 700, 40},
		"from the middle":        {[][]float64{no, no, yes, yes, yes}, yes, 700, 160},
		"the first alone":        {[][]float64{yes, yes, yes, yes, no}, no, 10, 0},
		"a gap":                  {[][]float64{yes, no, yes, yes, yes}, no, 10, 160},
		"too little to be seen":  {[][]float64{yes, yes, yes, tiny, yes}, no, 10, 640},
		"not as the members are": {[][]float64{yes, yes, yes, yes, yes}, no, 170, 320},
		"none":                   {nil, yes, 10, 0},
	} {
		at := map[int][]float64{}
		for k, gains := range c.at {
			at[looked[k]] = gains
		}
		l := Line{Looked: looked[:len(c.at)]}
		if got := l.payingFrom(at, c.alike, c.fewest); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// What is said follows from what was shown, and says whose records they are.
func TestWords(t *testing.T) {
	a := &Answer{Figure: "auroc", Alone: Range{Value: .8}}
	l := &Line{Alike: Range{Value: .004, Error: .001}, From: 160, Looked: []int{40, 80, 160, 320, 640},
		Refused: []Refusal{{10, "too few"}, {20, "too few"}}}
	for _, c := range []struct {
		edit  func()
		owner string
		said  string
	}{
		{func() {}, "", "others are like you, 0.800 to 0.800 where they are not: with the records that " +
			"they have joining brings 0.004 on the mean (standard error 0.001); if each of them had 160, " +
			"320 or 640, it pays, with 40 or 80 a gain is not shown; with 10 or 20 each the run cannot be " +
			"simulated"},
		{func() { l.Alike, l.Refused = Range{Value: .00006, Error: 1e-6}, nil }, "north",
			"others are like north"},
		{func() { l.From = 640 }, "", "changes less than 0.001 on the mean; if each of them had 640, it " +
			"pays, with 40, 80, 160 or 320 a gain is not shown"},
		{func() { l.From = 40 }, "", "; if each of them had 40, 80, 160, 320 or 640, it pays"},
		{func() { l.Alike.Value = -.00006 }, "", "joining changes less than 0.001 on the mean"},
		{func() { l.Alike.Value, l.Alike.far = .1, .2 }, "", "these simulations see no difference"},
		{func() { l.Alike = Range{Value: -.1, Error: .01, far: .03} }, "",
			"joining costs 0.100 on the mean (standard error 0.01)"},
	} {
		c.edit()
		if said := a.say(l, c.owner); !strings.Contains(said, c.said) {
			t.Errorf("%q, want %q", said, c.said)
		}
	}
	for owner, want := range map[string]string{"": "of your 30 records",
		"north": "of the 30 records of north"} {
		a.Say(func(what, format string, args ...any) {
			if said := fmt.Sprintf(format, args...); what == "alone" && !strings.Contains(said, want) {
				t.Errorf("%q, want %q", said, want)
			}
		}, 30, owner)
	}
}

func TestRefusals(t *testing.T) {
	for key, edit := range map[string]func(*Question){
		"records": func(q *Question) { q.Own = 5 },
		"others":  func(q *Question) { q.Others = nil },
		"worlds":  func(q *Question) { q.Worlds = 1 },
		"epsilon": func(q *Question) { q.Epsilons = []float64{0} },
		"name":    func(q *Question) { q.Records.Classes = 3 },
	} {
		q := question(t, "logistic", 30, 30, 1)
		edit(q)
		refused(t, q, key)
	}
	refused(t, question(t, "poisson", 30, 30, 1), "name") // a law of counts is another
}

func refused(t *testing.T, q *Question, key string) {
	t.Helper()
	var bad *config.Error
	if _, err := Ask(context.Background(), q); !errors.As(err, &bad) || !strings.HasSuffix(bad.Key, key) {
		t.Errorf("%s: %v", key, err)
	}
}

// Where features say nothing of labels, models that the owner makes alone are as good as
// guessing: .5 on average. It was .46 and .43 when scores by models of different folds
// were compared. Limits are four standard errors.
func TestAloneOfNoLaw(t *testing.T) {
	const tables, n = 200, 40
	for _, share := range []float64{.5, .2} {
		mean, square := 0., 0.
		for k := range uint64(tables) {
			q := question(t, "logistic", n, 10)
			r, labels := rng.Public(k, "labels of chance"), q.Records.Labels
			for i := range labels {
				labels[i] = 0
				if float64(i) < share*n {
					labels[i] = 1
				}
			}
			for i, j := range permutation(r, n) {
				labels[i], labels[j] = labels[j], labels[i]
			}
			l, err := newLaw(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			s, err := l.scored(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			v, err := score.Of(s, l.figure())
			if err != nil {
				t.Fatal(err)
			}
			mean, square = mean+v/tables, square+v*v/tables
		}
		se := math.Sqrt((square - mean*mean) / tables)
		t.Logf("share %v: %.4f, standard error %.4f", share, mean, se)
		if math.Abs(mean-.5) > 4*se {
			t.Errorf("share %v: %.4f, standard error %.4f", share, mean, se)
		}
	}
}

// Of 30 persons with five equal records each, whose class is chance, nothing is known of
// one person by the records of others: the figure alone, on persons that a model has not
// seen, is chance. With folds of records each model had seen nearly every person, and
// knew its class.
func TestPersonsStayInOneFold(t *testing.T) {
	sum := 0.
	for seed := range uint64(6) {
		q := question(t, "logistic", 150, 30, 1)
		q.Seed = seed + 1
		r := rng.Public(seed, "classes of persons")
		d := q.Records
		ids := make([]string, d.Len())
		for k := range ids {
			first := k - k%5
			if ids[k] = fmt.Sprint("person ", first); k == first {
				d.Labels[k] = int32(r.Below(2))
				continue
			}
			copy(d.X.Row(k), d.X.Row(first))
			d.Labels[k] = d.Labels[first]
		}
		d.SetUnits(ids)
		l, err := newLaw(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		a, _, err := l.alone(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		sum += float64(a.Value) / 6
	}
	// 30 persons of two classes have an AUROC of .5 with a deviation of .11, six of .045
	if math.Abs(sum-.5) > .1 {
		t.Errorf("alone %.3f on average, where classes are chance", sum)
	}
}

// Gains of a few worlds stand out as Student's t says: of two worlds two standard errors
// come by chance in 30 of 100 questions. Quantiles at .975 by published tables.
func TestSign(t *testing.T) {
	for worlds, quantile := range map[int]float64{2: 12.706, 6: 2.571, 20: 2.093} {
		gains := func(ratio float64) (s []float64) { // so many standard errors above 0
			for k := range worlds {
				s = append(s, .01+.01/ratio*math.Sqrt(float64(worlds-1))*float64(2*(k%2)-1))
			}
			return s
		}
		less := gains(1.01 * quantile)
		for k := range less {
			less[k] = -less[k]
		}
		a, b := spread(gains(.99*quantile)).Sign(), spread(gains(1.01*quantile)).Sign()
		if c := spread(less).Sign(); a != 0 || b != 1 || c != -1 {
			t.Errorf("%d worlds, around %v standard errors: %d, %d and %d", worlds, quantile, a, b, c)
		}
	}
	if spread(nil).Sign() != 0 {
		t.Error("no world shows a gain")
	}
}
