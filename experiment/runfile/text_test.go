package runfile_test

import (
	"reflect"
	"testing"

	"sotto/experiment/runfile"
)

// What Text writes Set takes, tables within tables too.
func TestTextIsRead(t *testing.T) {
	for _, value := range []any{
		int64(3), 3.0, 1e-7, true, "a 'b' \"c\"", []any{int64(1), int64(2)},
		map[string]any{"age": []any{0.0, 100.0}, "a.b": map[string]any{"c": "d"}},
		map[string]any{},
	} {
		text, err := runfile.Text(value)
		if err != nil {
			t.Fatal(err)
		}
		d := parse(t, file)
		if err := d.Set("--set", "other.key="+text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, ok := d.Given("other.key"); !ok || !reflect.DeepEqual(got, value) {
			t.Errorf("%s is read as %#v", text, got)
		}
	}
}
