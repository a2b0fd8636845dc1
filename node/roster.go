package node

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// ErrUnsigned says that a roster is not signed by all of its members, and hence binds
// nobody.
var ErrUnsigned = errors.New("node: roster is not signed by every member")

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
	Size    int      `toml:"size" json:"size"`
	Members []Member `toml:"member,omitempty" json:"members"`
}

// Member is one owner: its place in the list is its agent number.
type Member struct {
	Name    string `toml:"name" json:"name"`
	ID      string `toml:"id" json:"id"`           // see PeerID
	Address string `toml:"address" json:"address"` // host:port where the others reach it
	// SelfWeight and Weights are the member's row of the mixing matrix: whom it hears, by
	// name.
	SelfWeight float64            `toml:"self_weight" json:"self_weight"`
	Weights    map[string]float64 `toml:"weights,omitempty" json:"weights"`
	// Ed25519 over "sotto roster\n" and the digest
	Signature string `toml:"signature,omitempty" json:"-"`
}

var memberName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ReadRoster reads and checks a roster file. It does not ask for signatures: see Verify.
func ReadRoster(path string) (*Roster, error) {
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
	return ParseRoster(path, b)
}

// ParseRoster is ReadRoster on bytes; file names them in errors.
func ParseRoster(file string, b []byte) (*Roster, error) {
	r := new(Roster)
	if err := decodeStrict(file, b, r); err != nil {
		return nil, err
	}
	if err := r.validate(); err != nil {
		return nil, inFile(file, err)
	}
	return r, nil
}

// decodeStrict fills v from TOML and refuses keys that v does not have.
func decodeStrict(file string, b []byte, v any) error {
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	var (
		unknown *toml.StrictMissingError
		wrong   *toml.DecodeError
	)
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		row, _ := unknown.Errors[0].Position()
		return &config.Error{
			File:  file,
			Line:  row,
			Key:   strings.Join(unknown.Errors[0].Key(), "."),
			Found: "an unknown key",
		}
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		return &config.Error{
			File:    file,
			Line:    row,
			Found:   strings.TrimPrefix(wrong.Error(), "toml: "),
			Allowed: "TOML of the documented keys",
		}
	case err != nil:
		return &config.Error{File: file, Found: err.Error(), Allowed: "TOML of the documented keys"}
	}
	return nil
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
			"letters, digits, dot, dash and underscore, 1 to 64, not a dash or dot first")
	}
	if k, err := ParsePeerID(m.ID); err != nil || m.ID != strings.ToLower(m.ID) {
		return config.Bad(key("id"), m.ID, "64 hexadecimal digits, as sotto keygen prints them")
	} else if !sharing(k) {
		return config.Bad(key("id"), m.ID, "a key that sotto keygen made: this one is everybody's")
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

// NewRoster makes a roster without members for the run file with the given name and
// bytes.
func NewRoster(name string, runFile []byte, size int) (*Roster, error) {
	sum := sha256.Sum256(runFile)
	r := &Roster{Version: rosterVersion, Experiment: hex.EncodeToString(sum[:]), RunFile: name, Size: size}
	return r, r.validate()
}

// Add appends a member. When the roster is complete, Weigh gives it its graph. All
// signatures fall.
func (r *Roster) Add(name, id, address string) error {
	if len(r.Members) == r.Size {
		return config.Bad("member", name, fmt.Sprintf("no further member: the experiment has %d", r.Size))
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
// members sign.
func (r *Roster) Seed() uint64 {
	d := r.Digest()
	sum := sha256.Sum256(append([]byte("sotto seed\n"), d[:]...))
	return seedOf(sum[:])
}

func seedOf(sum []byte) uint64 { return binary.LittleEndian.Uint64(sum) >> 1 }

// Weigh writes the rows of g, which has as many agents as the roster members, into the
// members. All signatures fall.
func (r *Roster) Weigh(g *topology.Graph) {
	if g.Agents() != len(r.Members) {
		panic(fmt.Sprintf("node: a graph of %d agents for %d members", g.Agents(), len(r.Members)))
	}
	r.Graph = g.Name()
	for i := range r.Members {
		m := &r.Members[i]
		m.SelfWeight, m.Weights, m.Signature = g.SelfWeight(agent.ID(i)), map[string]float64{}, ""
		for _, nb := range g.In(agent.ID(i)) {
			m.Weights[r.Members[nb.ID].Name] = nb.Weight
		}
	}
}

// Topology returns the graph of the weights. It must be connected, and doubly stochastic
// or, where nobody has a weight on itself, of an objective that draws neighbors' models
// together (symmetric), or for push-sum such that columns sum to 1.
func (r *Roster) Topology() (*topology.Graph, error) {
	if !r.Complete() {
		return nil, config.Bad("member", len(r.Members),
			fmt.Sprintf("%d, the size of the experiment", r.Size))
	}
	number := map[string]agent.ID{}
	for i := range r.Members {
		number[r.Members[i].Name] = agent.ID(i)
	}
	self, rows := make([]float64, r.Size), make([][]agent.Neighbor, r.Size)
	for i := range r.Members {
		self[i] = r.Members[i].SelfWeight
		for name, w := range r.Members[i].Weights {
			j, ok := number[name]
			if !ok {
				return nil, config.Bad(fmt.Sprintf("member[%d].weights", i), name, "names of members")
			}
			rows[i] = append(rows[i], agent.Neighbor{ID: j, Weight: w})
		}
	}
	g, err := topology.FromRows(r.Graph, self, rows)
	if err != nil {
		return nil, err
	}
	err = topology.Validate(g, topology.Claims{Connected: true, DoublyStochastic: true})
	for _, other := range []topology.Claims{{Connected: true, Objective: true},
		{Connected: true, ColumnStochastic: true}} {
		if err != nil && topology.Validate(g, other) == nil {
			err = nil
		}
	}
	return g, err
}

// Digest identifies the roster: the SHA-256 of its canonical JSON without signatures.
// Layout and comments of the file do not count, every value does.
func (r *Roster) Digest() [sha256.Size]byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("node: a valid roster does not marshal: " + err.Error())
	}
	return sha256.Sum256(b)
}

func (r *Roster) message() []byte {
	d := r.Digest()
	return append([]byte("sotto roster\n"), d[:]...)
}

// Find returns the number of the member with a key.
func (r *Roster) Find(key ed25519.PublicKey) (agent.ID, error) {
	i := slices.IndexFunc(r.Members, func(m Member) bool { return m.ID == PeerID(key) })
	if i < 0 {
		return 0, config.Bad("key", PeerID(key), "the key of a member of the roster")
	}
	return agent.ID(i), nil
}

// Sign adds the signature of the member with a key, to a roster that is complete and has
// a valid graph.
func (r *Roster) Sign(key ed25519.PrivateKey) (agent.ID, error) {
	if _, err := r.Topology(); err != nil {
		return 0, err
	}
	i, err := r.Find(public(key))
	if err != nil {
		return 0, err
	}
	r.Members[i].Signature = hex.EncodeToString(ed25519.Sign(key, r.message()))
	return i, nil
}

// Unsigned lists the members whose signature is missing or does not fit.
func (r *Roster) Unsigned() (names []string) {
	message := r.message()
	for i := range r.Members {
		m := &r.Members[i]
		key, err1 := ParsePeerID(m.ID)
		signature, err2 := hex.DecodeString(m.Signature)
		if err1 != nil || err2 != nil || !ed25519.Verify(key, message, signature) {
			names = append(names, m.Name)
		}
	}
	return names
}

// Verify accepts a roster that is complete, has a valid graph and is signed by every
// member: ErrUnsigned names those who have not.
func (r *Roster) Verify() error {
	if _, err := r.Topology(); err != nil {
		return err
	}
	if names := r.Unsigned(); names != nil {
		return fmt.Errorf("%w: no valid signature of %s", ErrUnsigned, strings.Join(names, ", "))
	}
	return nil
}

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
	return writeFile(path, b, 0o644)
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
