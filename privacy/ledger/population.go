package ledger

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"

	"sotto/config"
)

const populationFile = "population.json"

// adoption names the population of a ledger whose genesis names none.
type adoption struct {
	LedgerID   string `json:"ledger_id"`
	Population string `json:"population"`
	Signature  string `json:"signature,omitempty"` // by the ledger's owner, over the rest
	V          int    `json:"v"`
}

func (a adoption) message() ([]byte, error) {
	a.Signature = ""
	text, err := json.Marshal(a)
	return append([]byte("sotto ledger population\n"), text...), err
}

func checkPopulation(name string) error {
	if err := checkName("population", name); err != nil {
		return err
	}
	if strings.ContainsFunc(name, unicode.IsControl) || name != strings.TrimSpace(name) {
		return config.Bad("population", fmt.Sprintf("%q", name),
			"a name without control characters and blanks around it")
	}
	return nil
}

// adopt gives the ledger with an id, whose genesis names no population, a name for good.
func (d folder) adopt(id, population string, key ed25519.PrivateKey) error {
	a := adoption{LedgerID: id, Population: population, V: 1}
	message, err := a.message()
	if err != nil {
		return err
	}
	a.Signature = hex.EncodeToString(ed25519.Sign(key, message))
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return d.put(populationFile, append(text, '\n'))
}

// populationOf returns the name of the population of the ledger in dir, "" if it has
// none. keys returns what the ledger has had for keys: whichever of them has signed.
func populationOf(fsys FS, dir string, g *Genesis, keys func() (*keyring, error)) (string, error) {
	if g.Population != "" {
		return g.Population, nil
	}
	name := filepath.Join(dir, populationFile)
	b, err := readAll(fsys, name, maxGenesis)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var a adoption
	body, ok := bytes.CutSuffix(b, []byte("\n"))
	if !ok || json.Unmarshal(body, &a) != nil {
		return "", fmt.Errorf("%w: %s does not parse", ErrCorrupt, name)
	}
	if a.V > 1 {
		return "", fmt.Errorf("%w: %s has version %d, allowed: 1", ErrVersion, name, a.V)
	}
	back, err1 := json.Marshal(a)
	message, err2 := a.message()
	bad := fmt.Errorf("%w: %s is not what the owner signed for this ledger", ErrCorrupt, name)
	if errors.Join(err1, err2) != nil || !bytes.Equal(back, body) || a.LedgerID != g.ID ||
		a.Population == "" {
		return "", bad
	}
	if signedBy(g.key(), message, a.Signature) {
		return a.Population, nil
	}
	k, err := keys()
	if err != nil {
		return "", err
	}
	for _, r := range k.rotations {
		if key, err := parseKey(r.NewKey); err == nil && signedBy(key, message, a.Signature) {
			return a.Population, nil
		}
	}
	return "", bad
}
