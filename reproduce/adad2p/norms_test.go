package adad2p

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"testing"

	"sotto/reproduce"
)

// Single records whose gradients are cut to .05 have norms of .05, whatever the graph
// mixes; without a cut they have others.
func TestDrawnNorms(t *testing.T) {
	set := []string{"seed=3", "rounds=4", "topology.agents=6", `data.dataset="glyphs"`, "data.train=120",
		"data.test=10", `model.name="logistic"`, "algorithm.step_size=0.2", `privacy.mechanism="none"`,
		`privacy.adjacency="replace-one"`, "privacy.batch_size=1", `replication.sampling="one"`}
	for _, c := range []struct {
		clip string
		cut  bool
	}{{"0.05", true}, {"1000", false}} {
		drawn, err := drawnNorms(t.Context(), append(set, "privacy.max_grad_norm="+c.clip), .2,
			reproduce.Options{})
		if err != nil || len(drawn) != 4*6 {
			t.Fatal(len(drawn), err)
		}
		for _, x := range drawn {
			if c.cut != (math.Abs(x-.05) < 1e-4) {
				t.Errorf("clip %s: a norm of %v", c.clip, x)
			}
		}
	}
}

// cnnBound and cnnBatchBound are what the committed rows of the procedure say.
func TestMeasuredBound(t *testing.T) {
	f, err := os.Open("../../docs/results/seed002-norms/seed002-norms.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	batch, bound := slices.Index(rows[0], "records a round"), slices.Index(rows[0], "G: the largest")
	measured := map[string]float64{}
	for _, row := range rows[1:] {
		if row[0] == "cifar-10-cnn" {
			measured[row[batch]] = math.Ceil(reproduce.Number(row[bound]))
		}
	}
	if measured["1"] != cnnBound || measured["64, Poisson"] != cnnBatchBound {
		t.Errorf("G is %v, the studies have %v and %v", measured, cnnBound, cnnBatchBound)
	}
}
