package privacy

import (
	"maps"
	"slices"
	"strings"

	"sotto/config"
)

// Mechanisms lists every mechanism by the name used in run files. scale is the mechanism's noise scale
// over the clip; mechanisms without noise ignore it.
var Mechanisms = map[string]func(scale float64) (Mechanism, error){
	"gaussian": NewGaussian,
	"none":     func(float64) (Mechanism, error) { return None{}, nil },
	"sealed":   func(float64) (Mechanism, error) { return Sealed{}, nil },
}

// NewMechanism returns the named mechanism; an unknown name is a config.Error on key "mechanism".
func NewMechanism(name string, scale float64) (Mechanism, error) {
	m, ok := Mechanisms[name]
	if !ok {
		return nil, config.Bad("mechanism", name, "one of "+strings.Join(slices.Sorted(maps.Keys(Mechanisms)), ", "))
	}
	return m(scale)
}
