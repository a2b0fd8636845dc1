"""Generators and draws of reference.py, from FIPS 197, NIST SP 800-38A, the papers of
PCG, ChaCha8Rand and splitmix64, and docs/draws.md. Each is held against a published
vector below."""
import hashlib
import math
import struct

import numpy as np

WORD = (1 << 64) - 1
SEED = 1  # of the runs


def sbox():
    """FIPS 197, 5.1.1: the inverse in GF(2^8), then the affine map."""
    exp, log, x = [0] * 255, [0] * 256, 1
    for i in range(255):
        exp[i], log[x] = x, i
        x ^= doubled(x)  # times 3
    out = []
    for v in range(256):
        b = exp[-log[v] % 255] if v else 0
        out.append(b ^ rotl8(b, 1) ^ rotl8(b, 2) ^ rotl8(b, 3) ^ rotl8(b, 4) ^ 0x63)
    return out


def rotl8(b, k):
    return (b << k | b >> (8 - k)) & 255


def doubled(x):
    return (x << 1 ^ (0x11b if x & 128 else 0)) & 255


SBOX = sbox()


def expanded(key):
    """The 15 round keys of AES-256."""
    w, rcon = [list(key[4 * i:4 * i + 4]) for i in range(8)], 1
    for i in range(8, 60):
        t = w[-1]
        if i % 8 == 0:
            t = [SBOX[b] for b in t[1:] + t[:1]]
            t[0] ^= rcon
            rcon = doubled(rcon)
        elif i % 8 == 4:
            t = [SBOX[b] for b in t]
        w.append([a ^ b for a, b in zip(w[-8], t)])
    return [sum(w[4 * r:4 * r + 4], []) for r in range(15)]


def encrypt(keys, block):
    s = [a ^ b for a, b in zip(block, keys[0])]
    for r in range(1, 15):
        s = [SBOX[b] for b in s]
        s = [s[(i + 4 * (i % 4)) % 16] for i in range(16)]  # row i%4 moves by i%4 columns
        if r < 14:
            t = []
            for c in range(0, 16, 4):
                a = s[c:c + 4]
                every = a[0] ^ a[1] ^ a[2] ^ a[3]
                t += [a[k] ^ every ^ doubled(a[k] ^ a[(k + 1) % 4]) for k in range(4)]
            s = t
        s = [a ^ b for a, b in zip(s, keys[r])]
    return bytes(s)


SAMPLE, NOISE, CHOICE = 1, 2, 3


class Stream:
    """The key stream of a key in a domain: blocks are counted from 0 in the lower half of
    the counter, the domain is the upper half."""

    def __init__(self, key, domain):
        self.keys, self.domain, self.next, self.words = expanded(key), domain, 0, []

    def word(self):
        if not self.words:
            b = encrypt(self.keys, struct.pack(">QQ", self.domain, self.next))
            self.words, self.next = list(struct.unpack("<QQ", b)), self.next + 1
        return self.words.pop(0)

    def uniform(self):
        return (self.word() >> 11) / 2 ** 53

    def below(self, n):
        """Lemire 2019: the upper word of a product, without bias."""
        m = self.word() * n
        while m & WORD < n and m & WORD < (1 << 64) % n:
            m = self.word() * n
        return m >> 64

    def select(self, index, rate):
        """Bernoulli variables of rate t/2^64, t the largest below: eight bits of each, and
        56 more where those are the first of t's."""
        if rate >= 1:
            return list(index)
        t, out = math.floor(rate * 2 ** 64), []
        for lo in range(0, len(index), 8):
            w = self.word()
            for k, i in enumerate(index[lo:lo + 8]):
                b, top = w >> 8 * k & 255, t >> 56
                if b < top or b == top and self.word() >> 8 < t & (1 << 56) - 1:
                    out.append(i)
        return out

    def normals(self, n):
        """Box, Muller 1958: of words a and b, in pairs."""
        out = []
        while len(out) < n:
            a, b = self.word(), self.word()
            r = math.sqrt(-2 * math.log((a + .5) / 2 ** 64))
            z = b & (1 << 62) - 1
            angle = math.pi / 2 * ((z - (1 << 62) if z >> 61 else z) / 2 ** 62)
            sin, cos = math.sin(angle), math.cos(angle)
            if b >> 62 & 1:
                cos = -cos
            out += [r * sin, r * cos] if b >> 63 else [r * cos, r * sin]
        return np.array(out[:n])

    def inverse_e(self):
        """True with probability 1/e: Canonne, Kamath, Steinke 2020, Algorithm 1, of rate 1,
        whose first 20 variables are one uniform value below 20!."""
        u, k = self.below(math.factorial(20)), 2
        while k <= 20 and u < math.factorial(20) // math.factorial(k):
            k += 1  # variable k, of rate 1/k, has been true
        while k > 20 and self.below(k) == 0:
            k += 1
        return k % 2 == 1

    def exp_below_1(self, num, den):
        """True with probability exp(-num/den), num at most den."""
        k = 1
        while (k == 1 or self.below(k) == 0) and self.below(den) < num:
            k += 1
        return k % 2 == 1

    def laplace(self, t):
        """Algorithm 2 there."""
        while True:
            w = self.below(2 * t)
            if not self.exp_below_1(w >> 1, t):
                continue
            v = 0
            while self.inverse_e():
                v += 1
            x = (w >> 1) + t * v
            if w & 1 == 0:
                return x
            if x:
                return -x


def derive(label, *parts):
    h = hashlib.sha256()
    for b in (label.encode(), *parts):
        h.update(struct.pack(">Q", len(b)) + b)
    return h.digest()


def simulated(seed, agent, seq, domain):
    return Stream(derive("sotto simulated 1", struct.pack(">QIQ", seed, agent, seq)), domain)


def public(seed, purpose, *index):
    b = struct.pack(f">{1 + len(index)}Q", seed, *index)
    return Stream(derive("sotto public 1", purpose.encode(), b), CHOICE)


def shared(seed, a, b, round, block):
    """The noise that two agents share for one answer of a round."""
    secret = derive("sotto simulated pair 1", struct.pack(">QII", seed, min(a, b), max(a, b)))
    return Stream(derive("sotto pair 1", secret, struct.pack(">QQ", round, block)), NOISE)


class Rand:
    """Draws of Go's math/rand/v2 by a source of words."""

    def uniform(self):
        return (self.word() & (1 << 53) - 1) / 2 ** 53

    def below(self, n):
        if n & (n - 1) == 0:
            return self.word() & (n - 1)
        m = self.word() * n
        while m & WORD < n and m & WORD < (1 << 64) % n:
            m = self.word() * n
        return m >> 64

    def normal(self):
        """By the ziggurat: the lower half of a word, signed, in the strip of the next seven
        bits."""
        while True:
            w = self.word()
            j, i = w & 0xffffffff, w >> 32 & 127
            j -= (j >> 31) << 32
            x = j * WIDTH[i]
            if abs(j) < INSIDE[i]:
                return x
            if i == 0:
                while True:
                    x, y = -math.log(self.uniform()) / FOOT, -math.log(self.uniform())
                    if 2 * y >= x * x:
                        return FOOT + x if j > 0 else -FOOT - x
            if HEIGHT[i] + self.uniform() * (HEIGHT[i - 1] - HEIGHT[i]) < math.exp(-x * x / 2):
                return x

    def shuffle(self, x):
        for i in range(len(x) - 1, 0, -1):
            j = self.below(i + 1)
            x[i], x[j] = x[j], x[i]
        return x


def ziggurat():
    """Marsaglia, Tsang 2000, of 128 strips: where each may be left, its width, its height;
    in the precisions of Go's tables."""
    v, m = 9.91256303526217e-3, 2.0 ** 31
    x, f = FOOT, math.exp(-FOOT * FOOT / 2)
    q = v / f
    inside, width, height = [int(x / q * m), 0], [q / m], [1.0]
    xs = [x]
    for _ in range(126):
        xs.append(math.sqrt(-2 * math.log(v / xs[-1] + math.exp(-xs[-1] ** 2 / 2))))
    xs.reverse()  # of strips 1 to 127
    for a, b in zip(xs, xs[1:]):
        inside.append(int(a / b * m))
    width += [a / m for a in xs]
    height += [math.exp(-a * a / 2) for a in xs]
    single = lambda t: [float(np.float32(a)) for a in t]
    return inside, single(width), single(height)


FOOT = 3.442619855899
INSIDE, WIDTH, HEIGHT = ziggurat()


class PCG(Rand):
    """PCG64-DXSM (O'Neill 2014)."""

    def __init__(self, seed, purpose):
        self.state = seed << 64 | purpose

    def word(self):
        mul, inc = 0x2360ed051fc65da44385df649fccf645, 0x5851f42d4c957f2d14057b7ef767814f
        self.state = (self.state * mul + inc) % (1 << 128)
        hi, lo = self.state >> 64, self.state & WORD
        hi ^= hi >> 32
        hi = hi * 0xda942042e4dd58b5 & WORD
        hi ^= hi >> 48
        return hi * (lo | 1) & WORD


class ChaCha8(Rand):
    """ChaCha8Rand (C2SP): four blocks at a time, word by word of them in turn. The last
    four words of sixteen blocks are the next key."""

    def __init__(self, seed):
        self.key, self.at, self.words = struct.unpack("<8I", seed), 0, []

    def word(self):
        if not self.words:
            if self.at == 16:
                self.at = 0
            blocks = [chacha8(self.key, self.at + i) for i in range(4)]
            flat = [blocks[i][k] for k in range(16) for i in range(4)]
            self.words, self.at = list(struct.unpack("<32Q", struct.pack("<64I", *flat))), self.at + 4
            if self.at == 16:
                self.key = struct.unpack("<8I", struct.pack("<4Q", *self.words[-4:]))
                self.words = self.words[:-4]
        return self.words.pop(0)


def chacha8(key, counter):
    """One block, of which only the key is added at the end."""
    s = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, *key, counter, 0, 0, 0]

    def turn(a, b, c, d):
        for x, y, z, k in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xffffffff
            v = s[z] ^ s[x]
            s[z] = (v << k | v >> (32 - k)) & 0xffffffff

    for _ in range(4):
        for i in range(4):
            turn(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            turn(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [(v + key[i - 4]) & 0xffffffff if 4 <= i < 12 else v for i, v in enumerate(s)]


def mix(x):
    """One step of splitmix64 (Steele, Lea, Flood 2014)."""
    x = (x + 0x9e3779b97f4a7c15) & WORD
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & WORD
    x = (x ^ x >> 27) * 0x94d049bb133111eb & WORD
    return x ^ x >> 31


def unit(h):
    return (h >> 11) / 2 ** 53


def vectors():
    """FIPS 197 C.3; NIST SP 800-38A F.1.5; of C2SP, Go's pcg_test and Vigna's splitmix64.c."""
    text = bytes.fromhex("00112233445566778899aabbccddeeff")
    got = encrypt(expanded(bytes(range(32))), text).hex()
    assert got == "8ea2b7ca516745bfeafc49904b496089", got
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    got = encrypt(expanded(key), bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")).hex()
    assert got == "f3eed1bdb5d2a03c064b5a7e3db181f8", got
    r = ChaCha8(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456")
    assert [r.word(), r.word()] == [0xb773b6063d4616a5, 0x1160af22a66abc3c]
    r = PCG(1, 2)
    assert [r.word(), r.word()] == [0xc4f5a58656eef510, 0x9dcec3ad077dec6c]
    assert mix(1234567) == 6457827717110365317


vectors()
