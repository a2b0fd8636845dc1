package owner_test

import (
	"crypto/ed25519"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/experiment/owner"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// ownIterate is a run whose owners have private iterates, with next to no noise.
var ownIterate = strings.NewReplacer("name = \"dsgd\"\nstep_size = 2.0",
	"name = \"km\"\noperator = \"backward\"\ngamma = 8.0\nalpha = 0.4\nown_state = true",
	"batch_size = 20\ntarget_epsilon = 2.0", "sample_rate = 1.0\nnoise_multiplier = 1e-4", "rounds = 6",
	"rounds = 12").Replace(ownerRun)

// life is an owner's process: its agent, gate and ledger.
type life struct {
	owner *owner.Owner
	alg   agent.Algorithm
	gate  *privacy.Gate
	file  *ledger.File
}

// born starts a process on the ledger in dir, with the agent's stored state; nil: there
// is none. Unless recovered the gate knows nothing of former answers.
func born(t *testing.T, path, dir string, key ed25519.PrivateKey, state []byte, recovered bool) *life {
	t.Helper()
	o, err := ownerOf(t, ownIterate, path)
	if err != nil {
		t.Fatal(err)
	}
	l := &life{owner: o}
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	opt := ledger.Options{Key: key, FS: ledger.OS{AllowVolatile: true}, Run: "this run", Accountant: "rdp"}
	if l.file, err = ledger.Open(dir, opt); err != nil {
		l.file, err = ledger.Create(dir, ledger.Genesis{
			Adjacency:  x.Adjacency,
			Unit:       x.Unit,
			Budget:     account.Budget{Epsilon: 1e12, Delta: 1e-3},
			MinRecords: 100,
		}, opt)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.file.Close() })
	if l.alg, err = o.Algorithm(); err != nil {
		t.Fatal(err)
	}
	if l.gate, err = o.Gate(l.file, "this run"); err != nil {
		t.Fatal(err)
	}
	if state != nil {
		if err := l.alg.LoadState(state); err != nil {
			t.Fatal(err)
		}
	}
	if recovered {
		if err := o.Recover(l.file, "this run", state != nil); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// round steps one round, in which a neighbor with half of the weight sends a vector that
// wanders, and returns the answer and its scale.
func (l *life) round(t *testing.T, k uint64) (tensor.Vec, float64) {
	t.Helper()
	from := tensor.Vec{float32(math.Sin(float64(k))), float32(math.Cos(float64(k)))}
	near := []agent.Neighbor{{ID: 0, Weight: .5}}
	l.gate.Begin(k, near)
	var out agent.Output
	in := agent.Input{
		Kind:  agent.Round,
		Round: k,
		View:  &agent.View{SelfWeight: .5, In: near, Out: near},
		Inbox: []agent.Message{{From: 0, Round: k, Body: from}},
	}
	if err := l.alg.Step(&in, &out); err != nil || out.Query == nil {
		t.Fatalf("round %d: %v, query %v", k, err, out.Query)
	}
	r, _, err := l.gate.Describe(out.Query)
	if err != nil {
		t.Fatal(err)
	}
	answer := make(tensor.Vec, 2)
	if err := l.gate.Answer(out.Query, answer); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	in.Kind, in.Answer, in.Inbox = agent.Answer, answer, nil
	if err := l.alg.Step(&in, &out); err != nil {
		t.Fatal(err)
	}
	return answer, r.Scale
}

// An owner's process is killed four times: after a stored round, twice after an answer
// that was charged and not stored, and at the end, to go on from an older state. Every
// answer in use is that of an owner who lives through, but for noise of 1e-4 of what one
// record may do, and is charged for the same sensitivity; one that forgets its iterate is
// far off. Only lost answers are charged twice.
func TestOwnersRecoverTheirIterate(t *testing.T) {
	const rounds, near, far = 12, 1e-3, 1e-2
	path := ownTable(t)
	_, key, _ := ed25519.GenerateKey(nil)
	whole := born(t, path, filepath.Join(t.TempDir(), "ledger"), key, nil, true)
	var answers []tensor.Vec
	var scales []float64
	for k := range uint64(rounds) {
		a, s := whole.round(t, k)
		answers, scales = append(answers, a), append(scales, s)
	}
	if !(scales[1] > scales[0]) {
		t.Errorf("scales %v do not grow", scales)
	}
	same := func(k uint64, a tensor.Vec, s float64) {
		t.Helper()
		if d := math.Hypot(float64(a[0]-answers[k][0]), float64(a[1]-answers[k][1])); d > near ||
			math.Abs(s/scales[k]-1) > 1e-12 {
			t.Errorf("round %d: %v at scale %g, without a crash %v at %g", k, a, s, answers[k], scales[k])
		}
	}
	dir := filepath.Join(t.TempDir(), "ledger")
	l, states, lost := born(t, path, dir, key, nil, true), [][]byte{nil}, 0
	again := func(state []byte, recovered bool) {
		t.Helper()
		if err := l.file.Close(); err != nil {
			t.Fatal(err)
		}
		l = born(t, path, dir, key, state, recovered)
	}
	for k := uint64(0); k < rounds; k++ {
		if k == 5 || k == 8 { // an answer that is lost
			a, s := l.round(t, k)
			same(k, a, s)
			again(states[k], true)
			lost++
		}
		a, s := l.round(t, k)
		same(k, a, s)
		states = append(states, l.alg.AppendState(nil))
		if x, err := l.owner.Terms(); err != nil || k > 0 &&
			len(states[k+1])-len(states[k]) != x.CheckpointGrowth {
			t.Errorf("round %d: states of %d and %d bytes grow by %d, %v", k, len(states[k]),
				len(states[k+1]), x.CheckpointGrowth, err)
		}
		if k == 3 {
			again(states[k+1], true)
		}
	}
	charges := 0
	for r, err := range l.file.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == ledger.Charge {
			charges++
		}
	}
	if charges != rounds+lost {
		t.Errorf("%d charges, want one for each of %d answers and %d lost ones", charges, rounds, lost)
	}
	again(states[9], true)
	a, s := l.round(t, 9)
	same(9, a, s)
	again(states[9], false)
	a, _ = l.round(t, 9)
	if d := math.Hypot(float64(a[0]-answers[9][0]), float64(a[1]-answers[9][1])); !(d > far) {
		t.Errorf("an owner that forgets its iterate answers %v, %g from %v: this test shows nothing", a, d,
			answers[9])
	}
}

// A run that has charges and no stored state is not begun anew; another run on the same
// data, or none so far, is.
func TestOwnersWithoutTheirStateAreRefused(t *testing.T) {
	path, dir := ownTable(t), filepath.Join(t.TempDir(), "ledger")
	_, key, _ := ed25519.GenerateKey(nil)
	l := born(t, path, dir, key, nil, true)
	if err := l.owner.Recover(l.file, "this run", false); err != nil {
		t.Errorf("before the first charge: %v", err)
	}
	l.round(t, 0)
	if err := l.owner.Recover(l.file, "this run", false); !errors.Is(err, privacy.ErrRefused) ||
		!strings.Contains(err.Error(), "state directory") {
		t.Errorf("without its state: %v, want ErrRefused", err)
	}
	if err := l.owner.Recover(l.file, "another run", false); err != nil {
		t.Errorf("another run: %v", err)
	}
	if alone, err := l.owner.LocalBaseline(t.Context()); err != nil || alone < .7 {
		t.Errorf("alone %g, %v; want most of 30 separable test records", alone, err)
	}
	l.owner.Erase()
	published := strings.Replace(ownIterate, "[privacy]",
		"[replication]\nclaim = true\nnoise = \"laplace\"\none_record = true\n[privacy]", 1)
	if _, err := ownerOf(t, published, path); !errors.Is(err, privacy.ErrRefused) {
		t.Errorf("the published form: %v, want ErrRefused", err)
	}
}

// No round may be left out where what members learn of each other is known for the whole
// run alone, or where an iterate follows from all answers.
func TestWhichRunsAreWhole(t *testing.T) {
	path := ownTable(t)
	dropout := strings.Replace(ownerAverage, "[topology]", "[topology]\ndropout = 0.2", 1)
	for run, want := range map[string]bool{ownIterate: true, ownerAverage: true, dropout: true,
		ownerRun: false} {
		o, err := ownerOf(t, run, path)
		if err != nil {
			t.Fatal(err)
		}
		if got := owner.Whole(o); got != want {
			t.Errorf("%v, want %v, of\n%s", got, want, run)
		}
	}
}
