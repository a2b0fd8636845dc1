package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/node"
	"sotto/node/keyfile"
	"sotto/node/roster"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/query"
	"sotto/topology"
)

// Files are what an owner brings to take part in an experiment, by path.
type Files struct {
	Roster  string
	RunFile string // "": the one that the roster names, beside it
	Data    data.OwnFile
	Policy  string
	Key     string // "": none, which is enough for a plan
	// Population is the [[dataset]] of the policy that the data are of; "": the only one
	// of the data set.
	Population string
	// Passphrase of an encrypted key; nil: there is none.
	Passphrase keyfile.Passphrase
	Name       string // of the member, in place of a key; "": whom the policy does not list among the peers
	// Unsigned: the roster may lack signatures.
	Unsigned bool
	Succession
}

// Succession says which of a run's rosters holds, where its members change.
type Succession struct {
	// State is the directory of the run's state, which says how far the run is. "": none,
	// the roster given holds.
	State string
	// Epoch is the number of the roster that holds at least: one more than that of a node
	// that has ended with node.ErrChange.
	Epoch int
	// FormerKey is the file of the key that the owner's member had in a former roster;
	// "": none.
	FormerKey string
}

// A Membership is an owner as one member of a roster, whose policy allows taking part.
type Membership struct {
	*Owner
	Roster  *roster.Roster
	Self    agent.ID
	Policy  *roster.Policy       // as it was at the start
	Budget  roster.DatasetPolicy // of the owner's data set, by the policy
	Terms   Terms
	Node    node.Config // what is known before state, ledger and network are opened
	keys    keys
	history lineage
	from    Files
}

// Join reads and checks everything that an owner is asked for, and asks the policy. base
// has what the owner chooses of a node: whom to wait for, times and the log.
func Join(from Files, base node.Config) (*Membership, error) {
	m := &Membership{Node: base, from: from}
	given, file, err := ReadRoster(from.Roster, from.RunFile)
	if err != nil {
		return nil, err
	}
	if m.history, err = current(&from, given); err != nil {
		return nil, err
	}
	if !from.Unsigned && m.history.given == nil { // else one holds that is signed
		if err := given.Verify(); err != nil {
			return nil, fmt.Errorf("%s: %w", from.Roster, err)
		}
	}
	if m.Roster = m.history.roster(); m.Roster.Size != file.Topology.Agents {
		if err := experiment.Resize(file, m.Roster.Size); err != nil {
			return nil, err
		}
	}
	if err := agree(&m.Node, m.Roster.Terms); err != nil {
		return nil, err
	}
	if err := waits(file, m.Node.Missing); err != nil {
		return nil, err
	}
	graph, graphs, err := AgreedGraph(m.Roster, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from.Roster, err)
	}
	if m.Policy, err = readPolicy(from.Policy); err != nil {
		return nil, err
	}
	if sameFolder(from.State, m.Policy.Ledger) {
		return nil, config.Bad("state", from.State, "another folder than that of the policy's ledgers")
	}
	if err := m.identify(&from); err != nil {
		return nil, err
	}
	if err := m.left(); err != nil {
		return nil, err
	}
	if _, err := m.Policy.Entry(file.Data.Dataset, from.Population); err != nil &&
		!errors.Is(err, privacy.ErrRefused) {
		return nil, err // what is refused is refused beside other reasons, below
	}
	if m.Owner, err = New(file, Options{
		Member: experiment.Member{Self: m.Self, Data: from.Data, Graphs: graphs, Seed: m.Roster.Seed()},
		Secret: m.shared,
	}); err != nil {
		return nil, err
	}
	if m.Terms, err = m.Owner.Terms(); err != nil {
		return nil, err
	}
	if m.Budget, err = m.Policy.Allow(m.request(from.Population)); err != nil {
		return nil, fmt.Errorf("%s: %w", from.Policy, err)
	}
	if key := m.Budget.KeyColumn; key != "" && !slices.Contains(m.own.Columns, key) {
		return nil, &config.Error{File: from.Data.Path, Key: "key_column", Found: "no column " + key,
			Allowed: "the policy's key_column among " + strings.Join(m.own.Columns, ", ")}
	}
	m.describe(graph, graphs)
	if err := m.Node.Check(); err != nil {
		return nil, err
	}
	m.Node.Algorithm, err = m.Algorithm()
	return m, err
}

// readPolicy reads a policy, whose algorithms and kinds of questions have to be some that
// there are: what is misspelt allows nothing.
func readPolicy(path string) (*roster.Policy, error) {
	p, err := roster.ReadPolicy(path)
	if err != nil {
		return nil, err
	}
	refuse := func(key, found string, allowed string) error {
		return &config.Error{File: path, Key: key, Found: strconv.Quote(found), Allowed: allowed}
	}
	for i, name := range p.Algorithms {
		if _, ok := algo.Algorithms[name]; !ok {
			return nil, refuse(fmt.Sprintf("algorithms[%d]", i), name, config.OneOf(algo.Algorithms))
		}
	}
	for i := range p.Datasets {
		for k, kind := range p.Datasets[i].Questions {
			if _, ok := query.Kinds[kind]; !ok {
				return nil, refuse(fmt.Sprintf("dataset[%d].questions[%d]", i, k), kind,
					config.OneOf(query.Kinds))
			}
		}
	}
	return p, nil
}

// sameFolder tells whether two paths, of which the first may be "", name one folder. It
// need not be there.
func sameFolder(a, b string) bool {
	if a == "" {
		return false
	}
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	if err1 == nil && err2 == nil {
		return os.SameFile(x, y)
	}
	a, err1 = filepath.Abs(a)
	b, err2 = filepath.Abs(b)
	return err1 == nil && err2 == nil && a == b
}

// Name is that of the member.
func (m *Membership) Name() string { return m.Roster.Members[m.Self].Name }

// shared is what the owner shares with another member and nobody else.
func (m *Membership) shared(member agent.ID) []byte {
	return roster.PairSecret(m.keys.held, m.Roster.Keys()[member], m.Roster.Digest())
}

// identify finds out which member the owner is: that of the key; without one, which only
// a plan may do, the named member, or the one that the policy does not list among the
// peers.
func (m *Membership) identify(from *Files) (err error) {
	if from.Key != "" {
		if m.keys.newest, err = keyfile.ReadWith(from.Key, from.Passphrase); err != nil {
			return err
		}
		if from.FormerKey != "" {
			if m.keys.former, err = keyfile.ReadWith(from.FormerKey, from.Passphrase); err != nil {
				return err
			}
		}
		if m.Self, err = m.keys.choose(m.Roster); err != nil {
			return fmt.Errorf("%s: %w", from.Roster, err)
		}
		return nil
	}
	var found []agent.ID
	for i := range m.Roster.Members {
		x := &m.Roster.Members[i]
		if x.Name == from.Name || from.Name == "" && !slices.Contains(m.Policy.Peers, x.ID) {
			found = append(found, agent.ID(i))
		}
	}
	names := strings.Join(m.Roster.Names(), ", ")
	switch {
	case len(found) == 1:
		m.Self = found[0]
		return nil
	case from.Name != "":
		return config.Bad("member", from.Name, names)
	}
	return &config.Error{Key: "member", Allowed: names,
		Found: fmt.Sprintf("nothing, and %d members are no peers of %s", len(found), from.Policy)}
}

// request is what the policy is asked.
func (m *Membership) request(population string) roster.Request {
	var events []account.Event
	for _, c := range m.Terms.Costs {
		events = append(events, c.Event)
	}
	return roster.Request{
		Algorithm:         m.Terms.Algorithm,
		Dataset:           m.Terms.Dataset,
		Population:        population,
		ExpectedBatchSize: m.Terms.Batch,
		Members:           m.Roster.Keys(),
		Self:              m.Roster.Keys()[m.Self],
		Provenance:        m.Terms.Provenance,
		Curious:           m.Terms.Curious,
		Events:            events,
		Questions:         asked(m.Owner, &m.Terms.Price),
	}
}

// describe tells the node what the experiment is.
func (m *Membership) describe(graph *topology.Graph, graphs topology.Schedule) {
	c, x := &m.Node, &m.Terms
	c.Self, c.Run, c.Names = m.Self, m.Roster.Digest(), m.Roster.Names()
	x.tell(c, graph, graphs)
	c.Restart = m.restart
	c.Dim = x.Dim + x.Extra
}

// run names this experiment in the ledger, over all its rosters.
func (m *Membership) run() string {
	run := m.Roster.Run()
	return fmt.Sprintf("%x", run[:16])
}
