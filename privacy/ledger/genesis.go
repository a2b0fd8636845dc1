package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"sotto/config"
	"sotto/privacy/account"
)

// FormatVersion is the newest version of a genesis that this package reads: that of one
// which names a population. Others have version 1.
const FormatVersion = 2

// GenesisFile is the first file of a ledger's folder.
const GenesisFile = "genesis.json"

const (
	lockFile   = "lock"
	tempSuffix = ".tmp"
	maxGenesis = 1 << 16
)

// Genesis says what a ledger protects and how much may be spent over its whole life. It
// is written once and signed by the owner; its hash is the start of the chain. All of it
// is public.
type Genesis struct {
	Adjacency account.Adjacency `json:"adjacency"`
	// Beside are the ids of ledgers of the same population beside which this one was
	// begun, by the owner's word that its people are others.
	Beside []string       `json:"beside,omitempty"`
	Budget account.Budget `json:"budget"` // over all runs; both above 0, delta below 1
	// ID tells ledgers apart, 32 hexadecimal digits. Create draws it.
	ID string `json:"id"`
	// MinRecords is a public lower bound on the number of records, at least 1.
	// Budget.Delta must lie below 1/MinRecords: from there on a mechanism may publish a
	// whole record and still satisfy delta.
	MinRecords int `json:"min_records"`
	// Population names the people that the budget belongs to, for the owner: at most 256
	// bytes of UTF-8 without control characters, and no blanks around; "" for none.
	Population string `json:"population,omitempty"`
	// Ed25519, hexadecimal; Create fills it from Options.Key. It is the first key, see
	// Rotation.
	PublicKey string       `json:"public_key"`
	Signature string       `json:"signature,omitempty"` // over the rest; Create fills it
	Unit      account.Unit `json:"unit"`
	V         int          `json:"v"`
}

// encode returns canonical JSON, without a line end.
func (g *Genesis) encode() ([]byte, error) { return json.Marshal(g) }

// validate checks what a caller chooses; acceptDelta waives the bound on delta.
func (g *Genesis) validate(acceptDelta bool) error {
	b := g.Budget
	switch {
	case !(b.Epsilon > 0) || math.IsInf(b.Epsilon, 1):
		return config.Bad("budget.epsilon", b.Epsilon, "a finite number > 0")
	case !(b.Delta > 0 && b.Delta < 1):
		return config.Bad("budget.delta", b.Delta, "above 0 and below 1")
	case g.MinRecords < 1:
		return config.Bad("min_records", g.MinRecords, "at least 1")
	case !acceptDelta && !g.smallDelta():
		return config.Bad("budget.delta", b.Delta,
			fmt.Sprintf("below 1/min_records = %g, better a tenth of it", 1/float64(g.MinRecords)))
	}
	if err := checkPopulation(g.Population); err != nil {
		return err
	}
	_, err := account.NewRDPFilter(g.Adjacency, g.Unit, b) // knows which adjacencies and units there are
	return err
}

func (g *Genesis) smallDelta() bool { return g.Budget.Delta*float64(g.MinRecords) < 1 }

// sign completes g with an id, the public half of key and a signature.
func (g *Genesis) sign(key ed25519.PrivateKey) error {
	var id [16]byte
	rand.Read(id[:]) // never fails
	g.V, g.ID, g.PublicKey, g.Signature = g.version(), hex.EncodeToString(id[:]),
		hex.EncodeToString(publicKey(key)), ""
	text, err := g.encode()
	if err != nil {
		return err
	}
	g.Signature = hex.EncodeToString(ed25519.Sign(key, genesisMessage(text)))
	return nil
}

// version is that of g's format.
func (g *Genesis) version() int {
	if g.Population != "" || g.Beside != nil {
		return 2
	}
	return 1
}

func genesisMessage(text []byte) []byte { return append([]byte("sotto ledger genesis\n"), text...) }

func publicKey(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// key returns the ledger's first public key.
func (g *Genesis) key() ed25519.PublicKey {
	k, _ := hex.DecodeString(g.PublicKey) // checked by parseGenesis, or made by sign
	return k
}

// parseGenesis reads the content of genesis.json and checks its signature. hash is that
// of the JSON text.
func parseGenesis(content []byte) (g Genesis, hash [sha256.Size]byte, err error) {
	var v struct{ V int }
	if json.Unmarshal(content, &v) == nil && v.V > FormatVersion {
		return g, hash, fmt.Errorf("%w: %s has version %d, allowed: up to %d", ErrVersion, GenesisFile, v.V,
			FormatVersion)
	}
	corrupt := func(format string, args ...any) (Genesis, [sha256.Size]byte, error) {
		return Genesis{}, hash, fmt.Errorf("%w: %s: %s", ErrCorrupt, GenesisFile,
			fmt.Sprintf(format, args...))
	}
	text, ok := bytes.CutSuffix(content, []byte("\n"))
	if !ok {
		return corrupt("does not end with a line end")
	}
	if err := json.Unmarshal(text, &g); err != nil {
		return corrupt("%v", err)
	}
	if back, err := g.encode(); err != nil || !bytes.Equal(back, text) || g.V != g.version() {
		return corrupt("is not in canonical form")
	}
	key, err1 := hex.DecodeString(g.PublicKey)
	signature, err2 := hex.DecodeString(g.Signature)
	if err1 != nil || err2 != nil || len(key) != ed25519.PublicKeySize {
		return corrupt("public key or signature is not %d and %d hexadecimal digits", 2*ed25519.PublicKeySize,
			2*ed25519.SignatureSize)
	}
	unsigned := g
	unsigned.Signature = ""
	message, err := unsigned.encode()
	if err != nil || !ed25519.Verify(key, genesisMessage(message), signature) {
		return corrupt("the signature does not fit")
	}
	if err := g.validate(true); err != nil {
		return corrupt("%v", err)
	}
	return g, sha256.Sum256(text), nil
}

// readGenesis reads dir's genesis.
func readGenesis(fsys FS, dir string) (Genesis, [sha256.Size]byte, error) {
	content, err := readAll(fsys, filepath.Join(dir, GenesisFile), maxGenesis)
	if err != nil {
		return Genesis{}, [sha256.Size]byte{}, err
	}
	return parseGenesis(content)
}

// readAll reads a file of at most limit bytes.
func readAll(fsys FS, name string, limit int64) ([]byte, error) {
	r, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: %s is longer than %d bytes", ErrCorrupt, name, limit)
	}
	return b, nil
}
