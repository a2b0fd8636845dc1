package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sotto/config"
)

// extent is the shape of what one layer hands to the next: an image, or 1 x 1 x n.
type extent struct{ height, width, channels int }

func (e extent) size() int      { return e.height * e.width * e.channels }
func (e extent) String() string { return fmt.Sprintf("%dx%dx%d", e.height, e.width, e.channels) }

// fits says whether the product of its numbers, none negative, is at most maxFeatures.
func fits(numbers ...int) bool {
	product := 1
	for _, n := range numbers {
		if n > maxFeatures || n > 0 && product > maxFeatures/n {
			return false
		}
		product *= n
	}
	return true
}

// builder collects layers and follows the shape through them.
type builder struct {
	at     extent
	layers []layer
	depth  int
}

func newBuilder(s Shape) *builder { return &builder{at: extent{s.Height, s.Width, s.Channels}} }

// layerKinds returns the layers that a run file may list, by kind. Each decodes its own
// parameters. It is a function because a residual block lists layers again.
func layerKinds() map[string]func(b *builder, decode func(any) error) error {
	return map[string]func(b *builder, decode func(any) error) error{
		"linear":           linearLayer,
		"conv2d":           convLayer,
		"ws-conv2d":        standardizedConvLayer,
		"groupnorm":        groupNormLayer,
		"layernorm":        layerNormLayer,
		"batchnorm":        batchNormLayer,
		"maxpool":          maxPoolLayer,
		"avgpool":          averagePoolLayer,
		"adaptive-maxpool": adaptiveMaxPoolLayer,
		"adaptive-avgpool": adaptiveAveragePoolLayer,
		"flatten":          flattenLayer,
		"residual":         residualLayer,
		"relu":             activationLayer("relu"),
		"leaky-relu":       leakyReLULayer,
		"tanh":             activationLayer("tanh"),
		"sigmoid":          activationLayer("sigmoid"),
		"mish":             activationLayer("mish"),
		"gelu":             activationLayer("gelu"),
	}
}

// maxLayers bounds one list.
const maxLayers = 1024

// list builds the layers of a run file; key is the list's name. Errors name the layer by
// index and kind.
func (b *builder) list(layers []map[string]any, key string) error {
	if len(layers) > maxLayers {
		return config.Bad(key, len(layers), "at most 1024 layers")
	}
	for i, l := range layers {
		kind, _ := l["kind"].(string)
		build, ok := layerKinds()[kind]
		if !ok {
			return config.Bad(fmt.Sprintf("%s[%d].kind", key, i), l["kind"], config.OneOf(layerKinds()))
		}
		if err := build(b, strict(l)); err != nil {
			return in(fmt.Sprintf("%s[%d] (%s)", key, i, kind), err)
		}
	}
	return nil
}

// in puts a place before the key of a config.Error.
func in(place string, err error) error {
	var e *config.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", place, err)
	}
	c := *e
	c.Key = place + "." + e.Key
	return &c
}

// strict decodes one layer's table into the struct it is given, which has a json tag on
// every field, and refuses other keys.
func strict(table map[string]any) func(any) error {
	return func(params any) error {
		known, err := json.Marshal(params)
		if err != nil {
			return err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(known, &fields); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(table)) {
			if key == "kind" {
				continue
			}
			if _, ok := fields[key]; !ok {
				allowed := "no keys but kind"
				if len(fields) > 0 {
					allowed = "kind, " + strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
				}
				return config.Bad(key, "an unknown key", allowed)
			}
			value, err := json.Marshal(map[string]any{key: table[key]})
			if err == nil {
				err = json.Unmarshal(value, params)
			}
			if err != nil {
				return config.Bad(key, table[key], kindOf(fields[key]))
			}
		}
		return nil
	}
}

// kindOf names the type of a field, by its default in JSON, in words.
func kindOf(field json.RawMessage) string {
	switch c := field[0]; {
	case c == 't' || c == 'f':
		return "true or false"
	case c == '"':
		return "a string"
	case c == 'n' || c == '[':
		return "a list of layers"
	}
	return "a number, whole where a count is meant"
}

// LayersParams are the parameters of "layers".
type LayersParams struct {
	// Layers in their order, each with its kind, such as "conv2d", and that kind's keys.
	Layers []map[string]any `toml:"layers"`
	// Loss is "cross-entropy", the default for classes, "squared", that of a regression,
	// or "huber".
	Loss  string  `toml:"loss"`
	Delta float64 `toml:"delta"` // where "huber" turns to straight lines, 1e-6 to 1e6; default 1
}

// newLayers builds "layers": the layers that a run file lists, in order.
func newLayers(decode func(params any) error, s Shape) (Model, error) {
	p := LayersParams{Delta: 1}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if p.Loss == "" {
		p.Loss = "squared"
		if s.Classes > 0 {
			p.Loss = "cross-entropy"
		}
	}
	l, err := newLoss(p.Loss, p.Delta, s)
	if err != nil {
		return nil, err
	}
	b := newBuilder(s)
	if err := b.list(p.Layers, "layers"); err != nil {
		return nil, err
	}
	if b.at != (extent{1, 1, l.outputs}) {
		return nil, config.Bad("layers", "an output of shape "+b.at.String(),
			fmt.Sprintf("1x1x%d for loss %s", l.outputs, p.Loss))
	}
	m, err := b.network(l.f, s.Classes == 0)
	if n, ok := m.(*network); ok {
		n.ranks = p.Loss == "hinge"
	}
	return m, err
}
