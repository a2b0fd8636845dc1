package owner

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
	"sotto/data/schema"
	"sotto/experiment/rundir"
	"sotto/internal/atomicfile"
	"sotto/live/event"
	"sotto/node/checkpoint"
	"sotto/node/keyfile"
	"sotto/node/roster"
	"sotto/privacy/ledger"
)

// A backup is a tar archive:
//
//	policy.toml           the owner's
//	state/NAME            files of the state directory
//	ledger/.secret        what records are digested with
//	ledger/.members.json  what was seen of members' ledgers
//	ledger/ID/NAME        files of the ledgers
//	key                   encrypted, if it was asked for
//	backup.json           the manifest, last
//
// State comes before ledgers: a node that runs charges its ledger first, so that the
// ledgers know of all that the state does.
const (
	manifestName   = "backup.json"
	manifestFormat = "sotto backup/1"
	maxManifest    = 1 << 24
	secretName     = ".secret"
)

// Manifest is the last file of a backup.
type Manifest struct {
	Format  string         `json:"format"`
	Round   uint64         `json:"round"`    // of the state; 0 without one
	HeadSeq uint64         `json:"head_seq"` // last record of the ledger that the state knows of
	Run     string         `json:"run"`      // digest of the roster; "" without a state
	Files   []ManifestFile `json:"files"`
}

// ManifestFile is one file of a backup.
type ManifestFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Backup says what of an owner's goes into a backup.
type Backup struct {
	Policy     string             // file; its ledger folder goes with it
	State      string             // directory; "": none
	Key        string             // file; "": none
	Passphrase keyfile.Passphrase // under which a key that is in the open goes into it
}

// archive writes files and notes their digests.
type archive struct {
	w        *tar.Writer
	manifest Manifest
}

func (a *archive) put(name string, size int64, r io.Reader) error {
	if err := a.w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, Typeflag: tar.TypeReg,
		Format: tar.FormatPAX}); err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(a.w, h), r, size); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.manifest.Files = append(a.manifest.Files, ManifestFile{name, size, hex.EncodeToString(h.Sum(nil))})
	return nil
}

func (a *archive) putBytes(name string, b []byte) error {
	return a.put(name, int64(len(b)), bytes.NewReader(b))
}

// putFile writes what a file holds now: what is appended meanwhile is left out.
func (a *archive) putFile(name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return a.put(name, info.Size(), f)
}

// Write makes the backup, in a new file that only its owner may read, while a node runs
// or not, and reads it back. fs.ErrExist: the file exists.
func (b *Backup) Write(to string) (*Manifest, error) {
	p, err := roster.ReadPolicy(b.Policy)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	a := &archive{w: tar.NewWriter(f), manifest: Manifest{Format: manifestFormat}}
	err = b.fill(a, p)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		_, err = VerifyBackup(to, nil)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(to))
	}
	return &a.manifest, nil
}

func (b *Backup) fill(a *archive, p *roster.Policy) error {
	if err := a.putFile("policy.toml", b.Policy); err != nil {
		return err
	}
	if b.State != "" {
		if err := a.putState(b.State); err != nil {
			return err
		}
	}
	if err := a.putLedgers(p.Ledger); err != nil {
		return err
	}
	if b.Key != "" {
		key, err := keyfile.Export(b.Key, b.Passphrase)
		if err != nil {
			return err
		}
		if err := a.putBytes("key", key); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(&a.manifest, "", "  ")
	if err != nil {
		return err
	}
	if err := a.putBytes(manifestName, append(text, '\n')); err != nil {
		return err
	}
	a.manifest.Files = a.manifest.Files[:len(a.manifest.Files)-1] // it does not list itself
	return a.w.Close()
}

// putState writes the stored state as of one moment, and what else there is.
func (a *archive) putState(dir string) error {
	s, err := checkpoint.Take(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Bad("state", dir, "the state directory of a run that has begun")
	}
	if err != nil {
		return err
	}
	a.manifest.Round, a.manifest.HeadSeq, a.manifest.Run = s.Round, s.Head.Seq, fmt.Sprintf("%x", s.Run)
	names, err := ledger.OS{}.List(dir)
	if err != nil {
		return err
	}
	for _, name := range personalFiles {
		if rundir.Stands(filepath.Join(dir, filepath.FromSlash(name))) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if b, ok := s.Files[name]; ok {
			err = a.putBytes("state/"+name, b)
		} else if isStateExtra(name) {
			err = a.putFile("state/"+name, filepath.Join(dir, filepath.FromSlash(name)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stateExtras are files of a state directory that go into a backup beside the stored
// state.
var stateExtras = []string{StatementFile, ModelFile, roundsFile, wakesFile, resultFile, headsFile,
	checkpoint.RestoredFile, rundir.ConfigFile, rundir.NodeFile, schema.FileName,
	rundir.NamesFile, rundir.AnswersFile, rundir.ShapesFile, event.File, event.LocalFile}

// personalFiles are those of the owner's own model.
var personalFiles = []string{PersonalDir + "/" + ModelFile, PersonalDir + "/" + rundir.ConfigFile,
	PersonalDir + "/" + rundir.NamesFile, PersonalDir + "/" + schema.FileName}

func isStateExtra(name string) bool {
	roster, _ := filepath.Match("roster-*.toml", name)
	proof, _ := filepath.Match("proof-*.json", name)
	return roster || proof || slices.Contains(stateExtras, name) || slices.Contains(personalFiles, name)
}

// putLedgers writes the secret, what was seen of members and all ledgers of a folder.
// Segments are appended to, the last one of each ledger perhaps now.
func (a *archive) putLedgers(dir string) error {
	for _, name := range []string{secretName, membersFile} {
		if err := a.putFile("ledger/"+name, filepath.Join(dir, name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		names, err := ledger.OS{}.List(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		for _, name := range names {
			if !isLedgerFile(name) {
				continue
			}
			err := a.putFile(path.Join("ledger", e.Name(), name), filepath.Join(dir, e.Name(), name))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// isLedgerFile reports whether a file of this name in a ledger's directory must not be
// lost.
func isLedgerFile(name string) bool {
	return name == "genesis.json" || name == "population.json" || strings.HasSuffix(name, ".log") ||
		strings.HasSuffix(name, ".sum") || strings.HasSuffix(name, ".fp")
}

// unpack writes the files of a backup into an empty directory, and checks their digests.
func unpack(from, dir string) (*Manifest, error) {
	f, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	bad := func(format string, args ...any) error {
		return &config.Error{File: from, Found: fmt.Sprintf(format, args...),
			Allowed: "a whole backup that sotto node backup made"}
	}
	r, m := tar.NewReader(f), Manifest{}
	var found []ManifestFile
	for {
		h, err := r.Next()
		switch {
		case err == io.EOF:
			return nil, bad("no %s: the archive ends early", manifestName)
		case err != nil:
			return nil, bad("%v", err)
		case h.Typeflag != tar.TypeReg || !inBackup(h.Name):
			return nil, bad("a file %q", h.Name)
		case h.Name != manifestName:
			sum, err := extract(filepath.Join(dir, filepath.FromSlash(h.Name)), r)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, bad("%s: the archive ends early", h.Name)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", from, h.Name, err)
			}
			found = append(found, ManifestFile{h.Name, h.Size, sum})
			continue
		}
		d := json.NewDecoder(io.LimitReader(r, maxManifest))
		d.DisallowUnknownFields()
		switch err := d.Decode(&m); {
		case err != nil:
			return nil, bad("%s: %v", manifestName, err)
		case m.Format != manifestFormat:
			return nil, bad("format %q", m.Format)
		case !slices.Equal(m.Files, found):
			return nil, bad("files that differ from %s", manifestName)
		}
		return &m, nil
	}
}

// inBackup reports whether a file of this name may be in a backup.
func inBackup(name string) bool {
	parts := strings.Split(name, "/")
	switch {
	case !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name ||
		strings.Contains(name, `\`):
		return false
	case len(parts) == 1:
		return name == "policy.toml" || name == "key" || name == manifestName
	case parts[0] == "state":
		return isStateExtra(name[len("state/"):]) ||
			len(parts) == 2 && strings.HasPrefix(parts[1], "checkpoint")
	}
	return parts[0] == "ledger" && (len(parts) == 2 && (parts[1] == secretName || parts[1] == membersFile) ||
		len(parts) == 3 && isLedgerFile(parts[2]))
}

// extract writes a new file and returns its SHA-256.
func extract(to string, r io.Reader) (sum string, err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), r)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// VerifyBackup checks the digests of a backup and verifies every ledger in it, as
// [ledger.Verify] does with o; report, when not nil, gets what was found of each.
func VerifyBackup(from string, report func(ledger.Report) error, o ...ledger.Options) (*Manifest, error) {
	dir, err := os.MkdirTemp(filepath.Dir(from), ".sotto-backup-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	m, err := unpack(from, dir)
	if err != nil {
		return nil, err
	}
	return m, verifyUnpacked(dir, m, report, append(o, ledger.Options{})[0])
}

// verifyUnpacked verifies the ledgers of a backup that lies in dir, and that they know of
// all that the state does.
func verifyUnpacked(dir string, m *Manifest, report func(ledger.Report) error, o ledger.Options) error {
	ledgers, err := atomicfile.Glob(dir, "ledger/*/genesis.json")
	if err != nil {
		return err
	}
	reached := m.HeadSeq == 0
	for _, genesis := range ledgers {
		r, err := ledger.Verify(filepath.Dir(genesis), o)
		if err == nil && report != nil {
			err = report(r)
		}
		if err != nil {
			return fmt.Errorf("backup, ledger %s: %w", filepath.Base(filepath.Dir(genesis)), err)
		}
		reached = reached || r.LastSeq >= m.HeadSeq
	}
	if !reached {
		return fmt.Errorf("%w: the backup's state knows of record %d, which no ledger in it has",
			ledger.ErrRollback, m.HeadSeq)
	}
	return nil
}

// checkKey refuses a file that is there, and a key that the backup lacks.
func (r *Restore) checkKey(temp string) error {
	if r.Key == "" {
		return nil
	}
	if _, err := os.Lstat(r.Key); err == nil {
		return config.Bad("key", r.Key, "a file that does not exist yet: a key is never replaced")
	}
	if _, err := os.Stat(filepath.Join(temp, "key")); err != nil {
		return config.Bad("key", r.Key, "nothing: the backup holds no key")
	}
	return nil
}
