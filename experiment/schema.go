package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/privacy/account"
)

// SchemaOf says what a record of data set table is: the file that [data] schema names,
// read once from the folder of the run file, or the one that AgreeSchema has set; nil for
// other data sets.
func SchemaOf(f *File) (*schema.Schema, error) {
	path := schemaPath(f)
	switch {
	case path == "" && f.Data.SchemaDigest != "":
		return nil, config.Bad("schema_digest", f.Data.SchemaDigest, "no value without schema")
	case path == "":
		return nil, nil
	case f.Data.Dataset != data.TableName:
		return nil, config.Bad("schema", f.Data.Schema, "no value: data set "+f.Data.Dataset+
			" has no schema, "+data.TableName+" does")
	case f.Data.schema != nil:
		return f.Data.schema, nil
	}
	s, err := schema.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, config.Bad("schema", fmt.Sprintf("no file %s", path),
			"the schema file, a path from the folder of the run file")
	}
	if err != nil {
		return nil, err
	}
	return s, useSchema(f, s)
}

// schemaPath is where the schema lies; "": the run file names none.
func schemaPath(f *File) string {
	if f.Data.Schema == "" || filepath.IsAbs(f.Data.Schema) {
		return f.Data.Schema
	}
	return filepath.Join(filepath.Dir(f.doc.File()), f.Data.Schema)
}

// useSchema makes s the schema of the run. The effective configuration names it as the
// run's folder has it.
func useSchema(f *File, s *schema.Schema) error {
	digest := fmt.Sprintf("%x", s.Digest())
	if given := f.Data.SchemaDigest; given != "" && !strings.EqualFold(given, digest) {
		return config.Bad("schema_digest", given, digest+", that of "+f.Data.Schema)
	}
	of := append(slices.Clone(s.Target.Scale), s.Target.Bounds...)
	if f.Model.Name == "poisson" && len(of) > 0 && of[0] < 0 { // its loss takes those for 0
		return config.Bad("schema", fmt.Sprintf("targets from %v", of[0]),
			"counts, from 0, with model poisson")
	}
	settle(f, func(f *File) {
		f.Data.schema, f.Data.SchemaDigest, f.Data.Schema = s, digest, schema.FileName
	})
	return nil
}

// AgreeSchema makes the schema with the given text, which the members of the file called
// where have signed, that of the run: "" says that there is none. A schema file in the
// folder of the run file has to say the same.
func AgreeSchema(f *File, where, text string) error {
	if text == "" && f.Data.Schema == "" {
		return nil
	}
	if text == "" || f.Data.Schema == "" {
		return &config.Error{File: where, Key: "schema", Found: fmt.Sprintf("%d bytes", len(text)),
			Allowed: "a schema just where the run file names one: sotto roster new copies it"}
	}
	signed, err := schema.Parse(where+", schema", []byte(text))
	if err != nil {
		return err
	}
	own, err := schema.Read(schemaPath(f))
	if errors.Is(err, fs.ErrNotExist) {
		return useSchema(f, signed)
	}
	if err != nil {
		return err
	}
	if diff := own.Diff(signed); diff != "" {
		return &config.Error{File: schemaPath(f), Found: fmt.Sprintf("schema %x", own.Digest()),
			Allowed: fmt.Sprintf("schema %x of %s; the first difference, here and there: %s", signed.Digest(),
				where, diff)}
	}
	return useSchema(f, own)
}

// sourceOf says where data come from: under add-remove nobody's place in the test part
// may depend on how many records there are, and but under zero-out, where all persons
// keep their places, not on how many records another person has.
func sourceOf(f *File, dir string, seed uint64) data.Source {
	p := &f.Privacy
	return data.Source{Dir: dir, Seed: seed, OneByOne: p.adjacency.HidesCount(),
		PersonsVary: p.perPerson() && p.adjacency != account.ZeroOut}
}

// loadOwn loads the owner's file. Errors name the place of a bad cell and not what stands
// in it: a daemon's end up in logs.
func loadOwn(f *File, m Member) (*data.Own, error) {
	s, err := SchemaOf(f)
	if err != nil {
		return nil, err
	}
	own, err := data.LoadOwn(f.Data.Dataset, m.Data, sourceOf(f, "", m.Seed),
		data.WithSchema(f.Section("data"), s))
	if bad := new(config.Error); errors.As(err, &bad) && bad.Line > 0 && s == nil &&
		strings.HasPrefix(bad.Key, "column ") {
		bad.Found = "another cell"
	}
	// how the owner's own file is written is no key of the run file
	if bad := new(config.Error); errors.As(err, &bad) && s != nil &&
		slices.Contains([]string{"delimiter", "encoding", "decimal_comma"}, bad.Key) {
		bad.File = m.Data.Path
	}
	return own, err
}
