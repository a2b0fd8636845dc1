package attack

import (
	"sotto/agent"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/tensor"
)

// releasing is what a run with mechanism local-dp does before it trains: the owner's
// records and labels are asked for once each, and every answer is published as it is.
type releasing struct {
	agent.Algorithm // none: nothing but Step is called, and Params
	first           string
	answers         int
	last            tensor.Vec
}

// release is audit.Target.Algorithm of a run with local-dp. The attacked answer is the
// first one.
func release(first string) func() (agent.Algorithm, error) {
	return func() (agent.Algorithm, error) { return &releasing{first: first}, nil }
}

// Step implements agent.Algorithm.
func (r *releasing) Step(in *agent.Input, out *agent.Output) error {
	if in.Kind == agent.Answer {
		r.answers++
		r.last = in.Answer
		out.Broadcast(in.Answer)
		out.Done = r.answers == 2
		return nil
	}
	next := map[string]string{oracle.FeaturesName: oracle.LabelsName, oracle.LabelsName: oracle.FeaturesName}
	name := r.first
	if r.answers > 0 {
		name = next[name]
	}
	out.Ask(name, nil)
	return nil
}

// Params implements agent.Algorithm.
func (r *releasing) Params() tensor.Vec { return r.last }

// publish is audit.Target.Drive of a run with local-dp: both answers, one after the
// other.
func (a *auditor) publish(attacked agent.Algorithm, g audit.Gate, _ uint64, done func() bool) error {
	for k := range uint64(2) {
		if done() {
			return nil
		}
		g.Begin(k, nil)
		var out agent.Output
		if err := attacked.Step(&agent.Input{Kind: agent.Round, Round: k}, &out); err != nil {
			return err
		}
		q := *out.Query
		records := max(1, len(a.others())) // the attacked one, or the one in its place
		if q.Oracle == oracle.FeaturesName {
			records *= a.e.Task.Split.Train.X.Cols
		}
		answer := make(tensor.Vec, records)
		if err := g.Answer(&q, answer); err != nil {
			return err
		}
		out.Reset()
		if err := attacked.Step(&agent.Input{Kind: agent.Answer, Round: k, Answer: answer}, &out); err !=
			nil {
			return err
		}
	}
	return nil
}

// localTotal is the claim of features and labels together. With an excluded mu of
// features the labels keep what they claim.
func (a *auditor) localTotal(c *audit.Claim, g *privacy.Gate) error {
	_, features, err := g.Describe(&agent.Query{Oracle: oracle.FeaturesName})
	if err != nil {
		return err
	}
	_, labels, err := g.Describe(&agent.Query{Oracle: oracle.LabelsName})
	if err != nil {
		return err
	}
	if c.Total, err = a.epsilon(account.Fixed(features, 1), account.Fixed(labels, 1)); err != nil ||
		c.Mu == 0 {
		return err
	}
	c.TotalOf = func(mu float64) (float64, error) {
		ev, err := account.Gaussian(1/mu, 1)
		if err != nil {
			return 0, err
		}
		return least(a.e, account.Fixed(ev, 1), account.Fixed(labels, 1))
	}
	return nil
}
