// Package rng gives every random bit that sotto uses. A [Stream] is the AES-256-CTR key
// stream of one key and one domain; who made the key decides what the stream is good for:
//
//   - [NewKey] draws a key from the operating system. One key serves one privacy charge
//     and is overwritten afterwards: noise and subsampling of a release come from nowhere
//     else.
//   - [Public] derives a key from public values (run, purpose, indices). Everybody can
//     recompute it: initial models, fault schedules, wake-ups.
//   - [Simulated] derives a key from a seed, an agent and a charge number. Only the
//     simulator uses it, and every result made with it is stamped "simulated".
//
// [DiscreteGaussian], [Stream.DiscreteLaplace] and [Stream.BernoulliExp] sample by
// integer arithmetic alone; [Stream.AddNormals] adds exact normal noise and rounds;
// [Stream.Normals] is in double precision.
package rng

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"sotto/tensor"
)

// Key is an AES-256 key.
type Key [32]byte

// NewKey returns a fresh secret key from the operating system's generator.
func NewKey() Key {
	var k Key
	rand.Read(k[:]) // never fails: the runtime aborts the process instead
	return k
}

// Erase overwrites the key.
func (k *Key) Erase() { clear(k[:]) }

// Domain separates the streams of one key: each owns its own half of the block counter.
type Domain uint64

const (
	Sample Domain = 1 // which records a release reads
	Noise  Domain = 2 // what is added to it
	Choice Domain = 3 // public and runtime choices
)

const bufferSize = 4096

// Stream is a key stream. Its zero value is not usable; a Stream belongs to one
// goroutine.
type Stream struct {
	keys keyStream
	off  int // next unread byte of buf; len(filled) when empty
	end  int
	next int // size of the next refill: small first, so that short vectors stay cheap
	buf  [bufferSize]byte

	filled bool   // buf holds key stream
	drawn  uint64 // bytes of the key stream up to the end of buf
}

// NewStream returns the stream of key in domain.
func NewStream(key *Key, d Domain) *Stream {
	s := new(Stream)
	s.Rekey(key, d)
	return s
}

// Rekey restarts s as the stream of key in domain and forgets all that it held.
func (s *Stream) Rekey(key *Key, d Domain) {
	s.Erase()
	s.keys.rekey(key, d)
}

// Erase overwrites the buffered key stream, the key and its schedule. Where the standard
// library makes the key stream (without AVX-512 and vector AES) the schedule lies in its
// cipher object, which is released for collection but cannot be overwritten.
func (s *Stream) Erase() {
	if s.filled {
		clear(s.buf[:])
	}
	s.filled = false
	s.keys.erase()
	s.off, s.end, s.next, s.drawn = 0, 0, keyUnit, 0
}

func (s *Stream) refill() {
	s.filled = true
	s.keys.fill(s.buf[:s.next])
	s.drawn += uint64(s.next)
	s.off, s.end, s.next = 0, s.next, bufferSize
}

// position is the byte of the key stream that is read next.
func (s *Stream) position() uint64 { return s.drawn - uint64(s.end-s.off) }

// beyond is the k-th further pair of words, k >= 1, of the pair at a byte of the key
// stream: bits that nobody reads as part of a stream, whose domains are below 2^32.
func (s *Stream) beyond(at uint64, k uint32) (a, b uint64) {
	var block [keyBlock]byte
	s.keys.block(&block, uint64(k)<<32|s.keys.domain, at)
	a, b = binary.LittleEndian.Uint64(block[:8]), binary.LittleEndian.Uint64(block[8:])
	clear(block[:])
	return a, b
}

// Uint64 returns 64 uniform bits.
func (s *Stream) Uint64() uint64 {
	if s.off == s.end {
		s.refill()
	}
	v := binary.LittleEndian.Uint64(s.buf[s.off:])
	s.off += 8
	return v
}

// Float64 returns a uniform value in [0, 1) on the grid of 2^-53.
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Below returns a uniform integer in [0, n), without bias. It panics for n = 0.
func (s *Stream) Below(n uint64) uint64 {
	if n == 0 {
		panic("rng: Below(0)")
	}
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		for floor := -n % n; lo < floor; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// Normals fills dst with independent standard normal values by Box-Muller, two 64-bit
// words for each pair, in the order of the key stream; an odd last value takes a pair
// too. Values end at 9.49 standard deviations. That the double-precision law is close to
// the normal law is an assumption which privacy statements name. The bits are the same
// with all kernels; see tensor.BoxMuller for the map and its error bounds.
func (s *Stream) Normals(dst []float64) {
	for len(dst) >= 2 {
		if s.off == s.end {
			s.refill()
		}
		n := min(len(dst), (s.end-s.off)/8) &^ 1
		if n == 0 { // a pair of which one word is left
			s.pair(dst[:2])
			dst = dst[2:]
			continue
		}
		tensor.BoxMuller(dst[:n], s.buf[s.off:s.off+8*n])
		s.off += 8 * n
		dst = dst[n:]
	}
	if len(dst) == 1 {
		var z [2]float64
		s.pair(z[:])
		dst[0] = z[0]
		clear(z[:])
	}
}

// pair draws two values, word by word.
func (s *Stream) pair(dst []float64) {
	var w [16]byte
	binary.LittleEndian.PutUint64(w[:8], s.Uint64())
	binary.LittleEndian.PutUint64(w[8:], s.Uint64())
	tensor.BoxMuller(dst, w[:])
	clear(w[:])
}

// Threshold returns the largest t with t/2^64 <= p, for [Stream.Hit]; all is true for p
// >= 1, where every draw hits. The rate that results never exceeds p.
func Threshold(p float64) (t uint64, all bool) {
	switch {
	case p >= 1:
		return 0, true
	case !(p > 0):
		return 0, false
	}
	hi, lo := math.Modf(p * 0x1p32)
	return uint64(hi)<<32 | uint64(lo*0x1p32), false
}

// Hit draws one Bernoulli variable of rate t/2^64.
func (s *Stream) Hit(t uint64) bool { return s.Uint64() < t }

// Select appends those elements of index that independent Bernoulli variables of rate
// t/2^64 keep. Each reads eight bits, eight elements to a word, and 56 more where those
// equal the first eight of t: its law is exactly [Stream.Hit]'s, its draws are not.
func (s *Stream) Select(dst, index []int32, t uint64) []int32 {
	const ones = 0x0001_0001_0001_0001 // of four lanes of 16 bits
	top, rest := t>>56, t&(1<<56-1)
	bound := (0x100 + top) * ones // minus a byte: bit 8 stays where that is at most top
	for len(index) > 0 {
		w := s.Uint64()
		even := (bound - w&(0xff*ones)) >> 8 & ones
		odd := (bound - w>>8&(0xff*ones)) >> 8 & ones
		near := even | odd<<8 // bit 8 i for element i
		n := min(8, len(index))
		if n < 8 {
			near &= 1<<(8*n) - 1
		}
		for ; near != 0; near &= near - 1 {
			at := bits.TrailingZeros64(near)
			if w>>at&0xff != top || s.Uint64()>>8 < rest {
				dst = append(dst, index[at/8])
			}
		}
		index = index[n:]
	}
	return dst
}

// derive hashes a label and numbers into a key, unambiguously: the label's length comes
// first.
func derive(label string, parts ...[]byte) Key {
	h := sha256.New()
	var n [8]byte
	write := func(b []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	write([]byte(label))
	for _, p := range parts {
		write(p)
	}
	var k Key
	h.Sum(k[:0])
	return k
}

// Public returns the stream that everybody derives from a seed, a purpose and indices. It
// must never drive noise or subsampling.
func Public(seed uint64, purpose string, index ...uint64) *Stream {
	b := binary.BigEndian.AppendUint64(nil, seed)
	for _, i := range index {
		b = binary.BigEndian.AppendUint64(b, i)
	}
	k := derive("sotto public 1", []byte(purpose), b)
	return NewStream(&k, Choice)
}

// Derived returns the stream of a purpose and indices below a secret key that is kept:
// choices that must be made again in the same way, and that nobody else can make.
func Derived(secret *Key, purpose string, index ...uint64) *Stream {
	var b []byte
	for _, i := range index {
		b = binary.BigEndian.AppendUint64(b, i)
	}
	k := derive("sotto derived 1", secret[:], []byte(purpose), b)
	return NewStream(&k, Choice)
}

// Pair returns the key of one block of noise that two agents share, from what they alone
// know: for each answer of each round another.
func Pair(secret []byte, round, block uint64) Key {
	return derive("sotto pair 1", secret,
		binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, round), block))
}

// SimulatedPair returns the secret that two agents share in a simulation with this seed,
// whichever is named first.
func SimulatedPair(seed uint64, a, b uint32) []byte {
	n := binary.BigEndian.AppendUint64(nil, seed)
	n = binary.BigEndian.AppendUint32(n, min(a, b))
	k := derive("sotto simulated pair 1", binary.BigEndian.AppendUint32(n, max(a, b)))
	return k[:]
}

// Simulated returns the key of charge seq at an agent of a simulation with this seed.
func Simulated(seed uint64, agent uint32, seq uint64) Key {
	b := binary.BigEndian.AppendUint64(nil, seed)
	b = binary.BigEndian.AppendUint32(b, agent)
	b = binary.BigEndian.AppendUint64(b, seq)
	return derive("sotto simulated 1", b)
}
