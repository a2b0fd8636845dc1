// Package jsonfloat holds numbers whose JSON form also covers what JSON numbers cannot.
package jsonfloat

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Float is "inf" or "-inf" in JSON where it is infinite, and null where it is no number.
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	switch x := float64(f); {
	case math.IsNaN(x):
		return []byte("null"), nil
	case math.IsInf(x, 0):
		return json.Marshal(strings.ToLower(strings.TrimPrefix(fmt.Sprint(x), "+")))
	default:
		return json.Marshal(x)
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(b []byte) error {
	switch s := string(b); s {
	case "null":
		*f = Float(math.NaN())
		return nil
	case `"inf"`, `"-inf"`:
		x, err := strconv.ParseFloat(strings.Trim(s, `"`), 64)
		*f = Float(x)
		return err
	}
	return json.Unmarshal(b, (*float64)(f))
}
