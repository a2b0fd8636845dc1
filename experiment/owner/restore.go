package owner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sotto/config"
	"sotto/internal/atomicfile"
	"sotto/internal/jsontext"
	"sotto/node/checkpoint"
	"sotto/node/roster"
	"sotto/privacy/ledger"
)

// Restore says where a backup goes.
type Restore struct {
	Policy string // file; one that is there stays
	State  string // directory; "": the backup's state is left out
	Key    string // file, which must not exist; "": the backup's key is left out
	FS     ledger.OS
}

// Restored says what Restore.Read did.
type Restored struct {
	Manifest
	PolicyKept bool // there was another policy, which was left as it is
}

// Read restores a backup where no node runs. It never goes back behind what is there:
// ledger.ErrRollback says that a ledger there has records that the backup lacks, or that
// the state there is newer, and nothing is changed then. The state directory gets the
// file checkpoint.RestoredFile before anything else.
func (r *Restore) Read(from string) (*Restored, error) {
	if err := r.FS.MkdirAll(filepath.Dir(r.Policy)); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(r.Policy), ".sotto-restore-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	m, err := unpack(from, temp)
	if err != nil {
		return nil, err
	}
	if err := verifyUnpacked(temp, m, nil, ledger.Options{}); err != nil {
		return nil, err
	}
	p, kept, err := r.policy(temp)
	if err != nil {
		return nil, err
	}
	if err := r.checkKey(temp); err != nil {
		return nil, err
	}
	out := &Restored{Manifest: *m, PolicyKept: kept}
	locks, err := r.lock(p.Ledger)
	defer func() {
		for _, c := range locks {
			c.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	if err := r.check(temp, p.Ledger, m); err != nil {
		return nil, err
	}
	return out, r.install(temp, p.Ledger, m)
}

// policy is the one that holds here: the one that is there, else the backup's.
func (r *Restore) policy(temp string) (p *roster.Policy, kept bool, err error) {
	b, err := os.ReadFile(filepath.Join(temp, "policy.toml"))
	if err != nil {
		return nil, false, err
	}
	have, err := os.ReadFile(r.Policy)
	if err == nil {
		p, err = roster.ReadPolicy(r.Policy)
		return p, !bytes.Equal(have, b), err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if p, err = roster.ParsePolicy(r.Policy, b); err != nil {
		return nil, false, err
	}
	if !filepath.IsAbs(p.Ledger) {
		p.Ledger = filepath.Join(filepath.Dir(r.Policy), p.Ledger)
	}
	return p, false, nil
}

// lock keeps nodes out. The locks that it has taken are returned with an error too.
func (r *Restore) lock(ledgers string) (locks []io.Closer, err error) {
	dirs := []string{ledgers}
	if r.State != "" {
		dirs = append(dirs, r.State)
	}
	inside, err := atomicfile.Glob(ledgers, "*/genesis.json")
	if err != nil {
		return nil, err
	}
	for _, g := range inside {
		dirs = append(dirs, filepath.Dir(g))
	}
	for _, dir := range dirs {
		if err := r.FS.MkdirAll(dir); err != nil {
			return locks, err
		}
		if err := r.FS.Check(dir); err != nil {
			return locks, err
		}
		c, err := r.FS.Lock(filepath.Join(dir, "lock"))
		if err != nil {
			return locks, err
		}
		locks = append(locks, c)
	}
	return locks, nil
}

// check refuses to go back.
func (r *Restore) check(temp, ledgers string, m *Manifest) error {
	if err := r.checkState(temp, m); err != nil {
		return err
	}
	for _, f := range m.Files {
		name, ok := bytes.CutPrefix([]byte(f.Name), []byte("ledger/"))
		if !ok || string(name) == membersFile { // that is merged: see seen
			continue
		}
		there := filepath.Join(ledgers, filepath.FromSlash(string(name)))
		if err := continues(there, filepath.Join(temp, filepath.FromSlash(f.Name))); err != nil {
			return err
		}
	}
	// a segment that only the place has is newer than the backup
	segments, err := atomicfile.Glob(ledgers, "*/*.log")
	if err != nil {
		return err
	}
	for _, s := range segments {
		dir, name := filepath.Split(s)
		inBackup := filepath.Join(temp, "ledger", filepath.Base(dir))
		if _, err := os.Stat(inBackup); err != nil {
			continue // another data set's
		}
		if _, err := os.Stat(filepath.Join(inBackup, name)); err != nil {
			return fmt.Errorf("%w: the backup lacks %s, which is there", ledger.ErrRollback, s)
		}
	}
	return nil
}

// checkState refuses a state that is older than the one there, or of another run.
func (r *Restore) checkState(temp string, m *Manifest) error {
	if r.State == "" || m.Run == "" {
		return nil
	}
	have, err := checkpoint.Take(r.State)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, checkpoint.ErrState):
		// what is damaged may be replaced
		return nil
	case err != nil:
		return err
	}
	s, err := checkpoint.Take(filepath.Join(temp, "state"))
	switch {
	case err != nil:
		return err
	case have.Run != s.Run:
		return r.checkEpoch(temp, have, s)
	case have.Newer(s):
		return fmt.Errorf("%w: %s is at round %d, the backup at %d", ledger.ErrRollback, r.State, have.Round,
			s.Round)
	}
	return nil
}

// checkEpoch refuses a backup of another roster than that of the state there, unless its
// own rosters lead from the one to the other: then it is newer.
func (r *Restore) checkEpoch(temp string, have, s *checkpoint.Snapshot) error {
	leads := func(state string, from, to [32]byte) (bool, error) {
		l, err := readLineage(state)
		at := func(run [32]byte) int {
			return slices.IndexFunc(l.rosters, func(r *roster.Roster) bool { return r.Digest() == run })
		}
		return at(from) >= 0 && at(from) < at(to), err
	}
	newer, err := leads(filepath.Join(temp, "state"), have.Run, s.Run)
	if err != nil || newer {
		return err
	}
	if older, err := leads(r.State, s.Run, have.Run); err == nil && older {
		return fmt.Errorf("%w: %s follows roster %x, the backup an earlier one, %x", ledger.ErrRollback,
			r.State, have.Run[:4], s.Run[:4])
	}
	return fmt.Errorf("%w: %s follows roster %x, the backup %x; allowed: a backup of that roster or of one "+
		"that it leads to, or another --state", checkpoint.ErrState, r.State, have.Run[:4], s.Run[:4])
}

// continues refuses a file of the backup that does not go on from the one that is there.
func continues(there, backup string) error {
	have, err := os.Open(there)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer have.Close()
	next, err := os.Open(backup)
	if err != nil {
		return err
	}
	defer next.Close()
	a, b := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, err := io.ReadFull(have, a)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if k, _ := io.ReadFull(next, b[:n]); k != n || !bytes.Equal(a[:n], b[:n]) {
			return fmt.Errorf(
				"%w: %s holds what the backup lacks; a restored ledger must know of every charge",
				ledger.ErrRollback, there)
		}
		if err != nil {
			return nil
		}
	}
}

// install writes the mark, then the ledgers, the state, the key and, last, the policy,
// without which no node starts.
func (r *Restore) install(temp, ledgers string, m *Manifest) error {
	b, err := json.Marshal(checkpoint.Restored{Restored: true, HeadSeq: m.HeadSeq, Round: m.Round})
	if err != nil {
		return err
	}
	var marked []string // directories: a new one for the state must not lose the note
	if r.State != "" && m.Run != "" {
		marked = append(marked, r.State)
	}
	for _, f := range m.Files {
		if name := filepath.FromSlash(f.Name); filepath.Base(name) == "genesis.json" {
			marked = append(marked, filepath.Dir(r.place(f.Name, ledgers)))
		}
	}
	for _, dir := range marked {
		to := filepath.Join(dir, checkpoint.RestoredFile)
		if err := r.write(to, bytes.NewReader(append(b, '\n'))); err != nil {
			return err
		}
	}
	rank := func(f ManifestFile) int {
		return slices.IndexFunc([]string{"ledger/", "state/", "key", "policy.toml"}, func(p string) bool {
			return len(f.Name) >= len(p) && f.Name[:len(p)] == p
		})
	}
	files := slices.Clone(m.Files)
	slices.SortStableFunc(files, func(a, b ManifestFile) int { return rank(a) - rank(b) })
	for _, f := range files {
		to := r.place(f.Name, ledgers)
		if to == "" {
			continue
		}
		if f.Name == "ledger/"+membersFile {
			if err := r.seen(filepath.Join(temp, "ledger"), ledgers); err != nil {
				return err
			}
			continue
		}
		src, err := os.Open(filepath.Join(temp, filepath.FromSlash(f.Name)))
		if err != nil {
			return err
		}
		err = r.write(to, src)
		if err = errors.Join(err, src.Close()); err != nil {
			return err
		}
	}
	return nil
}

// seen puts what the backup has seen of members' ledgers beside what is there: nothing
// that was seen is forgotten, and nothing of it is a charge of this owner's. A damaged
// file there is put aside; of the backup's, nothing is taken.
func (r *Restore) seen(backup, ledgers string) error {
	from, err := readMemory(backup)
	if err != nil {
		if bad := new(config.Error); errors.As(err, &bad) {
			return nil
		}
		return err
	}
	have, err := readMemory(ledgers)
	at := filepath.Join(ledgers, membersFile)
	if bad := new(config.Error); errors.As(err, &bad) {
		have, err = memory{}, r.FS.Rename(at, at+damaged)
	}
	if err != nil {
		return err
	}
	have.merge(from)
	b, err := have.encode()
	if err != nil {
		return err
	}
	return r.write(at, bytes.NewReader(b))
}

// place is where a file of the backup goes; "": nowhere.
func (r *Restore) place(name, ledgers string) string {
	switch {
	case name == "policy.toml":
		if _, err := os.Lstat(r.Policy); err == nil {
			return ""
		}
		return r.Policy
	case name == "key":
		return r.Key
	case len(name) > 6 && name[:6] == "state/":
		if r.State == "" || name[6:] == checkpoint.RestoredFile {
			return ""
		}
		return filepath.Join(r.State, filepath.FromSlash(name[6:]))
	}
	return filepath.Join(ledgers, filepath.FromSlash(name[len("ledger/"):]))
}

// write makes a file durable that is whole as soon as it has its name.
func (r *Restore) write(to string, src io.Reader) error {
	if err := r.FS.MkdirAll(filepath.Dir(to)); err != nil {
		return err
	}
	temp := to + ".tmp"
	if err := r.FS.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := r.FS.Create(temp)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, src)
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := r.FS.Rename(temp, to); err != nil {
		return err
	}
	return r.FS.SyncDir(filepath.Dir(to))
}

// noteRestored has the ledger, and so every later statement, say that charges after the
// backup may be missing. The note beside the ledger is then in it.
func (p *process) noteRestored() error {
	beside := filepath.Join(p.ledger.Dir(), checkpoint.RestoredFile)
	for _, path := range []string{beside, filepath.Join(p.State, checkpoint.RestoredFile)} {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var mark checkpoint.Restored
		if err == nil {
			err = jsontext.Error(path, b, json.Unmarshal(b, &mark), "what sotto node restore has written")
		}
		if err != nil {
			return err
		}
		if err := p.noteOnce(
			fmt.Sprintf("restored from a backup whose state knew of record %d: charges after the backup "+
				"may be missing", mark.HeadSeq),
		); err != nil {
			return err
		}
	}
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
