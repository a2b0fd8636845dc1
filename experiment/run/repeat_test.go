package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sotto/data"
	"sotto/data/schema"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/experiment/runfile"
)

// ownTable writes a table with its schema, and returns where they are.
func ownTable(t *testing.T) (described, csv string) {
	t.Helper()
	dir := t.TempDir()
	text := "version = 1\nname = \"own\"\nconfirmed = true\n\n" +
		"[target]\ncolumn = \"ill\"\nkind = \"class\"\nvalues = [\"no\", \"yes\"]\n\n" +
		"[[column]]\nname = \"age\"\nkind = \"number\"\nbounds = [0, 100]\nmissing = \"refuse\"\n"
	rows := "age,ill\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,%s\n", 20+i, []string{"no", "yes"}[i%2])
	}
	for name, text := range map[string]string{"schema.toml": text, "records.csv": rows} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "schema.toml"), filepath.Join(dir, "records.csv")
}

// A run's effective configuration gives every data set with the digests that the run file
// has given it: otherwise no interrupted run goes on.
func TestEffectiveConfigurationIsOfTheSameData(t *testing.T) {
	described, csv := ownTable(t)
	columns, err := schema.Read(described)
	if err != nil {
		t.Fatal(err)
	}
	sparse := filepath.Join(t.TempDir(), "records.svm")
	if err := os.WriteFile(sparse, []byte("1 1:0.5\n-1 1:0.25\n1 1:0.75\n-1 1:0.1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{
		data.TableName: fmt.Sprintf("paths = [%q]\n", csv),
		"csv":          fmt.Sprintf("path = %q\nlabel = \"ill\"\nlabel_values = [\"no\", \"yes\"]\n", csv),
		"libsvm":       fmt.Sprintf("path = %q\ndim = 2\n", sparse),
	}
	digests := func(name, text string) (both [2]string, effective string, err error) {
		doc, err := runfile.Parse("run.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := data.Load(name, os.Getenv("SOTTO_DATA"), 1, data.WithSchema(func(p any) error {
			if slices.Contains(runfile.Keys(p), "limit") { // the whole of some takes seconds
				if err := doc.Set("test", "data.limit=20"); err != nil {
					return err
				}
			}
			return doc.Read("data", p)
		}, columns))
		if err != nil {
			return both, "", err
		}
		b, err := doc.Effective()
		return [2]string{s.Train.Digest, s.Test.Digest}, string(b), err
	}
	for name := range data.Datasets {
		first, effective, err := digests(name, "[data]\n"+keys[name])
		if errors.Is(err, data.ErrMissing) || errors.Is(err, data.ErrAltered) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, _, err := digests(name, effective); err != nil || again != first {
			t.Errorf("%s: %v, digests %s from the run file and %s from\n%s", name, err, first, again,
				effective)
		}
	}
}

// A run on an owner's table that is interrupted goes on, also where owners' own models
// were about to be made.
func TestTableGoesOn(t *testing.T) {
	described, csv := ownTable(t)
	other := filepath.Join(t.TempDir(), "others.csv")
	if err := os.Link(csv, other); err != nil {
		t.Fatal(err)
	}
	text := "name = \"own\"\nrounds = 30\n\n[topology]\ngraph = \"complete\"\nagents = 2\n\n" +
		fmt.Sprintf("[data]\ndataset = \"table\"\nschema = %q\npaths = [%q, %q]\npartition = \"natural\"\n\n",
			described, csv, other) +
		"[model]\nname = \"logistic\"\n\n" +
		"[algorithm]\nname = \"dsgd\"\nstep_size = 0.1\n\n" +
		"[privacy]\nnoise_multiplier = 1.0\nmax_grad_norm = 1.0\nsample_rate = 0.5\n\n" +
		"[evaluate]\non = \"own\"\n\n[personal]\nenabled = true\n"
	f, err := experiment.Parse("own.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	whole := train(t, e, Options{})
	for _, at := range []uint64{10, 30} {
		ctx, stop := context.WithCancel(t.Context())
		opt := Options{Out: t.TempDir(), Progress: func(round, _ uint64, _ string) {
			if round == at {
				stop()
			}
		}}
		var halt *Interrupted
		if _, err := Run(ctx, e, opt); !errors.As(err, &halt) || halt.Round != at {
			t.Fatalf("not interrupted after round %d: %v", at, err)
		}
		opt.Progress = nil
		r, err := Resume(t.Context(), filepath.Join(opt.Out, Name(e)+rundir.PartialSuffix), "", opt)
		if err != nil {
			t.Fatal(err)
		}
		sameFiles(t, whole.Dir, r.Dir)
	}
}
