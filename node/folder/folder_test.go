package folder

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sotto/agent"
	"sotto/algo"
	"sotto/internal/scratch"
	"sotto/node"
	"sotto/node/frame"
	"sotto/node/mark"
	"sotto/node/nodetest"
	"sotto/node/p2p"
	"sotto/node/wire"
	"sotto/privacy/ledger"
	"sotto/privacy/ledger/ledgertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(scratch.InMemory(m)) }

// shared is a network whose members have a folder in common, and nothing else.
type shared struct {
	dir     string
	members []Member
	max     int
	log     *slog.Logger
}

func openShared(t testing.TB, members, maxPayload int) *shared {
	s := &shared{dir: t.TempDir(), max: maxPayload}
	for i := range members {
		s.members = append(s.members, Member{Key: nodetest.Key(agent.ID(i)).Public().(ed25519.PublicKey)})
	}
	return s
}

func (s *shared) Open(t testing.TB, i agent.ID) node.Transport {
	t.Helper()
	tr, err := New(Config{Key: nodetest.Key(i), Members: s.members, Dir: s.dir, MaxPayload: s.max,
		Log: s.log})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestTransport(t *testing.T) {
	nodetest.Transport(t, func(t testing.TB, members int) nodetest.Network {
		return openShared(t, members, nodetest.MaxPayload)
	})
}

func TestNodesEqualTheSimulator(t *testing.T) {
	for _, name := range []string{"dsgd", "dsgt"} {
		nodetest.Equal(t, nodetest.Options{Factory: factory(t, name)},
			func(t testing.TB, members int) nodetest.Network {
				return openShared(t, members, node.MaxPayload(nodetest.Dim))
			})
	}
}

// mixed is a network in which members 0 and 1 have connections and a folder, and member 2
// the folder alone.
type mixed struct {
	*shared
	at []string
}

func (m mixed) Open(t testing.TB, i agent.ID) node.Transport {
	if i == 2 {
		return m.shared.Open(t, i)
	}
	c := p2p.Config{Key: nodetest.Key(i), MaxPayload: m.max}
	for j, other := range m.members {
		c.Members = append(c.Members, p2p.Member{Key: other.Key, Address: m.at[j]})
	}
	conns, err := p2p.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return wire.NewSeveral(conns, m.shared.Open(t, i))
}

// Each member chooses how it is reached, and the result is the simulator's.
func TestMembersWithDifferentReach(t *testing.T) {
	nodetest.Equal(t, nodetest.Options{Factory: factory(t, "dsgt"), Agents: 3, Graph: "complete"},
		func(t testing.TB, members int) nodetest.Network {
			m := mixed{shared: openShared(t, members, node.MaxPayload(nodetest.Dim))}
			for range 2 {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				m.at = append(m.at, l.Addr().String())
				l.Close()
			}
			m.at = append(m.at, "nobody.invalid:1")
			return m
		})
}

func factory(t testing.TB, name string) agent.Factory {
	f, err := algo.New(name, func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func world(t testing.TB) *nodetest.World {
	return nodetest.NewWorld(t, nodetest.Options{Factory: factory(t, "dsgt"), Agents: 2, Graph: "complete"})
}

// Two processes with only a folder in common end with the simulator's bits. This test is
// both of them, too.
func TestTwoProcesses(t *testing.T) {
	if dir := os.Getenv("SOTTO_TEST_FOLDER"); dir != "" {
		takePart(t, dir)
		return
	}
	s := openShared(t, 2, 0)
	want, _ := world(t).Simulate(t)
	got := make([][]float32, 2)
	var both sync.WaitGroup
	for i := range got {
		both.Go(func() {
			c := exec.Command(os.Args[0], "-test.run=^TestTwoProcesses$", "-test.v")
			c.Env = append(os.Environ(), "SOTTO_TEST_FOLDER="+s.dir, "SOTTO_TEST_MEMBER="+strconv.Itoa(i))
			out, err := c.CombinedOutput()
			_, rest, _ := strings.Cut(string(out), "PARAMS ")
			if err := errors.Join(err, json.NewDecoder(strings.NewReader(rest)).Decode(&got[i])); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
		})
	}
	both.Wait()
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("agent %d: %v, in the simulator %v", i, got[i], want[i])
		}
	}
}

func takePart(t *testing.T, dir string) {
	i, err := strconv.Atoi(os.Getenv("SOTTO_TEST_MEMBER"))
	if err != nil {
		t.Fatal(err)
	}
	s := openShared(t, 2, node.MaxPayload(nodetest.Dim))
	s.dir = dir
	tr := s.Open(t, agent.ID(i))
	n, store, err := world(t).Node(t, i, tr, ledgertest.NewCrashFS(), ledger.NewMemory(nil))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(n.Run(context.Background()), tr.Close(), store.Close())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal([]float32(n.Params()))
	t.Logf("PARAMS %s", b)
}

// pair are two members, of whom the second counts what it gets, and its log.
type pair struct {
	*shared
	a, b *Transport
	mu   sync.Mutex
	got  int
	text bytes.Buffer
}

func (p *pair) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pair) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got
}

func openPair(t *testing.T) *pair {
	p := &pair{shared: openShared(t, 3, 1000)}
	p.log = slog.New(slog.NewTextHandler(p, nil))
	p.members[0].Name, p.members[2].Name = "ann", "eve"
	p.a, p.b = p.Open(t, 0).(*Transport), p.Open(t, 1).(*Transport)
	t.Cleanup(func() { p.a.Close(); p.b.Close() })
	p.a.Serve(func(agent.ID, []byte) error { return nil })
	p.b.Serve(func(agent.ID, []byte) error {
		p.mu.Lock()
		p.got++
		p.mu.Unlock()
		return nil
	})
	return p
}

// put writes a file where only a member's node should, or whoever owns the folder.
func (p *pair) put(t *testing.T, l label, b []byte) {
	t.Helper()
	at := filepath.Join(p.a.root.Name(), path(l))
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// named waits until the log of both has a text.
func (p *pair) named(t *testing.T, text string) {
	t.Helper()
	for range 400 {
		p.mu.Lock()
		found := strings.Contains(p.text.String(), text)
		p.mu.Unlock()
		if found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the log does not say %q:\n%s", text, p.text.String())
}

// came waits until so many frames were handed over, and sees that there are no more.
func (p *pair) came(t *testing.T, want int) {
	t.Helper()
	for range 400 {
		if p.count() >= want {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := p.count(); got != want {
		t.Fatalf("the handler got %d frames, want %d", got, want)
	}
}

// What somebody does who can write to the folder is refused, and the file is named:
// truncated, altered, huge and foreign files, and old ones that come again.
func TestHostileFiles(t *testing.T) {
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Hello})
	for name, file := range map[string]func(p *pair, l label, good []byte) ([]byte, label){
		"truncated": func(_ *pair, l label, good []byte) ([]byte, label) { return good[:len(good)/2], l },
		"empty":     func(_ *pair, l label, good []byte) ([]byte, label) { return nil, l },
		"altered": func(_ *pair, l label, good []byte) ([]byte, label) {
			good[len(good)-1] ^= 1
			return good, l
		},
		"huge": func(p *pair, l label, good []byte) ([]byte, label) {
			return append(good, make([]byte, p.b.maxFile())...), l
		},
		"under another number": func(_ *pair, l label, good []byte) ([]byte, label) {
			l.number++
			return good, l
		},
		"of another sender": func(_ *pair, l label, good []byte) ([]byte, label) {
			l.sender, l.writer = 2, 2
			return good, l
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := openPair(t)
			l := frameLabel(0, 1, 7, p.a.session, p.b.session)
			good, err := p.a.seal(l, raw)
			if err != nil {
				t.Fatal(err)
			}
			b, as := file(p, l, good)
			p.put(t, as, b)
			p.named(t, "a file was refused")
			p.named(t, p.b.peers[as.writer].name)
			if p.count() != 0 {
				t.Errorf("the handler got %d frames", p.count())
			}
			if err := send(p.a, 1, raw); err != nil || p.count() != 1 {
				t.Errorf("an honest frame after it: %v, %d frames", err, p.count())
			}
		})
	}
}

// A member cannot pass off another's frame as its own: it cannot read it, and what it
// signs again says inside whose it was.
func TestAFrameSignedAgain(t *testing.T) {
	p := openPair(t)
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Hello})
	good, err := p.a.seal(frameLabel(0, 1, 1, p.a.session, p.b.session), raw)
	if err != nil {
		t.Fatal(err)
	}
	eve := p.Open(t, 2).(*Transport)
	defer eve.Close()
	l := frameLabel(2, 1, 1, eve.session, p.b.session)
	copy(good, ed25519.Sign(nodetest.Key(2), eve.signed(l, good[ed25519.SignatureSize:])))
	p.put(t, l, good)
	p.named(t, "eve (agent 2)")
	if p.count() != 0 {
		t.Errorf("the handler got %d frames", p.count())
	}
}

// A frame that was taken and is put back is not handed over again, whatever is in
// between, and a frame for an earlier start of its receiver never is.
func TestReplayedFiles(t *testing.T) {
	p := openPair(t)
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Hello})
	l := frameLabel(0, 1, 1, p.a.session, p.b.session)
	good, err := p.a.seal(l, raw)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := send(p.a, 1, raw); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	p.put(t, l, good)
	p.named(t, errAgain.Error())
	if p.count() != 3 {
		t.Errorf("the handler got %d frames, want 3", p.count())
	}
	p.b.Close()
	again := p.Open(t, 1).(*Transport)
	defer again.Close()
	again.Serve(func(agent.ID, []byte) error {
		t.Error("a frame for an earlier start was handed over")
		return nil
	})
	p.put(t, l, good)
	time.Sleep(200 * time.Millisecond)
}

// What was taken is refused for ever, however often its sender has started since: the
// first of 65 starts was forgotten, and its frame taken again. No more is remembered than
// before, and a member's starts do not make the others write anew again and again.
func TestReplaysOfForgottenStarts(t *testing.T) {
	p := openPair(t)
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Hello})
	to, start := p.b.session, func(k int) session { return session{1, byte(k)} }
	file := func(k int) (label, []byte) {
		l := frameLabel(0, 1, 1, start(k), to)
		b, err := p.a.seal(l, raw)
		if err != nil {
			t.Fatal(err)
		}
		return l, b
	}
	first, replayed := file(0)
	for k := range maxSessions {
		p.put(t, first, replayed) // it lies there all the time
		l, b := file(k)
		p.put(t, l, b)
		p.came(t, k+1)
	}
	p.put(t, first, replayed)
	l, b := file(maxSessions)
	p.put(t, l, b)
	p.named(t, "a new session in the folder")
	time.Sleep(200 * time.Millisecond)
	p.came(t, maxSessions) // what was written before is passed over
	if err := send(p.a, 1, raw); err != nil {
		t.Errorf("a frame that is written for the new session: %v", err)
	}
	p.came(t, maxSessions+1)
	to, _ = p.b.sessionOf(1)
	for k := range maxSessions + 3 { // too soon for another session
		l, b := file(k)
		p.put(t, l, b)
	}
	p.came(t, 2*maxSessions)
	time.Sleep(200 * time.Millisecond)
	p.came(t, 2*maxSessions)
	if now, err := p.b.sessionOf(1); err != nil || now != to {
		t.Errorf("a member's starts began one session after the other: %v", err)
	}
}

// Names of synchronizers' conflicts, pipes and links in the folder do no harm, and what
// is in the folder does not grow with the number of frames.
func TestForeignThingsInTheFolder(t *testing.T) {
	p := openPair(t)
	dir := filepath.Join(p.a.root.Name(), "0", "1")
	name := frameLabel(0, 1, 9, p.a.session, p.b.session).file()
	for _, other := range []string{"x", name + " (conflicted copy)", name + ".sync-conflict-1",
		name + ".partial"} {
		if err := os.WriteFile(filepath.Join(dir, other), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
		t.Skip("no pipes here: ", err)
	}
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Hello})
	for range 50 {
		if err := send(p.a, 1, raw); err != nil {
			t.Fatal(err)
		}
	}
	p.named(t, "no file but p")
	time.Sleep(100 * time.Millisecond)
	for _, at := range []string{dir, filepath.Join(p.a.root.Name(), "1", "0")} {
		list, err := os.ReadDir(at)
		if err != nil || len(list) > 6 {
			t.Errorf("%s has %d files, %v", at, len(list), err)
		}
	}
}

// A Send that ends before the answer comes leaves its frame; the next one of the same
// frame gets the answer, and the frame is handed over once.
func TestAnAnswerThatTakesLongerThanASend(t *testing.T) {
	s := openShared(t, 2, 1000)
	a, b := s.Open(t, 0), s.Open(t, 1).(*Transport)
	defer a.Close()
	defer b.Close()
	release, count := make(chan struct{}), 0
	b.Serve(func(agent.ID, []byte) error { count++; <-release; return node.RefusedAhead })
	a.Serve(func(agent.ID, []byte) error { return nil })
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Hello})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	err := a.Send(ctx, 1, raw)
	cancel()
	if !errors.Is(err, node.ErrUnreachable) {
		t.Fatalf("before the answer: %v", err)
	}
	close(release)
	if err := send(a, 1, raw); !errors.Is(err, node.RefusedAhead) || count != 1 {
		t.Errorf("after it: %v; %d frames were handed over", err, count)
	}
}

// Every attempt at a hello tells the time anew; the answer to an earlier one is an answer
// to all.
func TestAnAnswerToAHelloOfAnotherTime(t *testing.T) {
	s := openShared(t, 2, 1000)
	a, b := s.Open(t, 0), s.Open(t, 1).(*Transport)
	defer a.Close()
	defer b.Close()
	release, count := make(chan struct{}), 0
	b.Serve(func(agent.ID, []byte) error { count++; <-release; return nil })
	a.Serve(func(agent.ID, []byte) error { return nil })
	hello := func(at, round uint64) []byte {
		return frame.Append(nil, &frame.Frame{Kind: frame.Hello, Round: round,
			Payload: binary.LittleEndian.AppendUint64(nil, 1|at<<24), Mark: make([]byte, mark.Size)})
	}
	for at := range uint64(3) {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		err := a.Send(ctx, 1, hello(1_700_000_000+at, 0))
		cancel()
		if !errors.Is(err, node.ErrUnreachable) {
			t.Fatalf("before the answer: %v", err)
		}
	}
	close(release)
	if err := send(a, 1, hello(1_700_000_009, 0)); err != nil || count != 1 {
		t.Errorf("after it: %v; %d frames were handed over, want 1", err, count)
	}
	if err := send(a, 1, hello(1_700_000_009, 1)); err != nil || count != 2 {
		t.Errorf("the hello of another round: %v; %d frames were handed over, want 2", err, count)
	}
}

// The longest frame of version 2, with its mark, goes through the folder.
func TestTheLongestFrame(t *testing.T) {
	s := openShared(t, 2, 1000)
	a, b := s.Open(t, 0), s.Open(t, 1)
	defer a.Close()
	defer b.Close()
	got := 0
	b.Serve(func(_ agent.ID, raw []byte) error { got = len(raw); return nil })
	a.Serve(func(agent.ID, []byte) error { return nil })
	raw := frame.Append(nil, &frame.Frame{Kind: frame.Messages, Payload: make([]byte, 1000),
		Mark: make([]byte, mark.Size)})
	if err := send(a, 1, raw); err != nil || got != len(raw) {
		t.Errorf("%v; %d bytes came, want %d", err, got, len(raw))
	}
}

func send(tr node.Transport, to agent.ID, raw []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return tr.Send(ctx, to, raw)
}
