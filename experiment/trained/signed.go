package trained

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"sotto/config"
	"sotto/data"
	"sotto/experiment/rundir"
	"sotto/privacy/ledger"
)

// unaltered holds the model's file in a folder against a node's signed statement, where
// one lies beside it and names a model.
func unaltered(dir string) error {
	path := filepath.Join(dir, rundir.PrivacyFile)
	if rundir.Stands(filepath.Join(dir, rundir.SummaryFile)) || !rundir.Stands(path) {
		return nil
	}
	s, err := rundir.SignedStatement(path)
	if err != nil || s.Model == "" { // older programs named none
		return err
	}
	return Signed(filepath.Join(dir, rundir.ModelFile), path, s)
}

// Signed holds a model's file against the signed statement that path has.
// data.ErrAltered: it is of another model; a *config.Error: it names none.
func Signed(file, path string, s *ledger.SignedStatement) error {
	if s.Model == "" {
		return &config.Error{File: path, Key: "model", Found: "nothing",
			Allowed: "the SHA-256 of a model's file, as newer programs sign it"}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if digest := fmt.Sprintf("%x", sha256.Sum256(b)); digest != s.Model {
		return fmt.Errorf("%w: %w", data.ErrAltered, &config.Error{File: file, Found: "SHA-256 " + digest,
			Allowed: s.Model + ", the model of the signed statement " + path})
	}
	return nil
}
