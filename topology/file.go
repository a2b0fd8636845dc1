package topology

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"sotto/agent"
	"sotto/config"
)

// FileParams names an edge list, or a list of arcs.
type FileParams struct {
	Path string `toml:"path"` // of the edge list, from where the command runs
	// PathDigest is the list's SHA-256 in hex. It is filled in, so that it is part of the
	// run's identity; a given one is checked.
	PathDigest string `toml:"path_digest,omitempty"`
}

// read decodes the parameters and returns the list that they name. what it is called is
// for errors.
func (p *FileParams) read(decode func(any) error, what string) ([]byte, error) {
	if err := decode(p); err != nil {
		return nil, err
	}
	if p.Path == "" {
		return nil, config.Bad("path", p.Path, "the path of "+what)
	}
	b, err := os.ReadFile(p.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, config.Bad("path", "no file "+p.Path, what+", a path from where the command runs")
	case err != nil:
		return nil, config.Bad("path", err.Error(), "the path of "+what)
	}
	sum := sha256.Sum256(b)
	digest := hex.EncodeToString(sum[:])
	if p.PathDigest != "" && !strings.EqualFold(p.PathDigest, digest) {
		return nil, config.Bad("path_digest", p.PathDigest, digest+", the SHA-256 of "+p.Path)
	}
	p.PathDigest = digest
	return b, nil
}

func fromFile(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	var p FileParams
	b, err := p.read(decode, "an edge list")
	if err != nil {
		return nil, err
	}
	return ReadEdges(bytes.NewReader(b), p.Path, agents)
}

// ReadEdges reads an undirected edge list: one link "i j" or "i j weight" on each line,
// agents counted from 0, blank lines and everything after '#' ignored. Weights are w_ij =
// w_ji in (0, 1], on all lines or on none. A link to itself, a link given twice (in
// either order) and an agent outside 0 .. agents-1 are errors. Errors are *config.Error
// with name as the file and the line.
func ReadEdges(r io.Reader, name string, agents int) (*Adjacency, error) {
	links, weighted, err := readLinks(r, name, agents, false)
	if err != nil {
		return nil, err
	}
	return &Adjacency{Agents: agents, Edges: links, Weighted: weighted, Tries: 1}, nil
}

// ReadArcs reads a directed graph in the form of [ReadEdges]: on a line "j i" or "j i
// weight" agent j sends to agent i, which gives the message the weight P_ij in (0, 1];
// [Build] refuses 1, which leaves the sender nothing. "i j" beside "j i" is another arc.
func ReadArcs(r io.Reader, name string, agents int) (*Arcs, error) {
	links, weighted, err := readLinks(r, name, agents, true)
	if err != nil {
		return nil, err
	}
	return &Arcs{Agents: agents, Rounds: [][]Edge{links}, Weighted: weighted}, nil
}

// readLinks reads sorted links; directed ones have the receiver as I and the sender as J.
func readLinks(r io.Reader, name string, agents int, directed bool) ([]Edge, bool, error) {
	type line struct {
		Edge
		number int
	}
	var lines []line
	weighted := false
	sc := bufio.NewScanner(r)
	number := 0
	for sc.Scan() {
		number++
		text, _, _ := strings.Cut(sc.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		e, err := parseEdge(fields, agents, directed)
		if err == nil && len(lines) > 0 && weighted != (len(fields) == 3) {
			err = config.Bad("weight", strings.Join(fields, " "), "a weight on every line or on none")
		}
		if err == nil && len(lines) >= maxEdges {
			err = config.Bad("links", len(lines)+1, fmt.Sprintf("at most %d", maxEdges))
		}
		if err != nil {
			return nil, false, at(err, name, number)
		}
		weighted = len(fields) == 3
		lines = append(lines, line{e, number})
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, false, at(config.Bad("line", "a line above 64 KiB", `"i j" or "i j weight"`), name,
			number+1)
	} else if err != nil {
		return nil, false, fmt.Errorf("topology: edge list %s: %w", name, err)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return compareEdges(a.Edge, b.Edge) })
	links := make([]Edge, len(lines))
	for k, l := range lines {
		if k > 0 && compareEdges(lines[k-1].Edge, l.Edge) == 0 {
			found := fmt.Sprintf("%d %d again", l.I, l.J)
			if directed {
				found = fmt.Sprintf("%d %d again", l.J, l.I)
			}
			return nil, false, at(config.Bad("link", found, "each link once"), name, l.number)
		}
		links[k] = l.Edge
	}
	return links, weighted, nil
}

func parseEdge(fields []string, agents int, directed bool) (Edge, error) {
	var e Edge
	if len(fields) < 2 || len(fields) > 3 {
		return e, config.Bad("link", strings.Join(fields, " "), `"i j" or "i j weight"`)
	}
	var ids [2]int
	for k := range ids {
		v, err := strconv.Atoi(fields[k])
		if err != nil || v < 0 || v >= agents {
			return e, config.Bad("agent", fields[k], fmt.Sprintf("0 to %d", agents-1))
		}
		ids[k] = v
	}
	if ids[0] == ids[1] {
		return e, config.Bad("link", strings.Join(fields, " "), "links between two agents")
	}
	if directed {
		e.I, e.J = agent.ID(ids[1]), agent.ID(ids[0])
	} else {
		e.I, e.J = agent.ID(min(ids[0], ids[1])), agent.ID(max(ids[0], ids[1]))
	}
	if len(fields) == 3 {
		w, err := strconv.ParseFloat(fields[2], 64)
		if err != nil || !(w > 0 && w <= 1) {
			return e, config.Bad("weight", fields[2], "(0, 1]")
		}
		e.Weight = w
	}
	return e, nil
}

// at adds the place to a *config.Error.
func at(err error, file string, line int) error {
	var e *config.Error
	if errors.As(err, &e) {
		c := *e
		c.File, c.Line = file, line
		return &c
	}
	return err
}
