package golden

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A runCase is one golden run.
type runCase struct {
	name  string
	flags []string // see runs.txt
	text  string   // the run file
}

func (c *runCase) has(flag string) bool { return slices.Contains(c.flags, flag) }

// readCases reads blocks of TOML lines, "[name: base flags]" before each. A block has the
// lines of its base, but for keys that it sets itself; a key with nothing behind the
// equals sign is in no run file.
func readCases(path string) ([]runCase, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type line struct{ key, value string }
	blocks := map[string][]line{}
	var cases []runCase
	name := ""
	for k, s := range strings.Split(string(b), "\n") {
		s = strings.TrimSpace(s)
		switch {
		case s == "" || s[0] == '#':
		case s[0] == '[':
			head, rest, _ := strings.Cut(strings.Trim(s, "[]"), ":")
			words := strings.Fields(rest)
			if name = head; blocks[name] != nil {
				return nil, fmt.Errorf("%s:%d: a second %s", path, k+1, name)
			}
			blocks[name] = []line{}
			if len(words) > 0 {
				base, ok := blocks[words[0]]
				if !ok {
					return nil, fmt.Errorf("%s:%d: no block %s before", path, k+1, words[0])
				}
				blocks[name] = slices.Clone(base)
				cases = append(cases, runCase{name: name, flags: words[1:]})
			}
		default:
			key, value, ok := strings.Cut(s, " =")
			if !ok || name == "" {
				return nil, fmt.Errorf("%s:%d: found %q, allowed: key = value in a block", path, k+1, s)
			}
			block := blocks[name]
			at := slices.IndexFunc(block, func(l line) bool { return l.key == key })
			if at < 0 {
				at, block = len(block), append(block, line{key: key})
			}
			block[at].value = strings.TrimSpace(value)
			blocks[name] = block
		}
	}
	for i := range cases {
		for _, l := range blocks[cases[i].name] {
			if l.value != "" {
				cases[i].text += l.key + " = " + l.value + "\n"
			}
		}
	}
	return cases, nil
}
