"""Discrete normal values, and the draws that TestReference of rng holds:

    cd experiment/run/testdata && python3 -B reference/samplers.py > \\
        ../../../rng/testdata/reference.json
"""
import json
import math
from fractions import Fraction

import draws
from draws import NOISE, Stream, derive

ONE = 1 << 600


def table():
    """The distribution function of blocks 0, 1, .. of an eighth of the deviation, whose
    masses are exp(-i^2/128), in 256 bits; none lies beyond block 151."""
    masses = []
    for i in range(152):
        n, term, e = 0, ONE, 0  # exp(-x) = 1/exp(x)
        while term:
            e, n = e + term, n + 1
            term = term * i * i // (128 * n)
        masses.append(ONE * ONE // e)
    total, out, sum_ = sum(masses), [], 0
    for m in masses:
        sum_ += m
        out.append((sum_ << 256) // total)
    return out[:-1] + [(1 << 256) - 1]


TABLE = table()


def block(s):
    """The first block whose function is above a value of 256 bits, of which the first 64
    are read, and the rest where they are those of a block."""
    u = s.word()
    at = next(i for i, v in enumerate(TABLE) if v >> 192 >= u)
    if TABLE[at] >> 192 > u:
        return at
    for _ in range(3):
        u = u << 64 | s.word()
    return next((i for i, v in enumerate(TABLE) if v > u), 151)


def exp(s, num, den):
    """True with probability exp(-num/den)."""
    while num > den or num == den:
        if not s.inverse_e():
            return False
        num -= den
    return s.exp_below_1(num, den)


def normal(s, sigma):
    """Integers with probability proportional to exp(-x^2/(2 sigma^2)): of a multiple of 8
    from 32 on by block, place and sign; else by Canonne, Kamath, Steinke 2020, Algorithm 3."""
    sigma = Fraction(sigma)
    if sigma.denominator == 1 and sigma % 8 == 0 and sigma >= 32:
        each, den = int(sigma) // 8, 2 * int(sigma) ** 2
        while True:
            base = block(s) * each
            w = s.below(2 * each)
            j = w >> 1
            num = j * (2 * base + j)
            if not (s.exp_below_1(num, den) if num < den else exp(s, num, den)):
                continue
            x = base + j
            if w & 1 == 0 or x:
                return -x if w & 1 else x
    t = math.ceil(sigma)
    while True:
        y = s.laplace(t)
        r = (abs(y) - sigma * sigma / t) ** 2 / (2 * sigma * sigma)
        if accepted(s, r, sigma, t):
            return y


def accepted(s, r, sigma, t):
    """With probability exp(-r): whole ones, then the rest over the denominator
    2 (num den t/g)^2, g the common divisor of den^2 t and num^2."""
    num, den = sigma.numerator, sigma.denominator
    root = num * den * t // math.gcd(den * den * t, num * num)
    d = 2 * root * root
    whole, rest = divmod(int(r * d), d)
    for _ in range(whole):
        if not s.inverse_e():
            return False
    return s.exp_below_1(rest, d)


def stream(seed, agent, seq, domain=NOISE):
    return draws.simulated(seed, agent, seq, domain)


def main():
    out = {"words": [str(w) for w in take(stream(7, 3, 11, draws.SAMPLE).word, 6)],
           "public": [str(w) for w in take(draws.public(9, "a purpose", 2, 3).word, 4)],
           "pair": [str(w) for w in take(draws.shared(5, 8, 2, 6, 1).word, 4)],
           "derived": [str(w) for w in take(Stream(derive("sotto derived 1", bytes(range(32)), b"folds", (
               4).to_bytes(8, "big")), draws.CHOICE).word, 4)],
           "normals": [float(z) for z in stream(1, 0, 2).normals(9)],
           "below": [], "select": [], "laplace": {}, "gauss": {}, "bernoulli": {}}
    s = stream(1, 0, 3)
    out["below"] = [str(s.below(n)) for n in (3, 2 ** 63 + 1, 2 ** 63 + 1, 2 ** 63 + 1, 10 ** 18, 7)]
    for rate in .3, .004, .75, 1.0:
        out["select"].append([rate, stream(1, 0, 4, draws.SAMPLE).select(range(300), rate)])
    for k, t in enumerate((1, 3, 1 << 20, 1 << 40)):
        s = stream(2, 0, k)
        out["laplace"][str(t)] = [s.laplace(t) for _ in range(40)]
    for k, (num, den) in enumerate(((7, 10), (1, 1), (173, 10), (31, 1), (32, 1), (40, 1), (1 << 20, 1), (
            1 << 30, 1), ((1 << 20) - 1, 1))):
        s = stream(3, 0, k)
        out["gauss"][f"{num}/{den}"] = [normal(s, Fraction(num, den)) for _ in range(60)]
    for k, (num, den) in enumerate(((1, 2), (5, 2), (7, 7), (0, 3), (10 ** 18, 10 ** 19))):
        s = stream(4, 0, k)
        out["bernoulli"][f"{num}/{den}"] = "".join("01"[exp(s, num, den)] for _ in range(60))
    print(json.dumps(out))


def take(f, n):
    return [f() for _ in range(n)]


if __name__ == "__main__":
    main()
