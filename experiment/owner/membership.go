package owner

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/node"
	"sotto/privacy/account"
	"sotto/topology"
)

// Files are what an owner brings to take part in an experiment, by path.
type Files struct {
	Roster  string
	RunFile string // "": the one that the roster names, beside it
	Data    string
	Policy  string
	Key     string // "": none, which is enough for a plan
	Name    string // of the member, in place of a key; "": whom the policy does not list among the peers
	// Unsigned: the roster may lack signatures.
	Unsigned bool
}

// A Membership is an owner as one member of a roster, whose policy allows taking part.
type Membership struct {
	*Owner
	Roster *node.Roster
	Self   agent.ID
	Policy *node.Policy
	Budget node.DatasetPolicy // of the owner's data set, by the policy
	Terms  Terms
	Node   node.Config // what is known before state, ledger and network are opened
	key    ed25519.PrivateKey
}

// Join reads and checks everything that an owner is asked for, and asks the policy. base
// has what the owner chooses of a node: whom to wait for, times and the log.
func Join(from Files, base node.Config) (*Membership, error) {
	m := &Membership{Node: base}
	var err error
	var file *experiment.File
	if m.Roster, file, err = ReadRoster(from.Roster, from.RunFile); err != nil {
		return nil, err
	}
	if !from.Unsigned {
		if err := m.Roster.Verify(); err != nil {
			return nil, fmt.Errorf("%s: %w", from.Roster, err)
		}
	}
	graph, graphs, err := AgreedGraph(m.Roster, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from.Roster, err)
	}
	if m.Policy, err = node.ReadPolicy(from.Policy); err != nil {
		return nil, err
	}
	if err := m.identify(&from); err != nil {
		return nil, err
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
	if m.Budget, err = m.Policy.Allow(m.request()); err != nil {
		return nil, fmt.Errorf("%s: %w", from.Policy, err)
	}
	m.describe(graph, graphs)
	if err := m.Node.Check(); err != nil {
		return nil, err
	}
	m.Node.Algorithm, err = m.Algorithm()
	return m, err
}

// Name is that of the member.
func (m *Membership) Name() string { return m.Roster.Members[m.Self].Name }

// shared is what the owner shares with another member and nobody else.
func (m *Membership) shared(member agent.ID) []byte {
	return node.PairSecret(m.key, m.Roster.Keys()[member], m.Roster.Digest())
}

// identify finds out which member the owner is: that of the key; without one, which only
// a plan may do, the named member, or the one that the policy does not list among the
// peers.
func (m *Membership) identify(from *Files) (err error) {
	if from.Key != "" {
		if m.key, err = node.ReadKey(from.Key); err != nil {
			return err
		}
		if m.Self, err = m.Roster.Find(m.key.Public().(ed25519.PublicKey)); err != nil {
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
func (m *Membership) request() node.Request {
	var events []account.Event
	for _, c := range m.Terms.Costs {
		events = append(events, c.Event)
	}
	return node.Request{
		Algorithm:         m.Terms.Algorithm,
		Dataset:           m.Terms.Dataset,
		ExpectedBatchSize: m.Terms.Batch,
		Members:           m.Roster.Keys(),
		Self:              m.Roster.Keys()[m.Self],
		Provenance:        m.Terms.Provenance,
		Curious:           m.Terms.Curious,
		Events:            events,
	}
}

// describe tells the node what the experiment is.
func (m *Membership) describe(graph *topology.Graph, graphs topology.Schedule) {
	c, x := &m.Node, &m.Terms
	c.Self, c.Run, c.Names = m.Self, m.Roster.Digest(), m.Roster.Names()
	c.Graph, c.Rounds = graph, x.Rounds
	c.Holders, c.Interval, c.Pairs = x.Holders, x.Interval, x.Pairs
	c.Mass, c.BF16 = x.Push, x.BF16
	c.Dim = x.Dim + x.Extra
	if len(topology.Period(graphs)) != 1 {
		c.Graphs = graphs
	}
}

// run names this experiment in the ledger.
func (m *Membership) run() string { return fmt.Sprintf("%x", m.Node.Run[:16]) }
