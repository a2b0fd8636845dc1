package ledger

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
)

// OpenFor opens the ledger that the data set p must be charged to, in the owner's policy
// directory, which holds all ledgers of one owner; [Find] says which one that is and why.
// An opened ledger keeps its budget, whatever g says about it, and p's records are added
// to it; so a corrected or a grown data set stays under the old budget. Otherwise a new
// ledger is made from g. The directory is locked meanwhile.
//
// anew is the owner's word that the people of g.Population are others than those of the
// ledgers that may be theirs. It counts only where p shares no record with any ledger;
// every ledger concerned, and so every later statement, records it.
//
// ErrRollback: o knows of records of a ledger that is not there. Nothing is made then.
func OpenFor(policyDir string, p *Fingerprint, g Genesis, anew bool, o Options) (*File, Found, error) {
	if p == nil {
		return nil, Found{}, config.Bad("fingerprint", "nothing", "the fingerprint of the data in use")
	}
	if err := errors.Join(o.fill(), o.needKey()); err != nil {
		return nil, Found{}, err
	}
	o.Fingerprint = p
	if err := o.FS.MkdirAll(policyDir); err != nil {
		return nil, Found{}, err
	}
	lock, err := o.FS.Lock(filepath.Join(policyDir, lockFile))
	if err != nil {
		return nil, Found{}, err
	}
	found, beside, err := find(policyDir, g, anew, &o)
	if err != nil {
		return nil, found, errors.Join(err, lock.Close())
	}
	f, err := openFound(&found, beside, g, o)
	if cerr := lock.Close(); cerr != nil && err == nil {
		return nil, found, errors.Join(cerr, f.Close())
	}
	return f, found, err
}

func openFound(found *Found, beside []kept, g Genesis, o Options) (*File, error) {
	switch found.Match {
	case Fresh, Anew:
		if known := max(o.KnownSeq, o.KnownHead.Seq); known > 0 {
			return nil, lost(filepath.Dir(found.Dir), known)
		}
		for _, k := range beside {
			if err := noteBeside(k.dir, o); err != nil {
				return nil, err
			}
			g.Beside = append(g.Beside, k.genesis.ID)
		}
		return Create(found.Dir, g, o)
	}
	if _, err := readAll(o.FS, filepath.Join(found.Dir, GenesisFile), maxGenesis); err != nil {
		return nil, err
	}
	f, err := take(found.Dir, o, func(f *File) error {
		f.byName = found.Match == ByName
		return f.open()
	})
	if err == nil && found.adopt {
		if err := f.adopt(f.chain.genesis.ID, g.Population, o.Key); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, err
}

// lost refuses to begin a ledger anew.
func lost(policyDir string, known uint64) error {
	return fmt.Errorf("%w: %s holds no ledger of these data, but record %d is known to have existed; "+
		"allowed: the newest ledger of these data, or its backup", ErrRollback, policyDir, known)
}

// besideNote is recorded by a ledger beside which another one was begun.
const besideNote = "another ledger was begun for the population of this one, by the owner's word that its " +
	"people are others (new-population)"

// begunNote is recorded by a ledger that was begun beside others.
func begunNote(ids []string) string {
	return "begun beside ledger " + strings.Join(ids, ", ") + " of the same population, by the owner's " +
		"word that its people are others (new-population)"
}

// noteBeside has the ledger in dir record that another one is begun beside it.
func noteBeside(dir string, o Options) error {
	o.Fingerprint, o.Filter, o.KnownSeq, o.KnownHead = nil, nil, 0, Head{}
	f, err := Open(dir, o)
	if err != nil {
		return err
	}
	if !slices.Contains(f.chain.overrides, besideNote) {
		err = f.Override(besideNote)
	}
	return errors.Join(err, f.Close())
}

// Match says why data are charged to a ledger.
type Match string

const (
	Fresh     Match = "fresh"      // a new one: none is theirs
	Anew      Match = "anew"       // a new one, by the owner's word that these are other people
	ByRecords Match = "by records" // they share records with those charged before
	ByName    Match = "by name"    // they share none, but their population has this ledger
	// Elsewhere: they share records with those of another population, whose ledger it is.
	Elsewhere Match = "elsewhere"
)

// Found is the ledger that a data set is charged to.
type Found struct {
	Dir        string
	Match      Match
	Population string // of the ledger, "" where it has no name
	// Charged is the fingerprint of what was charged to it before, nil for a new ledger.
	Charged *Fingerprint
	adopt   bool // the ledger has no name yet and gets that of the population
}

// Warning says what the owner should know of the match; "": nothing.
func (f *Found) Warning() string {
	switch f.Match {
	case ByName:
		return fmt.Sprintf("the file shares no record with what was charged before, and is charged to the "+
			"ledger of its population %q all the same; if these are other people, give them a population "+
			"of their own in the policy", f.Population)
	case Elsewhere:
		return fmt.Sprintf("the file shares records with population %q, whose ledger it is charged to",
			f.Population)
	case Anew:
		return "a new ledger is begun for a population that has one, by your word that these are other people"
	}
	return ""
}

// kept is a ledger of a policy directory.
type kept struct {
	dir        string
	genesis    Genesis
	population string
	stored     *Fingerprint
	shares     bool // a record with the data in use
}

func (k *kept) String() string {
	if k.population == "" {
		return k.dir + " (without a name)"
	}
	return fmt.Sprintf("%s (population %q)", k.dir, k.population)
}

// Find returns the ledger that the data set p of population g.Population has to be
// charged to, as [OpenFor] would open it, and changes nothing. The rules, of which the
// first that fits decides:
//
//   - p shares a record with one ledger: that one. ErrDataset if its population already
//     has another ledger.
//   - p shares records with several ledgers, each with its own budget: ErrDataset.
//   - The population has a ledger: that one, the last begun where there are several, or
//     with anew a new one.
//   - There are ledgers of no name, from before populations had one, and p shares no
//     record with them: ErrDataset, or with anew a new one.
//   - Otherwise a new one.
//
// Without a population in g only records count, and what shares none has a new ledger.
// ErrDataset too: the ledger has another adjacency or unit than g.
func Find(policyDir string, p *Fingerprint, g Genesis, anew bool, o Options) (Found, error) {
	if p == nil {
		return Found{}, config.Bad("fingerprint", "nothing", "the fingerprint of the data in use")
	}
	if err := o.fill(); err != nil {
		return Found{}, err
	}
	o.Fingerprint = p
	found, _, err := find(policyDir, g, anew, &o)
	return found, err
}

// find is Find with the ledgers beside which a new one begins.
func find(policyDir string, g Genesis, anew bool, o *Options) (Found, []kept, error) {
	all, err := keptIn(policyDir, o)
	if err != nil {
		return Found{}, nil, err
	}
	fresh := Found{Dir: filepath.Join(policyDir, o.Fingerprint.Tag()), Match: Fresh, Population: g.Population}
	var sharing, named, nameless []kept
	for _, k := range all {
		switch {
		case k.shares:
			sharing = append(sharing, k)
		case g.Population == "":
		case k.population == g.Population:
			named = append(named, k)
		case k.population == "":
			nameless = append(nameless, k)
		}
	}
	var found Found
	switch {
	case len(sharing) > 1:
		return Found{}, nil, fmt.Errorf("%w: it shares records with several ledgers, %s; allowed: data that "+
			"overlap one", ErrDataset, list(sharing))
	case len(sharing) == 1:
		found, err = sharing[0].found(g.Population, named)
	case len(named) > 0 && !anew:
		found, err = latest(named)
	case len(named) > 0:
		fresh.Match = Anew
		return fresh, named, nil
	case len(nameless) > 0 && !anew:
		return Found{}, nil, fmt.Errorf("%w: it shares no record with %s, from before ledgers had the name "+
			"of a population, and may be a new export of the same people; allowed: first a run with the "+
			"file that such a ledger was made for, which names it, or --i-understand new-population where "+
			"these are other people", ErrDataset, list(nameless))
	case len(nameless) > 0:
		fresh.Match = Anew
		return fresh, nameless, nil
	default:
		return fresh, nil, nil
	}
	if err != nil {
		return Found{}, nil, err
	}
	k := &all[slices.IndexFunc(all, func(k kept) bool { return k.dir == found.Dir })]
	if err := sameTerms(&k.genesis, k.dir, &g); err != nil {
		return found, nil, err
	}
	if o.owner() != nil {
		_, err = k.keys(o)
	}
	return found, nil, err
}

// sameTerms refuses a ledger that was made for another adjacency or unit than g.
func sameTerms(old *Genesis, dir string, g *Genesis) error {
	if old.Adjacency != g.Adjacency || old.Unit != g.Unit {
		return fmt.Errorf("%w: %s has adjacency %v and unit %v, asked: %v and %v; allowed: a run with the "+
			"ledger's, which are chosen once for a population. A ledger in another folder (ledger in the "+
			"policy) has a whole budget and forgets the charges of this one: whoever uses it adds up both "+
			"by hand", ErrDataset, dir, old.Adjacency, old.Unit, g.Adjacency, g.Unit)
	}
	return nil
}

// found is the match of the one ledger that shares records; named are others of the
// population.
func (k *kept) found(population string, named []kept) (Found, error) {
	f := Found{Dir: k.dir, Match: ByRecords, Population: k.population, Charged: k.stored}
	if population == "" || k.population == population {
		return f, nil
	}
	if len(named) > 0 {
		return Found{}, fmt.Errorf("%w: it shares records with %s, and population %q has %s; allowed: data "+
			"of one of them, or the name of a population of their own", ErrDataset, k, population,
			list(named))
	}
	if f.adopt = k.population == ""; f.adopt {
		f.Population = population
	} else {
		f.Match = Elsewhere
	}
	return f, nil
}

// latest is the ledger of a population that no other one was begun beside.
func latest(named []kept) (Found, error) {
	var last []kept
	for _, k := range named {
		after := func(o kept) bool { return slices.Contains(o.genesis.Beside, k.genesis.ID) }
		if !slices.ContainsFunc(named, after) {
			last = append(last, k)
		}
	}
	if len(last) != 1 {
		return Found{}, fmt.Errorf("%w: its population has several ledgers, %s, and it shares records with "+
			"none; allowed: one ledger of a population", ErrDataset, list(named))
	}
	k := &last[0]
	return Found{Dir: k.dir, Match: ByName, Population: k.population, Charged: k.stored}, nil
}

func list(ledgers []kept) string {
	texts := make([]string, len(ledgers))
	for i := range ledgers {
		texts[i] = ledgers[i].String()
	}
	return strings.Join(texts, ", ")
}

// keptIn lists the ledgers below policyDir. There is none where it does not exist.
func keptIn(policyDir string, o *Options) (all []kept, err error) {
	dirs, err := ledgersIn(o.FS, policyDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		k := kept{dir: dir}
		if _, k.stored, err = storedFingerprints(o.FS, k.dir); err != nil {
			return nil, err
		}
		if k.stored == nil {
			return nil, fmt.Errorf("%w: %s lacks its fingerprint", ErrDataset, k.dir)
		}
		if k.shares, err = k.stored.Overlaps(o.Fingerprint); err != nil {
			return nil, fmt.Errorf("%s: %w", k.dir, err)
		}
		if err := k.named(o); err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// named finds out which population the ledger has, and whose it is. It reads records only
// where the genesis does not name the owner, after a rotation. That the owner has rotated
// it away is found when it is chosen.
func (k *kept) named(o *Options) (err error) {
	if k.genesis, _, err = readGenesis(o.FS, k.dir); err != nil {
		return err
	}
	if owner := o.owner(); owner != nil && !owner.Equal(k.genesis.key()) {
		if _, err := k.keys(o); err != nil {
			return err
		}
	}
	k.population, err = populationOf(o.FS, k.dir, &k.genesis,
		func() (*keyring, error) { return k.keys(o) })
	return err
}

// keys reads which keys the ledger has had. ErrKey: the last one is not the owner's.
func (k *kept) keys(o *Options) (*keyring, error) {
	b, err := Read(k.dir, Options{FS: o.FS, PublicKey: o.owner()})
	if err != nil {
		return nil, err
	}
	return &b.chain.keyring, nil
}

// owner is the present key that is expected, nil for any.
func (o *Options) owner() ed25519.PublicKey {
	if o.Key != nil {
		return publicKey(o.Key)
	}
	return o.PublicKey
}
