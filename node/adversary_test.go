package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"sotto/agent"
	"sotto/algo"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/nodetest"
	"sotto/privacy/ledger"
)

// corrupt is a factory whose agent 1 attacks.
func corrupt(t testing.TB, f agent.Factory, attack string, scale float64) agent.Factory {
	t.Helper()
	bad := algo.Adversaries{Agents: []int{1}, Attack: attack, Scale: scale}
	if err := bad.Complete(4); err != nil {
		t.Fatal(err)
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a, err := f(env)
		if err != nil {
			return nil, err
		}
		return bad.Corrupt(a, env.Self, 7), nil
	}
}

// robust is DP-DSGD under a rule of mixing.
func robust(t testing.TB, rule algo.Mixing) agent.Factory {
	t.Helper()
	f, err := algo.New("dsgd", func(p any) error { p.(*algo.DSGDParams).Mixing = rule; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Adversaries of a run file attack in nodes as they do in the simulator, bit for bit, and
// so does robust mixing beside them.
func TestAdversariesEqualTheSimulator(t *testing.T) {
	for _, attack := range []string{"sign-flip", "large-norm", "alie", "stale"} {
		for name, f := range map[string]agent.Factory{
			"dsgt": factory(t, "dsgt"), "clipped": robust(t, algo.Mixing{Mixing: "clipped", Clip: .1}),
			"trimmed": robust(t, algo.Mixing{Mixing: "trimmed", Trim: 1}),
		} {
			t.Run(attack+" "+name, func(t *testing.T) {
				nodetest.Equal(t, nodetest.Options{Factory: corrupt(t, f, attack, 0), Graph: "complete"},
					openMemory)
			})
		}
	}
}

// rubbish sends, before every frame of messages, frames that no node takes.
type rubbish struct{ node.Transport }

func (r rubbish) Send(ctx context.Context, to agent.ID, raw []byte) error {
	if f, err := frame.Decode(raw, node.MaxPayload(nodetest.Dim)); err == nil &&
		f.Kind == frame.Messages {
		for _, payload := range [][]byte{
			message(f.Sender, f.Round, float32(math.NaN())),
			message(f.Sender, f.Round, float32(math.Inf(-1))), message(f.Sender, f.Round, 1),
			slices.Concat(f.Payload, f.Payload), {1, 2, 3},
		} {
			bad := f
			bad.Payload = payload
			r.Transport.Send(ctx, to, frame.Append(nil, &bad))
		}
		r.Transport.Send(ctx, to, bytes.Repeat([]byte{7}, 300))
	}
	return r.Transport.Send(ctx, to, raw)
}

// recordsOf is a ledger as text.
func recordsOf(t *testing.T, l ledger.Ledger) string {
	t.Helper()
	var b bytes.Buffer
	for r, err := range l.Records() {
		if err == nil {
			err = json.NewEncoder(&b).Encode(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// What peers send never raises an owner's epsilon: beside a hostile member every ledger
// is, byte for byte, the one beside honest members, under a budget that ends and under
// one that does not.
func TestNoPeerRaisesTheCost(t *testing.T) {
	for _, limit := range []int{0, 5} {
		var want []string
		for _, hostile := range []string{"", "large-norm", "sign-flip", "alie", "stale", "flood", "rubbish"} {
			synctest.Test(t, func(t *testing.T) {
				f := factory(t, "dsgd")
				switch hostile {
				case "large-norm":
					f = corrupt(t, f, hostile, math.MaxFloat32)
				case "sign-flip", "alie", "stale":
					f = corrupt(t, f, hostile, 0)
				}
				r := start(t, nodetest.Options{Factory: f, Limit: limit, Change: func(i int, c *node.Config) {
					switch {
					case i == 1 && hostile == "flood":
						c.Transport = flood{c.Transport}
					case i == 1 && hostile == "rubbish":
						c.Transport = rubbish{c.Transport}
					}
				}}, openMemory)
				r.wait(t)
				if hostile == "large-norm" && !(r.nodes[0].Params().Norm() > 1e30) {
					t.Errorf("the attack did not reach agent 0: %v", r.nodes[0].Params())
				}
				if refused := r.nodes[0].Status().Counts.Refused; (refused > 0) != (hostile == "rubbish") {
					t.Errorf("%s: %d frames refused", hostile, refused)
				}
				for i := range r.nodes {
					got := recordsOf(t, r.led[i])
					if hostile == "" {
						want = append(want, got)
					} else if got != want[i] {
						t.Errorf("%s: agent %d has ledger\n%s\nbeside honest members\n%s", hostile, i, got,
							want[i])
					}
				}
			})
		}
	}
}
