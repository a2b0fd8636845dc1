package rundir

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sotto/internal/jsontext"
)

// NamesFile holds the names of a run's agents, classes and features. A run without names
// has none.
const NamesFile = "names.json"

// Names are what people call agents and classes: those of the owners whose records agents
// hold, and of the values of the label. Where one is empty, numbers stand for them.
// Features are the columns of the training file, where new files are read by them.
type Names struct {
	Agents   []string `json:"agents,omitempty"`
	Classes  []string `json:"classes,omitempty"`
	Features []string `json:"features,omitempty"`
}

// mostNamed is the most agents that a line of text lists by name.
const mostNamed = 12

// None reports whether there are no names at all.
func (n *Names) None() bool {
	return len(n.Agents) == 0 && len(n.Classes) == 0 && len(n.Features) == 0
}

// Agent is what agent i is called.
func (n *Names) Agent(i int) string { return nameOf(n.Agents, i) }

// Class is what class c is called.
func (n *Names) Class(c int) string { return nameOf(n.Classes, c) }

func nameOf(names []string, i int) string {
	if i >= 0 && i < len(names) && names[i] != "" {
		return names[i]
	}
	return strconv.Itoa(i)
}

// List names the agents of a text of numbers and ranges, such as "0-3,7"; it is that text
// without names, for more than 12 agents, and where it is anything else.
func (n *Names) List(ranges string) string {
	if len(n.Agents) == 0 {
		return ranges
	}
	var all []string
	for part := range strings.SplitSeq(ranges, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || to-from >= mostNamed {
			return ranges
		}
		for i := from; i <= to; i++ {
			all = append(all, n.Agent(i))
		}
	}
	if len(all) > mostNamed {
		return ranges
	}
	return strings.Join(all, ", ")
}

// ReadNames returns the names of the finished run in dir, none where it has no such file.
func ReadNames(dir string) (Names, error) {
	var n Names
	path := filepath.Join(dir, NamesFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(b, &n); err != nil {
		return n, jsontext.Error(path, b, err, "names of agents, classes and features")
	}
	return n, nil
}
