package reproduce

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/report"
	"sotto/topology"
)

// egoFile is where the data folder has the social graph of the published figure, which users supply: SNAP, ego-Facebook, ego 1912.
const egoFile = "ego-facebook/1912.edges"

// figureB004 is figureA004 on the largest component of a social graph. The smoke scale takes a small world in its place.
func figureB004(ctx context.Context, scale Scale, dir string) (*Document, error) {
	var (
		g   *topology.Graph
		err error
	)
	name := "facebook 1912"
	if scale == Smoke {
		name = "small-world"
		var s topology.Schedule
		if s, err = topology.New(name, "", 60, 1, func(p any) error {
			*p.(*topology.SmallWorldParams) = topology.SmallWorldParams{K: 6, Beta: .1}
			return nil
		}); err == nil {
			g, err = s.At(0)
		}
	} else {
		g, err = readEgo(filepath.Join(dir, filepath.FromSlash(egoFile)))
	}
	if err != nil {
		return nil, err
	}
	d := &Document{Header: header004}
	fig := report.Figure{Name: "figb", Title: "Privacy loss over distance, social graph (dashed: published formula)", XLabel: "links between the two agents", YLabel: "share of the local loss",
		LogY: true, Markers: true, Caption: "Mean over pairs, which is no guarantee for any. Dashed: the published formula, which is not a bound."}
	observers := make([]int, min(20, g.Agents()))
	for k := range observers {
		observers[k] = k * g.Agents() / len(observers)
	}
	if err := d.addGossip(ctx, &fig, name, g, observers, 1); err != nil {
		return nil, err
	}
	d.Figures = append(d.Figures, fig)
	d.Notes = gossipNotes004(1)
	if scale == Smoke {
		d.Notes = append(d.Notes, "scale smoke: a generated small world in place of the social graph")
	}
	return d, nil
}

// readEgo reads the largest component of a social graph.
func readEgo(path string) (*topology.Graph, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s, the file 1912.edges of SNAP's ego-Facebook, which you supply", data.ErrMissing, path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	links, err := readSocial(f, path)
	if err != nil {
		return nil, err
	}
	return component(links)
}

// readSocial reads one link a line: two numbers of people. Links may come in both directions and more than once.
func readSocial(r io.Reader, path string) (map[int][]int, error) {
	near := map[int][]int{}
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		text := strings.TrimSpace(s.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		bad := &config.Error{File: path, Line: line, Key: "link", Found: strconv.Quote(text), Allowed: "two different numbers from 0 on"}
		fields := strings.Fields(text)
		if len(fields) != 2 {
			return nil, bad
		}
		var ends [2]int
		for k, x := range fields {
			v, err := strconv.ParseUint(x, 10, 31)
			if err != nil {
				return nil, bad
			}
			ends[k] = int(v)
		}
		if ends[0] == ends[1] {
			return nil, bad
		}
		near[ends[0]], near[ends[1]] = append(near[ends[0]], ends[1]), append(near[ends[1]], ends[0])
	}
	if s.Err() == nil && len(near) == 0 {
		return nil, &config.Error{File: path, Key: "links", Found: "none", Allowed: "at least one"}
	}
	return near, s.Err()
}

// component numbers the people of the largest component in order and puts Metropolis weights on its links. Of several as large it is the one
// with the least number.
func component(near map[int][]int) (*topology.Graph, error) {
	people := make([]int, 0, len(near))
	for p := range near {
		people = append(people, p)
	}
	slices.Sort(people)
	seen := map[int]bool{}
	var best []int
	for _, p := range people {
		if seen[p] {
			continue
		}
		seen[p] = true
		part := []int{p}
		for at := 0; at < len(part); at++ {
			for _, q := range near[part[at]] {
				if !seen[q] {
					seen[q] = true
					part = append(part, q)
				}
			}
		}
		if len(part) > len(best) {
			best = part
		}
	}
	slices.Sort(best)
	number := map[int]int{}
	for i, p := range best {
		number[p] = i
		slices.Sort(near[p])
		near[p] = slices.Compact(near[p])
	}
	self, rows := make([]float64, len(best)), make([][]agent.Neighbor, len(best))
	for i, p := range best {
		self[i] = 1
		for _, q := range near[p] {
			w := 1 / float64(1+max(len(near[p]), len(near[q])))
			rows[i] = append(rows[i], agent.Neighbor{ID: agent.ID(number[q]), Weight: w})
			self[i] -= w
		}
	}
	return topology.FromRows("social", self, rows)
}
