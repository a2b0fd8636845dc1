package trained_test

import (
	"fmt"
	"log"

	"sotto/data/schema"
	"sotto/experiment/trained"
	"sotto/tensor"
)

// A model that a run or a node has left is loaded from its folder, reads new patients by
// the schema, and predicts.
func Example() {
	m, err := trained.Load("testdata/stroke", "mean")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Kind(), m.Classes(), m.Features())
	patients, err := m.Read("testdata/patients.csv", schema.Reading{})
	if err != nil {
		log.Fatal(err)
	}
	predictions, err := m.Predict(patients.X)
	if err != nil {
		log.Fatal(err)
	}
	for i, p := range predictions {
		fmt.Printf("line %d: %s %.3f\n", patients.Lines[i], p.Class, p.Probabilities)
	}
	fmt.Println("without a prediction: lines", patients.Dropped)

	// Features may as well come from elsewhere: age .5, F, the sex not missing,
	// intercept.
	one := tensor.Mat{Rows: 1, Cols: 5, Stride: 5, Data: []float32{.5, 1, 0, 0, 1}}
	if predictions, err = m.Predict(one); err != nil {
		log.Fatal(err)
	}
	fmt.Println(predictions[0].Class)
	// Output:
	// probabilities [well ill] [age sex=F sex=other sex missing intercept]
	// line 2: ill [0.378 0.622]
	// line 3: well [0.881 0.119]
	// line 5: ill [0.475 0.525]
	// without a prediction: lines [4]
	// ill
}
