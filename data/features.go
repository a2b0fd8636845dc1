package data

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/data/scattering"
	"sotto/tensor"
)

// FeatureParams say what an image data set's records hold.
type FeatureParams struct {
	// Features is "pixels", the default, or "scattering": what package scattering makes
	// of the pixels. Those are a function of one record and of public constants, and cost
	// no privacy.
	Features string `toml:"features,omitempty"`
	// Groups is the number of groups of channels that are normalised within a record, a
	// divisor of the 81 channels of gray images or the 243 of others; default 27.
	Groups int `toml:"feature_groups,omitempty"`
	// Norm is the L2 norm that every record is then scaled to, up to 1e6; with 0 it stays
	// below the square root of the number of features.
	Norm float64 `toml:"feature_norm,omitempty"`
	// Whiten is the power, from 0 to 1, of the standard deviation on drawn images that
	// components of the features are divided by, and Size how many components are kept, 0
	// for all: see [scattering.Whitening]. With both 0 features are not turned into
	// components. They need Norm.
	Whiten float64 `toml:"feature_whiten,omitempty"`
	Size   int     `toml:"feature_size,omitempty"`
}

func (p *FeatureParams) validate(side, channels int) error {
	all := channels * scattering.Paths
	switch {
	case p.Features != "" && p.Features != "pixels" && p.Features != "scattering":
		return config.Bad("features", p.Features, "pixels, scattering")
	case !p.computed() && p.Groups != 0:
		return config.Bad("feature_groups", p.Groups, "nothing without features = \"scattering\"")
	case !p.computed() && p.Norm != 0:
		return config.Bad("feature_norm", p.Norm, "nothing without features = \"scattering\"")
	case !p.computed() && p.Whiten != 0:
		return config.Bad("feature_whiten", p.Whiten, "nothing without features = \"scattering\"")
	case !p.computed() && p.Size != 0:
		return config.Bad("feature_size", p.Size, "nothing without features = \"scattering\"")
	case !(p.Whiten >= 0 && p.Whiten <= 1):
		return config.Bad("feature_whiten", p.Whiten, "0 to 1")
	case p.Size < 0 || p.Size > all*(side/scattering.Reduce)*(side/scattering.Reduce):
		return config.Bad("feature_size", p.Size, fmt.Sprintf("0 (all) to %d, the number of features",
			all*(side/scattering.Reduce)*(side/scattering.Reduce)))
	case p.whitened() && p.Norm == 0:
		return config.Bad("feature_norm", p.Norm,
			"above 0 with feature_whiten or feature_size: components have no public bound of their own")
	case p.Groups < 0 || all%p.groups() != 0:
		return config.Bad("feature_groups", p.Groups,
			fmt.Sprintf("0 (27) or a divisor of the %d channels of the features", all))
	case !(p.Norm >= 0 && p.Norm <= 1e6):
		return config.Bad("feature_norm", p.Norm, "0 (as it is) to 1e6")
	case p.computed():
		return scattering.Check(side, side)
	default:
		return nil
	}
}

func (p *FeatureParams) computed() bool { return p.Features == "scattering" }

func (p *FeatureParams) whitened() bool { return p.Whiten != 0 || p.Size != 0 }

func (p *FeatureParams) groups() int {
	if p.Groups == 0 {
		return 27
	}
	return p.Groups
}

// imaging is how the images of a data set become records.
type imaging struct {
	name      string
	classes   []string
	resize    int
	mean, std []float64 // of channels; nil: pixels stay in [0, 1]
	FeatureParams
	whitening *scattering.Whitening // nil until records need it
}

// dataset converts the first limit images, or all with 0.
func (m *imaging) dataset(p *Images, limit int) (*Dataset, error) {
	if !m.computed() {
		return p.dataset(m.name, m.classes, m.resize, limit, m.mean, m.std), nil
	}
	n := len(p.Labels)
	if limit > 0 {
		n = min(n, limit)
	}
	r := p.render(m.resize, m.mean, m.std)
	t, err := scattering.New(r.h, r.w)
	if err != nil {
		return nil, err
	}
	const by = scattering.Reduce
	shape := [3]int{r.h / by, r.w / by, p.Channels * scattering.Paths}
	if m.whitened() && m.whitening == nil {
		m.whitening, err = scattering.NewWhitening(t, scattering.Pixels{Channels: p.Channels, Mean: m.mean,
			Std: m.std}, m.groups(), m.Whiten, m.Size)
		if err != nil {
			return nil, err
		}
	}
	if m.whitening != nil {
		shape = [3]int{1, 1, m.whitening.Size()}
	}
	length := shape[0] * shape[1] * shape[2]
	d := &Dataset{Name: m.name, X: tensor.NewMat(n, length), Shape: shape,
		Labels: p.Labels[:n:n], Classes: len(m.classes), ClassNames: m.classes,
		Known: Known{RowNorm: m.bound(length)}}
	type scratch struct {
		raw, pixels, features []float32
		scattering.Scratch
		scattering.WhiteningScratch
	}
	each(n, func(i int, s *scratch) {
		if s.pixels == nil {
			s.raw, s.pixels = make([]float32, p.size()), make([]float32, r.h*r.w*p.Channels)
		}
		r.image(s.pixels, i, s.raw)
		row := d.X.Row(i)
		all := row
		if m.whitening != nil {
			if s.features == nil {
				s.features = make([]float32, t.Size(p.Channels))
			}
			all = s.features
		}
		t.Image(all, s.pixels, p.Channels, &s.Scratch)
		scattering.Normalize(all, p.Channels, m.groups())
		if m.whitening != nil {
			m.whitening.Apply(row, all, &s.WhiteningScratch)
		}
		if m.Norm > 0 {
			scattering.ScaleTo(row, m.Norm)
		}
	})
	return d, nil
}

// bound is a bound of the L2 norm of rows of the given length.
func (p *FeatureParams) bound(length int) float64 {
	if p.Norm > 0 {
		return p.Norm
	}
	return math.Sqrt(float64(length))
}

// split puts both parts together. The digest names features that are not pixels: their
// version changes when their bits do.
func (m *imaging) split(train, test *Images, limits [2]int, params any, sums []string) (*Split, error) {
	var s Split
	var err error
	if s.Train, err = m.dataset(train, limits[0]); err != nil {
		return nil, err
	}
	if s.Test, err = m.dataset(test, limits[1]); err != nil {
		return nil, err
	}
	if m.computed() {
		s.Features = m.Features
		sums = append(sums, fmt.Sprintf("scattering 1, groups %d, norm %g", m.groups(), m.Norm))
		if m.whitened() {
			sums = append(sums, fmt.Sprintf("whitening 1, power %g, size %d", m.Whiten, m.Size))
		}
	}
	return s.seal(params, 0, sums), nil
}
