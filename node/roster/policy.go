package roster

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sotto/config"
	"sotto/internal/tomltext"
	"sotto/privacy"
	"sotto/privacy/account"
)

const policyVersion = 1

// Policy is what an owner allows to be done with its data. It overrides every experiment:
// what it does not allow is refused, and its lifetime budget holds over all runs on the
// same data.
type Policy struct {
	Version int `toml:"version"` // version of this format: 1
	// Ledger is the folder of the owner's ledgers, one for each population; its path is
	// relative to the policy file. It belongs to the owner and not to a run: no
	// experiment can start a fresh one.
	Ledger     string   `toml:"ledger"`
	Algorithms []string `toml:"algorithms"` // algorithms that may run
	Peers      []string `toml:"peers"`      // peer ids of the other members to take part with
	// MinimumBatch is the smallest expected number of records in a batch, of persons with
	// unit person, >= 0. Under adjacency add-remove, where their number is secret, it is
	// compared with batch_size of the run file. With unit owner a batch counts as 1.
	MinimumBatch float64 `toml:"minimum_batch"`
	// Curious is for noise that members share. It says whose secrets the adversary knows
	// against whom this noise must protect: "neighbors" (default), those of all whom the
	// owner shares noise with; "one", those of any one member; "none".
	Curious string `toml:"curious,omitempty"`
	// Liars says what happens to a member that sent two different contents for one round:
	// "name" (default) names it, "drop" also refuses its messages: under missing proceed
	// rounds go on without it, under wait they wait for it. Nodes that wake by clocks go
	// on with its last message.
	Liars string `toml:"liars,omitempty"`
	// LogLevel is how much a node logs: debug, info, warn or error; "": as the command
	// line says.
	LogLevel string          `toml:"log_level,omitempty"`
	Datasets []DatasetPolicy `toml:"dataset"`
}

// DatasetPolicy is the budget of one population whose records come as a data set, over
// its whole life.
type DatasetPolicy struct {
	Name string `toml:"name"` // name of the data set, as in [data] dataset of the run file
	// Population names the people that the budget belongs to, whatever file their records
	// come in; default: Name. The name is for the owner alone, and is never sent.
	Population string `toml:"population,omitempty"`
	// KeyColumn is the column of the owner's file that names the person each record
	// belongs to; "": none.
	KeyColumn string `toml:"key_column,omitempty"`
	// LifetimeEpsilon is the most that all runs on these people's records may cost
	// together, at LifetimeDelta; above 0 and finite.
	LifetimeEpsilon float64 `toml:"lifetime_epsilon"`
	// LifetimeDelta is above 0 and below 1/MinRecords, better a tenth of that.
	LifetimeDelta float64 `toml:"lifetime_delta"`
	MinRecords    int     `toml:"min_records"` // a public lower bound on the number of records, 1 or more
	QuestionPolicy
}

// ReadPolicy reads a policy file.
func ReadPolicy(path string) (*Policy, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := ParsePolicy(path, b)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(p.Ledger) {
		p.Ledger = filepath.Join(filepath.Dir(path), p.Ledger)
	}
	return p, nil
}

// ParsePolicy is ReadPolicy on bytes, with the ledger's folder as it is written.
func ParsePolicy(file string, b []byte) (*Policy, error) {
	p := new(Policy)
	if err := tomltext.Decode(file, b, p); err != nil {
		return nil, err
	}
	return p, inFile(file, p.validate())
}

func (p *Policy) validate() error {
	switch {
	case p.Version != policyVersion:
		return config.Bad("version", p.Version, fmt.Sprint(policyVersion))
	case p.Ledger == "":
		return config.Bad("ledger", p.Ledger, "the folder of the owner's ledgers")
	case len(p.Algorithms) == 0:
		return config.Bad("algorithms", "nothing", "names of algorithms that may run")
	case len(p.Datasets) == 0:
		return config.Bad("dataset", "nothing", "at least one [[dataset]] with its lifetime budget")
	case !(p.MinimumBatch >= 0) || math.IsInf(p.MinimumBatch, 1):
		return config.Bad("minimum_batch", p.MinimumBatch, "at least 0 and finite")
	case p.Liars != "" && p.Liars != NameLiars && p.Liars != DropLiars:
		return config.Bad("liars", p.Liars, NameLiars+" or "+DropLiars)
	case p.Curious != "" && !slices.Contains(suspicion, p.Curious):
		return config.Bad("curious", p.Curious, "one of "+strings.Join(suspicion, ", "))
	}
	if p.LogLevel != "" {
		if _, err := ParseLogLevel(p.LogLevel); err != nil {
			return err
		}
	}
	for i, id := range p.Peers {
		if _, err := ParsePeerID(id); err != nil {
			return config.Bad(fmt.Sprintf("peers[%d]", i), id,
				"64 hexadecimal digits, as sotto keygen prints them")
		}
	}
	for i := range p.Datasets {
		d := &p.Datasets[i]
		d.Population = cmp.Or(d.Population, d.Name)
		key := func(k string) string { return fmt.Sprintf("dataset[%d].%s", i, k) }
		switch {
		case d.Name == "":
			return config.Bad(key("name"), d.Name, "the name of a data set")
		case !isName(d.Population) || slices.ContainsFunc(p.Datasets[:i], func(o DatasetPolicy) bool {
			return o.Population == d.Population
		}):
			return config.Bad(key("population"), fmt.Sprintf("%q", d.Population),
				"the name of a population, each once: at most 256 bytes without control characters, with "+
					"no blanks around it; by default that of the data set")
		case !(d.LifetimeEpsilon > 0) || math.IsInf(d.LifetimeEpsilon, 1):
			return config.Bad(key("lifetime_epsilon"), d.LifetimeEpsilon, "above 0 and finite")
		case d.MinRecords < 1:
			return config.Bad(key("min_records"), d.MinRecords,
				"at least 1: a public lower bound on the number of records")
		case !(d.LifetimeDelta > 0) || d.LifetimeDelta*float64(d.MinRecords) >= 1:
			return config.Bad(key("lifetime_delta"), d.LifetimeDelta,
				fmt.Sprintf("above 0 and below 1/min_records = %.3g, better a tenth of it",
					1/float64(d.MinRecords)))
		}
		if err := d.QuestionPolicy.validate(key); err != nil {
			return err
		}
	}
	return nil
}

// isName reports whether a ledger can keep s as the name of a population.
func isName(s string) bool {
	return len(s) <= 256 && utf8.ValidString(s) && s == strings.TrimSpace(s) &&
		!strings.ContainsFunc(s, unicode.IsControl)
}

// Entry returns the [[dataset]] for a data set, of the named population; "" where there
// is one only. The error wraps privacy.ErrRefused where the policy has none, and is a
// config.Error about "population" where it has several, or none of that name.
func (p *Policy) Entry(dataset, population string) (DatasetPolicy, error) {
	var of []DatasetPolicy
	var names []string
	for _, d := range p.Datasets {
		if d.Name != dataset {
			continue
		}
		if names = append(names, d.Population); population == "" || d.Population == population {
			of = append(of, d)
		}
	}
	switch {
	case len(names) == 0:
		return DatasetPolicy{}, refusal("dataset", dataset, "a data set with a lifetime budget in the policy")
	case len(of) == 1:
		return of[0], nil
	}
	found := "nothing"
	if population != "" {
		found = strconv.Quote(population)
	}
	return DatasetPolicy{}, &config.Error{Key: "population", Found: found, Allowed: fmt.Sprintf(
		"one of those that the policy has for data set %s: %s", dataset, strings.Join(names, ", "))}
}

// refusal is an error of the policy's key.
func refusal(key string, found any, allowed string) error {
	return fmt.Errorf("%w by the owner's policy: %w", privacy.ErrRefused, config.Bad(key, found, allowed))
}

// LogLevels are what ParseLogLevel reads.
const LogLevels = "debug, info, warn, error"

// ParseLogLevel reads the name of a level of logging.
func ParseLogLevel(s string) (l slog.Level, err error) {
	if !slices.Contains(strings.Split(LogLevels, ", "), s) {
		return l, config.Bad("log_level", s, LogLevels)
	}
	return l, l.UnmarshalText([]byte(s))
}

// Values of Policy.Liars.
const (
	NameLiars = "name"
	DropLiars = "drop"
)

// suspicion are the values of Policy.Curious, from none to most.
var suspicion = []string{"none", "one", "neighbors"}

// suspects is the place of a value in suspicion; that of nothing is the last.
func suspects(curious string) int {
	if i := slices.Index(suspicion, curious); i >= 0 {
		return i
	}
	return len(suspicion) - 1
}

// Request is what an experiment asks of an owner.
type Request struct {
	Algorithm         string
	Dataset           string
	Population        string  // "": the only one of Dataset
	ExpectedBatchSize float64 // see Policy.MinimumBatch
	Members           []ed25519.PublicKey
	Self              ed25519.PublicKey
	// Provenance of the mechanism: a daemon runs none whose guarantee is only claimed.
	Provenance privacy.Provenance
	// whom an experiment whose members share noise allows for, see Policy; "": they share
	// none
	Curious string
	Events  []account.Event // of answers: each must have a finite price
	Questions
}

// Questions are what a request asks of the records, and what that costs in all.
type Questions struct {
	Asked          []Asked
	Epsilon, Delta float64
}

// Allow returns the budget of the data set, or why the owner refuses: an error that wraps
// privacy.ErrRefused and names the policy's key, the value found and what is allowed, or
// one of Entry.
func (p *Policy) Allow(r Request) (DatasetPolicy, error) {
	refuse := func(key string, found any, allowed string) (DatasetPolicy, error) {
		return DatasetPolicy{}, refusal(key, found, allowed)
	}
	d, unknown := p.Entry(r.Dataset, r.Population)
	switch {
	case !slices.Contains(p.Algorithms, r.Algorithm):
		return refuse("algorithms", r.Algorithm, strings.Join(p.Algorithms, ", "))
	case unknown != nil:
		return DatasetPolicy{}, unknown
	case !(r.ExpectedBatchSize >= p.MinimumBatch):
		return refuse("minimum_batch", r.ExpectedBatchSize,
			fmt.Sprintf("an expected batch of at least %g (with unit owner a batch counts as 1)",
				p.MinimumBatch))
	case r.Provenance != privacy.Proved:
		return refuse("mechanism", r.Provenance, "a mechanism whose guarantee is proved")
	case d.allow(&r.Questions) != nil:
		return DatasetPolicy{}, d.allow(&r.Questions)
	case r.Curious != "" && suspects(r.Curious) < suspects(p.Curious):
		return refuse("curious", r.Curious, "noise that protects where these disclose their secrets: "+
			suspicion[suspects(p.Curious)])
	}
	for _, key := range r.Members {
		if id := PeerID(key); !key.Equal(r.Self) && !slices.Contains(p.Peers, id) {
			return refuse("peers", id, "the peers that the policy lists")
		}
	}
	for _, ev := range r.Events {
		acc, err := account.New("rdp", ev.Adjacency, ev.Unit)
		if err == nil {
			err = acc.Compose(ev, 1)
		}
		if err != nil {
			return DatasetPolicy{}, errors.Join(privacy.ErrRefused, err)
		}
		if eps, err := acc.Epsilon(d.LifetimeDelta); err != nil || !(eps.Upper <= d.LifetimeEpsilon) {
			return refuse("lifetime_epsilon", eps.Upper,
				fmt.Sprintf("a single answer of at most epsilon %g", d.LifetimeEpsilon))
		}
	}
	return d, nil
}
