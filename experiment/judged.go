package experiment

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/query"
	"sotto/tensor"
)

// judged is a finished model whose predictions are asked about.
type judged struct {
	net    model.Model
	theta  tensor.Vec
	shape  model.Shape
	file   *File  // that of its run
	digest string // SHA-256 over the folder's files
}

// judgedFiles are what a model's folder has; the last only where records have a schema.
var judgedFiles = []string{rundir.ConfigFile, rundir.ModelFile, schema.FileName}

// modelFolder is where the model that is judged lies.
func modelFolder(f *File) string {
	dir := f.Algorithm.Model
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(filepath.Dir(f.doc.File()), dir)
}

// PinModel wants a run that judges a model to name its digest, so that all members judge
// the same one.
func PinModel(f *File) error {
	if !Asks(f) || f.Algorithm.Model == "" {
		return nil
	}
	digest, err := modelDigest(modelFolder(f))
	if err == nil {
		err = notOwn(f)
	}
	if err == nil && f.Algorithm.ModelDigest == "" {
		err = config.Bad("model_digest", f.Algorithm.ModelDigest,
			fmt.Sprintf("%q, that of %s, for all members to judge the same model", digest, f.Algorithm.Model))
	}
	if err == nil {
		err = agreeModel(f, digest)
	}
	return f.At("algorithm", err)
}

func agreeModel(f *File, digest string) error {
	if given := f.Algorithm.ModelDigest; given != "" && given != digest {
		return config.Bad("model_digest", given, digest+", that of the files in "+modelFolder(f))
	}
	settle(f, func(f *File) { f.Algorithm.ModelDigest = digest })
	return nil
}

// notOwn refuses an owner's own model in a run with noise: it is made of records without
// any, so that one record moves what it says of all others.
func notOwn(f *File) error {
	dir := modelFolder(f)
	meta, err := rundir.Metadata(dir)
	if err != nil || !f.Private() || !rundir.IsOwn(filepath.Join(dir, rundir.ModelFile), meta) {
		return err
	}
	return ownModel("model", f.Algorithm.Model,
		"a model of public records, or one that was trained with noise")
}

// ownModel refuses an owner's own model in a run with noise.
func ownModel(key, from, allowed string) error {
	return config.Bad(key, fmt.Sprintf("%q, an owner's own model, of records without noise", from), allowed)
}

// modelDigest is over length and bytes of each file.
func modelDigest(dir string) (string, error) {
	h := sha256.New()
	for k, name := range judgedFiles {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if k == len(judgedFiles)-1 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return "", config.Bad("model", "no "+filepath.Join(dir, name),
				fmt.Sprintf("the folder of a finished run or node, with %s and %s, seen from the run file",
					rundir.ConfigFile, rundir.ModelFile))
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", name, len(b))
		h.Write(b)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// readJudged reads the model that the run judges.
func readJudged(f *File) (*judged, error) {
	dir := modelFolder(f)
	digest, err := modelDigest(dir)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(agreeModel(f, digest), notOwn(f)); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, rundir.ConfigFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	j := &judged{digest: digest}
	if j.file, err = Parse(path, b, nil); err != nil {
		return nil, err
	}
	if j.theta, j.shape, err = rundir.ReadModel(dir, "mean"); err != nil {
		return nil, err
	}
	if j.net, err = model.New(j.file.Model.Name, j.shape, j.file.Section("model")); err != nil {
		return nil, j.file.At("model", err)
	}
	if p := j.file.Model.Precision; p != "" {
		if j.net, err = model.WithPrecision(j.net, p); err != nil {
			return nil, j.file.At("model", err)
		}
	}
	finite := !slices.ContainsFunc(j.theta, func(v float32) bool {
		return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)
	})
	if j.net.Dim() != len(j.theta) || !finite || model.Reconstructs(j.net) {
		return nil, config.Bad("model", f.Algorithm.Model,
			"a model that predicts classes or a number, with finite parameters")
	}
	return j, j.fits(f, dir)
}

// fits wants the model's records to be those of the run.
func (j *judged) fits(f *File, dir string) error {
	if j.file.Data.Dataset != f.Data.Dataset {
		return config.Bad("model", "one of data set "+j.file.Data.Dataset, "one of "+f.Data.Dataset)
	}
	own, err := SchemaOf(f)
	if err != nil || own == nil {
		return err
	}
	s, err := schema.Read(filepath.Join(dir, schema.FileName))
	if err != nil {
		return err
	}
	if diff := s.Diff(own); diff != "" {
		return config.Bad("model", "one of another schema",
			"one of the run's; the first difference, there and here: "+diff)
	}
	return nil
}

// testsOf wants records to be those that the run of the model in dir held out for tests.
func testsOf(d *data.Dataset, f *File) error {
	held, err := rundir.TestDigest(modelFolder(f))
	if err != nil || held != d.Digest {
		return config.Bad("records", f.Algorithm.Records, allRecords+"; "+testRecords+
			" only in a simulation with the seed and [data] of the model's run, whose tests they were")
	}
	return nil
}

// predicted is d with what the model says of each record as further features, and the
// variables of both. A prediction that is not finite is that of the first class, or 0.
func (j *judged) predicted(d *data.Dataset) (*data.Dataset, []schema.Variable, error) {
	if d.X.Cols != j.shape.Features() || d.Classes != j.shape.Classes {
		return nil, nil, config.Bad("model", fmt.Sprintf("one of %d features, %d classes", j.shape.Features(),
			j.shape.Classes), fmt.Sprintf("one of %d and %d, as the records have", d.X.Cols, d.Classes))
	}
	z := tensor.NewMat(d.Len(), j.net.Outputs())
	j.net.Predict(z, j.theta, d.X, new(model.Workspace))
	vars := slices.Clone(d.Described())
	for _, v := range vars {
		if slices.Contains([]string{query.ModelScore, query.ModelClass, query.ModelValue}, v.Name) {
			return nil, nil, config.Bad("model", "a variable called "+v.Name+" already",
				"records without one")
		}
	}
	target := vars[slices.IndexFunc(vars, func(v schema.Variable) bool { return v.At < 0 })]
	at := d.X.Cols
	switch k := d.Classes; k {
	case 0:
		v := target
		v.Name, v.At = query.ModelValue, at
		vars, at = append(vars, v), at+1
	default:
		if k == 2 {
			vars = append(vars, schema.Variable{Name: query.ModelScore, At: at, High: 1, Form: schema.Unit,
				Missing: -1})
			at++
		}
		vars = append(vars, schema.Variable{Name: query.ModelClass, At: at, Categories: target.Categories,
			Missing: -1})
		at += k
	}
	out := *d
	out.X, out.Shape, out.Variables = tensor.NewMat(d.Len(), at), [3]int{1, 1, at}, vars
	for i := range d.Len() {
		row := out.X.Row(i)
		n := copy(row, d.X.Row(i))
		says(row[n:], z.Row(i), d.Classes)
	}
	return &out, vars, nil
}

// says writes what outputs z stand for: the number; or of two classes the score, and of
// all a 1 for the one that is decided for.
func says(dst, z []float32, classes int) {
	for _, v := range z {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			z = make([]float32, len(z))
		}
	}
	if classes == 0 {
		dst[0] = z[0]
		return
	}
	best := 0
	for k, v := range z {
		if v > z[best] {
			best = k
		}
	}
	if len(z) == 1 && z[0] > 0 {
		best = 1
	}
	if classes == 2 {
		logit := float64(z[0])
		if len(z) == 2 {
			logit = float64(z[1]) - float64(z[0])
		}
		dst[0] = float32(1 / (1 + math.Exp(-logit)))
		dst = dst[1:]
	}
	dst[best] = 1
}
