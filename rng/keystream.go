package rng

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// keyStream is AES-256 in counter mode (NIST SP 800-38A, section 6.5). The blocks of a
// domain are counted from 0 in the lower 64 bits: none ever has 2^64 of them. Vector
// instructions do the work where the processor has them, and the standard library
// elsewhere; the bytes are the same.
type keyStream struct {
	key    Key // until it is expanded
	ready  bool
	domain uint64

	next     uint64         // block, of the vector kernel
	schedule [15 * 16]byte  // its round keys
	std      cipher.Stream  // elsewhere
	cipher   cipher.Block   // of std
	iv       [keyBlock]byte // kept here, because what is passed to the cipher would be allocated
}

const (
	keyBlock = aes.BlockSize
	keyUnit  = 16 * keyBlock // bytes that the vector kernel has in flight
)

// rekey restarts k at the first block of key in domain. The key is expanded when the
// first bytes are asked for: a release that draws no sample needs no sampling stream.
func (k *keyStream) rekey(key *Key, d Domain) {
	k.erase()
	k.key, k.domain = *key, uint64(d)
}

// erase overwrites the key and its schedule. Where the standard library does the work the
// schedule lies in its cipher object, which is released for collection but cannot be
// overwritten.
func (k *keyStream) erase() { *k = keyStream{} }

// expand makes the round keys.
func (k *keyStream) expand() {
	if k.ready = true; vectorAES {
		expandKey(&k.schedule, &k.key)
		k.key.Erase()
		return
	}
	block, err := aes.NewCipher(k.key[:])
	if err != nil {
		panic("rng: " + err.Error()) // only for a wrong key length, which the type excludes
	}
	k.key.Erase()
	binary.BigEndian.PutUint64(k.iv[:8], k.domain)
	binary.BigEndian.PutUint64(k.iv[8:], k.next)
	k.cipher, k.std = block, cipher.NewCTR(block, k.iv[:])
}

// block is one block of another domain of the same key, which is expanded.
func (k *keyStream) block(dst *[keyBlock]byte, domain, number uint64) {
	if k.std == nil {
		var unit [keyUnit]byte
		counterBlocks(&unit[0], 1, &k.schedule, domain, number)
		copy(dst[:], unit[:])
		clear(unit[:])
		return
	}
	var in [keyBlock]byte
	binary.BigEndian.PutUint64(in[:8], domain)
	binary.BigEndian.PutUint64(in[8:], number)
	k.cipher.Encrypt(dst[:], in[:])
}

// fill sets dst to the bytes that come next. Its length is a multiple of keyUnit.
func (k *keyStream) fill(dst []byte) {
	if !k.ready {
		k.expand()
	}
	if k.std != nil {
		clear(dst)
		k.std.XORKeyStream(dst, dst)
		return
	}
	counterBlocks(&dst[0], len(dst)/keyUnit, &k.schedule, k.domain, k.next)
	k.next += uint64(len(dst) / keyBlock)
}
