package owner_test

import (
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/privacy/account"
	"sotto/tensor"
)

const ownerWalk = `[token]
count = 2
[privacy]
unit = "owner"
noise_multiplier = 8.0
`

// An owner that holds a token answers N_max times, each charged to the owner as the unit,
// and then with noise that costs nothing. All members know where tokens start.
func TestOwnersWalk(t *testing.T) {
	path := ownTable(t)
	run := strings.Replace(ownerRun, "[privacy]\nbatch_size = 20\ntarget_epsilon = 2.0\n", ownerWalk, 1)
	run = strings.Replace(run, `"dsgd"`, "\"walk\"\ncontributions = 4", 1)
	o, err := ownerOf(t, run, path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	if x.Unit != account.Owner() || x.Charges != 4 || x.Rounds != 6 || x.Interval != 0 ||
		len(x.Holders) != 2 || slices.Max(x.Holders) > 2 {
		t.Errorf("terms %+v", x)
	}
	l := ledgerOf(t, &x, 50)
	gate, err := o.Gate(l, "this run")
	if err != nil {
		t.Fatal(err)
	}
	a, err := o.Algorithm()
	if err != nil {
		t.Fatal(err)
	}
	before, answer, body := l.Head().Seq, make(tensor.Vec, 2), make(tensor.Vec, 2)
	for visit := range uint64(6) {
		gate.Begin(visit, nil)
		in := agent.Input{
			Kind:  agent.Token,
			Round: visit,
			View:  &agent.View{SelfWeight: 1},
			Peer:  1,
			Inbox: []agent.Message{{From: 1, To: 1, Round: visit, Body: body}},
		}
		var out agent.Output
		if err := a.Step(&in, &out); err != nil || out.Query == nil {
			t.Fatalf("visit %d: %v, query %v", visit, err, out.Query)
		}
		if want := map[bool]string{true: "user-grad", false: "zero"}[visit < 4]; out.Query.Oracle != want {
			t.Errorf("visit %d asks %s, want %s", visit, out.Query.Oracle, want)
		}
		if err := gate.Answer(out.Query, answer); err != nil {
			t.Fatal(err)
		}
		if answer[0] == 0 && answer[1] == 0 {
			t.Error("an answer without noise")
		}
		out.Reset()
		in.Kind, in.Answer = agent.Answer, answer
		if err := a.Step(&in, &out); err != nil || len(out.Outbox) != 1 {
			t.Fatalf("visit %d: %v, %d messages", visit, err, len(out.Outbox))
		}
		if got, want := l.Head().Seq-before, min(visit+1, 4); got != want {
			t.Errorf("after visit %d there are %d charges, want %d", visit, got, want)
		}
	}
	if alone, err := o.LocalBaseline(t.Context()); err != nil || alone < .7 {
		t.Errorf("alone %g, %v", alone, err)
	}
	other, err := ownerOf(t, run, path)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := other.Terms(); err != nil || !slices.Equal(y.Holders, x.Holders) {
		t.Errorf("tokens start at %v, another member says %v", x.Holders, y.Holders)
	}
	for key, set := range map[string]string{"hops": "count = 2\nhops = \"public\"",
		"accounting": "count = 2\naccounting = \"network\""} {
		if _, err := ownerOf(t, strings.Replace(run, "count = 2", set, 1), path); err == nil ||
			!strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
