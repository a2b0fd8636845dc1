package attack

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os/exec"
	"time"

	"sotto/agent"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/tensor"
)

// still is an oracle without data: what its gate answers is noise.
type still struct{}

// stillDim values of noise on a grid of a millionth are equal by chance with a
// probability below 2^-600.
const stillDim = 32

func (still) Describe(*agent.Query) (account.Release, error) {
	return account.Release{
		Oracle:    "still",
		Adjacency: account.AddRemove,
		Unit:      account.Record(),
		Sampler:   account.Sampler{Kind: account.FullBatch},
		Parts:     []account.Part{{Name: "still", Clip: 1, Shift: 1, Norm: account.L2, Dim: stillDim}},
		Scale:     1,
	}, nil
}

func (still) Evaluate(*privacy.Value, *agent.Query, *rng.Stream) {}

// drawKeys opens a gate with the keys that a daemon's has, those of a zero Seat, and
// takes two charges.
func drawKeys() ([]audit.Print, error) {
	m, err := privacy.NewGaussian(1)
	if err != nil {
		return nil, err
	}
	oracles := map[string]privacy.Oracle{"still": still{}}
	g := privacy.Open(ledger.NewMemory(nil), m, oracles, privacy.Keys{}, 0)
	var prints []audit.Print
	for k := range uint64(2) {
		g.Begin(k, nil)
		a := make(tensor.Vec, stillDim)
		if err := g.Answer(&agent.Query{Oracle: "still"}, a); err != nil {
			return nil, err
		}
		var b []byte
		for _, x := range a {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		sum := sha256.Sum256(b)
		prints = append(prints, audit.Print(sum[:]))
	}
	return prints, nil
}

// printsOfProcess is how many gates a process opens that another has started.
const printsOfProcess = 8

// WritePrints is what a process does that an audit of keys has started: it writes what
// the keys of some gates give, one a line.
func WritePrints(w io.Writer) error {
	for range printsOfProcess {
		prints, err := drawKeys()
		if err != nil {
			return err
		}
		for _, p := range prints {
			if _, err := fmt.Fprintf(w, "%x\n", p); err != nil {
				return err
			}
		}
	}
	return nil
}

// Keyring is a daemon's. self is the command line of a process that calls WritePrints;
// empty: no other process is started.
func Keyring(self []string) audit.Keyring {
	k := audit.Keyring{Draw: drawKeys}
	if len(self) > 0 {
		k.Elsewhere = func(ctx context.Context, meanwhile func() error) ([][]audit.Print, error) {
			return elsewhere(ctx, self, meanwhile)
		}
	}
	return k
}

// elsewhere starts two processes together.
func elsewhere(ctx context.Context, self []string, meanwhile func() error) ([][]audit.Print, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var out [2]bytes.Buffer
	ended := make(chan error, len(out))
	started := 0
	for k := range out {
		c := exec.CommandContext(ctx, self[0], self[1:]...)
		c.Stdout = &out[k]
		if err := c.Start(); err != nil {
			ended <- err
		} else {
			go func() { ended <- c.Wait() }()
		}
		started++
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var failed error
	for started > 0 {
		select {
		case err := <-ended:
			if started--; err != nil && failed == nil {
				failed = err
			}
		case <-tick.C:
			if err := meanwhile(); err != nil && failed == nil {
				failed = err
				cancel()
			}
		}
	}
	if failed == nil {
		failed = meanwhile()
	}
	if failed != nil {
		return nil, failed
	}
	var all [][]audit.Print
	for k := range out {
		p, err := readPrints(&out[k])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func readPrints(r io.Reader) ([]audit.Print, error) {
	var all []audit.Print
	for s := bufio.NewScanner(r); s.Scan(); {
		b, err := hex.DecodeString(s.Text())
		if err != nil || len(b) != len(audit.Print{}) {
			return nil, fmt.Errorf("another process wrote %q for a key's print", s.Text())
		}
		all = append(all, audit.Print(b))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("another process drew no keys")
	}
	return all, nil
}
