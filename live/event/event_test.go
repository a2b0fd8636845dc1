package event

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sotto/internal/jsonfloat"
)

// filled is a body of a kind with something in every field.
func filled(kind string) Body {
	b := New(kind)
	fill(reflect.ValueOf(b).Elem())
	return b
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		x := reflect.New(v.Type().Elem()).Elem()
		fill(x)
		v.SetMapIndex(reflect.ValueOf("key"), x)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(8)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(2.5)
	default:
		panic(v.Kind())
	}
}

// What is written is read again, for every kind; a kind of the future is passed over.
func TestRoundTrip(t *testing.T) {
	for _, kind := range Kinds() {
		b := filled(kind)
		if b.Kind() != kind {
			t.Errorf("the body of %s says that it is %s", kind, b.Kind())
		}
		e := Event{Version, 3, time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), kind, b.Scope(), b}
		line, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(line)
		if err != nil || !reflect.DeepEqual(got, &e) {
			t.Errorf("%s: %v\n%+v\n%+v", line, err, got, e)
		}
	}
	e, err := Decode([]byte(`{"v":1,"seq":1,"time":"2026-01-02T03:04:05Z","kind":"tomorrow",` +
		`"scope":"public",` +
		`"body":{"x":1}}`))
	if err != nil || e.Kind != "tomorrow" || e.Body != nil {
		t.Errorf("a kind of the future: %+v, %v", e, err)
	}
	inf := &Spent{Upper: jsonfloat.Float(math.Inf(1))}
	line, err := (&Event{Version: 1, Seq: 1, Kind: "spent", Scope: Public, Body: inf}).Encode()
	if got, err2 := Decode(line); err != nil || err2 != nil ||
		!math.IsInf(float64(got.Body.(*Spent).Upper), 1) {
		t.Errorf("an infinite epsilon: %s, %v, %v", line, err, err2)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{`{"v":2,"seq":1,"kind":"note","scope":"public","body":{}}`, "v: found 2"},
		{`{"v":1,"seq":0,"kind":"note","scope":"public","body":{}}`, "seq: found 0"},
		{`{"v":1,"seq":1,"kind":"note","scope":"mine","body":{}}`, "public, simulation, local"},
		{`{"v":1,"seq":1,"kind":"own","scope":"public","body":{}}`, "allowed: local for kind own"},
		{`{"v":1,"seq":1,"kind":"note","scope":"public","body":[]}`, "note"},
		{`{"v":1`, "unexpected end"},
		{strings.Repeat(" ", MaxLine+1), "bytes"},
	} {
		if _, err := Decode([]byte(tc.line)); !errors.Is(err, errLine) ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60s: %v, want %q", tc.line, err, tc.want)
		}
	}
}

// The wall: what a public event has is in a list that a person keeps, with the reason why
// it depends on no record. A new field is refused until it is there.
func TestPublicFieldsAreListed(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "public.txt"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		name, why, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(line, "#") || line == "\n" {
			continue
		}
		if !ok || why == "" {
			t.Errorf("%q: no reason", line)
		}
		listed[name] = false
	}
	for _, kind := range Kinds() {
		body := New(kind)
		if _, open := body.(Releasable); open != (body.Scope() == Public) {
			t.Errorf("%s has scope %s and is releasable: %v", kind, body.Scope(), open)
		}
		if body.Scope() != Public {
			continue
		}
		for _, name := range fields(kind, reflect.TypeOf(body).Elem()) {
			if _, ok := listed[name]; !ok {
				t.Errorf("%s is public and not listed: say in testdata/public.txt why it depends on no "+
					"record", name)
			}
			listed[name] = true
		}
	}
	for name, there := range listed {
		if !there {
			t.Errorf("%s is listed and not there", name)
		}
	}
}

// fields are the JSON paths of a type.
func fields(at string, x reflect.Type) (all []string) {
	for x.Kind() == reflect.Pointer || x.Kind() == reflect.Slice {
		x = x.Elem()
	}
	if x.Kind() != reflect.Struct || x == reflect.TypeFor[time.Time]() {
		return []string{at}
	}
	for i := range x.NumField() {
		f := x.Field(i)
		if f.Anonymous {
			all = append(all, fields(at, f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, fields(at+"."+name, f.Type)...)
	}
	return all
}

// A stream takes no event of another scope.
func TestScopes(t *testing.T) {
	for _, tc := range []struct {
		stream Scope
		kind   string
		ok     bool
	}{
		{Public, "note", true}, {Public, "evaluation", false}, {Public, "time", false}, {Public, "own",
			false},
		{Simulated, "note", true}, {Simulated, "evaluation", true}, {Simulated, "own", false},
		{Local, "note", true}, {Local, "evaluation", false}, {Local, "own", true},
	} {
		refused := func() (refused bool) {
			defer func() { refused = recover() != nil }()
			NewStream(tc.stream).Emit(New(tc.kind))
			return
		}()
		if refused == tc.ok {
			t.Errorf("a stream of scope %s and a %s: refused %v", tc.stream, tc.kind, refused)
		}
	}
	var none *Stream
	none.Emit(&Note{}) // takes and drops
	var owned *Owned
	owned.Emit(&Note{})
}

// A file goes on with the next number after whatever a killed process has left, and who
// follows all hears what it had.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	say := func(texts ...string) (heard []string) {
		s := NewStream(Simulated)
		s.FollowAll(func(e *Event) {
			heard = append(heard, fmt.Sprintf("%d %s", e.Seq,
				e.Body.(*Note).Text))
		})
		if err := s.Keep(path, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, x := range texts {
			s.Emit(&Note{x})
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s.Emit(&Note{"after the end"}) // reaches followers alone
		return heard
	}
	say("one", "two")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"v":1,"seq":3,"kind":"no`)
	f.Close()
	heard := say("three")
	if want := []string{"1 one", "2 two", "3 three", "4 after the end"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
	b, err := os.ReadFile(path)
	all, n, err2 := DecodeAll(b)
	if err != nil || err2 != nil || n != len(b) || len(all) != 3 || all[2].Seq != 3 {
		t.Errorf("%d events in %d of %d bytes, %v, %v:\n%s", len(all), n, len(b), err, err2, b)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A disk that fails ends no run: the first error is told at the end.
func TestFullDisk(t *testing.T) {
	s := NewStream(Simulated)
	if err := s.Keep("/dev/full", 0o600); err != nil {
		t.Skip("no /dev/full")
	}
	s.Emit(&Note{"x"})
	if err := s.Close(); err == nil {
		t.Error("no error")
	}
}

func FuzzDecode(f *testing.F) {
	for _, kind := range Kinds() {
		b := filled(kind)
		line, _ := (&Event{Version, 1, time.Time{}, kind, b.Scope(), b}).Encode()
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Decode(line)
		if err != nil {
			return
		}
		again, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if e.Body == nil {
			return
		}
		back, err := Decode(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if third, err := back.Encode(); err != nil || string(third) != string(again) {
			t.Fatalf("%s\n%s, %v", again, third, err)
		}
	})
}
