package runfile

import (
	"fmt"
	"reflect"
	"strings"

	"sotto/config"
)

// Changed is an error for the first exported field in which two pointers to the
// parameters of a section differ, functions aside: was is what was read.
func Changed(section string, was, now any) error {
	return changed(section, reflect.ValueOf(was).Elem(), reflect.ValueOf(now).Elem())
}

func changed(section string, was, now reflect.Value) error {
	for i := range was.NumField() {
		field := was.Type().Field(i)
		if field.Anonymous {
			if err := changed(section, was.Field(i), now.Field(i)); err != nil {
				return err
			}
			continue
		}
		if !field.IsExported() || field.Type.Kind() == reflect.Func ||
			same(was.Field(i), now.Field(i)) {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		if name == "" || name == "-" {
			section, name = "File", field.Name // no key
		}
		return config.Bad(strings.TrimPrefix(section+"."+name, "."), now.Field(i).Interface(), fmt.Sprintf(
			"%v, as experiment.Parse has read it: a field that a program sets afterwards changes no run",
			was.Field(i).Interface()))
	}
	return nil
}

// same reports whether a field holds what it held. NaN, which the key's own check refuses
// later, is what it was.
func same(was, now reflect.Value) bool {
	if was.CanFloat() && was.Float() != was.Float() && now.Float() != now.Float() {
		return true
	}
	return reflect.DeepEqual(was.Interface(), now.Interface())
}
