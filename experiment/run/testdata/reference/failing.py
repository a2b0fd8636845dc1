"""The runs of reference.py of gossip-sgd, km, newton and boosting whose messages are lost
or late, or whose links drop out."""
import struct

import numpy as np

import tables
from cases import case
from draws import SEED, ChaCha8
from drawn import GEO, GKEYS, Drawn, noisy
from links import Faults
from operators import with_state
from problem import COMPLETE, M, PATH, RING, Problem, metropolis
from rounds import *
from steps import *

EVERY = dict(drop=dict(drop=.3), symmetric=dict(drop=.2, symmetric=True, delay=.3, max_delay=2),
             late=dict(drop=.2, delay=.5, max_delay=3),
             use=dict(drop=.2, delay=.5, max_delay=3, late="use"))


class Tagged:
    """Averages one after the other, from round 1 on: messages of another are not mixed."""

    def __init__(self, faults, W):
        self.faults, self.W, self.sent, self.first = faults, W, [None], 1

    def begin(self):
        self.first = len(self.sent)

    def __array__(self, dtype=None, copy=None):
        return self.W  # for the spectrum

    def __matmul__(self, x):
        k, n = len(self.sent), len(x)
        self.sent.append(x)
        y = x.copy()
        for i in range(n):
            for j in range(n):
                if j == i or self.W[i, j] == 0:
                    continue
                m = None
                if self.faults.fate(k, j, i) is None:
                    m = x[j]
                elif self.faults.use:
                    due = [r for r in range(self.first, k) if (self.faults.fate(r, j, i) or k) + r == k]
                    m = self.sent[max(due)][j] if due else None
                y[i] = y[i] + (self.W[i, j] * (m - x[i]) if m is not None else 0)
        return y


def failing():
    for name, keys in EVERY.items():
        sets = {"faults__" + k: str(v).lower() if v is True else v for k, v in keys.items()}
        f, n = Faults(**keys), dict(noise=noisy(.7), clip=.3, privacy__sample_rate=.5)
        for kind in "plain", "chebyshev":
            p, mean = Drawn(rate=.5, z=.7), f.at(PATH)
            mean(0) @ start(p)  # what is sent before round 0
            yield case(f"faults-gossip-sgd-{kind}-{name}", "gossip-sgd", gossip_sgd(
                p, PATH, GEO, 14, 4, kind, clip=.3, mean=mean), p, "path", 14, gossip=4,
                acceleration=kind, **n, **GKEYS, **sets)
        p = Drawn()
        yield case(f"faults-km-{name}", "km", km(p, RING, 12, "forward-backward", .4, .1, mean=f.at(RING)), p,
                   operator="forward-backward", gamma=.4, l1=.1, **sets)
        p = Drawn(z=.5)
        p.X = [np.array([clipped(x, .3) for x in X]) for X in p.X]
        S = [1.0]
        for k in range(8):
            S.append(1 + 2 * .3 * S[-1])
        x = with_state(p, PATH, 8, .4, [.3] * 8, 1., lambda s, a, k: .3 * .5 * .3 * .4 / M[a] * min(
            S[k], 2 * M[a] / (.3 * .4)) * s.normals(3), mean=f.at(PATH))
        yield case(f"faults-own-state-{name}", "km", x, p, "path", 8, .3, noise=noisy(.5), own_state="true",
                   operator="forward", gamma=.4, alpha=.3, **sets)
        p = Drawn()
        yield case(f"faults-newton-{name}", "newton", tables.newton(
            p, Tagged(f, RING), 41, 3, clip=.1), p, "ring", 41, clip=1.0, steps=3, gradient_clip=.1,
            within=1e-4, privacy__sample_rate=None, **sets)
        p = Drawn(rows=tables.weights)
        yield case(f"faults-boosting-{name}", "boosting", tables.boosting(
            p, Tagged(f, COMPLETE), 31, 4, clip=.3), p, "complete", 31, 1.0, gradient_clip=.3, steps=4,
            within=1e-4, privacy__sample_rate=None, **sets)
    yield from dropping()


def dropping():
    def left(k, links):
        r = ChaCha8(struct.pack("<QQ16s", SEED, k, b"drop"))
        return metropolis([l for l in links if r.uniform() >= .3])

    path = [(0, 1), (1, 2), (2, 3)]
    p = Drawn()
    yield case("dropout-gossip-sgd", "gossip-sgd", gossip_sgd(
        p, PATH, GEO, 14, 4, mean=lambda k: left(k, path)), p, "path", 14, gossip=4, topology__dropout=.3,
        **GKEYS)
