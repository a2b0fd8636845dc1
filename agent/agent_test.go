package agent_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/agent"
	"sotto/tensor"
)

func TestMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := agent.Message{
			From:  agent.ID(rapid.Uint32().Draw(t, "from")),
			To:    agent.ID(rapid.Uint32().Draw(t, "to")),
			Round: rapid.Uint64().Draw(t, "round"),
			Mass:  rapid.Float64Range(-1e300, 1e300).Draw(t, "mass"),
			Body:  rapid.SliceOf(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32)).Draw(t, "body"),
		}
		b := agent.AppendMessage([]byte("x"), &m)[1:]
		if len(b) != agent.MessageSize(len(m.Body)) {
			t.Fatalf("%d bytes, MessageSize says %d", len(b), agent.MessageSize(len(m.Body)))
		}
		var got agent.Message
		n, err := agent.DecodeMessage(append(b, 1, 2, 3), len(m.Body), &got)
		if err != nil || n != len(b) {
			t.Fatalf("decode: %d bytes, %v", n, err)
		}
		if !bytes.Equal(agent.AppendMessage(nil, &got), b) {
			t.Fatalf("got %v, want %v", got, m)
		}
	})
}

func TestBadMessagesAreRefusedBeforeAllocation(t *testing.T) {
	good := agent.AppendMessage(nil,
		&agent.Message{From: 7, To: 1, Round: 2, Mass: 1, Body: tensor.Vec{1, 2, 3}})
	edit := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	nan32 := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	inf64 := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(1)))
	for name, tc := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":     {nil, "0 bytes"},
		"version":   {edit(0, 3), "version 3, allowed: 1, 2"},
		"truncated": {good[:len(good)-1], "needs 41"},
		"4 GB body": {edit(25, 255, 255, 255, 255), "4294967295 values, allowed: at most 3"},
		"nan body":  {edit(33, nan32...), "agent 7"},
		"inf mass":  {edit(17, inf64...), "mass +Inf"},
	} {
		var m agent.Message
		_, err := agent.DecodeMessage(tc.b, 3, &m)
		if !errors.Is(err, agent.ErrMessage) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want ErrMessage with %q", name, err, tc.want)
		}
	}
	var m agent.Message
	if _, err := agent.DecodeMessage(good, 2, &m); err == nil {
		t.Error("a body above maxDim was accepted")
	}
	huge := edit(25, 255, 255, 255, 127)
	if n := testing.AllocsPerRun(10, func() { agent.DecodeMessage(huge, math.MaxInt32, &m) }); n > 10 {
		t.Errorf("%v allocations for a truncated huge message", n)
	}
}

func FuzzDecodeMessage(f *testing.F) {
	f.Add(agent.AppendMessage(nil, &agent.Message{From: 1, To: agent.Broadcast, Round: 9,
		Body: tensor.Vec{1, -2}}))
	f.Add(agent.AppendMessage(nil, &agent.Message{}))
	f.Add(agent.AppendMessageBF16(nil,
		&agent.Message{From: 1, To: 2, Mass: .5, Body: tensor.Vec{1, -2, 0x1.fep+127}}))
	f.Add([]byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var m agent.Message
		n, err := agent.DecodeMessage(b, 1000, &m)
		if err != nil {
			if !errors.Is(err, agent.ErrMessage) {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		again := agent.AppendMessage
		if agent.IsBF16(b) {
			again = agent.AppendMessageBF16
		}
		if !bytes.Equal(again(nil, &m), b[:n]) {
			t.Fatal("decoded message does not encode to the same bytes")
		}
	})
}

// Bodies of bfloat16 values travel in two bytes a value and come back exactly; others are
// not sent so, and none that is not finite is taken.
func TestMessageBF16(t *testing.T) {
	want := agent.Message{
		From:  3,
		To:    agent.Broadcast,
		Round: 5,
		Mass:  .1,
		Body:  tensor.Vec{1, -2.5, 0, 0x1p-120, 0x1.fep+127, float32(math.Copysign(0, -1))},
	}
	b := agent.AppendMessageBF16(nil, &want)
	if !agent.IsBF16(b) || agent.IsBF16(agent.AppendMessage(nil, &want)) ||
		len(b) != agent.MessageSizeBF16(6) || len(b) != agent.MessageSize(0)+12 {
		t.Fatalf("%d bytes", len(b))
	}
	var m agent.Message
	if n, err := agent.DecodeMessage(b, 6, &m); err != nil || n != len(b) || m.From != 3 || m.Round != 5 ||
		m.Mass != .1 || !slices.Equal(m.Body, want.Body) || !math.Signbit(float64(m.Body[5])) {
		t.Errorf("%d, %v, %+v", n, err, m)
	}
	if to, size, err := agent.MessageHead(append(b, 9)); to != agent.Broadcast || size != len(b) ||
		err != nil {
		t.Errorf("head %v, %d, %v", to, size, err)
	}
	for _, n := range []int{0, len(b) - 1} {
		if _, err := agent.DecodeMessage(b[:n], 6, &m); !errors.Is(err, agent.ErrMessage) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	infinite := slices.Clone(b)
	infinite[agent.MessageSize(0)], infinite[agent.MessageSize(0)+1] = 0x80, 0x7f
	if _, err := agent.DecodeMessage(infinite, 6, &m); !errors.Is(err, agent.ErrMessage) {
		t.Errorf("an infinite value: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a value that is no bfloat16 was sent as one")
		}
	}()
	agent.AppendMessageBF16(nil, &agent.Message{Body: tensor.Vec{.1}})
}

func TestMessageHead(t *testing.T) {
	b := agent.AppendMessage(nil, &agent.Message{From: 7, To: 4, Round: 2, Body: tensor.Vec{1, 2, 3}})
	to, size, err := agent.MessageHead(append(b, 9, 9))
	if to != 4 || size != len(b) || err != nil {
		t.Errorf("to %d, %d bytes, %v; want 4, %d", to, size, err, len(b))
	}
	for i := range b {
		if _, _, err := agent.MessageHead(b[:i]); !errors.Is(err, agent.ErrMessage) ||
			agent.MessageValues(b[:i]) != 0 {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	half := agent.AppendMessageBF16(nil, &agent.Message{Body: tensor.Vec{1, 2}})
	if n, m := agent.MessageValues(append(b, 9)), agent.MessageValues(half); n != 3 || m != 2 {
		t.Errorf("%d and %d values, want 3 and 2", n, m)
	}
}

func TestStateRefusesWhatDoesNotFit(t *testing.T) {
	b := agent.AppendVec(binary.LittleEndian.AppendUint64(agent.AppendTag(nil, "demo/1"), 5),
		tensor.Vec{1, 2})
	read := func(b []byte, tag string) (uint64, tensor.Vec, error) {
		s := agent.ReadState(b, tag)
		n, v := s.Uint64(), make(tensor.Vec, 2)
		s.Vec(v)
		return n, v, s.Close()
	}
	if n, v, err := read(b, "demo/1"); err != nil || n != 5 || v[0] != 1 || v[1] != 2 {
		t.Fatalf("got %d %v %v", n, v, err)
	}
	for i := range b {
		if _, _, err := read(b[:i], "demo/1"); !errors.Is(err, agent.ErrState) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if _, _, err := read(append(bytes.Clone(b), 0), "demo/1"); !errors.Is(err, agent.ErrState) {
		t.Error("trailing byte accepted")
	}
	if _, _, err := read(b, "demo/2"); !errors.Is(err, agent.ErrState) {
		t.Error("other version accepted")
	}
}

func TestViewWeight(t *testing.T) {
	v := agent.View{In: []agent.Neighbor{{ID: 1, Weight: .25}, {ID: 4, Weight: .5}}}
	for id, want := range map[agent.ID]float64{0: 0, 1: .25, 2: 0, 4: .5, 9: 0} {
		if got := v.Weight(id); got != want {
			t.Errorf("Weight(%d) = %v, want %v", id, got, want)
		}
	}
}

func ExampleDecodeMessage() {
	wire := agent.AppendMessage(nil, &agent.Message{From: 3, To: agent.Broadcast, Round: 17,
		Body: tensor.Vec{.5, 1}})
	var m agent.Message
	n, err := agent.DecodeMessage(wire, 2, &m)
	fmt.Println(n, err, m.From, m.Round, m.Body)
	_, err = agent.DecodeMessage(wire, 1, &m)
	fmt.Println(err)
	// Output:
	// 37 <nil> 3 17 [0.5 1]
	// agent: malformed message: body of 2 values, allowed: at most 1
}
