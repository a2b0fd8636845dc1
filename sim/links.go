package sim

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// links decides what becomes of the messages of an asynchronous run, and who is away, by
// hashing with the seed: nothing depends on the order in which it is asked. A nil *links
// has no faults.
type links struct {
	Faults
	seed uint64
}

func newLinks(f Faults, seed uint64, pairs bool) (*links, error) {
	switch {
	case !(f.Drop >= 0 && f.Drop <= 1):
		return nil, config.Bad("drop", f.Drop, "0 to 1")
	case f.Delay != 0 || f.Symmetric:
		return nil, config.Bad("delay", f.Delay,
			"0, without symmetric, with an asynchronous algorithm: latency holds its messages back")
	case !(f.Latency >= 0 && f.Latency <= 1e6):
		return nil, config.Bad("latency", f.Latency, "0 to 1e6, in mean times between two wakes of an agent")
	case f.Latency > 0 && pairs:
		return nil, config.Bad("latency", f.Latency, "0 with pairwise wakes, which are over at once")
	case !(f.Churn >= 0 && f.Churn < 1):
		return nil, config.Bad("churn", f.Churn, "0 to below 1")
	case f.ChurnPeriod != 0 && !(f.ChurnPeriod >= .01 && f.ChurnPeriod <= 1e9):
		return nil, config.Bad("churn_period", f.ChurnPeriod,
			".01 to 1e9, in mean times between two wakes of an agent")
	case f.Drop == 0 && f.Latency == 0 && f.Churn == 0:
		return nil, nil
	}
	if f.ChurnPeriod == 0 {
		f.ChurnPeriod = 10
	}
	return &links{f, seed}, nil
}

// away says whether an agent is gone at a time.
func (l *links) away(i agent.ID, time float64) bool {
	if l == nil || l.Churn == 0 {
		return false
	}
	h := mix64(l.seed ^ 0x636875726e)
	h = mix64(h ^ math.Float64bits(math.Floor(time/l.ChurnPeriod)))
	return unit(mix64(h^uint64(i))) < l.Churn
}

// lost says whether the link loses message number seq of from on its way to to.
func (l *links) lost(from, to agent.ID, seq uint64) bool {
	return l != nil && unit(l.hash(from, to, seq)) < l.Drop
}

func (l *links) hash(from, to agent.ID, seq uint64) uint64 {
	h := mix64(l.seed ^ 0x6c696e6b73)
	return mix64(mix64(h^seq) ^ uint64(from)<<32 ^ uint64(to))
}

// arrived says whether a message sent at a time has been received by now.
func (l *links) arrived(m *posted, from, to agent.ID, now float64) bool {
	if l == nil {
		return true
	}
	if l.lost(from, to, m.seq) {
		return false
	}
	at := m.time + l.Latency*unit(mix64(l.hash(from, to, m.seq)+1))
	return at <= now && !l.away(to, at)
}

// posted is one broadcast that some receiver may still have as its sender's newest.
type posted struct {
	seq  uint64 // 0 is the outbox of Start
	time float64
	msg  agent.Message
}

// newest returns the last message of from that to has received by now, nil without any.
// history is in order of sending.
func (l *links) newest(history []posted, from, to agent.ID, now float64) *agent.Message {
	for k := len(history) - 1; k >= 0; k-- {
		if l.arrived(&history[k], from, to, now) {
			return &history[k].msg
		}
	}
	return nil
}

// forget drops what no receiver will see again: everything before the oldest of their
// newest messages.
func (l *links) forget(history []posted, g *topology.Graph, from agent.ID, now float64) []posted {
	keep := len(history) - 1
	for _, nb := range g.Out(from) {
		k := len(history) - 1
		for k > 0 && !l.arrived(&history[k], from, nb.ID, now) {
			k--
		}
		keep = min(keep, k)
	}
	if keep <= 0 {
		return history
	}
	free := history[0].msg.Body // its memory serves the next message
	n := copy(history, history[keep:])
	clear(history[n:])
	history = history[:n]
	if n < cap(history) {
		history[:n+1][n].msg.Body = free
	}
	return history
}
