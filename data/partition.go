package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sotto/config"
)

// Partitioner splits the rows of a data set among agents. decode fills the partition's
// parameter struct strictly over its defaults.
type Partitioner func(decode func(any) error, ds *Dataset, agents int, seed uint64) ([][]int32, error)

// Partitions names every partition. Each row goes to exactly one agent, except what
// by-class drops when it is told to truncate. All are deterministic in the data set and
// the seed.
//
// The record counts m_i that result are functions of the data. They are public under
// replace-one and zero-out adjacency only; under add-remove neither they nor anything
// computed from them may reach an algorithm, and dirichlet, which redraws until private
// counts are large enough, and by-class with truncate must not be used on data that are
// to be protected.
var Partitions = map[string]Partitioner{
	"a":         overlap,
	"by-class":  byClass,
	"by-value":  byValue,
	"dirichlet": dirichlet,
	"iid":       iid,
	"natural":   natural,
}

// ByGroups says that the partition called name gives agents the groups of the data set,
// so that the group of a record says whose it is.
func ByGroups(name string) bool { return name == "natural" }

const maxAgents = 1 << 24

// Partition returns the row indices of each agent, ascending. It is an error when there
// is no data set, and when an agent gets no record, unless the parameter allow_empty,
// which every partition has, is true.
func Partition(name string, ds *Dataset, agents int, seed uint64, decode func(params any) error) ([][]int32,
	error) {
	split, ok := Partitions[name]
	switch {
	case !ok:
		return nil, config.Bad("partition", name, config.OneOf(Partitions))
	case agents < 1 || agents > maxAgents:
		return nil, config.Bad("agents", agents, fmt.Sprintf("1 to %d", maxAgents))
	case ds == nil:
		return nil, config.Bad("data", "nothing", "a data set")
	}
	if err := ds.together(name); err != nil {
		return nil, err
	}
	if err := ds.numbered(); err != nil {
		return nil, err
	}
	parts, err := split(orDefaults(decode), ds, agents, seed)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		slices.Sort(p)
	}
	return parts, nil
}

// numbered refuses labels that are no classes, and groups below 0, of a data set that a
// program has made.
func (ds *Dataset) numbered() error {
	for i, c := range ds.Labels {
		if c < 0 || ds.Classes > 0 && int(c) >= ds.Classes {
			return config.Bad(fmt.Sprintf("labels[%d]", i), c, fmt.Sprintf("0 to %d", ds.Classes-1))
		}
	}
	if i := slices.IndexFunc(ds.Groups, func(g int32) bool { return g < 0 }); i >= 0 {
		return config.Bad(fmt.Sprintf("groups[%d]", i), ds.Groups[i], "at least 0")
	}
	return nil
}

func nonEmpty(parts [][]int32, allowEmpty bool) ([][]int32, error) {
	if allowEmpty {
		return parts, nil
	}
	empty := 0
	first := -1
	for i, p := range parts {
		if len(p) == 0 {
			if first < 0 {
				first = i
			}
			empty++
		}
	}
	if empty > 0 {
		return nil, config.Bad("partition",
			fmt.Sprintf("%d of %d agents without records, the first is agent %d", empty, len(parts), first),
			"at least one record for each agent, or allow_empty = true")
	}
	return parts, nil
}

// byLabel returns the rows of each class in data set order.
func byLabel(ds *Dataset) ([][]int32, error) {
	if ds.Classes == 0 {
		return nil, config.Bad("partition", ds.Name+" (regression)", "a data set with classes")
	}
	rows := make([][]int32, ds.Classes)
	for i, c := range ds.Labels {
		rows[c] = append(rows[c], int32(i))
	}
	return rows, nil
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x706172746974696f)) }

// OverlapParams are the parameters of partition "a".
type OverlapParams struct {
	T          float64 `toml:"t"` // 0 to 1; 0: each agent gets every class alike, 1: classes are kept apart
	AllowEmpty bool    `toml:"allow_empty"`
}

// Share returns a_ij(t), the share of class j that agent i of n gets for t < 1: t +
// (1-t)/n for i = j mod n, (1-t)/n for other agents and 0 for i outside 0 to n-1.
func Share(i, j, n int, t float64) float64 {
	if i < 0 || i >= n {
		return 0
	}
	if i == j%n {
		return t + (1-t)/float64(n)
	}
	return (1 - t) / float64(n)
}

// overlap is the partition A(t) of Bayrooti, Gao, Prorok 2023. In data set order agent i
// takes floor(a_ij·count) records of class j after its predecessor's, and the last agent
// the rest. t = 1 is a case of its own: the classes are cut into as many contiguous
// chunks as there are agents (sizes within one), which go to the agents in a seeded
// order. So t -> 1 does not approach t = 1 where there are more classes than agents.
func overlap(decode func(any) error, ds *Dataset, agents int, seed uint64) ([][]int32, error) {
	var p OverlapParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if !(p.T >= 0 && p.T <= 1) {
		return nil, config.Bad("t", p.T, "[0, 1]")
	}
	classes, err := byLabel(ds)
	if err != nil {
		return nil, err
	}
	parts := make([][]int32, agents)
	if p.T == 1 {
		for chunk, i := range source(seed).Perm(agents) {
			from, to := chunk*len(classes)/agents, (chunk+1)*len(classes)/agents
			for _, rows := range classes[from:to] {
				parts[i] = append(parts[i], rows...)
			}
		}
		return nonEmpty(parts, p.AllowEmpty)
	}
	for j, rows := range classes {
		count := len(rows)
		for i := range agents {
			take := int(Share(i, j, agents, p.T) * float64(count))
			if take = min(take, len(rows)); i == agents-1 {
				take = len(rows)
			}
			parts[i] = append(parts[i], rows[:take]...)
			rows = rows[take:]
		}
	}
	return nonEmpty(parts, p.AllowEmpty)
}

// ByClassParams are the parameters of partition "by-class".
type ByClassParams struct {
	Classes    int  `toml:"classes"`  // classes of each agent, 1 to all; default 2
	Truncate   bool `toml:"truncate"` // cut every shard to the smallest, so that all agents have equally many
	AllowEmpty bool `toml:"allow_empty"`
}

// byClass gives every agent the same number of classes. Classes are dealt out in turn
// from a seeded order to agents in a seeded order; the holders of a class share its
// records, shuffled, in shards that are equal within one record. agents x classes must
// reach the number of classes, or records would be lost.
func byClass(decode func(any) error, ds *Dataset, agents int, seed uint64) ([][]int32, error) {
	p := ByClassParams{Classes: 2}
	if err := decode(&p); err != nil {
		return nil, err
	}
	classes, err := byLabel(ds)
	if err != nil {
		return nil, err
	}
	k := len(classes)
	if p.Classes < 1 || p.Classes > k || agents*p.Classes < k {
		return nil, config.Bad("classes", p.Classes,
			fmt.Sprintf("%d to %d, so that %d agents hold all %d classes", (k+agents-1)/agents, k, agents, k))
	}
	r := source(seed)
	order := r.Perm(k)
	holders := make([][]int, k)
	for turn, i := range r.Perm(agents) {
		for s := range p.Classes {
			c := order[(turn*p.Classes+s)%k]
			holders[c] = append(holders[c], i)
		}
	}
	smallest := math.MaxInt
	for c, rows := range classes {
		smallest = min(smallest, len(rows)/len(holders[c]))
	}
	parts := make([][]int32, agents)
	for c, rows := range classes {
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		n := len(holders[c])
		for s, i := range holders[c] {
			shard := rows[s*len(rows)/n : (s+1)*len(rows)/n]
			if p.Truncate {
				shard = shard[:smallest]
			}
			parts[i] = append(parts[i], shard...)
		}
	}
	return nonEmpty(parts, p.AllowEmpty)
}

// EvenParams are the parameters of partition "iid".
type EvenParams struct {
	AllowEmpty bool `toml:"allow_empty"`
}

// iid shuffles all records, or persons, and deals them out in lots that are equal within
// one.
func iid(decode func(any) error, ds *Dataset, agents int, seed uint64) ([][]int32, error) {
	var p EvenParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if ds.Units != nil {
		return nonEmpty(iidUnits(ds, agents, seed), p.AllowEmpty)
	}
	n := ds.Len()
	rows := make([]int32, n)
	for i, r := range source(seed).Perm(n) {
		rows[i] = int32(r)
	}
	return nonEmpty(lots(rows, agents), p.AllowEmpty)
}

// groupCount is the number of groups, those without records included.
func (d *Dataset) groupCount() int {
	n := len(d.GroupNames)
	for _, g := range d.Groups {
		n = max(n, int(g)+1)
	}
	return n
}

// NaturalParams are the parameters of partition "natural".
type NaturalParams struct {
	AllowEmpty bool `toml:"allow_empty"`
	// MergeGroups lets agents hold several groups each, if groups outnumber agents.
	MergeGroups bool `toml:"merge_groups,omitempty"`
}

// natural keeps the records of a group (hospital, person) on one agent: group g goes to
// agent g mod agents. More agents than groups leave agents empty. Fewer, but more
// than one, are refused unless the parameters let groups merge. Who has records in two
// groups is a person at each of two agents: an agent's guarantee is for its own records.
func natural(decode func(any) error, ds *Dataset, agents int, _ uint64) ([][]int32, error) {
	var p NaturalParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if ds.Groups == nil {
		return nil, config.Bad("partition", ds.Name+" (no groups)", "a data set with groups")
	}
	if n := ds.groupCount(); n > agents && agents > 1 && !p.MergeGroups {
		return nil, config.Bad("partition", fmt.Sprintf("natural: %d groups for %d agents", n, agents),
			fmt.Sprintf("topology.agents = %d, or merge_groups = true: agent i then holds group i, i + %d "+
				"and so on", n, agents))
	}
	parts := make([][]int32, agents)
	for row, g := range ds.Groups {
		i := int(g) % agents
		parts[i] = append(parts[i], int32(row))
	}
	return nonEmpty(parts, p.AllowEmpty)
}
