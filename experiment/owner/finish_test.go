package owner_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sotto/agent"
	"sotto/experiment/owner"
	"sotto/node"
	"sotto/node/wire"
	"sotto/privacy"
)

// closing is a transport that says when it closes.
type closing struct {
	node.Transport
	closes func()
}

func (c closing) Close() error {
	c.closes()
	return c.Transport.Close()
}

// finishing is what TestFinishingEndsWithTheContext runs.
type finishing struct {
	*testing.T
	members [3]owner.Files
	states  string
}

func (f *finishing) state(i int) string { return filepath.Join(f.states, fmt.Sprint("m", i)) }

// made reports whether a member has its own model.
func (f *finishing) made(i int) bool {
	_, err := os.Stat(filepath.Join(f.state(i), owner.PersonalDir, owner.ModelFile))
	return err == nil
}

// result is what a member has found, beside a model and a statement.
func (f *finishing) result(i int) (r owner.Result) {
	f.Helper()
	b, err := os.ReadFile(filepath.Join(f.state(i), "own.json"))
	if err = errors.Join(err, json.Unmarshal(b, &r)); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{owner.ModelFile, owner.StatementFile} {
		if _, err := os.Stat(filepath.Join(f.state(i), name)); err != nil {
			f.Error(err)
		}
	}
	return r
}

// run runs the members to their end. opens is called when one opens the network, with
// what stops it, and returns what is called when it hangs up.
func (f *finishing) run(baseline bool, opens func(i int, stop func()) (closes func())) {
	f.Helper()
	var net *wire.Memory
	var all sync.WaitGroup
	for i := range f.members {
		m, err := owner.Join(f.members[i], chosen())
		if err != nil {
			f.Fatal(err)
		}
		if net == nil {
			net = wire.NewMemory(3, node.MaxPayload(m.Node.Dim))
		}
		over := net
		ctx, stop := context.WithCancel(f.Context())
		defer stop()
		d := owner.Daemon{Membership: m, State: f.state(i), Baseline: baseline,
			Overrides: owner.Overrides{Volatile: true},
			Dial: func(ed25519.PrivateKey, int) (node.Transport, error) {
				return closing{over.Open(agent.ID(i)), opens(i, stop)}, nil
			}}
		all.Go(func() {
			out, err := d.Run(ctx)
			if err != nil || out.Result == nil || !out.Status.Finished {
				f.Errorf("member %d: %+v: %v", i, out, err)
			}
		})
	}
	all.Wait()
}

// A node hangs up before it makes what is made of private records alone: nobody sees how
// long that takes. A signal ends it then; model, statement and figures are there, and the
// next start makes the rest. A signal that comes while others are served does not.
func TestFinishingEndsWithTheContext(t *testing.T) {
	f := finishing{t, teamOf(t, ownerRun+"\n[evaluate]\non = \"own\"\n[personal]\nenabled = true\n"),
		t.TempDir()}
	f.run(false, func(i int, stop func()) func() {
		if i == 0 {
			return stop
		}
		return func() {
			if f.made(i) {
				t.Error("a node had made its owner's model before it hung up")
			}
		}
	})
	before := f.result(0)
	if f.made(0) || before.Scores == nil || before.Scores.Personal != nil {
		t.Errorf("the member that was stopped has its own model: %+v", before)
	}
	if !f.made(1) || f.result(1).Scores.Personal == nil {
		t.Error("another member has no own model")
	}

	f.run(true, func(_ int, stop func()) func() { // who has finished serves others alone
		stop()
		return func() {}
	})
	after := f.result(0)
	if !f.made(0) || after.Value != before.Value || after.Alone == nil || after.Scores.Personal == nil {
		t.Errorf("the next process: %+v", after)
	}
	// and what was found stays where nobody asks for it again
	f.run(false, func(_ int, stop func()) func() { return stop })
	if last := f.result(0); last.Alone == nil || last.Scores.Personal == nil || last.Scores.Alone == nil {
		t.Errorf("a process that was stopped has lost what was found: %+v", last)
	}
}

// A policy that did not allow the run any more, read again while a node that had finished
// served others, took the node's results with it. They are made; the refusal stands.
func TestAPolicyReadAgainAfterTheEndLeavesResults(t *testing.T) {
	f := finishing{t, team(t), t.TempDir()}
	f.run(false, func(int, func()) func() { return func() {} })
	model := filepath.Join(f.state(0), owner.ModelFile)
	policy, err := os.ReadFile(f.members[0].Policy)
	if err != nil {
		t.Fatal(err)
	}
	m, err := owner.Join(f.members[0], chosen())
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan os.Signal, 1)
	d := owner.Daemon{Membership: m, State: f.state(0), Overrides: owner.Overrides{Volatile: true},
		Reload: owner.Reload{Asked: asked},
		Dial: func(ed25519.PrivateKey, int) (node.Transport, error) { // nobody else is there
			other := strings.Replace(string(policy), `"dsgd", `, "", 1)
			err := errors.Join(os.Remove(model), os.WriteFile(f.members[0].Policy, []byte(other), 0o600))
			asked <- os.Interrupt
			return wire.NewMemory(3, node.MaxPayload(m.Node.Dim)).Open(0), err
		}}
	out, err := d.Run(t.Context())
	if !errors.Is(err, privacy.ErrRefused) {
		t.Errorf("the policy's refusal: %v", err)
	}
	if _, err := os.Stat(model); err != nil || out == nil || out.Result == nil {
		t.Errorf("results %+v: %v", out, err)
	}
}
