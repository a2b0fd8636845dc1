package audit

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/tensor"
)

// shadow runs an algorithm together with two copies of it. All get the same input, but
// for the attacked answer: the copies get what the data answer without noise, one in each
// world. What the three then send says how much of the record is in the real message.
type shadow struct {
	agent.Algorithm
	twins
	*probe
	target *Target

	asked  int
	values [2]tensor.Vec // answers without noise, by world
	out    [2]agent.Output
	done   bool
	seenShift
}

// twins are the copies: still gets what the world without the record answers, moved what
// the other one does.
type twins struct{ still, moved agent.Algorithm }

// seenShift says where the real message lies, from still's and in units of the difference
// of both copies': its part along that difference, its distance, and coordinate by
// coordinate, nil where no receiver takes the message.
type seenShift struct {
	along, length float64
	sight         *sight
}

// Step is the algorithm's.
func (s *shadow) Step(in *agent.Input, out *agent.Output) error {
	attacked := !s.done && in.Kind == agent.Answer && s.asked == s.ordinal
	if err := s.Algorithm.Step(in, out); err != nil || s.done {
		return err
	}
	copies := [2]agent.Algorithm{s.still, s.moved}
	for k, a := range copies {
		with := *in
		if attacked {
			with.Answer = s.values[k]
		}
		s.out[k].Reset()
		if err := a.Step(&with, &s.out[k]); err != nil {
			return err
		}
	}
	if attacked {
		return s.compare(out)
	}
	if out.Query == nil {
		return nil
	}
	if s.asked++; s.asked == s.ordinal {
		return s.aim(out.Query)
	}
	return nil
}

// aim finds what both worlds answer to q.
func (s *shadow) aim(q *agent.Query) (err error) {
	for w := range s.values {
		if s.values[w], err = s.target.Value(Hypothesis(w), q); err != nil {
			return err
		}
	}
	return nil
}

// compare scores the real message, unless a node has yet to send it.
func (s *shadow) compare(out *agent.Output) error {
	s.done = true
	if s.target.Live != nil {
		return nil
	}
	return s.score(s.seen(s.Algorithm, out))
}

// score compares what was sent with what the copies send.
func (s *shadow) score(sent tensor.Vec, ends []int, err error) error {
	if err != nil { // no receiver takes such a message: whoever sees it knows
		s.along, s.length = math.Inf(1), math.Inf(1)
		return nil
	}
	still, _, err := s.seen(s.still, &s.out[0])
	if err != nil {
		return err
	}
	moved, _, err := s.seen(s.moved, &s.out[1])
	if err != nil { // nor the one with the record: this one is not that
		s.along, s.length = 0, 0
		return nil
	}
	if len(sent) != len(still) || len(sent) != len(moved) {
		return fmt.Errorf("audit: a message has %d values, with another answer it has %d or %d", len(sent),
			len(still), len(moved))
	}
	v := &sight{make([]float64, len(sent)), make([]float64, len(sent)), ends}
	along, length, unit := 0., 0., 0.
	for i := range sent {
		d, x := float64(moved[i])-float64(still[i]), float64(sent[i])-float64(still[i])
		v.apart[i], v.record[i] = x, d
		along, length, unit = along+float64(d*x), length+float64(x*x), unit+float64(d*d)
	}
	if unit == 0 && s.later { // at this point the record changes nothing: there is nothing to see
		s.along, s.length = 0, 0
		return nil
	}
	if unit == 0 {
		return errNoMessage
	}
	s.along, s.length, s.sight = along/unit, math.Sqrt(length/unit), v
	return nil
}

// seen is what the adversary sees of a step, and where each message ends in it.
func (s *shadow) seen(a agent.Algorithm, out *agent.Output) (tensor.Vec, []int, error) {
	if !s.model {
		return onWire(out.Outbox)
	}
	return onWire([]agent.Message{{Body: a.Params()}})
}

// onWire is what receivers read from the bytes of messages, and where each ends.
func onWire(outbox []agent.Message) (all tensor.Vec, ends []int, err error) {
	var b []byte
	for k := range outbox {
		b = agent.AppendMessage(b[:0], &outbox[k])
		var m agent.Message
		if _, err := agent.DecodeMessage(b, len(outbox[k].Body), &m); err != nil {
			return nil, nil, err
		}
		all = append(all, m.Body...)
		ends = append(ends, len(all))
	}
	return all, ends, nil
}
