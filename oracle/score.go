package oracle

import (
	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ privacy.Oracle = (*Score)(nil)

// Score is the oracle "score": over all of the owner's held-out records, the number that
// the model at the query's point classifies correctly, or with Loss the sum of their
// losses, each cut to [0, ClipNorm]. A record adds a number from 0 to ClipNorm, so that
// putting one in, taking one out, blanking it or exchanging it moves the sum by at most
// that: shift 1 under every adjacency.
type Score struct {
	Model     model.Model
	Records   Records // held out from training
	Loss      bool
	ClipNorm  float64 // of one record's loss, at least 1e-30 and finite; 1 for accuracy
	Adjacency account.Adjacency
	Pool      *Pool
}

// Validate names the first field that cannot be used.
func (o *Score) Validate() error {
	if err := checkPositive("score_clip", o.ClipNorm); err != nil {
		return err
	}
	if o.ClipNorm < 1e-30 {
		return config.Bad("score_clip", o.ClipNorm, "at least 1e-30: the sum is of steps of 2^-20 of it")
	}
	if !o.Loss && o.ClipNorm != 1 {
		return config.Bad("score_clip", o.ClipNorm, "1 for score accuracy: a record is right or not")
	}
	return checkModel(o.Model)
}

// Describe states the release: one number of a full batch.
func (o *Score) Describe(q *agent.Query) (account.Release, error) {
	if err := o.Validate(); err != nil {
		return account.Release{}, err
	}
	part := account.Part{Name: "score", Clip: o.ClipNorm, Shift: 1, Norm: account.L2, Dim: 1}
	return fullBatch("score", o.Adjacency, account.Record(), part, 1), checkPoint(q, o.Model.Dim())
}

// Evaluate sums over the held-out records, in whole steps of the grid: a sum of integers
// moves by no more than what a record adds. A loss is rounded down to a step; one that is
// not a number counts as ClipNorm.
func (o *Score) Evaluate(dst *privacy.Value, q *agent.Query, _ *rng.Stream) {
	s := o.Pool.get()
	defer o.Pool.put(s)
	size := chunk
	if o.Loss {
		size = 1 // losses are cut one by one
	}
	sum, step := int64(0), privacy.GridStep(o.ClipNorm)
	for lo := 0; lo < len(o.Records.Index); lo += size {
		b := s.gather(o.Records.Data, o.Records.Index[lo:min(lo+size, len(o.Records.Index))], &Augmentation{},
			nil)
		e := model.Evaluate(o.Model, q.At, b, &s.work)
		switch {
		case !o.Loss:
			sum += int64(e.Correct) * int64(1/step)
		case e.Loss >= 0 && e.Loss <= o.ClipNorm:
			sum += int64(e.Loss / step)
		case !(e.Loss < 0):
			sum += int64(o.ClipNorm / step)
		}
	}
	dst.Grid, dst.Step = append(dst.Grid[:0], sum), step
}
