// Command library trains four owners on a table in memory, says after every evaluation how
// good the model is and what it has cost, and predicts new records with it.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"sotto/data/memory"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/trained"
	"sotto/tensor"
)

// runFile is what a file would say; the records are in memory.
const runFile = `
name = "library"
rounds = 60

[topology]
graph = "ring"
agents = 4

[data]
dataset = "memory"
partition = "natural"   # Owner says whose each record is

[model]
name = "logistic"
intercept = true

[algorithm]
name = "dsgd"
step_size = 2.0

[privacy]
batch_size = 40
target_epsilon = 2.0
target_delta = 1e-4
`

// table makes n records of each owner: two numbers in [0, 1], class "high" where their sum
// is above 1.
func table(n int, seed uint64) *memory.Table {
	t := &memory.Table{Columns: []string{"a", "b"}, Classes: []string{"low", "high"},
		Owners: []string{"north", "east", "south", "west"}}
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 4 * n {
		a, b := r.Float64(), r.Float64()
		label := 0
		if a+b > 1 {
			label = 1
		}
		t.X, t.Labels, t.Owner = append(t.X, []float64{a, b}), append(t.Labels, label), append(t.Owner, i%4)
	}
	return t
}

func main() {
	records, err := memory.Split(table(400, 1), table(100, 2))
	if err != nil {
		log.Fatal(err)
	}
	file, err := experiment.Parse("library", []byte(runFile), nil)
	if err != nil {
		log.Fatal(err)
	}
	e, err := experiment.BuildOn(file, records)
	if err != nil {
		log.Fatal(err)
	}
	out, err := os.MkdirTemp("", "library")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(out)
	result, err := run.Run(context.Background(), e, run.Options{Out: out, Evaluated: func(e run.Evaluation) {
		accuracy := e.Metrics()["accuracy"] // over the four owners' models
		fmt.Printf("round %2d: accuracy %.3f (%.3f to %.3f), epsilon %.3f\n", e.Round, accuracy.Mean,
			accuracy.Min, accuracy.Max, float64(e.Epsilon.Upper))
	}})
	if err != nil {
		log.Fatal(err)
	}
	model, err := trained.Load(result.Dir, "mean")
	if err != nil {
		log.Fatal(err)
	}
	fresh := tensor.NewMat(2, 2)
	copy(fresh.Row(0), []float32{.9, .9})
	copy(fresh.Row(1), []float32{.1, .2})
	predictions, err := model.Predict(fresh)
	if err != nil {
		log.Fatal(err)
	}
	for i, p := range predictions {
		fmt.Printf("%v is %s\n", fresh.Row(i), p.Class)
	}
}
