package p2p

import (
	"crypto/ed25519"
	"log/slog"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/gologshim"
)

// LogTo sends libp2p's own lines to h. It holds for the process, and has to come before
// the first Transport.
func LogTo(h slog.Handler) { gologshim.SetDefaultHandler(h) }

// Name is what libp2p calls the holder of a key in its errors and lines; "" if it is no
// key.
func Name(key ed25519.PublicKey) string {
	k, err := crypto.UnmarshalEd25519PublicKey(key)
	if err != nil {
		return ""
	}
	id, err := peer.IDFromPublicKey(k)
	if err != nil {
		return ""
	}
	return id.String()
}
