package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sotto/config"
	"sotto/experiment/runfile"
)

// OfFlag puts flags in place of the settings that an error in one is about.
func OfFlag(err error, flags map[string]string) error {
	var bad *config.Error
	if errors.As(err, &bad) {
		bad.Key = cmp.Or(flags[bad.Key], bad.Key)
	}
	return err
}

// DecodeSettings decodes "key=value" flags into parameter structs, strictly: each key
// must be known to the first struct that is decoded.
func DecodeSettings(set []string) func(any) error {
	return func(params any) error {
		for _, s := range set {
			key, value, ok := strings.Cut(s, "=")
			if !ok {
				return Usagef("--set: found %q, allowed: key=value", s)
			}
			dec := func(v string) error {
				d := toml.NewDecoder(strings.NewReader(key + " = " + v))
				return d.DisallowUnknownFields().Decode(params)
			}
			if dec(value) == nil || dec(runfile.WithZeros(value)) == nil {
				continue
			}
			if err := dec(fmt.Sprintf("%q", value)); err != nil { // a bare string
				return config.Bad(key, value, "a parameter of this graph or data set, of the right type")
			}
		}
		return nil
	}
}
