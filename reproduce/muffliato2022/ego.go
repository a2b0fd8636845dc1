package muffliato2022

import (
	"bufio"
	"bytes"
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
	"sotto/reproduce"
	"sotto/topology"
)

// egoFile is where the data folder has the social graph of the published figure, which
// users supply: SNAP, ego-Facebook, ego 1912.
const egoFile = "ego-facebook/1912.edges"

// smallWorld stands in for the social graph: 747 agents with 80 links each, or 60 with
// 6; our choice.
func smallWorld(scale reproduce.Scale) gossipGraph {
	people, params := 747, topology.SmallWorldParams{K: 80, Beta: .1}
	if scale == reproduce.Smoke {
		people, params.K = 60, 6
	}
	return gossipGraph{"small-world", people, func(p any) {
		*p.(*topology.SmallWorldParams) = params
	}, fmt.Sprintf("k %d beta %g", params.K, params.Beta), 20}
}

// socialGraphs are the generated graph, and after it the social one at full size where
// the data folder has it.
func socialGraphs(scale reproduce.Scale, dir string) ([]observed, error) {
	c := smallWorld(scale)
	generated, err := c.observe()
	if err != nil || scale == reproduce.Smoke {
		return []observed{generated}, err
	}
	path := filepath.Join(dir, filepath.FromSlash(egoFile))
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []observed{generated}, nil
	}
	if err != nil {
		return nil, err
	}
	links, err := readSocial(bytes.NewReader(b), path)
	if err != nil {
		return nil, err
	}
	g, err := component(links)
	if err != nil {
		return nil, err
	}
	return []observed{generated,
		{name: "facebook 1912", settings: "largest component of the file with SHA-256 " +
			reproduce.HashText(string(b)),
			graph: g, observers: min(20, g.Agents())}}, nil
}

// figureB is figureA on the largest component of a social graph, and on a generated
// small world, which needs no file.
func figureB(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	graphs, err := socialGraphs(opt.Scale, opt.Sweep.DataDir)
	if err != nil {
		return nil, err
	}
	d := gossipTable()
	fig := gossipFigure("figb", "Privacy loss over distance, social graph (dashed: published formula)")
	for _, c := range graphs {
		if err := addGossip(ctx, d, &fig, &c, 1); err != nil {
			return nil, err
		}
	}
	d.Figures = append(d.Figures, fig)
	d.Notes = append(gossipNotes(1), "small-world: generated (Watts and Strogatz), "+
		smallWorld(opt.Scale).settings+
		"; at full scale about as large and as dense as the published graph, without its communities")
	switch {
	case opt.Scale == reproduce.Smoke:
		d.Notes = append(d.Notes, "scale smoke: 60 agents, without the social graph")
	case len(graphs) == 1:
		d.Notes = append(d.Notes, "the published graph is missing: "+egoFile+
			" is not in the data folder (the file 1912.edges of SNAP's ego-Facebook, which you supply)")
	}
	return d, nil
}

// readSocial reads one link a line: two numbers of people. Links may come in both
// directions and more than once.
func readSocial(r io.Reader, path string) (map[int][]int, error) {
	near := map[int][]int{}
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		text := strings.TrimSpace(s.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		bad := &config.Error{
			File:    path,
			Line:    line,
			Key:     "link",
			Found:   strconv.Quote(text),
			Allowed: "two different numbers from 0 on",
		}
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

// component numbers the people of the largest component in order and puts Metropolis
// weights on its links. Of several as large it is the one with the least number.
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
