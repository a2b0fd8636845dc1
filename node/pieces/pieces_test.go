package pieces

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"sotto/agent"
	"sotto/tensor"
)

// vector is of so many values, no two stretches of them alike.
func vector(seed, length int) tensor.Vec {
	v := make(tensor.Vec, length)
	for i := range v {
		v[i] = float32(seed*length+i) / 7
	}
	return v
}

// What is in the state is not written again, whatever is sent: the model, two vectors of
// which one is kept, in one or the other order, to some neighbors or to all; and all of
// it comes back.
func TestPieces(t *testing.T) {
	const dim = 200
	a, b, c := vector(1, dim), vector(2, dim), vector(3, dim)
	state := agent.AppendVec(agent.AppendVec(agent.AppendTag(nil, "any/1"), a), b)
	join := func(vs ...tensor.Vec) (all tensor.Vec) {
		for _, v := range vs {
			all = append(all, v...)
		}
		return all
	}
	message := func(bodies ...tensor.Vec) (all []byte) {
		for k, body := range bodies {
			all = agent.AppendMessage(all, &agent.Message{From: 1, To: agent.ID(k), Round: 3, Body: body})
		}
		return all
	}
	for name, tc := range map[string]struct {
		sent  []byte
		fresh int // values that the state does not hold
	}{
		"nothing":          {nil, 0},
		"model":            {message(a), 0},
		"second":           {message(b), 0},
		"both":             {message(join(a, b)), 0},
		"both, turned":     {message(join(b, a)), 0},
		"one of two":       {message(join(a, c)), dim},
		"another":          {message(c), dim},
		"three messages":   {message(a, a, b), 0},
		"short, no vector": {message(a[:3]), 3},
	} {
		packed := Append(nil, tc.sent, state)
		pieces := 1 + len(tc.sent)/(4*dim)
		if most := 8 + pieces*(24+agent.MessageSize(0)) + 4*tc.fresh; len(packed) > most {
			t.Errorf("%s: %d bytes of %d, want at most %d", name, len(packed), len(tc.sent), most)
		}
		s := agent.ReadState(append(agent.AppendTag(nil, "x"), packed...), "x")
		got, err := Read(s, state, 1<<34)
		if err == nil {
			err = s.Close()
		}
		if err != nil || !bytes.Equal(got, tc.sent) {
			t.Errorf("%s: %d bytes of %d came back, %v", name, len(got), len(tc.sent), err)
		}
	}
}

// Whatever is sent comes back, also where state and outbox repeat themselves; bytes that
// are no pieces are refused, with no more memory than their kind allows.
func FuzzPieces(f *testing.F) {
	f.Add([]byte("outbox"), []byte("state"), []byte{})
	f.Add(bytes.Repeat([]byte{7}, 300), bytes.Repeat([]byte{7}, 100), u64(nil, 300, 0, 0, 100))
	f.Add(bytes.Repeat([]byte{0, 1, 2}, 50), bytes.Repeat([]byte{1, 2, 0}, 40), u64(nil, 1<<40, 0, 0, 1<<63))
	f.Fuzz(func(t *testing.T, outbox, state, any []byte) {
		read := func(b []byte) ([]byte, error) {
			return Read(agent.ReadState(append(agent.AppendTag(nil, "x"), b...), "x"), state, 1<<34)
		}
		if got, err := read(Append(nil, outbox, state)); err != nil || !bytes.Equal(got, outbox) {
			t.Fatalf("%x came back as %x, %v", outbox, got, err)
		}
		got, err := read(any)
		if err != nil && !errors.Is(err, ErrPieces) {
			t.Fatalf("an error of another kind: %v", err)
		}
		if err == nil && uint64(len(got)) != binary.LittleEndian.Uint64(any) {
			t.Fatal("an outbox of another length than it says")
		}
	})
}
