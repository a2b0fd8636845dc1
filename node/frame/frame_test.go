package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/node/mark"
	"sotto/tensor"
)

func payload(ms ...agent.Message) (b []byte) {
	for i := range ms {
		b = agent.AppendMessage(b, &ms[i])
	}
	return b
}

func goodFrame() *Frame {
	return &Frame{Kind: Messages, Run: [32]byte{1, 31: 2}, Sender: 3, Round: 9,
		Payload: payload(agent.Message{From: 3, To: agent.Broadcast, Round: 9, Body: tensor.Vec{1, -.5}})}
}

// The layout that the type's comment gives, byte for byte.
func TestFrameLayout(t *testing.T) {
	f := goodFrame()
	b := Append([]byte("x"), f)[1:]
	want := append([]byte("SOTF\x01\x01\x00\x00"), f.Run[:]...)
	want = append(want, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, byte(len(f.Payload)), 0, 0, 0)
	want = binary.LittleEndian.AppendUint32(want,
		crc32.Checksum(f.Payload, crc32.MakeTable(crc32.Castagnoli)))
	want = binary.LittleEndian.AppendUint32(want, crc32.Checksum(want, crc32.MakeTable(crc32.Castagnoli)))
	want = append(want, f.Payload...)
	if !bytes.Equal(b, want) {
		t.Fatalf("got  %x\nwant %x", b, want)
	}
	got, err := Decode(b, len(f.Payload))
	if err != nil || got.Kind != f.Kind || got.Run != f.Run || got.Sender != 3 || got.Round != 9 ||
		!bytes.Equal(got.Payload, f.Payload) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

// resum makes the header's checksum fit again after an edit.
func resum(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

func TestBadFramesAreRefused(t *testing.T) {
	good := Append(nil, goodFrame())
	edit := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	limit := len(good) - HeaderSize
	for name, tc := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":         {nil, "0 bytes"},
		"garbage":       {bytes.Repeat([]byte{0xa5}, 200), "allowed: \"SOTF\""},
		"version":       {resum(edit(4, 3)), "version 3, allowed: 1 to 2"},
		"kind":          {resum(edit(5, 12)), "kind 12, allowed: 1 to 11"},
		"reserved":      {resum(edit(7, 1)), "bytes 6 and 7"},
		"flipped bit":   {edit(44, 8), "header's checksum"},
		"4 GB length":   {resum(edit(52, 255, 255, 255, 255)), "4294967295 bytes, allowed: at most"},
		"payload byte":  {edit(HeaderSize+20, 77), "payload's checksum"},
		"cut":           {good[:len(good)-1], "the header says"},
		"longer":        {append(bytes.Clone(good), 0), "the header says"},
		"hello + bytes": {Append(nil, &Frame{Kind: Hello, Payload: []byte{1}}), "kind 2 with a payload"},
		"long claim": {Append(nil, &Frame{Kind: Finished, Payload: make([]byte, mark.MaxAttestation+1)}),
			"payload"},
	} {
		_, err := Decode(tc.b, limit)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want ErrFrame with %q", name, err, tc.want)
		}
	}
	if _, err := Decode(resum(edit(4, 3)), limit); !errors.Is(err, ErrVersion) {
		t.Errorf("another version gave %v", err)
	}
	if _, err := Decode(good, limit-1); err == nil {
		t.Error("a payload above the limit was accepted")
	}
}

func TestMessagesOfAFrameAreChecked(t *testing.T) {
	good := agent.Message{From: 3, To: 1, Round: 9, Body: tensor.Vec{1, 2}}
	with := func(change func(*agent.Message)) []agent.Message {
		m := good
		change(&m)
		return []agent.Message{good, m}
	}
	for name, tc := range map[string]struct {
		ms   []agent.Message
		want string
	}{
		"other sender": {with(func(m *agent.Message) {
			m.From = 2
		}), "from 2 to 1 for round 9, allowed: from 3"},
		"other receiver": {with(func(m *agent.Message) { m.To = 2 }), "to 2"},
		"other round":    {with(func(m *agent.Message) { m.Round = 8 }), "for round 8"},
		"not finite": {with(func(m *agent.Message) {
			m.Body = tensor.Vec{float32(math.Inf(-1)), 0}
		}), "message 1 of agent 3"},
		"too many": {with(func(m *agent.Message) {
			m.Body = make(tensor.Vec, 3)
		}), "body of 3 values, allowed: at most 2"},
	} {
		f := &Frame{Kind: Messages, Sender: 3, Round: 9, Payload: payload(tc.ms...)}
		if _, err := DecodeMessages(nil, f, 1, 4); !errors.Is(err, ErrMalformed) ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want ErrFrame with %q", name, err, tc.want)
		}
	}
	f := &Frame{Kind: Messages, Sender: 3, Round: 9, Payload: payload(with(func(m *agent.Message) {
		m.To = agent.Broadcast
	})...)}
	ms, err := DecodeMessages(nil, f, 1, 4)
	if err != nil || len(ms) != 2 || ms[1].Body[1] != 2 {
		t.Fatalf("got %v, %v", ms, err)
	}
}

func TestReadFrame(t *testing.T) {
	good := Append(nil, goodFrame())
	r := bytes.NewReader(append(bytes.Clone(good), good[:70]...))
	b, err := Read(r, 1000, nil)
	if err != nil || !bytes.Equal(b, good) {
		t.Fatalf("got %x, %v", b, err)
	}
	if _, err := Read(r, 1000, b); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut frame gave %v", err)
	}
	if _, err := Read(r, 1000, nil); !errors.Is(err, io.EOF) {
		t.Errorf("the end gave %v", err)
	}
	huge := bytes.Clone(good)
	copy(huge[52:], []byte{255, 255, 255, 127})
	resum(huge)
	if n := testing.AllocsPerRun(5, func() { Read(bytes.NewReader(huge), 1<<20, nil) }); n > 10 {
		t.Errorf("%v allocations for a frame above the limit", n)
	}
}

func FuzzDecodeFrame(f *testing.F) {
	f.Add(Append(nil, goodFrame()))
	f.Add(Append(nil, &Frame{Kind: Hello, Sender: 1, Round: 4}))
	f.Add(Append(nil, &Frame{Kind: Finished}))
	f.Add([]byte("SOTF\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, err := Decode(b, 1<<12)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		if !bytes.Equal(Append(nil, &fr), b) {
			t.Fatal("a decoded frame does not encode to the same bytes")
		}
		ms, err := DecodeMessages(nil, &fr, 1, 100)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("unnamed error %v", err)
		}
		total := 0
		for i := range ms {
			total += len(ms[i].Body)
			if !ms[i].Body.Finite() {
				t.Fatal("a value that is not finite was accepted")
			}
		}
		if total > 100 {
			t.Fatalf("%d values, allowed 100", total)
		}
	})
}
