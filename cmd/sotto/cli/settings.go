package cli

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"sotto/config"
	"sotto/experiment/runfile"
	"sotto/internal/parallel"
)

// OverrideVolatile is what --i-understand takes where a file system may lose what was
// synced.
const OverrideVolatile = "volatile"

// OfFlag puts flags in place of the settings that an error in one is about.
func OfFlag(err error, flags map[string]string) error {
	var bad *config.Error
	if errors.As(err, &bad) {
		bad.Key = cmp.Or(flags[bad.Key], bad.Key)
	}
	return err
}

// WorkersFlag adds --workers, whose number every command bounds alike.
func WorkersFlag(c *cobra.Command, n *int, usage string) {
	c.Flags().Var((*workers)(n), "workers", usage)
}

type workers int

func (w *workers) String() string { return strconv.Itoa(int(*w)) }

func (w *workers) Type() string { return "int" }

func (w *workers) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return err
	}
	*w = workers(n)
	return OfFlag(parallel.Check(n), map[string]string{"workers": "--workers"})
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
			err := dec(fmt.Sprintf("%q", value)) // a bare string
			var unknown *toml.StrictMissingError
			switch {
			case errors.As(err, &unknown):
				allowed := "none: there are no parameters"
				if keys := keysOf(reflect.TypeOf(params)); len(keys) > 0 {
					allowed = "one of " + strings.Join(keys, ", ")
				}
				return &config.Error{File: "--set", Key: key, Found: "an unknown key", Allowed: allowed}
			case err != nil:
				return &config.Error{File: "--set", Key: key, Found: strconv.Quote(value),
					Allowed: "a value of the key's type"}
			}
		}
		return nil
	}
}

// keysOf are the keys of a parameter struct, and of those that it embeds.
func keysOf(t reflect.Type) []string {
	var keys []string
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("toml"), ","); {
		case f.Anonymous:
			keys = append(keys, keysOf(f.Type)...)
		case name != "" && name != "-":
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}
