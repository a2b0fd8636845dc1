package node_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sotto/node"
	"sotto/node/mark"
	"sotto/node/nodetest"
	"sotto/rng"
)

// Members are halted and started again at drawn times, over links that lose frames or
// take seconds; up to two of them are restored from any of their snapshots then, as often
// as it is drawn. Everybody ends, in every pace. These seeds made members wait for good.
// Of two restored neighbors one may have forgotten what the other lacks, which ends then,
// as TestAMemberThatAllNeighborsHaveForgotten does; nobody else does so.
func TestDrawnHaltsAndRestores(t *testing.T) {
	t.Parallel()
	every := paces(t)
	every["walk"] = nodetest.Options{Factory: walkFactory(t, "walk", "noise"), Tokens: 2}
	for _, seed := range andMore(102, 134, 617) {
		for name, o := range every {
			if o.Rounds = 40; o.Interval > 0 {
				o.Rounds = 100
			}
			t.Run(fmt.Sprint(seed, " ", name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := drawn{chance: rng.Public(seed, "halts"), snapshots: map[int][]snapshot{},
						restored: map[int]bool{}}
					d.prepare(t, o, seed, name)
					d.disturb(t)
					d.ends(t)
				})
			})
		}
	}
}

// drawn is a run that is disturbed.
type drawn struct {
	*running
	chance    *rng.Stream
	up        []bool
	unlucky   []int // who is restored
	snapshots map[int][]snapshot
	restored  map[int]bool
	history   string
}

type snapshot struct {
	files   [2][]byte
	charges uint64
}

// prepare starts everybody. A walk's state is not restored: its tokens cannot go back.
func (d *drawn) prepare(t *testing.T, o nodetest.Options, seed uint64, name string) {
	had := o.Change
	o.Change = func(i int, c *node.Config) {
		if had != nil {
			had(i, c)
		}
		f := nodetest.NewFaulty(c.Transport, 100*seed+uint64(i))
		if f.Lose, f.Unsure, f.Repeat = .1, .05, .05; seed%2 == 1 {
			f.Lose, f.Unsure, f.Delay = .3, .1, time.Duration(1+seed%8)*time.Second
		}
		c.Transport, c.Gate = f, slowGate{c.Gate, time.Second}
		c.Deadline, c.Linger, c.Patience = 10*time.Second, 10*time.Hour, 12*time.Hour
		if name == node.Proceed {
			c.Missing = node.Proceed
		}
		c.OnRollback = func(_ *mark.Mark, missing, _ uint64) error { return d.charge(i, missing) }
	}
	d.running = prepare(t, o, openMemory)
	for i := range d.nodes {
		d.start(t, i)
		d.up = append(d.up, true)
	}
	for range 2 {
		if name != "walk" {
			d.unlucky = append(d.unlucky, int(d.chance.Below(uint64(len(d.nodes)))))
		}
	}
}

// disturb halts and starts members, and leaves all started.
func (d *drawn) disturb(t *testing.T) {
	for range 30 {
		time.Sleep(time.Duration(d.chance.Below(uint64(6 * time.Second))))
		i := int(d.chance.Below(uint64(len(d.nodes))))
		if !d.up[i] {
			d.start(t, i)
			d.up[i] = true
			continue
		}
		d.stop[i]()
		if err := <-d.done[i]; err == nil { // it has finished
			d.done[i] <- nil
			continue
		}
		d.up[i] = false
		d.history += fmt.Sprintf("%d halted at %d\n", i, d.nodes[i].Status().Round)
		if slices.Contains(d.unlucky, i) {
			d.turn(t, i)
		}
	}
	for i := range d.nodes {
		if !d.up[i] {
			d.start(t, i)
		}
	}
}

// ends waits for everybody.
func (d *drawn) ends(t *testing.T) {
	errs, behind := make([]error, len(d.nodes)), false
	for i := range errs {
		errs[i] = <-d.done[i]
		behind = behind || errors.Is(errs[i], node.ErrBehind) && d.restored[i]
	}
	for i, err := range errs {
		switch {
		case err == nil, behind && errors.Is(err, node.ErrStalled):
		case behind && errors.Is(err, node.ErrBehind) && d.restored[i]:
		default:
			t.Errorf("member %d: %v\n%s", i, err, d.history)
		}
	}
}

// turn takes a snapshot of a member, or restores it from one.
func (d *drawn) turn(t *testing.T, i int) {
	all := d.snapshots[i]
	if len(all) == 0 || d.chance.Below(2) == 0 {
		d.snapshots[i] = append(all, snapshot{d.files(i), d.led[i].Head().Seq})
		return
	}
	s := all[d.chance.Below(uint64(len(all)))]
	if d.led[i].Head().Seq < s.charges { // restored before, and not told yet
		return
	}
	d.restored[i] = true
	d.put(i, s.files)
	d.rollBack(t, i, s.charges)
	d.history += fmt.Sprintf("%d restored with %d charges\n", i, s.charges)
}
