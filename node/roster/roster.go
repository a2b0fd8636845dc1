package roster

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"sotto/config"
	"sotto/internal/atomicfile"
	"sotto/internal/tomltext"
)

const (
	rosterVersion = 1
	// MaxMembers is how many a roster may list.
	MaxMembers = 1000
	maxRoster  = 1 << 26
)

// Roster says who takes part in which experiment and who hears whom with what weight.
// Members sign its digest; a node follows none that lacks a signature. All of it is
// public.
type Roster struct {
	Version    int    `toml:"version" json:"version"`
	Experiment string `toml:"experiment" json:"experiment"` // SHA-256 of the run file, hexadecimal
	// its name, for people and as a default: the digest is what counts
	RunFile string `toml:"run_file" json:"run_file"`
	// what the weights were made from, for people: they are what counts
	Graph string `toml:"graph" json:"graph"`
	// Size is the number of members that the experiment has.
	Size int `toml:"size" json:"size"`
	// Schema is the text of the schema file where records have one: what a record is. ""
	// elsewhere.
	Schema string `toml:"schema,multiline,omitempty" json:"schema,omitempty"`
	// Terms are how members wait for each other; nil: everybody's own choice.
	Terms *Terms `toml:"terms,omitempty" json:"terms,omitempty"`
	// Epoch says that the roster goes on with a run of another one; nil: it begins one.
	Epoch   *Epoch   `toml:"epoch,omitempty" json:"epoch,omitempty"`
	Members []Member `toml:"member,omitempty" json:"members"`
}

// Terms are what all members sign of how they wait for each other.
type Terms struct {
	Missing  string `toml:"missing" json:"missing"`   // Wait or Proceed
	Deadline string `toml:"deadline" json:"deadline"` // of a round, such as 1m0s
	Patience string `toml:"patience" json:"patience"` // see Timing.Patience
}

func (t *Terms) validate() error {
	if t == nil {
		return nil
	}
	if t.Missing != Wait && t.Missing != Proceed {
		return config.Bad("terms.missing", t.Missing, Wait+" or "+Proceed)
	}
	deadline, err := time.ParseDuration(t.Deadline)
	if err != nil || deadline <= 0 || deadline > maxDeadline {
		return config.Bad("terms.deadline", t.Deadline,
			fmt.Sprintf("a duration such as 1m, above 0 and at most %v", maxDeadline))
	}
	patience, err := time.ParseDuration(t.Patience)
	if err != nil || patience < deadline || patience > maxPatience {
		return config.Bad("terms.patience", t.Patience,
			fmt.Sprintf("a duration such as 24h, at least the deadline and at most %v", maxPatience))
	}
	return nil
}

// What to do about members whose frame has not come by the deadline of a round.
const (
	// Wait goes on waiting, for as long as it takes; the peer is named as late.
	Wait = "wait"
	// Proceed steps without them, with their weights on self, after at most twice the
	// deadline. Models then drift apart where only one direction of a link fails; such
	// losses are counted.
	Proceed = "proceed"
)

// Bounds of signed terms.
const (
	maxDeadline = 24 * time.Hour
	maxPatience = 365 * 24 * time.Hour
)

// Member is one owner: its place in the list is its agent number.
type Member struct {
	Name    string `toml:"name" json:"name"`
	ID      string `toml:"id" json:"id"`           // see PeerID
	Address string `toml:"address" json:"address"` // host:port where the others reach it
	// SelfWeight and Weights are the member's row of the mixing matrix: whom it hears, by
	// name.
	SelfWeight float64            `toml:"self_weight" json:"self_weight"`
	Weights    map[string]float64 `toml:"weights,omitempty" json:"weights"`
	Newness
	// Ed25519 over "sotto roster\n" and the digest
	Signature string `toml:"signature,omitempty" json:"-"`
}

var memberName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Read reads and checks a roster file. It does not ask for signatures: see Verify.
func Read(path string) (*Roster, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxRoster {
		return nil, &config.Error{File: path, Found: fmt.Sprintf("%d bytes", info.Size()),
			Allowed: fmt.Sprintf("at most %d", maxRoster)}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse is Read on bytes; file names them in errors.
func Parse(file string, b []byte) (*Roster, error) {
	r := new(Roster)
	if err := tomltext.Decode(file, b, r); err != nil {
		return nil, err
	}
	if err := r.validate(); err != nil {
		return nil, inFile(file, err)
	}
	return r, nil
}

func inFile(file string, err error) error {
	var e *config.Error
	if errors.As(err, &e) && e.File == "" {
		c := *e
		c.File = file
		return &c
	}
	return err
}

func (r *Roster) validate() error {
	if b, err := hex.DecodeString(r.Experiment); err != nil || len(b) != sha256.Size {
		return config.Bad("experiment", r.Experiment, "the SHA-256 of the run file, 64 hexadecimal digits")
	}
	switch {
	case r.Version != rosterVersion:
		return config.Bad("version", r.Version, fmt.Sprint(rosterVersion))
	case r.RunFile != filepath.Base(r.RunFile):
		return config.Bad("run_file", r.RunFile, "the name of a file, without a folder")
	case r.Size < 1 || r.Size > MaxMembers:
		return config.Bad("size", r.Size, fmt.Sprintf("1 to %d", MaxMembers))
	case len(r.Members) > r.Size:
		return config.Bad("member", len(r.Members), fmt.Sprintf("at most %d, the size", r.Size))
	}
	if err := errors.Join(r.Terms.validate(), r.Epoch.validate()); err != nil {
		return err
	}
	for i := range r.Members {
		if err := r.checkMember(i); err != nil {
			return err
		}
	}
	return nil
}

func (r *Roster) checkMember(i int) error {
	m := &r.Members[i]
	key := func(k string) string { return fmt.Sprintf("member[%d].%s", i, k) }
	if !memberName.MatchString(m.Name) {
		return config.Bad(key("name"), m.Name,
			"letters, digits, dot, dash and underscore, 1 to 64, a letter or digit first")
	}
	if k, err := ParsePeerID(m.ID); err != nil || m.ID != strings.ToLower(m.ID) {
		return config.Bad(key("id"), m.ID, "64 hexadecimal digits, as sotto keygen prints them")
	} else if !sharing(k) {
		return config.Bad(key("id"), m.ID, "a key that sotto keygen made: this one is everybody's")
	}
	if err := checkFormer(r, i); err != nil {
		return err
	}
	if err := checkAddress(m.Address); err != nil {
		return config.Bad(key("address"), m.Address, "host:port with a port of 1 to 65535")
	}
	for _, o := range r.Members[:i] {
		switch {
		case o.Name == m.Name:
			return config.Bad(key("name"), m.Name, "a name that no other member has")
		case o.ID == m.ID:
			return config.Bad(key("id"), m.ID, "a key that no other member has")
		case o.Address == m.Address:
			return config.Bad(key("address"), m.Address, "an address that no other member has")
		}
	}
	for name, w := range m.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return config.Bad(key("weights."+name), w, "a finite weight")
		}
	}
	if math.IsNaN(m.SelfWeight) || math.IsInf(m.SelfWeight, 0) {
		return config.Bad(key("self_weight"), m.SelfWeight, "a finite weight")
	}
	return nil
}

func checkAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return err
	}
	if p, err := strconv.Atoi(port); err != nil || p < 1 || p > 65535 || host == "" {
		return errors.New("no host or port")
	}
	return nil
}

// checkReach refuses an address of a member to come that no other machine can reach.
// Rosters that were signed with one are read as they are.
func checkReach(member int, s string) error {
	host, _, err := net.SplitHostPort(s)
	ip := net.ParseIP(host)
	if err == nil && (ip != nil && ip.IsUnspecified() || strings.ContainsFunc(host, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c)
	})) {
		return config.Bad(fmt.Sprintf("member[%d].address", member), s,
			"host:port where the other members reach it: a name without blanks, or one machine's address")
	}
	return nil
}

// New makes a roster without members for the run file with the given name and
// bytes. terms may be nil.
func New(name string, runFile []byte, size int, terms *Terms) (*Roster, error) {
	sum := sha256.Sum256(runFile)
	r := &Roster{Version: rosterVersion, Experiment: hex.EncodeToString(sum[:]), RunFile: name, Size: size,
		Terms: terms}
	return r, r.validate()
}

// Add appends a member. When the roster is complete, Weigh gives it its graph. All
// signatures fall. An amendment grows by one.
func (r *Roster) Add(name, id, address string) error {
	if r.Epoch != nil {
		r.Size = len(r.Members) + 1
	}
	if len(r.Members) == r.Size {
		return config.Bad("member", name, fmt.Sprintf("no further member: the experiment has %d", r.Size))
	}
	if err := checkReach(len(r.Members), address); err != nil {
		return err
	}
	r.Members = append(r.Members, Member{Name: name, ID: id, Address: address})
	if err := r.validate(); err != nil {
		r.Members = r.Members[:len(r.Members)-1]
		return err
	}
	for i := range r.Members {
		r.Members[i].Signature = ""
	}
	return nil
}

// Complete reports whether all members are there.
func (r *Roster) Complete() bool { return len(r.Members) == r.Size }

// MembersSeed is the public seed of a random graph: it follows from experiment and
// members, so that nobody chooses it alone.
func (r *Roster) MembersSeed() uint64 {
	h := sha256.New()
	fmt.Fprintf(h, "sotto members\n%s\n", r.Experiment)
	for i := range r.Members {
		fmt.Fprintln(h, r.Members[i].ID)
	}
	return seedOf(h.Sum(nil))
}

// Seed is the public seed of the initial model: it follows from the digest that all
// members of the run's first roster sign.
func (r *Roster) Seed() uint64 {
	d := r.Run()
	sum := sha256.Sum256(append([]byte("sotto seed\n"), d[:]...))
	return seedOf(sum[:])
}

func seedOf(sum []byte) uint64 { return binary.LittleEndian.Uint64(sum) >> 1 }

// Keys returns the members' public keys, in order.
func (r *Roster) Keys() []ed25519.PublicKey {
	keys := make([]ed25519.PublicKey, len(r.Members))
	for i := range keys {
		keys[i], _ = ParsePeerID(r.Members[i].ID) // checked by validate
	}
	return keys
}

// Names returns the members' names, in order.
func (r *Roster) Names() []string {
	names := make([]string, len(r.Members))
	for i := range names {
		names[i] = r.Members[i].Name
	}
	return names
}

// Write replaces the file at path.
func (r *Roster) Write(path string) error {
	b, err := r.Encode()
	if err != nil {
		return err
	}
	return atomicfile.Write(path, b)
}

// Encode returns the roster as TOML.
func (r *Roster) Encode() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b,
		"# Who takes part, and who hears whom. Made by sotto roster; every member signs it. Any change "+
			"voids all signatures.")
	err := toml.NewEncoder(&b).Encode(r)
	return b.Bytes(), err
}
