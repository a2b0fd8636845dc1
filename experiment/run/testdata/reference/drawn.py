"""The runs of reference.py whose batches, noise, records, graphs, links and wakes are
drawn, by draws.py."""
import numpy as np

import draws
import tables
import wakes
from cases import ARCS, case
from draws import NOISE, SAMPLE, SEED
from problem import (COMPLETE, INIT, N, PATH, RING, STAR, TEST, TRAIN, Problem, clipped, metropolis)
from rounds import *
from steps import *

class Drawn(Problem):
    """A problem whose answers are drawn: a Poisson batch of the rate, one uniform record,
    and noise of standard deviation, or scale, z times the clip. Answer number seq of an
    agent, from 1, has a key of its own. parts are the records of agents, by row."""

    def __init__(self, loss="logistic", rate=1.0, z=0.0, kind="gaussian", one=False, parts=None,
                 start=None, **keys):
        super().__init__(loss, **keys)
        self.rate, self.z, self.kind, self.one, self.seq = rate, z, kind, one, {}
        if parts is not None:
            X, y = np.vstack(self.X), np.concatenate(self.y)
            self.X, self.y = [X[r] for r in parts], [y[r] for r in parts]
            self.agents = range(len(parts))
        if start is not None:
            self.init = start
        self.expected = None
        self.draws = 1  # batches under one noise
        self.seed = SEED  # of batches and noise

    def key(self, a, domain):
        return draws.simulated(self.seed, a, self.seq[a], domain)

    def asked(self, a):
        self.seq[a] = self.seq.get(a, 0) + 1

    def batch(self, a, count):
        s = self.key(a, SAMPLE)
        return [s.below(count)] if self.one else s.select(range(count), self.rate)

    def units(self, a, theta):
        """The gradients of records, or the means of those of persons."""
        g = self.gradients(a, theta)
        if not self.persons:
            return g
        return [np.mean([v for v, w in zip(g, self.who[a]) if w == who][:self.persons], axis=0)
                for who in dict.fromkeys(self.who[a])]

    def answer(self, a, theta, clip=None):
        self.asked(a)
        g = self.units(a, theta)
        there = range(len(g))
        if self.came:
            there = [k for k in there if self.came[a][k] < self.seq[a]]
        s = self.key(a, SAMPLE)
        batch = [s.below(len(g))] if self.one else [
            k for _ in range(self.draws) for k in s.select(range(len(there)), self.rate)]
        total = sum((clipped(g[there[k]], clip) for k in batch), np.zeros(len(theta)))
        if self.kind in ("adad2p", "constd2p"):
            clip = np.linalg.norm(total) if self.kind == "adad2p" else .3
        size = self.expected or (1 if self.one else self.draws * self.rate * len(g))
        return (total + self.added(a, len(theta), clip)) / size

    def noise(self, a, dim, clip, norm="l2"):
        self.asked(a)
        return self.added(a, dim, clip)

    def added(self, a, dim, clip, seq=None):
        if not self.z:
            return 0.0
        s = self.key(a, NOISE) if seq is None else draws.simulated(SEED, a, seq, NOISE)
        if self.kind == "laplace":  # of whole steps of 2^-20 of the clip
            t = int(np.ceil(self.z * 2 ** 20))
            return np.array([s.laplace(t) for _ in range(dim)]) * clip / 2 ** 20
        noise = self.z * s.normals(dim)
        if self.kind == "decor":  # one answer a round: block 0
            for j in range(N):
                if j != a and self.near[a, j] > 0:
                    other = draws.shared(SEED, a, j, self.seq[a] - 1, 0).normals(dim)
                    noise = noise + (1 if a < j else -1) * self.pair * other
        return clip * noise

    def of_fit(self, a, lam):
        """Of the minimiser of m logistic losses, of features of norm at most 1, plus
        lam |theta|^2, which one record moves by 1/(2 m lam)."""
        self.asked(a)
        return self.added(a, 3, 1 / (2 * lam * len(self.y[a])))

    def of_owner(self, a, theta, clip):
        self.asked(a)
        return clipped(np.mean(self.gradients(a, theta), axis=0), clip) + self.added(a, len(theta), clip)

    def blank(self, a, visit, dim, clip, unit):
        noise = self.added(a, dim, clip, 1 << 63 | visit << 16 | 1)
        return noise if unit == "owner" else noise / len(self.y[a])


def noisy(z, **more):
    return {"privacy.mechanism": "gaussian", "privacy.noise_multiplier": z,
            "privacy.accountant": "rdp"} | more


def initial(*layers):
    """Of linear layers with so many inputs and numbers: uniform within 1/sqrt(inputs)."""
    s = draws.public(SEED, "initial model")
    return np.array([np.float32((2 * s.uniform() - 1) / np.sqrt(fan)) for fan, count in layers
                     for _ in range(count)], float)


GEO = geometric(.8, .1)
GKEYS = dict(step_size=.8, step_size_final=.1, schedule="geometric")


def sampled():
    """Algorithms with Poisson batches and noise of a size that is seen."""
    R, half, some = 12, dict(privacy__sample_rate=.5), dict(privacy__sample_rate=.3)
    none = dict(model__init_from=None)
    n = dict(noise=noisy(.7), clip=.3, **half)
    new = lambda **k: Drawn(rate=.5, z=.7, **k)
    p = Drawn(rate=.3, start=initial((3, 3)))
    yield case("drawn-batches", "dsgd", dsgd(p, RING, GEO, R), p, **some, **none, **GKEYS)
    p = Drawn(z=.7)
    yield case("drawn-noise", "dsgd", dsgd(p, RING, GEO, R, clip=.3), p, noise=noisy(.7), clip=.3, **GKEYS)
    for order in "grad-then-mix", "mix-then-grad":
        p = new()
        yield case(f"drawn-dsgd-{order}", "dsgd", dsgd(p, RING, GEO, R, order, clip=.3), p, order=order, **n,
                   **GKEYS)
    p = new()
    yield case("drawn-fast", "dsgd", dsgd(p, RING, GEO, R, clip=.3), p, **GKEYS, **n | dict(
        noise=noisy(.7, **{"privacy.noise": "fast"})))
    p = new()
    yield case("drawn-dsgt", "dsgt", dsgt(p, PATH, GEO, R, clip=.3), p, "path", **n, **GKEYS)
    p = new()
    yield case("drawn-dinno", "dinno", dinno(p, STAR, constant(.01), R, steps=2, kind="adam", clip=.3), p,
               "star", primal_steps=2, optimizer="adam", step_size=.01, **n)
    p = new()
    yield case("drawn-gossip-sgd", "gossip-sgd", gossip_sgd(p, PATH, GEO, 14, 4, "chebyshev", clip=.3), p,
               "path", 14, gossip=4, acceleration="chebyshev", **n, **GKEYS)
    p = new()
    yield case("drawn-sgp", "sgp", sgp(p, directed(ARCS), GEO, R, clip=.3), p, "directed-file",
               topology__path="DIR/arcs.txt", **n, **GKEYS)
    p = new()
    yield case("drawn-local", "local", local(p, GEO, R, clip=.3), p, **n, **GKEYS)
    p = new(parts=[range(20)])
    yield case("drawn-central", "central", local(p, GEO, R, clip=.3), p, "complete", topology__agents=1,
               data__merge_groups="true", **n, **GKEYS)
    p = Drawn("softmax", rate=.5, z=.7, start=initial((3, 9)))
    yield case("drawn-softmax", "dsgd", dsgd(p, RING, GEO, R, clip=.3), p, **n | none, **GKEYS)
    p = new(loss="huber", constant=True)
    yield case("drawn-constant", "dsgd", dsgd(p, RING, GEO, R, clip=.3), p, **n, **GKEYS)
    p = Drawn(one=True)
    yield case("drawn-one", "dsgd", dsgd(p, RING, GEO, R), p, privacy__sample_rate=None,
               privacy__batch_size=1, privacy__adjacency="replace-one", replication__sampling="one",
               **GKEYS)
    for kind in "adad2p", "constd2p":
        p = Drawn(rate=.5, z=.7, kind=kind)
        yield case(f"drawn-{kind}", "sgp", sgp(p, directed(ARCS), GEO, R), p, "directed-file",
                   topology__path="DIR/arcs.txt", replication__noise=kind, replication__claim="true",
                   **n | dict(clip=.3 if kind == "constd2p" else None), **GKEYS)
    p = Drawn(z=.7, kind="decor")
    p.near, p.pair = PATH, .7 * 3
    yield case("drawn-decor", "dsgd", dsgd(p, PATH, GEO, R, clip=.3), p, "path", clip=.3, **GKEYS,
               noise=noisy(.7, **{"privacy.mechanism": "decor", "privacy.pair_noise_ratio": 3.0}))
    p = Drawn(rate=.5)
    p.draws = 3
    yield case("drawn-microbatches", "dsgd", dsgd(p, RING, GEO, R, clip=.3), p, clip=.3, **half,
               replication__microbatches=3, **GKEYS)
    p = new(persons=2)
    yield case("drawn-persons", "dsgd", dsgd(p, RING, GEO, R, clip=.3), p, **n, **GKEYS)
    p, signs = Drawn(), draws.public(SEED, "adversary", 1)
    forged = np.array([-3. if signs.word() & 1 else 3. for _ in range(3)])
    x = attacked(p, COMPLETE, GEO, R, "large-norm", forged, robust=clipped_gossip(.05))
    c = case("attack-large-norm", "dsgd", x, p, "complete", faults__adversaries="[1]",
             faults__attack="large-norm", faults__attack_scale=3.0, mixing="clipped", mixing_clip=.05,
             **GKEYS)
    yield c | p.figures(np.delete(x, 1, axis=0))


def dealt():
    """Records dealt to agents, and graphs, by PCG."""
    r = draws.PCG(SEED, int.from_bytes(b"partitio", "big"))
    order = r.shuffle(list(range(20)))
    parts = [sorted(order[i * 20 // 7:(i + 1) * 20 // 7]) for i in range(7)]
    p = Drawn(rate=.5, parts=parts)
    links = [(i, (i + 1) % 7) for i in range(7)]
    yield case("dealt-iid", "dsgd", dsgd(p, metropolis(links, 7), GEO, 12), p, data__partition="iid",
               topology__agents=7, privacy__sample_rate=.5, **GKEYS)
    yield from by_class()
    yield from graphs()


def by_class():
    """Of three labels two each: classes and agents in a drawn order, then the records."""
    r, p = draws.PCG(SEED, int.from_bytes(b"partitio", "big")), Problem("softmax")
    y = np.concatenate(p.y).astype(int)
    order, turns = r.shuffle([0, 1, 2]), r.shuffle(list(range(4)))
    holders = [[] for _ in range(3)]
    for turn, i in enumerate(turns):
        for s in range(2):
            holders[order[(2 * turn + s) % 3]].append(i)
    parts = [[] for _ in range(4)]
    for c in range(3):
        rows, n = r.shuffle([int(k) for k in np.flatnonzero(y == c)]), len(holders[c])
        for s, i in enumerate(holders[c]):
            parts[i] += rows[s * len(rows) // n:(s + 1) * len(rows) // n]
    p = Drawn("softmax", parts=[sorted(q) for q in parts])
    yield case("dealt-by-class", "dsgd", dsgd(p, RING, GEO, 12), p, data__partition="by-class",
               data__classes=2, **GKEYS)
    r = draws.PCG(SEED, int.from_bytes(b"partitio", "big"))
    p = Problem("softmax")
    parts = [None] * 3
    for chunk, i in enumerate(r.shuffle([0, 1, 2])):
        parts[i] = np.flatnonzero(np.concatenate(p.y) == chunk)
    p = Drawn("softmax", parts=parts)
    yield case("dealt-a", "dsgd", dsgd(p, metropolis([(0, 1), (1, 2), (0, 2)], 3), GEO, 12), p, "complete",
               data__partition="a", data__t=1, topology__agents=3, **GKEYS)


def connected(n, links):
    seen = {0}
    for _ in range(n):
        seen |= {b for l in links for a, b in (l, l[::-1]) if a in seen}
    return len(seen) == n


def redrawn(n, draw):
    r = draws.PCG(SEED, int.from_bytes(b"topology", "big"))
    while True:
        links = draw(r)
        if links is not None and connected(n, links):
            return sorted(tuple(sorted(l)) for l in links)


def er(n, p):
    """Batelj and Brandes 2005: gaps between the pairs (1,0), (2,0), (2,1), .. that are
    linked."""
    pairs = [(i, j) for i in range(n) for j in range(i)]

    def draw(r):
        at, links = -1, []
        while True:
            at += 1 + int(np.floor(np.log1p(-r.uniform()) / np.log1p(-p)))
            if at >= len(pairs):
                return links
            links.append(pairs[at])
    return redrawn(n, draw)


def regular(n, d):
    """Steger and Wormald 1999: ends of links in a drawn order, two by two; those that clash
    are drawn again."""
    def draw(r):
        ends, links = [i for i in range(n) for _ in range(d)], set()
        while ends:
            r.shuffle(ends)
            left = []
            for k in range(0, len(ends), 2):
                l = tuple(sorted(ends[k:k + 2]))
                if l[0] == l[1] or l in links:
                    left += ends[k:k + 2]
                else:
                    links.add(l)
            fits = any(i != j and tuple(sorted((i, j))) not in links for i in left for j in left)
            if left and len(left) == len(ends) and not fits:
                return None
            ends = left
        return links
    return redrawn(n, draw)


def small_world(n, k, beta):
    """Watts and Strogatz 1998: lap by lap of the ring, the far end moves."""
    def draw(r):
        near = [set() for _ in range(n)]
        for i in range(n):
            for d in range(1, k // 2 + 1):
                near[i].add((i + d) % n)
                near[(i + d) % n].add(i)
        for d in range(1, k // 2 + 1):
            for i in range(n):
                j = (i + d) % n
                if r.uniform() < beta and len(near[i]) < n - 1:
                    new = r.below(n)
                    while new == i or new in near[i]:
                        new = r.below(n)
                    near[i].discard(j)
                    near[j].discard(i)
                    near[i].add(new)
                    near[new].add(i)
        return [(i, j) for i in range(n) for j in near[i] if i < j]
    return redrawn(n, draw)


def geometric_graph(n, radius):
    def draw(r):
        at = [(r.uniform(), r.uniform()) for _ in range(n)]
        return [(i, j) for i in range(n) for j in range(i) if np.hypot(at[i][0] - at[j][0],
                                                                        at[i][1] - at[j][1]) <= radius]
    return redrawn(n, draw)


def graphs():
    r = draws.PCG(SEED, int.from_bytes(b"partitio", "big"))
    order = r.shuffle(list(range(20)))
    p = Drawn(parts=[sorted(order[2 * i:2 * i + 2]) for i in range(10)])
    for name, links, keys in (
            ("er", er(10, .3), dict(topology__p=.3)),
            ("regular", regular(10, 3), dict(topology__degree=3)),
            ("small-world", small_world(10, 4, .5), dict(topology__k=4, topology__beta=.5)),
            ("geometric", geometric_graph(10, .45), dict(topology__radius=.45))):
        yield case(f"graph-{name}", "dsgd", dsgd(p, metropolis(links, 10), GEO, 12), p, name,
                   data__partition="iid", topology__agents=10, **keys, **GKEYS)


def clips():
    """Clips that follow noisy answers."""
    n = dict(noise=noisy(.7), clip=.4, privacy__sample_rate=.5, privacy__clip_min=.1)
    step = constant(.5)
    for kind, keys in (("quantile", dict(rate=.3, share=.4)), ("released", dict(factor=1.5, average=.6))):
        p = Drawn(rate=.5, z=.7)
        of = [NoisyClip(kind, .4, .1, **keys) for _ in range(N)]
        names = {"rate": "clip_rate", "share": "clip_quantile", "factor": "clip_factor",
                 "average": "clip_average"}
        yield case(f"drawn-clip-{kind}", "dsgd", dsgd(p, RING, step, 12, clips=of), p, step_size=.5,
                   within=1e-4, privacy__clipping=kind, **n,
                   **({"privacy__clip_count_std": 1.5} if kind == "quantile" else {}),
                   **{"privacy__" + names[k]: v for k, v in keys.items()})


class NoisyClip(Clip):
    """The quantile by the number of the batch within the clip less half of it, with noise
    of 1.5 records, over the expected batch; released ones by the length of answers, less
    what the noise adds to it."""

    def answer(self, p, a, x):
        p.asked(a)
        g, expected = p.gradients(a, x), p.rate * len(p.y[a])
        batch = p.batch(a, len(g))
        noise = p.key(a, NOISE)
        total = sum((clipped(g[k], self.norm) for k in batch), np.zeros(len(x)))
        answer = (total + p.z * self.norm * noise.normals(len(x))) / expected
        if self.kind == "quantile":
            within = sum((1 if np.linalg.norm(g[k]) <= self.norm else -1) / 2 for k in batch)
            within = (within + 1.5 * noise.normals(1)[0]) / expected + .5
            self.norm = max(self.least, self.norm * np.exp(-self.rate * (within - self.share)))
        else:
            s, w = p.z * self.norm / expected, self.average
            r = np.sqrt(max(0, answer @ answer - len(x) * s * s))
            self.mean = w * self.mean + (1 - w) * r if self.mean else r
            self.norm = max(self.least, min(self.factor * self.mean, self.first))
        return answer


def adam():
    """adam-bc takes the variance of the noise off, and leaves that of its estimate."""
    p = Drawn(rate=.5, z=.7)
    eta, k = constant(.05), dict(optimizer="adam-bc", step_size=.05, adam_epsilon=1e-3)
    x = dsgd(p, RING, eta, 12, clip=.3, opts=[LessNoise(.7 * .3 / (.5 * len(y))) for y in p.y])
    yield case("drawn-adam-bc", "dsgd", x, p, clip=.3, noise=noisy(.7), privacy__sample_rate=.5, **k)


class LessNoise(Optimizer):
    def __init__(self, s):
        super().__init__("adam", eps=1e-3)
        self.s = s

    def direction(self, g, at):
        super().direction(g, at)
        m, v = self.m / (1 - self.b1 ** self.t), self.v / (1 - self.b2 ** self.t)
        b, bt = self.b2, self.b2 ** self.t
        floor = self.s ** 2 * np.sqrt(2 * (1 - b) * (1 + bt) / ((1 + b) * (1 - bt)))
        return m / np.sqrt(np.maximum(np.maximum(v - self.s ** 2, floor), self.eps ** 2))


def fitted():
    """newton and boosting with noise that shows."""
    keys = dict(privacy__sample_rate=None, clip=1.0, noise=noisy(.2), within=1e-4)
    for loss, rounds in (("logistic", 19), ("least-squares", 10), ("huber", 19)):
        p = Drawn(loss, z=.2, constant=loss == "huber")
        yield case(f"drawn-newton-{loss}", "newton", tables.newton(p, COMPLETE, rounds, z=.2), p, "complete",
                   rounds, **keys)
    p = Drawn(z=.2)
    yield case("drawn-newton-more", "newton", tables.newton(p, RING, 61, z=.2, more=2., ridge=.1), p,
               "ring", 61, moments_noise=2.0, ridge=.1, **keys)
    for loss in "logistic", "least-squares":
        p = Drawn(loss, z=.2, rows=tables.weights)
        yield case(f"drawn-boosting-{loss}", "boosting", tables.boosting(p, COMPLETE, 11, z=.2), p,
                   "complete", 11, **keys)
