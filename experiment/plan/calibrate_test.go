package plan

import (
	"testing"

	"sotto/agent"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
)

// Agents with equal noise are still charged for their own releases: the clip of a fit
// follows from its λ, so that equal batches do not make equal events.
func TestEventsHaveTheClipOfTheirRelease(t *testing.T) {
	m, err := model.New("logistic", model.Shape{Height: 1, Width: 3, Channels: 1, Classes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var agents []Agent
	for _, lambda := range []float64{.1, .5} {
		agents = append(agents, Agent{
			Public: oracle.Public{Model: m, SampleRate: 1, ExpectedBatchSize: 10, ClipNorm: 1, Records: 10,
				Adjacency: account.ReplaceOne, Unit: account.Record(), FeatureNorm: 1},
			Asked: Asked{Asks: []Ask{{Query: agent.Query{Oracle: oracle.FitName,
				Operator: agent.Operator{Lambda: lambda}}, Times: 1}}},
		})
	}
	target := Target{Accountant: account.Default, Adjacency: account.ReplaceOne, Unit: account.Record(),
		Delta: 1e-5, Noise: 2}
	if err := Calibrate(agents, 0, privacy.Independent{Name: "gaussian"}, target); err != nil {
		t.Fatal(err)
	}
	for i := range agents {
		r, err := agents[i].Release(0)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := agents[i].Events[0].Clip, r.Parts[0].Clip; got != want {
			t.Errorf("agent %d is charged for a clip of %g, it releases one of %g", i, got, want)
		}
	}
}
