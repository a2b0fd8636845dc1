package papers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/sweep"
	"sotto/internal/long"
	"sotto/reproduce"
)

// A run's identity is the SHA-256 of its complete configuration: of every key in force,
// defaults included. The tests below make the configuration of every committed row again
// and compare the digests, so that no change of keys, of defaults or of what a section
// holds goes unseen. Nothing is trained, no data are read.
//
// A configuration is complete only when the packages that a run file names have decoded
// keys of their own, which Build has them do on its way. Builds that stop early give all
// of them:
//
//   - of the run itself in an empty data folder and with a key that nobody knows. When
//     that is refused the graph, the algorithm and the data set have decoded theirs, and
//     with generated data all others too;
//   - of a run on files with generated images in their place, for partition and model.
//     With noise its delta is refused before that is calibrated.
//
// What these add to the keys of the run is its whole configuration. That needs no trust:
// anything else would not have the row's digest.

// runFile is a run as text and settings.
type runFile struct {
	base string
	set  []string
}

// sections are the keys in force, by section; the root is "".
type sections map[string]map[string]any

// drawn holds generated data that builds have in common.
var drawn = data.NewCache()

// inForce returns a run's configuration as decoded before anything is built, and with a
// data folder as it is after a build in it, and why that stopped. Nothing else here knows
// how run files are read.
func (r *runFile) inForce(dir string) (decoded, built sections, stop, err error) {
	f, err := experiment.Parse("row", []byte(r.base), r.set)
	if err != nil {
		return nil, nil, nil, err
	}
	if decoded, err = sectionsOf(f); err != nil || dir == "" {
		return decoded, nil, nil, err
	}
	_, stop = f.BuildWith(dir, drawn)
	built, err = sectionsOf(f)
	return decoded, built, stop, err
}

func sectionsOf(f *experiment.File) (sections, error) {
	b, err := f.Effective()
	if err != nil {
		return nil, err
	}
	root := map[string]any{}
	if err := toml.Unmarshal(b, &root); err != nil {
		return nil, err
	}
	s := sections{"": {}}
	for key, v := range root {
		if m, ok := v.(map[string]any); ok {
			s[key] = m
		} else {
			s[""][key] = v
		}
	}
	return s, nil
}

// digest is that of the configuration as a run writes it.
func (s sections) digest() (string, error) {
	root := maps.Clone(s[""])
	for name, m := range s {
		if name != "" {
			root[name] = m
		}
	}
	var b bytes.Buffer
	err := toml.NewEncoder(&b).Encode(root)
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), err
}

// join adds to s what t has and s has not.
func (s sections) join(t sections) {
	for name, m := range t {
		if s[name] == nil {
			s[name] = map[string]any{}
		}
		for key, v := range m {
			if _, ok := s[name][key]; !ok {
				s[name][key] = v
			}
		}
	}
}

// less is what s has and t has not.
func (s sections) less(t sections) sections {
	added := sections{}
	for name, m := range s {
		added[name] = maps.Clone(m)
		maps.DeleteFunc(added[name], func(key string, _ any) bool { _, ok := t[name][key]; return ok })
	}
	return added
}

// digests makes configurations complete. It keeps what builds have added, by all that it
// can depend on.
type digests struct {
	empty string // a data folder
	own   map[string]addition
	files map[string]addition
}

// addition is what a build has added.
type addition struct {
	sections
	files bool // it lacked files
}

func newDigests(t *testing.T) *digests {
	return &digests{t.TempDir(), map[string]addition{}, map[string]addition{}}
}

// Settings with which builds stop early.
var (
	unknown = []string{"model.no_such_key=1"}
	standIn = []string{`data.dataset="glyphs"`, "data.train=100", "data.test=10", "data.allow_empty=true",
		"replication.uncharged=false", "privacy.target_delta=0.99"}
	groupedStandIn = append([]string{`data.dataset="logistic-regression"`, "data.agents=4"}, standIn[3:]...)
)

// of returns the digest of a run.
func (d *digests) of(r runFile) (string, error) {
	s, _, _, err := r.inForce("")
	if err != nil {
		return "", err
	}
	own, err := d.added(d.own, r, unknown, func(key string) bool {
		section, _, _ := strings.Cut(key, ".")
		return !slices.Contains([]string{"seed", "rounds", "privacy", "evaluate"}, section)
	})
	if err != nil {
		return "", err
	}
	s.join(own.sections)
	if own.files {
		as := standIn
		if s["data"]["partition"] == "natural" { // which glyphs have not
			as = groupedStandIn
		}
		small := s["data"]["partition"] == "dirichlet" && s["data"]["dataset"] == "adult-a9a"
		if small { // a stand-in has too few records for the partition's default
			as = append(as[:len(as):len(as)], "data.min_records=0")
		}
		images, err := d.added(d.files, r.withoutPersons(), as, func(key string) bool {
			return strings.HasPrefix(key, "data.") || strings.HasPrefix(key, "model.")
		})
		if err != nil {
			return "", err
		}
		for _, key := range []string{"train", "test", "normalize", "resize", "agents", "records", "dim",
			"zeros", "noise"} { // the stand-ins' own
			delete(images.sections["data"], key)
		}
		if small {
			images.sections["data"]["min_records"] = int64(10)
		}
		s.join(sections{"data": images.sections["data"], "model": images.sections["model"]})
	}
	return s.digest()
}

// withoutPersons is the run by records: stand-ins have no persons, and what a build
// adds to data and model does not depend on them.
func (r runFile) withoutPersons() runFile {
	r.set = slices.DeleteFunc(slices.Clone(r.set), func(s string) bool {
		key, _, _ := strings.Cut(s, "=")
		return slices.Contains([]string{"data.unit_column", "privacy.unit",
			"privacy.max_rows_per_person"}, key)
	})
	return r
}

// added returns what a build of the run with further settings adds. Runs that differ only
// in keys that do not matter share it.
func (d *digests) added(known map[string]addition, r runFile, further []string,
	matters func(key string) bool) (addition, error) {
	id := r.base
	for _, s := range r.set {
		if key, _, _ := strings.Cut(s, "="); matters(key) {
			id += "\n" + s
		}
	}
	if a, ok := known[id]; ok {
		return a, nil
	}
	r.set = slices.Concat(r.set, further)
	decoded, built, stop, err := r.inForce(d.empty)
	if err != nil {
		return addition{}, err
	}
	known[id] = addition{built.less(decoded), errors.Is(stop, data.ErrMissing)}
	return known[id], nil
}

// studyRuns returns the runs of a study's size: their settings, and their values on the
// study's axes.
func studyRuns(s *reproduce.Study, scale reproduce.Scale) (runs []runFile, values [][]string) {
	for _, c := range s.Cells(scale) {
		runs = append(runs, runFile{s.Base, c.Set})
		values = append(values, c.Values)
	}
	return runs, values
}

// Every row of every study's cells.csv is a run of a study with the row's values and
// digest. Without the tag long every twelfth file is read.
func TestDigestsOfStudies(t *testing.T) {
	paths, err := filepath.Glob("../../docs/results/*/cells.csv")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	d, rows := newDigests(t), 0
	for k, path := range paths {
		if !long.Tests && k%12 > 0 {
			continue
		}
		n, wrong := d.check(t, path)
		rows += n
		for k, w := range wrong {
			if k == 3 {
				t.Errorf("%s: and %d others", path, len(wrong)-k)
				break
			}
			t.Errorf("%s: %s", path, w)
		}
	}
	t.Logf("%d rows, %d builds", rows, len(d.own)+len(d.files))
	if long.Tests && rows < 5525 {
		t.Errorf("%d rows, want at least 5525", rows)
	}
}

// check returns how many rows a file has, and says which ones no study has a run of.
func (d *digests) check(t *testing.T, path string) (rows int, wrong []string) {
	axes, all, err := sweep.ReadRows(path)
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string][]sweep.Row{} // rows that have not been made again, by values
	for _, r := range all {
		v := strings.Join(r.Values, ",")
		missing[v] = append(missing[v], r)
	}
	for _, scale := range []reproduce.Scale{reproduce.Full, reproduce.Short, reproduce.Smoke} {
		for _, name := range All.Names() {
			s := All.Studies()[name]
			if s.Cells == nil || !slices.Equal(s.Axes, axes) || !slices.Contains(s.Sizes(), scale) {
				continue
			}
			runs, values := studyRuns(&s, scale)
			for i, r := range runs {
				v := strings.Join(values[i], ",")
				if len(missing[v]) == 0 {
					continue
				}
				got, err := d.of(r)
				if err != nil {
					t.Fatalf("%s, run %d at %s: %v", name, i, scale, err)
				}
				missing[v] = slices.DeleteFunc(missing[v], func(r sweep.Row) bool {
					return r.ConfigDigest == got
				})
			}
		}
	}
	for _, v := range slices.Sorted(maps.Keys(missing)) {
		for range missing[v] {
			wrong = append(wrong, "no study has a run with the digest of the row "+v)
		}
	}
	return len(all), wrong
}

// Every row of the table of runs has the digest of its command.
func TestDigestsOfRuns(t *testing.T) {
	f, err := os.Open("../../docs/results/runs.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	name, command := slices.Index(rows[0], "name"), slices.Index(rows[0], "command")
	digest := slices.Index(rows[0], "config_digest")
	d := newDigests(t)
	for _, row := range rows[1:] {
		r := runFile{base: string(experiment.Builtin)}
		words := strings.Fields(row[command])[1:] // run [FILE] [--set KEY=VALUE]...
		for k, w := range words {
			if strings.HasSuffix(w, ".toml") {
				b, err := os.ReadFile(filepath.Join("..", "..", w))
				if err != nil {
					t.Fatal(err)
				}
				r.base = string(b)
			} else if k > 0 && words[k-1] == "--set" {
				r.set = append(r.set, w)
			}
		}
		if got, err := d.of(r); err != nil || got != row[digest] {
			t.Errorf("%s: digest %s, recorded %s (%v)", row[name], got, row[digest], err)
		}
	}
	if len(rows) < 7 {
		t.Errorf("%d rows, want at least 6", len(rows)-1)
	}
}

// The digests are those of experiments that are built: of small ones on generated data,
// and of the command that reads files where they are.
func TestDigestsOfBuilds(t *testing.T) {
	b, err := os.ReadFile("../../examples/mnist-dsgd.toml")
	if err != nil {
		t.Fatal(err)
	}
	fast := []string{`privacy.accountant="rdp"`} // it calibrates at once
	runs := map[string]runFile{
		"builtin": {string(experiment.Builtin), fast},
		"mnist":   {string(b), fast},
	}
	for _, name := range []string{"seed001-figure2b", "seed001-churn", "seed003-figure2"} {
		s := All.Studies()[name]
		all, _ := studyRuns(&s, reproduce.Smoke)
		runs[name] = all[len(all)-1]
	}
	d := newDigests(t)
	for name, r := range runs {
		want, err := d.of(r)
		if err != nil {
			t.Fatal(err)
		}
		f, err := experiment.Parse(name, []byte(r.base), r.set)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Build(cmp.Or(os.Getenv("SOTTO_DATA"), "no data"))
		if errors.Is(err, data.ErrMissing) {
			t.Logf("left out: the run of %s reads files, set SOTTO_DATA to the folder that has them", name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Digest() != want {
			t.Errorf("%s: digest %s, a build has %s", name, want, e.Digest())
		}
	}
}

// The settings of a study that is no sweep are known when it is made. One of them takes
// seconds: all its rows have the recorded digests. The other studies' 222 rows, which
// take minutes to make, are checked by internal/verifyresults one at a time.
func TestDigestsOfSimulations(t *testing.T) {
	const name = "seed003-theorems"
	b, err := os.ReadFile(filepath.Join("../../docs/results", name, name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	d, err := All.Run(t.Context(), name, reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Full})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Header, rows[0]) || len(d.Rows) != len(rows)-1 {
		t.Fatalf("%d rows with columns %q, want %d with %q", len(d.Rows), d.Header, len(rows)-1, rows[0])
	}
	digest := slices.Index(rows[0], reproduce.DigestColumn)
	for i, row := range rows[1:] {
		if d.Rows[i][digest] != row[digest] {
			t.Errorf("%s/%d: digest %s, recorded %s", name, i, d.Rows[i][digest], row[digest])
		}
	}
}
