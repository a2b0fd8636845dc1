package owner

import (
	"math"

	"sotto/agent"
	"sotto/model"
	"sotto/oracle"
	"sotto/tensor"
)

// fit is the minimiser of the owner's own loss: what an algorithm of personal
// models starts from.
func (o alone) fit() (tensor.Vec, error) {
	e := o.e
	if _, linear := model.Linear(e.Task.Model); !linear {
		return nil, e.File.Refuse("model.name", e.File.Model.Name,
			"huber, least-squares, or logistic with two classes, to train alone")
	}
	a, err := e.Factory(e.Env(0))
	if err != nil {
		return nil, e.File.At("algorithm", err)
	}
	public := o.plan().Public
	public.FeatureNorm = math.Inf(1)
	q := &agent.Query{Oracle: oracle.FitName, At: make(tensor.Vec, e.Task.Model.Dim())}
	q.Operator.Lambda = a.(interface{ FitLambda() float64 }).FitLambda()
	gate, err := o.sealedGate(&public, q)
	if err != nil {
		return nil, err
	}
	theta := make(tensor.Vec, e.Task.Model.Dim())
	return theta, gate.Answer(q, theta)
}
