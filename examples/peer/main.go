// Command peer shows a federation inside another program: four members train one model,
// each with a ledger and a state of its own on disk, over a way between them that the
// program chooses. Here that is memory; anything that carries bytes between two members
// and implements node.Transport will do. Whoever has no such way of its own runs the
// daemon, sotto node, or package experiment/owner.
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"sotto/agent"
	"sotto/data/memory"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/wire"
	"sotto/oracle"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// runFile is what all members have agreed on.
const runFile = `
name = "peer"
rounds = 20

[topology]
graph = "ring"
agents = 4

[data]
dataset = "memory"
partition = "natural"

[model]
name = "logistic"
intercept = true

[algorithm]
name = "dsgd"
step_size = 2.0

[privacy]
adjacency = "zero-out"
batch_size = 40
target_epsilon = 2.0
target_delta = 1e-4
`

const records = 400 // of each member; public

// table has every member's records, which a real one would have alone.
func table(n int, seed uint64) *memory.Table {
	t := &memory.Table{Classes: []string{"low", "high"}, Owners: []string{"north", "east", "south", "west"}}
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 4 * n {
		a, b, label := r.Float64(), r.Float64(), 0
		if a+b > 1 {
			label = 1
		}
		t.X, t.Labels, t.Owner = append(t.X, []float64{a, b}), append(t.Labels, label), append(t.Owner, i%4)
	}
	return t
}

// member runs one member, and prints what its answers have cost and its model.
func member(e *experiment.Experiment, self agent.ID, way node.Transport, dir string) error {
	_, key, err := ed25519.GenerateKey(nil) // an owner keeps its key
	if err != nil {
		return err
	}
	// Every answer is charged here, durably, before the records are read. The budget is
	// over all runs of the owner, and the ledger refuses what goes beyond it.
	book, err := ledger.Create(filepath.Join(dir, "ledger"), ledger.Genesis{
		Adjacency: account.ZeroOut, Unit: account.Record(), MinRecords: records,
		Budget: account.Budget{Epsilon: 3, Delta: 1e-4},
	}, ledger.Options{Key: key})
	if err != nil {
		return err
	}
	defer book.Close()
	party, err := e.Party(experiment.Seat{
		Self:    self,
		Records: oracle.Records{Data: e.Task.Split.Train, Index: e.Task.Parts[self]},
		Ledger:  book,
		Pool:    oracle.NewPool(),
		Fresh:   true,
	})
	if err != nil {
		return err
	}
	// A process that is killed goes on from here when it is started again.
	state, err := checkpoint.Open(filepath.Join(dir, "state"), nil)
	if err != nil {
		return err
	}
	defer state.Close()
	graph, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return err
	}
	n, err := node.New(node.Config{
		Identity:  node.Identity{Self: self, Run: sha256.Sum256(e.Effective)},
		Learner:   node.Learner{Algorithm: party.Algorithm, Gate: party.Gate, Dim: e.Task.Model.Dim()},
		Pace:      node.Pace{Graph: graph, Rounds: e.File.Run.Rounds},
		Transport: way,
		Store:     state,
	})
	if err != nil {
		return err
	}
	if err := n.Run(context.Background()); err != nil {
		return err
	}
	cost, err := run.Spent(e, book)
	if err != nil {
		return err
	}
	fmt.Printf("member %d: %d charges, epsilon %.3f at delta %g; parameters %.2f\n", self, book.Total(),
		float64(cost.Upper), e.File.Privacy.TargetDelta, n.Params())
	return nil
}

func main() {
	split, err := memory.Split(table(records, 1), table(100, 2))
	if err != nil {
		log.Fatal(err)
	}
	file, err := experiment.Parse("peer", []byte(runFile), nil)
	if err != nil {
		log.Fatal(err)
	}
	e, err := experiment.BuildOn(file, split)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "peer")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	network := wire.NewMemory(4, node.MaxPayload(e.Task.Model.Dim()))
	var all sync.WaitGroup
	for i := range agent.ID(4) {
		all.Go(func() {
			way := network.Open(i)
			defer way.Close()
			if err := member(e, i, way, filepath.Join(dir, fmt.Sprint(i))); err != nil {
				log.Fatalf("member %d: %v", i, err)
			}
		})
	}
	all.Wait()
}
