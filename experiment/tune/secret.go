package tune

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/internal/atomicfile"
	"sotto/privacy/account"
	"sotto/rng"
)

// Private selection (Papernot, Steinke 2022, Theorems 2 and 6) is about runs of one law,
// drawn independently, whose number nobody knows. Candidates of a public seed are not:
// who reads the chosen values finds out which trial they belong to. So a charged search
// draws candidates, their number, and each trial's batches and noise from a secret of its
// directory.

// secretFile holds the secret of a charged search: 64 hexadecimal digits. Who has it
// knows every trial.
const secretFile = "secret.key"

// searchFile has the digest of the search that the secret serves.
const searchFile = "search.sha256"

// drawSecrets reads or draws the secret, and the number of trials that follows from it.
func (w *searching) drawSecrets() (err error) {
	if !w.t.p.Simulated {
		if err = sameSearch(w); err != nil {
			return err
		}
		if w.t.draws.secret, err = w.secret(); err != nil {
			return err
		}
	}
	w.t.runs, err = w.t.drawRuns()
	return err
}

// sameSearch refuses the secret of another search: what is chosen twice from trials of
// one secret, by other laws or scores, is no two selections whose costs add up.
// Directories of earlier versions do not say whose they are.
func sameSearch(w *searching) error {
	digest, err := w.t.digest()
	if err != nil {
		return err
	}
	path := filepath.Join(w.dir, searchFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return atomicfile.Write(path, []byte(digest+"\n"))
	}
	if found := strings.TrimSpace(string(b)); err == nil && found != digest {
		err = &config.Error{File: path, Found: found, Allowed: digest + ", that of this search: one of " +
			"other keys is a new one, in another directory, and costs its owners again"}
	}
	return err
}

// sameData refuses to go on with a secret whose trials were of other data: the same
// candidates, batches and noise on both are no selection that somebody has paid for.
func sameData(w *searching, first *experiment.Experiment) error {
	other := func(r Trial) bool { return r.Data != "" && r.Data != experiment.DataDigest(first) }
	if w.t.draws.secret == nil || !slices.ContainsFunc(w.table.Rows(), other) {
		return nil
	}
	return &config.Error{File: filepath.Join(w.dir, trialsFile), Key: dataColumn,
		Found: "trials of other data than there are now",
		Allowed: "the data that the search began with: a search of others is a new one, in another " +
			"directory, and costs its owners again"}
}

// secret returns the secret of the directory, which it draws where the search begins. It
// is on disk before a trial follows from it. Nobody else may enter the directory.
func (w *searching) secret() (*rng.Key, error) {
	if err := os.Chmod(w.dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(w.dir, secretFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if len(w.table.Rows()) > 0 {
			return nil, fmt.Errorf("%s is missing, which the trials in %s followed from; a search in "+
				"another directory is a new one, and costs its owners again", path, trialsFile)
		}
		key := rng.NewKey()
		err = atomicfile.Create(path, fmt.Appendf(nil, "%x\n", key[:]), 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		b, err = os.ReadFile(path) // another process may have been first
	}
	if err != nil {
		return nil, err
	}
	key, text := new(rng.Key), strings.TrimSpace(string(b))
	if decoded, err := hex.DecodeString(text); err != nil || copy(key[:], decoded) != len(key) {
		return nil, &config.Error{File: path, Found: fmt.Sprintf("%d bytes", len(b)),
			Allowed: "64 hexadecimal digits, as the search wrote them"}
	}
	return key, nil
}

// draws are where a search's random choices come from.
type draws struct {
	seed   uint64
	secret *rng.Key // in the place of the seed, where the search is charged and not simulated
}

// stream gives the random bits of one choice.
func (d *draws) stream(purpose string, index ...uint64) *rng.Stream {
	if d.secret != nil {
		return rng.Derived(d.secret, purpose, index...)
	}
	return rng.Public(d.seed, purpose, index...)
}

// assumption is what private selection's figure rests on.
func (d *draws) assumption() string {
	const law = "trials are drawn independently from one law, their number from another, both fixed before"
	if d.secret != nil {
		return law + ", and what was drawn is secret"
	}
	return law + ". What was drawn follows from a seed here, where it would have to be secret"
}

// trialNumber seeds the batches and noise of trial n, and is what its configuration calls
// it: n itself, or 63 secret bits.
func (d *draws) trialNumber(n uint64) uint64 {
	if d.secret != nil {
		return max(1, d.stream("trial", n).Uint64()>>1)
	}
	return n
}

// drawRuns draws the number of trials of a charged search.
func (t *Search) drawRuns() (int, error) {
	u, eta := unit(t.draws.stream("number of trials")), laws[t.p.Law]
	if math.IsNaN(eta) {
		return account.SelectionRunsPoisson(float64(t.p.Trials), u)
	}
	if t.p.Trials < 2 {
		return 0, config.Bad("trials", t.p.Trials, "2 or more expected trials with law "+t.p.Law)
	}
	return account.SelectionRuns(float64(t.p.Trials), eta, u)
}
