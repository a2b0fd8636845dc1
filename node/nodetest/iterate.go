package nodetest

import (
	"math"

	"sotto/agent"
	"sotto/algo"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// iterateRecords is how many records an agent's private iterate sees.
const iterateRecords = 6

// iterate is agent i's oracle of algorithm km with an iterate of its own: backward steps
// of Huber's loss on normal records.
func iterate(i int, start tensor.Vec) *oracle.StatefulResidual {
	m, err := model.New("huber", model.Shape{Height: 1, Width: Dim, Channels: 1}, nil)
	if err != nil {
		panic(err) // constants of this package, here and below
	}
	glm, _ := model.Linear(m)
	set, rows := &data.Dataset{X: tensor.NewMat(iterateRecords, Dim)}, make([]int32, iterateRecords)
	r, normals := rng.Public(uint64(i), "iterate"), make([]float64, Dim+1)
	for k := range rows {
		r.Normals(normals)
		for c, x := range normals[:Dim] {
			set.X.Row(k)[c] = float32(x)
		}
		set.Targets, rows[k] = append(set.Targets, float32(normals[Dim])), int32(k)
	}
	k := &oracle.StatefulResidual{Start: start, KM: oracle.KM{
		GLM:               glm,
		Records:           oracle.Records{Data: set, Index: rows},
		Operator:          oracle.Backward,
		Gamma:             2,
		Residual:          10,
		ClipNorm:          math.Sqrt(Dim),
		SampleRate:        1,
		ExpectedBatchSize: iterateRecords,
		Adjacency:         account.ZeroOut,
		Unit:              account.Record(),
		Dim:               Dim,
	}}
	if err := k.Validate(); err != nil {
		panic(err)
	}
	return k
}

// recovery recovers a private iterate from the queries in the algorithm's state, as
// experiment.Owner does; nil for algorithms that have none.
func recovery(a agent.Algorithm, o *oracle.StatefulResidual) func(resumed bool) error {
	k, ok := a.(*algo.KM)
	if !ok {
		return nil
	}
	return func(bool) error {
		k.Asked(o.Replay)
		return nil
	}
}
