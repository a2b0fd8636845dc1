package main

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Sizes in the picture's units.
const (
	charWidth  = 6.7
	boxHeight  = 24.
	floorPitch = 58.
	gap        = 16.
	passWidth  = 6. // of an import that passes a floor
)

// node is a package on its floor, or a place where an import passes one.
type node struct {
	name     string // "" where an import passes
	floor    int
	x, width float64 // centre and width
	order    float64 // wish for a place in the row
	up, down []*node // the ends of its lines on the next floors
}

// house is the packages on their floors, lowest first, and the imports drawn.
type house struct {
	floors [][]*node
	level  [][2]*node // imports between packages of one floor
	width  float64
}

func newHouse(layers [][]string, imports map[string][]string) *house {
	h := &house{floors: make([][]*node, len(layers))}
	known := map[string]*node{}
	for k, layer := range layers {
		for _, name := range layer {
			n := &node{name: name, floor: k, width: charWidth*float64(len(name)) + gap}
			known[name] = n
			h.floors[k] = append(h.floors[k], n)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(known)) {
		for _, to := range direct(from, imports) {
			if known[to] != nil {
				h.connect(known[from], known[to])
			}
		}
	}
	return h
}

// direct are the imports of a package that do not follow from its others.
func direct(pkg string, imports map[string][]string) []string {
	reached := map[string]bool{}
	var walk func(p string)
	walk = func(p string) {
		for _, q := range imports[p] {
			if !reached[q] {
				reached[q] = true
				walk(q)
			}
		}
	}
	for _, q := range imports[pkg] {
		walk(q)
	}
	var out []string
	for _, q := range imports[pkg] {
		if !reached[q] {
			out = append(out, q)
		}
	}
	slices.Sort(out)
	return out
}

// connect draws an import as one line from floor to floor.
func (h *house) connect(from, to *node) {
	if from.floor == to.floor {
		h.level = append(h.level, [2]*node{from, to})
		return
	}
	at := from
	for k := from.floor - 1; k >= to.floor; k-- {
		next := to
		if k > to.floor {
			next = &node{floor: k, width: passWidth}
			h.floors[k] = append(h.floors[k], next)
		}
		at.down = append(at.down, next)
		next.up = append(next.up, at)
		at = next
	}
}

// arrange gives every node its place: first an order in each row in which few lines cross
// (Sugiyama, Tagawa, Toda 1981: every node to the mean of those it is tied to, up and
// down again), then places near the means of the neighbors.
func (h *house) arrange() {
	for _, row := range h.floors {
		pack(row, func(n *node) float64 { return 0 })
	}
	for range 40 {
		h.sweep(h.sort)
	}
	for range 40 {
		h.sweep(pack)
	}
	left, right := math.Inf(1), math.Inf(-1)
	for _, row := range h.floors {
		for _, n := range row {
			left, right = min(left, n.x-n.width/2), max(right, n.x+n.width/2)
		}
	}
	for _, row := range h.floors {
		for _, n := range row {
			n.x += gap - left
		}
	}
	h.width = right - left + 2*gap
}

// sweep moves the rows once from the lowest to the highest and back.
func (h *house) sweep(move func(row []*node, wish func(n *node) float64)) {
	below := func(n *node) float64 { return middle(n, n.down) }
	above := func(n *node) float64 { return middle(n, n.up) }
	for _, row := range h.floors {
		move(row, below)
	}
	for _, row := range slices.Backward(h.floors) {
		move(row, above)
	}
	both := func(n *node) float64 { return middle(n, slices.Concat(n.up, n.down)) }
	for _, row := range h.floors {
		move(row, both)
	}
}

func middle(n *node, tied []*node) float64 {
	if len(tied) == 0 {
		return n.x
	}
	sum := 0.
	for _, t := range tied {
		sum += t.x
	}
	return sum / float64(len(tied))
}

// sort orders a row by the wishes and packs it.
func (h *house) sort(row []*node, wish func(n *node) float64) {
	for _, n := range row {
		n.order = wish(n)
	}
	slices.SortStableFunc(row, func(a, b *node) int { return cmp.Compare(a.order, b.order) })
	pack(row, wish)
}

// pack places a row's nodes in their order, without overlaps, at the least sum of squared
// distances from their wishes: neighbors that would overlap become one block at the mean
// of what they wish (pooling of adjacent violators).
func pack(row []*node, wish func(n *node) float64) {
	type block struct {
		sum   float64
		count int
	}
	offsets := make([]float64, len(row))
	var blocks []block
	for k, n := range row {
		if k > 0 {
			offsets[k] = offsets[k-1] + (row[k-1].width+n.width)/2 + gap/2
		}
		b := block{sum: wish(n) - offsets[k], count: 1}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum/float64(last.count) <= b.sum/float64(b.count) {
				break
			}
			b = block{b.sum + last.sum, b.count + last.count}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	k := 0
	for _, b := range blocks {
		for range b.count {
			row[k].x = b.sum/float64(b.count) + offsets[k]
			k++
		}
	}
}
