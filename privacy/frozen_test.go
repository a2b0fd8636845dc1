package privacy

import (
	"reflect"
	"testing"
)

// A gate keeps no pointer to a mechanism that has fields.
func TestNoPointerIsKept(t *testing.T) {
	all := []Mechanism{Decor{NoiseMultiplier: 1, Effective: 1, blocks: new(blocks)}}
	for name := range Mechanisms {
		m, err := New(name, func(params any) error {
			switch p := params.(type) {
			case *TruncatedParams:
				p.Scale, p.Truncation = 1, 1
			case *PaperNoise:
				p.Family, p.Epsilon, p.Delta, p.Sensitivity = "laplace", 1, .1, 1
			case *RandomizedResponse:
				p.Probability, p.Labels = .5, 2
			case scaled:
				p.setScale(1)
			}
			return nil
		})
		if err != nil {
			t.Fatal(name, err)
		}
		all = append(all, m)
	}
	for _, m := range all {
		p := reflect.New(reflect.TypeOf(m))
		p.Elem().Set(reflect.ValueOf(m))
		kept := reflect.TypeOf(frozen(p.Interface().(Mechanism)))
		if kept.Kind() == reflect.Pointer && kept.Elem().NumField() > 0 {
			t.Errorf("%v is kept", kept)
		}
	}
}
