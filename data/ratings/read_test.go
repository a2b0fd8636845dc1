package ratings_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/data/als"
	"sotto/data/datatest"
	"sotto/data/ratings"
)

func TestRead(t *testing.T) {
	got, err := ratings.Read(strings.NewReader("196\t242\t3\t881250949\n1\t1682\t5\t0\r\n"), "u.data")
	if want := []als.Rating{{User: 196, Item: 242, Value: 3}, {User: 1, Item: 1682, Value: 5}}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	const ok = "1\t1\t1\t1\n"
	for text, want := range map[string]struct {
		line int
		key  string
	}{
		"":                                {1, ""},
		"1 1 1 1\n":                       {1, ""},
		ok + "1\t2\t3\n":                  {2, ""},
		ok + "\n":                         {2, ""},
		ok + "1\t2\t3\t4\t5\n":            {2, ""},
		ok + "0\t2\t3\t4\n":               {2, "user"},
		"20001\t2\t3\t4\n":                {1, "user"},
		"1\t0\t3\t4\n":                    {1, "item"},
		"1\t20001\t3\t4\n":                {1, "item"},
		"1\t2\t0\t4\n":                    {1, "rating"},
		"1\t2\t6\t4\n":                    {1, "rating"},
		"1\t2\t3.5\t4\n":                  {1, "rating"},
		"1\t2\t+3\t4\n":                   {1, "rating"},
		"1\t2\t3\t-4\n":                   {1, "time"},
		ok + ok:                           {2, "item"},
		"18446744073709551617\t":          {1, ""},
		"18446744073709551617\t1\t1\t1\n": {1, "user"},
		strings.Repeat("1", 70_000):       {1, ""},
	} {
		_, err := ratings.Read(strings.NewReader(text), "u.data")
		var bad *config.Error
		if !errors.As(err, &bad) || bad.File != "u.data" || bad.Line != want.line || bad.Key != want.key {
			t.Errorf("%.40q: error %v, want u.data:%d %s", text, err, want.line, want.key)
		}
	}
}

func TestReadGenres(t *testing.T) {
	m, err := ratings.ReadGenres(strings.NewReader(datatest.Item(1, 3, 18)+datatest.Item(2)), "u.item")
	if err != nil || m.Rows != 2 || m.Cols != 19 || m.Row(0)[3] != 1 || m.Row(0)[18] != 1 ||
		m.Row(0).Norm() != math.Sqrt2 || m.Row(1).Norm() != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	for text, line := range map[string]int{
		"":                                  1,
		datatest.Item(2):                    1,
		datatest.Item(1) + datatest.Item(1): 2,
		datatest.Item(1) + datatest.Item(3): 2,
		datatest.Item(1) + "2|a|b\n":        2,
		datatest.Item(1)[:len(datatest.Item(1))-2] + "2": 1,
	} {
		_, err := ratings.ReadGenres(strings.NewReader(text), "u.item")
		var bad *config.Error
		if !errors.As(err, &bad) || bad.File != "u.item" || bad.Line != line {
			t.Errorf("%q: error %v, want line %d", text, err, line)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("196\t242\t3\t881250949\n1\t1\t5\t0\n"))
	f.Add([]byte("1\t1\t1\t1\n1\t1\t1\t1\n"))
	f.Add([]byte(datatest.Item(1, 2) + datatest.Item(2, 0, 18)))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := ratings.Read(bytes.NewReader(b), "f")
		if (err == nil) != (len(all) > 0) && err == nil {
			t.Fatal("no ratings and no error")
		}
		if err == nil && bytes.Count(b, []byte("\n"))+1 < len(all) {
			t.Fatal("more ratings than lines")
		}
		for _, r := range all {
			if err == nil && (r.User < 1 || r.Item < 1 || r.Value < 1 || r.Value > 5 ||
				r.Value != math.Trunc(r.Value)) {
				t.Fatalf("%+v", r)
			}
		}
		m, err := ratings.ReadGenres(bytes.NewReader(b), "f")
		if err == nil && (m.Rows == 0 || len(m.Data) != 19*m.Rows ||
			slices.ContainsFunc(m.Data, func(x float32) bool {
				return x != 0 && x != 1
			})) {
			t.Fatalf("%d movies of %d flags", m.Rows, len(m.Data))
		}
	})
}
