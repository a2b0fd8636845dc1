package ledgertest

import (
	"bytes"
	"maps"
	"slices"
)

// Recover returns the file system after a power loss at this moment. random(n) draws from
// 0..n-1 and decides what of the unsynced changes is there.
func (c *CrashFS) Recover(random func(n int) int) *CrashFS {
	r := NewCrashFS()
	r.dirs = maps.Clone(c.dirs)
	keep := keeper(random)
	r.durable = maps.Clone(c.durable)
	for _, n := range c.names {
		if keep() {
			n.apply(r.durable)
		}
	}
	fresh := map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(r.durable)) {
		node := r.durable[name]
		if fresh[node] == nil {
			content := node.crash(keep, random)
			fresh[node] = &inode{synced: content, seen: bytes.Clone(content)}
		}
		r.durable[name] = fresh[node]
	}
	r.files = maps.Clone(r.durable)
	return r
}

// keeper decides for one crash whether all, none, or each with probability one half of
// the changes are kept. All of them is what a killed process leaves.
func keeper(random func(n int) int) func() bool {
	switch random(4) {
	case 0:
		return func() bool { return true }
	case 1:
		return func() bool { return false }
	}
	return func() bool { return random(2) == 0 }
}

// crash applies a part of the pending changes to the durable content.
func (n *inode) crash(keep func() bool, random func(n int) int) []byte {
	content := bytes.Clone(n.synced)
	order := make([]int, len(n.pending))
	for i := range order {
		j := random(i + 1)
		order[i], order[j] = order[j], i
	}
	for _, i := range order {
		ch := n.pending[i]
		if ch.data == nil {
			if keep() {
				content = ch.apply(content)
			}
			continue
		}
		for from := 0; from < len(ch.data); { // sectors of the file, each there or not
			to := min(len(ch.data), from+sector-int(ch.offset+int64(from))%sector)
			if keep() {
				content = change{ch.offset + int64(from), ch.data[from:to]}.apply(content)
			}
			from = to
		}
		if random(8) == 0 { // the size may be there without the data
			content = grow(content, ch.offset+int64(len(ch.data)))
		}
	}
	return content
}

func grow(b []byte, size int64) []byte {
	if n := size - int64(len(b)); n > 0 {
		b = append(b, make([]byte, n)...)
	}
	return b
}
