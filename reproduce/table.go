package reproduce

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"

	"sotto/experiment"
	"sotto/tensor"
)

// Columns by which a row of a study that is no sweep is compared when it is made again:
// they are the last ones, after the row's figures.
const (
	SeedColumn   = "seed"          // of all that is drawn, or which ones; empty where nothing is
	EngineColumn = "engine"        // see [Engine]
	DigestColumn = "config digest" // SHA-256 of engine version, seed and the row's settings
	HashColumn   = "run hash"      // SHA-256 of the row's figures before they are rounded
)

// RowNote says in a document what the last columns are.
const RowNote = "config digest: of the engine's version, the seed and the row's settings; run hash: of " +
	"the row's figures before rounding, bit for bit; they hold for the engine and arithmetic beside them"

// Engine is what the bits of a figure depend on besides settings: the engine's version,
// the architecture, and whether it has fused multiply-add.
func Engine() string {
	arithmetic := "fma"
	if tensor.Kernels() == "portable" {
		arithmetic = "portable"
	}
	return experiment.EngineVersion + " " + runtime.GOARCH + "/" + arithmetic
}

// NewTable is a document with these columns and those that addRow fills.
func NewTable(columns ...string) *Document {
	return &Document{Header: append(columns, SeedColumn, EngineColumn, DigestColumn, HashColumn)}
}

// AddRow appends a row of a table that NewTable began. settings are all that its figures
// follow from besides the engine and the seed; figures are those figures before rounding.
func (d *Document) AddRow(cells []string, seed, settings string, figures ...float64) {
	d.Rows = append(d.Rows, append(cells, seed, Engine(),
		HashText(fmt.Sprintf("engine %s seed %s %s", experiment.EngineVersion, seed, settings)),
		HashFigures(figures)))
}

// HashText is the SHA-256 of settings.
func HashText(settings string) string {
	h := sha256.Sum256([]byte(settings))
	return hex.EncodeToString(h[:])
}

// HashFigures is the SHA-256 of figures as IEEE 754 bits, least byte first, one list
// after the other.
func HashFigures(lists ...[]float64) string {
	h := sha256.New()
	for _, l := range lists {
		for _, x := range l {
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Seeds names those from 1 to n.
func Seeds(n int) string {
	if n == 1 {
		return "1"
	}
	return fmt.Sprintf("1 to %d", n)
}
