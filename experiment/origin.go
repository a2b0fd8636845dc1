package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Origin is what figures come from, as a row of a table of runs says it.
type Origin struct {
	ConfigDigest string // see Experiment.Digest
	// Data is that of DataDigest; "" in tables that do not say it, as those of
	// studies and of earlier versions.
	Data               string
	Engine, Arithmetic string // EngineVersion and Experiment.Arithmetic
}

// OriginOf is where figures of the experiment come from.
func OriginOf(e *Experiment) Origin {
	return Origin{e.Digest(), DataDigest(e), EngineVersion, e.Arithmetic()}
}

// DataDigest identifies the records of both parts. An edge list is configuration.
func DataDigest(e *Experiment) string {
	s := e.Task.Split
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n", s.Train.Digest, s.Test.Digest))
	return hex.EncodeToString(sum[:])
}

// Settings reports whether figures were made with the settings of the experiment, this
// engine and arithmetic, of whatever data.
func (o Origin) Settings(e *Experiment) bool {
	now := OriginOf(e)
	now.Data = o.Data
	return o == now
}

// Of reports whether figures come from the experiment. Where nothing says of which data
// they are, those of data sets count that other data cannot take the place of.
func (o Origin) Of(e *Experiment) bool {
	return o == OriginOf(e) || o.Data == "" && o.Settings(e) && !anyData(e.File)
}

// anyData says that records come from files that may hold anything: others are drawn by
// this program, or checked to be the published ones.
func anyData(f *File) bool {
	_, path := f.doc.Given("data.path")
	_, altered := f.doc.Given("data.allow_altered")
	return path || altered || f.Data.Schema != ""
}
