package experiment

import (
	"errors"
	"strings"

	"sotto/config"
)

// Placed gives errors whose key is dotted their section, and others the one of the
// caller.
func (f *File) Placed(section string, err error) error {
	var bad *config.Error
	if errors.As(err, &bad) && bad.File == "" {
		if s, key, ok := strings.Cut(bad.Key, "."); ok {
			inner := *bad
			inner.Key = key
			return f.At(s, &inner)
		}
	}
	return f.At(section, err)
}
