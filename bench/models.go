package bench

import (
	"fmt"
	"strings"

	"sotto/config"
	"sotto/model"
)

// Case is one model that is measured.
type Case struct {
	Name       string
	Model      string // in model.Models
	Shape      model.Shape
	Parameters int    // of the built model
	Precision  string // of products; "" is float32
}

// Cases are the models of the engine's table, small ones first.
var Cases = []Case{
	{"logistic-100", "logistic", model.Shape{Height: 1, Width: 100, Channels: 1, Classes: 2}, 101, ""},
	{"mlp-64", "mlp", model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}, 50_890, ""},
	{"mlp-256", "mlp", model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}, 203_530, ""},
	{"convnet", "convnet", model.Shape{Height: 32, Width: 32, Channels: 1, Classes: 10}, 38_424, ""},
	{"cnn", "cnn", model.Shape{Height: 28, Width: 28, Channels: 1, Classes: 10}, 26_010, ""},
	{"dpresnet9", "dpresnet9", model.Shape{Height: 32, Width: 32, Channels: 3, Classes: 100}, 7_802_724, ""},
	{"resnet18", "resnet18", model.Shape{Height: 32, Width: 32, Channels: 3, Classes: 10}, 11_173_962, ""},
	{"dpresnet9-bf16", "dpresnet9", model.Shape{Height: 32, Width: 32, Channels: 3, Classes: 100}, 7_802_724,
		"bf16"},
}

// available says whether this program has the model.
func (c *Case) available() bool { return model.Models[c.Model] != nil }

// pick returns the named cases in the order of the list, or all that are available.
func pick(names []string) ([]*Case, error) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var out []*Case
	var known []string
	for i := range Cases {
		c := &Cases[i]
		if !c.available() {
			continue
		}
		known = append(known, c.Name)
		if len(names) == 0 || wanted[c.Name] {
			out = append(out, c)
		}
		delete(wanted, c.Name)
	}
	for _, n := range names {
		if wanted[n] {
			return nil, config.Bad("models", n, "one of "+strings.Join(known, ", "))
		}
	}
	return out, nil
}

// build returns the model. Its parameters are those of the table.
func (c *Case) build() (model.Model, error) {
	m, err := model.New(c.Model, c.Shape, func(params any) error {
		switch p := params.(type) {
		case *model.LinearParams:
			p.Intercept = true
		case *model.MLPParams:
			if _, err := fmt.Sscanf(c.Name, "mlp-%d", &p.Hidden[0]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", c.Name, err)
	}
	if c.Precision != "" {
		return model.WithPrecision(m, c.Precision)
	}
	return m, nil
}

// announced is the case's name, with what its user should know before it is measured.
func (c *Case) announced(m Machine) string {
	if c.Precision == "bf16" && !m.AMX && !m.Dot {
		return c.Name + ", slower than float32 here: no fast products of bfloat16"
	}
	return c.Name
}
