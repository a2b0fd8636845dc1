package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
)

type adversaryKind int

const (
	members adversaryKind = iota
	allMessages
	eavesdropper
)

// Adversary is who looks at the computation.
type Adversary struct {
	kind    adversaryKind
	members []int // sorted
}

// AllMessages sees every message of every agent (SecLDP), and no agent's secrets.
func AllMessages() Adversary { return Adversary{kind: allMessages} }

// Eavesdropper listens to all links. In averaging it sees what [AllMessages] sees; under
// pairwise masks both see sums only.
func Eavesdropper() Adversary { return Adversary{kind: eavesdropper} }

// Observer is agent v: its own value, noise and secrets, and the messages that it
// receives.
func Observer(v int) Adversary { return Coalition(v) }

// Coalition is a set of agents that share what each of them knows.
func Coalition(agents ...int) Adversary {
	m := slices.Clone(agents)
	slices.Sort(m)
	return Adversary{members: slices.Compact(m)}
}

const adversaryAllowed = "an agent (3), a coalition ({3,7}), all-messages or eavesdropper"

// ParseAdversary reads what [Adversary.String] writes: "3", "{3,7}", "all-messages" or
// "eavesdropper".
func ParseAdversary(s string) (Adversary, error) {
	switch s {
	case "all-messages":
		return AllMessages(), nil
	case "eavesdropper":
		return Eavesdropper(), nil
	}
	list := []string{s}
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		if inner, ok = strings.CutSuffix(inner, "}"); !ok {
			return Adversary{}, config.Bad("adversary", s, adversaryAllowed)
		}
		list = strings.Split(inner, ",")
	}
	var agents []int
	for _, x := range list {
		v, err := strconv.ParseUint(strings.TrimSpace(x), 10, 31)
		if err != nil {
			return Adversary{}, config.Bad("adversary", s, adversaryAllowed)
		}
		agents = append(agents, int(v))
	}
	return Coalition(agents...), nil
}

// Members returns the agents that belong to the adversary, in order; they are none of who
// only listens.
func (a Adversary) Members() []int { return slices.Clone(a.members) }

// String is the form that [ParseAdversary] reads.
func (a Adversary) String() string {
	switch {
	case a.kind == allMessages:
		return "all-messages"
	case a.kind == eavesdropper:
		return "eavesdropper"
	case len(a.members) == 1:
		return strconv.Itoa(a.members[0])
	}
	return "{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(a.members), " ", ","), "[]") + "}"
}

func (a Adversary) has(agent int) bool {
	_, ok := slices.BinarySearch(a.members, agent)
	return ok
}

func (a Adversary) validate(agents int) error {
	if a.kind == members && len(a.members) == 0 {
		return config.Bad("adversary", a.String(), adversaryAllowed)
	}
	for _, m := range a.members {
		if m < 0 || m >= agents {
			return config.Bad("adversary", m, fmt.Sprintf("agents 0 to %d", agents-1))
		}
	}
	return nil
}
