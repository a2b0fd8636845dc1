package owner

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"sotto/config"
	"sotto/internal/atomicfile"
	"sotto/node/mark"
	"sotto/privacy/ledger"
)

// membersFile lies with the owner's ledgers and outlives runs: the furthest record of
// each member's ledgers that its nodes have signed.
const membersFile = ".members.json"

// remembered is what was seen of one member over all runs.
type remembered struct {
	Key     string            `json:"key"`     // of the member
	Ledgers map[string]uint64 `json:"ledgers"` // last record, by id
	Last    string            `json:"last"`    // the ledger of the last run
	// Run is the last run, in which the node itself sees what goes back.
	Run string `json:"run,omitempty"`
}

// memory is what an owner remembers of members, by key.
type memory map[string]*remembered

// readMemory reads the file in the folder of ledgers; none is empty.
func readMemory(dir string) (memory, error) {
	var all []*remembered
	path := filepath.Join(dir, membersFile)
	const allowed = "what a node has seen of members' ledgers; delete it to forget them"
	err := readStrict(path, &all, allowed)
	if errors.Is(err, fs.ErrNotExist) {
		return memory{}, nil
	}
	m := memory{}
	for _, r := range all {
		if r == nil {
			return m, &config.Error{File: path, Found: "a member that is null", Allowed: allowed}
		}
		if r.Ledgers == nil {
			r.Ledgers = map[string]uint64{}
		}
		m[r.Key] = r
	}
	return m, err
}

// see takes in a verified mark of a member. It returns what is wrong with the member's
// ledger in comparison with former runs, "" where nothing is, and whether anything is
// new. old: the mark may be older than what was seen last, in another run.
func (m memory) see(key, run string, k *mark.Mark, old bool) (wrong string, changed bool) {
	if k.Head == (ledger.Head{}) {
		return "", false
	}
	id := hex.EncodeToString(k.Ledger[:])
	r := m[key]
	if r == nil {
		r = &remembered{Key: key, Ledgers: map[string]uint64{}, Last: id}
		m[key] = r
	}
	had, known := r.Ledgers[id]
	switch {
	case known && k.Head.Seq < had && (old || r.Run == run): // it was stored before what was seen last
		return "", false
	case known && k.Head.Seq < had:
		return "its ledger has fewer records than in a run before: it was rolled back", false
	case !known && !old && len(r.Ledgers) > 0 && r.Last != id:
		wrong = "it has a ledger that was not there in former runs: other people's data, or one made anew"
	}
	changed = r.Last != id || k.Head.Seq > had || !known || r.Run != run
	r.Ledgers[id], r.Last, r.Run = k.Head.Seq, id, run
	return wrong, changed
}

// renew goes on with what was seen of a member under its former key.
func (m memory) renew(former, key string) {
	if r := m[former]; r != nil && m[key] == nil {
		delete(m, former)
		r.Key, m[key] = key, r
	}
}

// write replaces the file, sorted by key.
func (m memory) write(dir string) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	return atomicfile.WriteMode(filepath.Join(dir, membersFile), b, 0o600)
}

func (m memory) encode() ([]byte, error) {
	var all []*remembered
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	b, err := json.MarshalIndent(all, "", "  ")
	return append(b, '\n'), err
}

// merge takes in what another file has seen. The furthest record counts: what was seen
// once was there. The last run is the other file's where that goes further and this one
// does not.
func (m memory) merge(other memory) {
	for key, o := range other {
		r := m[key]
		if r == nil {
			m[key] = o
			continue
		}
		if o.beyond(r) && !r.beyond(o) {
			r.Last, r.Run = o.Last, o.Run
		}
		for id, seq := range o.Ledgers {
			r.Ledgers[id] = max(r.Ledgers[id], seq)
		}
	}
}

// beyond reports whether it has a record that the other lacks.
func (r *remembered) beyond(other *remembered) bool {
	for id, seq := range r.Ledgers {
		if had, known := other.Ledgers[id]; !known || seq > had {
			return true
		}
	}
	return false
}
