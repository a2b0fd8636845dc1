package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A column is one thing that a run leaves, as it stands in a golden file.
type column struct{ name, value string }

// short is the beginning of a SHA-256: that a changed file keeps it has probability
// 2^-64.
func short(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// times differ from run to run.
var times = regexp.MustCompile(strings.Join([]string{
	`"seconds_split": \{[^}]*\}`, `"(seconds|seconds_per_round|wall_seconds)": ?[0-9.e+-]+`,
	`[0-9.]+ s, [0-9.e+-]+ s per (round|wake|step)`,
	`gradients [0-9]+ %, noise [0-9]+ %, mixing [0-9]+ %, evaluation [0-9]+ %, rest [0-9]+ %`}, "|"))

func timeless(b []byte) []byte { return times.ReplaceAll(b, nil) }

// leaves are what columns read in a finished run's folder.
type leaves struct {
	dir     string
	files   map[string][]byte
	summary struct {
		ConfigDigest string `json:"config_digest"`
		RunHash      string `json:"run_hash"`
		Arithmetic   string
		Privacy      []struct {
			Agent   int
			Noise   json.RawMessage `json:"noise_multiplier"`
			Members int
		}
		Notes []string
	}
}

func readRun(dir string) (*leaves, error) {
	l := &leaves{dir: dir, files: map[string][]byte{}}
	for _, name := range []string{"ledger/simulated.jsonl", "privacy.json", "summary.json", "metrics.csv",
		"model.safetensors", "topology.json", "report.html", "manifest.json", "config.toml", "wakes.csv"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && name != "wakes.csv" { // which few runs leave
			return nil, err
		}
		l.files[name] = b
	}
	return l, json.Unmarshal(l.files["summary.json"], &l.summary)
}

// identity is the full digest of configuration, data, engine and arithmetic.
func (l *leaves) identity() string {
	var m struct{ Identity string }
	json.Unmarshal(l.files["manifest.json"], &m)
	return m.Identity
}

// noise lists the noise multipliers of all agents to the last bit, equal neighbors once.
func (l *leaves) noise() string {
	var all []string
	for _, p := range l.summary.Privacy {
		all = append(all, string(p.Noise))
	}
	return strings.Join(slices.Compact(all), " ")
}

// figures are the columns that no better wording changes.
func (l *leaves) figures() []column {
	c := []column{
		{"config", l.summary.ConfigDigest},
		{"noise", l.noise()},
		{"ledger", short(l.files["ledger/simulated.jsonl"])},
		{"privacy", short(wordless(l.files["privacy.json"]))},
		{"identity", l.identity()},
		{"run", l.summary.RunHash},
		{"metrics", short(l.files["metrics.csv"])},
		{"model", short(l.files["model.safetensors"])},
		{"topology", short(l.files["topology.json"])},
		{"summary", short(wordless(l.files["summary.json"]))},
	}
	if b := l.files["wakes.csv"]; b != nil {
		c = append(c, column{"wakes", short(b)})
	}
	return c
}

// words are the columns that people read.
func (l *leaves) words() []column {
	c := []column{
		{"config.toml", short(l.files["config.toml"])},
		{"privacy.json", short(l.files["privacy.json"])},
		{"summary.json", short(timeless(l.files["summary.json"]))},
		{"report.html", short(timeless(l.files["report.html"]))},
	}
	for _, n := range l.summary.Notes {
		c = append(c, column{"note", n})
	}
	return c
}

// wordless is a JSON text without its sentences, which are all strings with a space,
// without notes, and without what is of this machine and folder. Numbers keep their
// digits.
func wordless(b []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out []byte
	for {
		var v any
		if err := d.Decode(&v); err == io.EOF {
			return out
		} else if err != nil {
			return append(out, err.Error()...)
		}
		line, err := json.Marshal(strip(v))
		if err != nil {
			return append(out, err.Error()...)
		}
		out = append(out, line...)
	}
}

// dropped are keys of sentences, times and folders.
var dropped = []string{"notes", "seconds", "seconds_per_round", "seconds_split", "run"}

func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if slices.Contains(dropped, key) {
				delete(v, key)
			} else if v[key] = strip(x); v[key] == nil && x != nil {
				delete(v, key)
			}
		}
	case []any:
		kept := []any{}
		for _, x := range v {
			if y := strip(x); y != nil || x == nil {
				kept = append(kept, y)
			}
		}
		return kept
	case string:
		if strings.Contains(v, " ") {
			return nil
		}
	}
	return v
}
