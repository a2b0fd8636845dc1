package oracle

import (
	"math"

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
// losses, each cut to [0, Clip]. A record adds a number from 0 to Clip, so that putting
// one in, taking one out, blanking it or exchanging it moves the sum by at most Clip:
// shift 1 under every adjacency.
type Score struct {
	Model     model.Model
	Records   Records // held out from training
	Loss      bool
	ClipNorm  float64 // of one record's loss, above 0 and finite; a correct class counts 1 and has clip 1
	Adjacency account.Adjacency
	Pool      *Pool
}

// Validate names the first field that cannot be used.
func (o *Score) Validate() error {
	if err := checkPositive("score_clip", o.ClipNorm); err != nil {
		return err
	}
	if !o.Loss && o.ClipNorm != 1 {
		return config.Bad("score_clip", o.ClipNorm, "1 for score accuracy: a record is right or not")
	}
	return nil
}

// Describe states the release: one number of a full batch.
func (o *Score) Describe(q *agent.Query) (account.Release, error) {
	part := account.Part{Name: "score", Clip: o.ClipNorm, Shift: 1, Norm: account.L2, Dim: 1}
	return fullBatch("score", o.Adjacency, account.Record(), part, 1), checkPoint(q, o.Model.Dim())
}

// Evaluate sums over the held-out records. A loss that is not a number counts as Clip.
func (o *Score) Evaluate(dst *privacy.Value, q *agent.Query, _ *rng.Stream) {
	s := o.Pool.p.Get().(*scratch)
	defer o.Pool.p.Put(s)
	size := chunk
	if o.Loss {
		size = 1 // losses are cut one by one
	}
	sum := 0.
	for lo := 0; lo < len(o.Records.Index); lo += size {
		b := s.gather(o.Records.Data, o.Records.Index[lo:min(lo+size, len(o.Records.Index))], &Augmentation{},
			nil)
		e := model.Evaluate(o.Model, q.At, b, &s.work)
		switch {
		case !o.Loss:
			sum += float64(e.Correct)
		case e.Loss >= 0 && e.Loss <= o.ClipNorm:
			sum += e.Loss
		case !(e.Loss < 0):
			sum += o.ClipNorm
		}
	}
	dst.Float[0] = float32(math.Min(sum, math.MaxFloat32))
}
