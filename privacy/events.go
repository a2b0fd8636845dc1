package privacy

import (
	"sync"
	"sync/atomic"

	"sotto/privacy/account"
)

// eventKey is all that an event of a common mechanism follows from.
type eventKey struct {
	mechanism byte
	scale     float64
	grid      Gridding
	oracle    string
	adjacency account.Adjacency
	unit      account.Unit
	sampler   account.Sampler
	part      account.Part
	draws     int
	refusable refusable
}

// refusable is what no event follows from, but some mechanism's refusal.
type refusable struct {
	scale     float64
	uncharged bool
}

// keyOf returns the key of a release of one part; false for other releases and mechanisms
// with further parameters.
func keyOf(m Mechanism, r *account.Release) (eventKey, bool) {
	if len(r.Parts) != 1 {
		return eventKey{}, false
	}
	k := eventKey{
		oracle:    r.Oracle,
		adjacency: r.Adjacency,
		unit:      r.Unit,
		sampler:   r.Sampler,
		part:      r.Parts[0],
		draws:     r.Draws,
		refusable: refusable{r.Scale, r.SumsUncharged},
	}
	switch m := m.(type) {
	case Gaussian:
		k.mechanism, k.scale = 'g', m.NoiseMultiplier
		return k, len(m.PartNoise) == 0
	case DiscreteGaussian:
		k.mechanism, k.scale, k.grid = 'd', m.NoiseMultiplier, m.Gridding
		return k, len(m.PartNoise) == 0
	case Laplace:
		k.mechanism, k.scale, k.grid = 'l', m.Scale, m.Gridding
		return k, true
	}
	return k, false
}

var (
	events      sync.Map // eventKey to account.Event
	eventsCount atomic.Int64
)

// maxEvents bounds what is remembered: a run with a clip of its own for every query has
// as many events.
const maxEvents = 1 << 14

// eventOf is m.Event(r), shared by the gates of agents that release alike.
func eventOf(m Mechanism, r account.Release) (account.Event, error) {
	k, ok := keyOf(m, &r)
	if ok {
		if v, found := events.Load(k); found {
			return v.(account.Event), nil
		}
	}
	ev, err := m.Event(r)
	if err != nil {
		return ev, err
	}
	ev = account.Shared(ev)
	if ok && eventsCount.Load() < maxEvents {
		if _, found := events.LoadOrStore(k, ev); !found {
			eventsCount.Add(1)
		}
	}
	return ev, nil
}
