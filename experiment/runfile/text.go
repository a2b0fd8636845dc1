package runfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Text writes a value as TOML on one line, as [Document.Set] takes it.
func Text(value any) (string, error) {
	if table, ok := value.(map[string]any); ok {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(table)) {
			v, err := Text(table[key])
			if err != nil {
				return "", err
			}
			parts = append(parts, strconv.Quote(key)+" = "+v)
		}
		return "{" + strings.Join(parts, ", ") + "}", nil
	}
	b, err := toml.Marshal(map[string]any{"v": value})
	return strings.TrimSpace(strings.TrimPrefix(string(b), "v = ")), err
}

// shown is a value as a run file has it, for errors: 3.0 is no whole number, nor is "3".
func shown(value any) string {
	if x, ok := value.(float64); ok {
		text := fmt.Sprint(x)
		if !strings.ContainsAny(text, ".eIN") {
			text += ".0"
		}
		return text
	}
	text, err := Text(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.ReplaceAll(text, "'", `"`)
}
