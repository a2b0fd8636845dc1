package reproduce

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/internal/rowfile"
)

func TestTimes(t *testing.T) {
	dir := t.TempDir()
	f := newBeside("times", &Options{Dir: dir, Sweep: sweep.Options{Part: sweep.Part{Shard: 1, Shards: 2}}},
		timeCodec)
	row := sweep.Row{Origin: experiment.Origin{ConfigDigest: "a", Engine: "3", Arithmetic: "fma"}}
	for _, seconds := range []float64{9, 12.5} {
		of := rundir.Summary{Seconds: seconds, Split: rundir.Split{Noise: 2.25}}
		if err := f.add(timeOf(&row, &of)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "times-1-of-2.csv")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, "b,3,fma,1"...), 0o644); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	times, err := ReadTimes(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := times[RunKey{"a", "3", "fma"}]; len(times) != 1 || got.Seconds != 12.5 ||
		got.Split.Noise != 2.25 || got.Cores < 1 {
		t.Errorf("%v", times)
	}
	for text, key := range map[string]string{"digest\n": "",
		strings.Replace(string(b), "12.500", "-1", 1):  "seconds",
		strings.Replace(string(b), "12.500", "NaN", 1): "seconds"} {
		var bad *config.Error
		if _, err := rowfile.Decode("times.csv", []byte(text), timeCodec); !errors.As(err, &bad) ||
			bad.Key != key || bad.Line == 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzTimes(f *testing.F) {
	f.Add(strings.Join(timeColumns, ",") + "\na,3,fma,1,2,3,4,5,6,2,avx512\n")
	f.Add("a,b\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := rowfile.Decode("times.csv", []byte(text), timeCodec)
		for _, r := range rows {
			if err == nil && (!(r.time.Seconds >= 0) || r.time.Cores < 1) {
				t.Errorf("%v", r)
			}
		}
	})
}
