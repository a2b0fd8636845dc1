package oracle

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
)

var (
	_ privacy.Oracle = (*Features)(nil)
	_ privacy.Oracle = (*Labels)(nil)
)

// Features is the oracle "records": all of an owner's records, one after the other, each
// scaled to norm at most Radius. With noise on every value the answer is a data set that
// everybody may see (local differential privacy). Replacing one record moves the whole
// vector by at most 2 Radius, so that one charge covers all of them. The number of
// records is public, so that only replace-one adjacency is served.
type Features struct {
	Records Records
	Radius  float64 // X > 0, finite
}

// Labels is the oracle "labels": all of an owner's labels, 0 or 1, for randomized
// response; one record changes one of them.
type Labels struct{ Records Records }

// Names of the oracles.
const (
	FeaturesName = "records"
	LabelsName   = "labels"
)

var errNoRecords = config.Bad("records", "none", "those of an owner, for oracle labels with labels")

// Describe states the release.
func (f *Features) Describe(*agent.Query) (account.Release, error) {
	if f.Records.Data == nil {
		return account.Release{}, errNoRecords
	}
	if !(f.Radius > 0) || math.IsInf(f.Radius, 1) {
		return account.Release{}, config.Bad("feature_norm", f.Radius, "above 0 and finite")
	}
	return recordsRelease(FeaturesName, f.Radius, 2, account.L2, len(f.Records.Index)*f.Records.Data.X.Cols)
}

// Describe states the release.
func (l *Labels) Describe(*agent.Query) (account.Release, error) {
	if d := l.Records.Data; d == nil || d.Labels == nil {
		return account.Release{}, errNoRecords
	}
	r, err := recordsRelease(LabelsName, 1, 1, account.L1, len(l.Records.Index))
	r.Parts[0].Integers = true
	return r, err
}

func recordsRelease(name string, clip, shift float64, norm account.Norm, dim int) (account.Release, error) {
	part := account.Part{Name: name, Clip: clip, Shift: shift, Norm: norm, Dim: dim}
	return fullBatch(name, account.ReplaceOne, account.Record(), part, 1), nil
}

// Evaluate copies the records. One that is not finite counts as zero.
func (f *Features) Evaluate(dst *privacy.Value, _ *agent.Query, _ *rng.Stream) {
	cols := f.Records.Data.X.Cols
	for k, r := range f.Records.Index {
		row, to := f.Records.Data.X.Row(int(r)), dst.Float[k*cols:(k+1)*cols]
		norm := row.Norm()
		switch {
		case norm-norm != 0:
			to.Zero()
		case norm > f.Radius:
			to.Scale(f.Radius/norm*(1-1e-5), row) // room for the rounding of every product
		default:
			copy(to, row)
		}
	}
}

// Evaluate copies the labels; what is no label counts as 0.
func (l *Labels) Evaluate(dst *privacy.Value, _ *agent.Query, _ *rng.Stream) {
	for k, r := range l.Records.Index {
		dst.Float[k] = 0
		if l.Records.Data.Labels[r] == 1 {
			dst.Float[k] = 1
		}
	}
}

// Perturbed returns the data set that the answers of both oracles make, with the rows of
// d that they do not cover left zero.
func Perturbed(d *data.Dataset) *data.Dataset {
	p := *d
	p.X.Data = make([]float32, len(d.X.Data))
	p.Labels = make([]int32, len(d.Labels))
	return &p
}

// Fill writes one owner's answers into a data set made by Perturbed.
func Fill(p *data.Dataset, index []int32, features, labels []float32) {
	cols := p.X.Cols
	for k, r := range index {
		copy(p.X.Row(int(r)), features[k*cols:(k+1)*cols])
		p.Labels[r] = int32(labels[k])
	}
}
