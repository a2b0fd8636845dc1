"""The runs of reference.py with links that fail or drop out, agents that are away, wakes,
hops and records that are drawn."""
import hashlib
import math
import struct

import numpy as np

import draws
import wakes
from cases import ARCS, LINKS, case
from draws import SEED, mix, unit
from drawn import GEO, GKEYS, Drawn, initial, noisy
from problem import COMPLETE, INIT, M, N, PATH, RING, STAR, TEST, TRAIN, Problem, clipped, metropolis
from rounds import *
from steps import *
from wakes import Clock, Links, Walk


class Faults:
    """What becomes of messages in rounds. at(W) gives for each round what averages."""

    def __init__(self, drop=0.0, delay=0.0, max_delay=1, symmetric=False, late="discard"):
        self.drop, self.delay, self.most, self.symmetric = drop, delay, max_delay, symmetric
        self.use = late == "use"

    def fate(self, k, j, i):
        """None: it arrives; 0: it is lost; else how many rounds it is late."""
        if self.symmetric and j > i:
            j, i = i, j
        h = mix(mix(mix(SEED ^ int.from_bytes(b"sotto fa", "big")) ^ k) ^ (j << 32 ^ i))
        if unit(h) < self.drop:
            return 0
        h = mix(h + 1)
        if unit(h) < self.delay:
            return 1 + int(unit(mix(h + 1)) * self.most)
        return None

    def heard(self, sent, k, j, i):
        """What i has of j in round k, of all that j has sent."""
        if self.fate(k, j, i) is None:
            return sent[k][j]
        due = [r for r in range(k) if (self.fate(r, j, i) or k + 1) + r == k]
        return sent[max(due)][j] if self.use and due else None

    def at(self, W):
        sent = []

        class Mean:
            def __init__(self, k):
                self.k = k

            def __matmul__(mean, x):
                sent.append(x)
                y = x.copy()  # with the weight of who is missing
                for i in range(len(x)):
                    for j in range(len(x)):
                        if j != i and W[i, j] > 0:
                            m = self.heard(sent, mean.k, j, i)
                            y[i] = y[i] + (W[i, j] * (m - x[i]) if m is not None else 0)
                return y
        return Mean

    def push(self, p, P, eta, rounds):
        """Stochastic gradient push: what does not arrive in its round stays with the
        sender."""
        x, w, sent = start(p), np.ones(N), []
        for k in range(rounds):
            sent.append([np.append(x[j], w[j]) for j in range(N)])
            new = np.zeros((N, x.shape[1] + 1))
            for i in range(N):
                for j in range(N):
                    if j == i or P[i, j] == 0:
                        new[i] += P[i, j] * sent[k][j]
                        continue
                    there = i if self.fate(k, j, i) is None else j
                    new[there] += P[i, j] * sent[k][j]
            x, w = new[:, :-1], new[:, -1]
            z = x / w[:, None]
            x = x - eta(k, rounds) * np.array([p.answer(a, z[a]) for a in p.agents])
        return x / w[:, None]


def faults():
    g, P = GEO, directed(ARCS)
    every = dict(drop=dict(drop=.3), symmetric=dict(drop=.2, symmetric=True, delay=.3, max_delay=2),
                 late=dict(drop=.2, delay=.5, max_delay=3),
                 use=dict(drop=.2, delay=.5, max_delay=3, late="use"))
    for name, keys in every.items():
        sets = {"faults__" + k: str(v).lower() if v is True else v for k, v in keys.items()}
        f, p = Faults(**keys), Drawn()
        yield case(f"faults-dsgd-{name}", "dsgd", dsgd(p, f.at(RING), g, 12), p, **sets, **GKEYS)
        p = Drawn()
        yield case(f"faults-dsgt-{name}", "dsgt", dsgt(p, f.at(COMPLETE), g, 12), p, "complete", **sets,
                   **GKEYS)
        p = Drawn(z=.3)
        y = np.array([clipped(X.mean(axis=0), .4) + p.noise(a, 3, .4)
                      for a, X in enumerate(Problem("mean").X)])
        mean = f.at(PATH)
        mean(0) @ np.tile(initial((3, 3)), (N, 1))  # what is sent before the round that asks
        yield case(f"faults-average-{name}", "gossip-average", recursion(
            PATH, y, 8, "chebyshev", mean=lambda k: mean(k + 1)), Problem("mean"), "path", 9,
            acceleration="chebyshev", clip=.4, noise=noisy(.3), **sets)
        if f.use:
            continue  # sgp refuses it
        p = Drawn()
        x = dinno(p, COMPLETE, constant(.05), 12, rho=.1, kind="sgd", lost=f.fate)
        yield case(f"faults-dinno-{name}", "dinno", x, p, "complete", rho=.1, optimizer="sgd", step_size=.05,
                   **sets)
        p = Drawn()
        yield case(f"faults-sgp-{name}", "sgp", f.push(p, P, g, 12), p, "directed-file",
                   topology__path="DIR/arcs.txt", **sets, **GKEYS)


def go(text, round):
    return draws.ChaCha8(struct.pack("<QQ16s", SEED, round, text))


def changing():
    """Links that drop out of a round, one by one in order, arcs in that of receivers; and
    pairs that wake."""
    def left(k, links):
        r = go(b"drop", k)
        return [l for l in links if r.uniform() >= .3]

    p, ring = Drawn(), [(0, 1), (0, 3), (1, 2), (2, 3)]
    yield case("dropout-dsgd", "dsgd", dsgd(p, lambda k: metropolis(left(k, ring)), GEO, 12), p,
               topology__dropout=.3, **GKEYS)
    p, arcs = Drawn(), sorted(ARCS, key=lambda a: a[::-1])
    yield case("dropout-sgp", "sgp", sgp(p, lambda k: directed(left(k, arcs)), GEO, 12), p,
               "directed-file", topology__path="DIR/arcs.txt", topology__dropout=.3, **GKEYS)
    y = np.array([X.mean(axis=0) for X in Problem("mean").X])
    z = Drawn(z=.5)  # round 0 asks, all others average
    for a in range(N):
        y[a] = clipped(y[a], .4) + z.noise(a, 3, .4)
    yield case("drawn-average", "gossip-average", recursion(PATH, y, 7, "chebyshev"), Problem("mean"), "path",
               8, acceleration="chebyshev", clip=.4, noise=noisy(.5))
    near = [[1, 2], [0, 2], [0, 1, 3], [2]]
    for k in range(1, 9):
        r = go(b"pair", k)
        i = r.below(N)
        j = near[i][r.below(len(near[i]))]
        y[[i, j]] = (y[i] + y[j]) / 2
    W = "".join(f"{i} {j}\n" for i in range(N) for j in near[i] if i < j)
    yield case("pair-average", "gossip-average", y, Problem("mean"), "file", 9, clip=.4, noise=noisy(.5),
               topology__path="DIR/pairs.txt", topology__wake="pair")


def bcd(p, q, links, count, clip=None):
    """wakes.bcd of who is there, with what has arrived. Who joins late begins at the mean
    of what it hears; a neighbor that was not heard counts with the agent's own vector."""
    x, clock = np.zeros((N, 3)), Clock()
    sent, joined = [[] for _ in range(N)], [False] * N

    def mean(i, now):
        total = np.zeros(3)
        for j in range(N):
            came = [v for n, (t, v) in enumerate(sent[j]) if links.arrived(j, i, n, t, now)]
            total += q.S[i, j] * (came[-1] if came else x[i])
        return total / q.D[i]

    def post(i, now):
        joined[i] = True
        sent[i].append((now, x[i].copy()))

    for i in range(N):
        if not links.away(i, 0):
            post(i, 0)
    for _ in range(count):
        now, i, _ = clock.next()
        if links.away(i, now):
            continue
        if not joined[i]:
            x[i] = mean(i, now)
            post(i, now)
            continue
        m, muc = mean(i, now), q.mu * q.c[i]
        g = p.answer(i, x[i], clip)
        alpha = 1 / (1 + muc * q.smooth[i])
        x[i] = (1 - alpha) * x[i] + alpha * (m - muc * (g + 2 * q.lam[i] * x[i]))
        post(i, now)
    return x


def perturbed(eps, delta):
    """Records of norm at most 1 with normal noise; labels that are uniform with probability
    2/(1 + e^s), s a fifth of epsilon. The noise spends what is left: the loss of a label
    is s or -s, and that of features has Balle's and Wang's profile."""
    s = eps / 5

    def phi(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    def profile(e, mu):
        return phi(mu / 2 - e / mu) - math.exp(e) * phi(-mu / 2 - e / mu)

    low, high, true = 1e-3, 1e3, 1 / (1 + math.exp(-s))
    for _ in range(100):
        z = math.sqrt(low * high)
        low, high = (z, high) if true * profile(eps - s, 2 / z) + (1 - true) * profile(
            eps + s, 2 / z) > delta else (low, z)
    p, rate = Drawn(), 2 / (1 + math.exp(s))
    for a, (X, y) in enumerate(zip(p.X, p.y)):
        noise = draws.simulated(SEED, a, 1, draws.NOISE).normals(X.size).reshape(X.shape)
        p.X[a] = np.array([clipped(x, 1) for x in X]) + z * noise
        r = draws.simulated(SEED, a, 2, draws.NOISE)
        for k in range(len(y)):
            hit, label = r.word() < rate * 2 ** 64, 2 * r.below(2) - 1
            y[k] = label if hit else y[k]
    return p


def personal():
    S = np.zeros((N, N))
    for (i, j), w in LINKS.items():
        S[i, j] = S[j, i] = w
    q = wakes.Personal(S, .3)
    keys = dict(graph="file", topology__path="DIR/links.txt", privacy__sample_rate=None, mu=.3, rounds=None,
                model__init_from=None)

    def of(name, algorithm, models, p, **more):
        return case(name, algorithm, models, p, **keys, **more) | {"objective": q.value(p, models)}

    every = dict(clock={}, latency=dict(latency=2.0), drop=dict(drop=.4),
                 churn=dict(churn=.5, churn_period=2.0),
                 all=dict(latency=1.5, drop=.2, churn=.3, churn_period=1.5))
    for name, faults in every.items():
        p = Drawn(z=.3)
        yield of(f"wakes-{name}", "bcd", bcd(p, q, Links(**faults), 40, .3), p, clip=.3, updates=40,
                 clock__wakes=40, noise=noisy(.3), **{"faults__" + k: v for k, v in faults.items()})
    clock, order = Clock(), []
    for _ in range(40):
        order.append(clock.next()[1])
    p = Drawn(z=.2, kind="laplace")
    yield of("wakes-laplace", "bcd", wakes.bcd(p, q, order, clip=.3, norm="l1", updates=6, after="average"),
             p, clip=.3, updates=6, norm="l1", after="average", clock__wakes=40, within=1e-4,
             noise=noisy(.2, **{"privacy.mechanism": "laplace", "privacy.accountant": "pld"}))
    for alloc in "late", "expected":
        p, of_agent = Drawn(z=.3), [[t for t, i in enumerate(order) if i == a] for a in range(N)]
        left = [[max(0, 39 - (at[r] if alloc == "late" else N * r)) for r in range(min(6, len(at)) if alloc ==
                 "late" else 6)] for at in of_agent]
        f = [[.9 ** ((v - min(l)) / -4) for v in l] for l in left]
        yield of(f"wakes-{alloc}", "bcd", wakes.bcd(p, q, order, clip=.3, updates=6, factors=f), p, clip=.3,
                 updates=6, alloc=alloc, contraction=.9, clock__wakes=40, noise=noisy(.3))
    for name, models, more in (
            ("local-fit", wakes.local_fit, dict(fit_lambda=.1)),
            ("model-propagation", lambda p, q, l: wakes.bcd(p, q, order, "fit", l, 99), dict(fit_lambda=.1)),
            ("bcd", lambda p, q, l: wakes.bcd(p, q, order, "fit", l, 2, 4, clip=1), dict(
                fit_lambda=.1, clip=1.0, start="fit", propagate=2, updates=4))):
        p = Drawn(z=.3)
        p.bounded = Problem()
        p.bounded.X = [np.array([clipped(x, 1) for x in X]) for X in p.X]
        yield of(f"drawn-fit-{name}", name, models(p, q, .1), p, clock__wakes=40, noise=noisy(.3), **more)
    p = Drawn(z=.3)
    p.came = arrivals(0.0, 10)
    yield of("arrival-bcd", "bcd", wakes.bcd(p, q, order, clip=.3, updates=9), p, clip=.3, updates=9,
             clock__wakes=40, noise=noisy(.3), data__arrival="uniform")
    x = wakes.bcd(perturbed(8.0, .01), q, order, clip=.3)
    yield of("drawn-local-dp", "bcd", x, Problem(), clip=.3, clock__wakes=40,
             within=1e-4, noise={"privacy.mechanism": "local-dp", "privacy.noise_multiplier": None,
                                 "privacy.target_epsilon": 8.0, "privacy.target_delta": .01,
                                 "privacy.adjacency": "replace-one"})
    near = [[1, 2], [0, 2], [0, 1, 3], [2]]
    for name, faults in dict(pairs={}, away=dict(drop=.3, churn=.3, churn_period=2.0)).items():
        clock, links, met, seq = Clock(near), Links(**faults), [], [0] * N
        for _ in range(16):
            now, i, j = clock.next()
            if links.away(i, now) or links.away(j, now):
                continue
            if links.lost(i, j, seq[i] + seq[j]):
                seq[i] += 1
                continue
            seq[i], seq[j] = seq[i] + 1, seq[j] + 1
            met.append((i, j))
        p = Drawn(z=.3)
        yield of(f"meetings-{name}", "gossip-admm", wakes.gossip_admm(p, q, met, clip=.3, steps=4), p,
                 clip=.3, local_steps=4, clock__wakes=16, noise=noisy(.3),
                 **{"faults__" + k: v for k, v in faults.items()})


def walking():
    for name, W, graph, tokens, public, unit, most, faults in (
            ("owner", PATH, "path", 1, False, "owner", 3, {}),
            ("records", RING, "ring", 3, False, "record", 2, {}),
            ("public", COMPLETE, "complete", 2, True, "record", None, {}),
            ("faults", STAR, "star", 2, False, "owner", 3, dict(drop=.3, churn=.3, churn_period=3.0))):
        p, R = Drawn(z=.4), 16
        walk = Walk(W, tokens, R, public, Links(**faults))
        yield case(f"hops-{name}", "walk", walk.run(p, tokens, GEO, R, .3, unit, most), p, graph, R, .3,
                   noise=noisy(.4, **{"privacy.unit": unit}), privacy__sample_rate=None,
                   privacy__unit=None, token__count=tokens, token__hops="public" if public else "secret",
                   **({"contributions": most} if most else {}),
                   **{"faults__" + k: v for k, v in faults.items()}, **GKEYS)


def arrivals(start, rounds):
    """A coin for each record, in order: whether it is there at the start, and when else."""
    coins, came = draws.public(SEED, "arrival of records"), [[] for _ in range(N)]
    for a in range(N):
        for _ in range(M[a]):
            there = coins.word() < int(start * 2 ** 64)
            at = 1 + coins.uniform() * (rounds - 1)
            came[a].append(0 if there else int(min(at, rounds - 1)))
    return came


def coming():
    """Records that come during the run, or are held out."""
    for rate, start_ in (1.0, 0.0), (.5, .4):
        p = Drawn(rate=rate, z=.3)
        p.came = arrivals(start_, 12)
        sets = dict(data__arrival="uniform", privacy__sample_rate=rate)
        if start_:
            sets["data__arrival_start"] = start_
        yield case(f"arrival-{rate}", "dsgd", dsgd(p, RING, GEO, 12, clip=.3), p, clip=.3, noise=noisy(.3),
                   **sets, **GKEYS)
    coins = draws.public(SEED, "held-out records")
    keep, row = [], 0
    for a in range(N):
        keep.append([])
        for _ in range(M[a]):
            if coins.word() >= int(.3 * 2 ** 64):
                keep[a].append(row)
            row += 1
    p = Drawn(parts=keep)
    yield case("held-out", "dsgd", dsgd(p, RING, GEO, 12), p, evaluate__validation=.3, **GKEYS)


def coin(text):
    """In [0, 1), of a text or the bytes of a record."""
    return draws.unit(int.from_bytes(hashlib.sha256(text).digest()[:8], "big"))


def coins():
    """What the coins of records, persons and repeats decide."""
    keep, row = [], 0
    for a, (X, y) in enumerate(zip(Problem().X, Problem().y)):
        keep.append([])
        for x, v in zip(X, y):
            text = f"sotto records, held-out records, seed {SEED}\n".encode()
            text += np.float32(x).astype("<f4").tobytes()
            if coin(text + f"label {int(v > 0)}\n".encode()) >= .3:
                keep[a].append(row)
            row += 1
    p = Drawn(rate=.5, parts=keep, z=.5)
    p.expected = 2.5
    yield case("held-out-add-remove", "dsgd", dsgd(p, RING, GEO, 12, clip=.3), p, clip=.3, noise=noisy(
        .5, **{"privacy.adjacency": "add-remove", "privacy.batch_size": 2.5, "privacy.target_delta": .01}),
        privacy__sample_rate=.5, evaluate__validation=.3, **GKEYS)
    keep, row = [], 0
    p = Drawn(rate=.5, z=.5, persons=2)
    for a, who in enumerate(p.who):
        ids = [int.from_bytes(hashlib.sha256(w.encode()).digest()[:8], "big") for w in who]
        there = [coin(b"sotto persons, held-out persons, seed %d, id %d" % (SEED, v)) >= .3 for v in ids]
        p.X[a], p.y[a] = p.X[a][there], p.y[a][there]
        p.who[a] = [w for w, t in zip(who, there) if t]
    yield case("held-out-persons", "dsgd", dsgd(p, RING, GEO, 12, clip=.3), p, clip=.3, noise=noisy(.5),
               privacy__sample_rate=.5, evaluate__validation=.3, data__allow_empty="true", **GKEYS)
    r, rows = draws.PCG(SEED, int.from_bytes(b"partitio", "big")), [[], []]
    for o in range(N):  # of each owner's records a third, rounded down
        mine = r.shuffle([k for k, v in enumerate(TRAIN) if v[3] == o])
        for part, some in zip(rows, (mine[int(.34 * len(mine)):], mine[:int(.34 * len(mine))])):
            part += some
    p, all = Drawn(), Problem()
    p.X, p.y = all.part([TRAIN[k] for k in sorted(rows[0])])
    p.Xtest, p.ytest = all.part([TRAIN[k] for k in sorted(rows[1])])
    yield case("test-fraction", "dsgd", dsgd(p, RING, GEO, 12), p, **GKEYS) | {"data": """dataset = "csv"
path = "DIR/train.csv"
test_fraction = 0.34
group = "g"
groups = ["o0", "o1", "o2", "o3"]
partition = "natural"
"""}
    for fold in 1, 4:
        p = folded(fold)
        yield case(f"fold-{fold}", "dsgd", dsgd(p, RING, GEO, 12), p, evaluate__folds=3, evaluate__repeats=2,
                   evaluate__fold=fold, **GKEYS)


def folded(fold):
    """Three folds of all records, in repeat fold / 3: each three records in a drawn order."""
    rows, owner = TRAIN + TEST, []
    s = draws.public(SEED, "folds of records", fold // 3)
    of = []
    for r in range(len(rows)):
        if r % 3 == 0:
            order = [0, 1, 2]
            for k in 2, 1:
                j = s.below(k + 1)
                order[k], order[j] = order[j], order[k]
        of.append(order[r % 3])
    p, all = Drawn(), Problem()
    train = [r for r, k in zip(rows, of) if k != fold % 3]
    test = [r for r, k in zip(rows, of) if k == fold % 3]
    p.X, p.y = all.part(train)
    p.Xtest, p.ytest = all.part(test)
    return p
