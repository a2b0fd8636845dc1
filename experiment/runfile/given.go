package runfile

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sotto/config"
)

// Given returns the value that the document has for a key with dots, such as
// "privacy.max_grad_norm".
func (d *Document) Given(key string) (value any, ok bool) {
	at := d.raw
	parts := strings.Split(key, ".")
	for _, part := range parts[:len(parts)-1] {
		if at, ok = at[part].(map[string]any); !ok {
			return nil, false
		}
	}
	value, ok = at[parts[len(parts)-1]]
	return value, ok
}

// ZeroMeant says that a 0 of this key, with dots, has a meaning of its own, which is not
// that of a key which is not there.
func (d *Document) ZeroMeant(key string) { d.meant[key] = true }

// RefuseReplaced refuses a key that was given as 0, "" or false where another value is in
// force: who decoded it took it for a key that was not given.
func (d *Document) RefuseReplaced() error {
	for _, name := range slices.Sorted(maps.Keys(d.used)) {
		s := d.used[name]
		for _, key := range slices.Sorted(maps.Keys(s.raw)) {
			given := reflect.ValueOf(s.raw[key])
			if !given.IsValid() || !given.Comparable() || !given.IsZero() {
				continue
			}
			for _, p := range s.decoded {
				in, allowed := fieldOf(reflect.ValueOf(p).Elem(), key)
				if in.Kind() == reflect.Pointer { // 0 and no key are told apart
					in = in.Elem()
				}
				if !in.IsValid() || in.IsZero() || d.meant[Dotted(name, key)] {
					continue
				}
				return d.Locate(name, config.Bad(key, s.raw[key], fmt.Sprintf(
					"%s; %v is in force without the key", cmp.Or(allowed, other(in)), in.Interface())))
			}
		}
	}
	return nil
}

// other says what a key may be in whose place a default stands.
func other(def reflect.Value) string {
	switch {
	case def.CanFloat() && def.Float() > 0:
		return "above 0"
	case def.CanInt() && def.Int() > 0, def.CanUint():
		return "1 or more"
	}
	return "another value"
}

// fieldOf is the field of a struct that a key is decoded into, with what its tag allows;
// the zero Value where there is none.
func fieldOf(v reflect.Value, key string) (in reflect.Value, allowed string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if f.Anonymous && name == "" {
			if in, allowed := fieldOf(v.Field(i), key); in.IsValid() {
				return in, allowed
			}
		} else if name == key && f.IsExported() {
			return v.Field(i), f.Tag.Get(allowedTag)
		}
	}
	return reflect.Value{}, ""
}
