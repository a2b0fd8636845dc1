package experiment

import (
	"errors"
	"strings"

	"sotto/config"
)

// Placed gives errors with a dotted key their section, and others that of the caller.
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
