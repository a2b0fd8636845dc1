"""The searches of reference.py: candidates, their number, trials and scores are drawn, and
charged searches draw from a secret in the place of the seed."""
import copy
import math

import numpy as np

import draws
from cases import case
from draws import CHOICE, NOISE, SEED, Stream, derive
from drawn import Drawn, noisy
from links import coin
from problem import COMPLETE, M, N, PATH, RING
from rounds import start
from selection import epsilon, solved
from steps import Optimizer

TEXT = """name = "reference"
seed = 1
rounds = 12
[topology]
agents = 4
[data]
dataset = "csv"
path = "DIR/train.csv"
test_path = "DIR/test.csv"
group = "g"
groups = ["o0", "o1", "o2", "o3"]
partition = "natural"
"""
SECRET, OTHER = bytes(range(7, 39)), bytes(range(4, 36))
SEARCH = 9  # the seed of searches; runs have SEED
ROUNDS, SHARE, RATE, Z, DELTA = 12, .3, .5, .7, .01
SPACE = {"algorithm.step_size": ("log", .05, 2.0), "algorithm.warmup": ("integer", 1, 5),
         "privacy.max_grad_norm": ("uniform", .1, .9),
         "topology.graph": ("choice", "ring", "path", "complete")}
GRAPHS = dict(ring=RING, path=PATH, complete=COMPLETE)


class Choices:
    """Where a search's choices come from."""

    def __init__(self, secret=None):
        self.secret = secret

    def of(self, purpose, *index):
        if self.secret is None:
            return draws.public(SEARCH, purpose, *index)
        b = b"".join(i.to_bytes(8, "big") for i in index)
        return Stream(derive("sotto derived 1", self.secret, purpose.encode(), b), CHOICE)

    def number(self, n):
        """What the run of trial n calls itself."""
        return n if self.secret is None else max(1, self.of("trial", n).word() >> 1)


def held(share):
    """Rows of each owner that train, and those that are held out."""
    s, row, keep, out = draws.public(SEED, "held-out records"), 0, [], []
    for m in M:
        coins = [s.word() < int(share * 2 ** 64) for _ in range(m)]
        keep.append([row + k for k in range(m) if not coins[k]])
        out.append([row + k for k in range(m) if coins[k]])
        row += m
    return keep, out


def within(x, low, high):
    """Four digits of a number, in its range."""
    return min(max(float(f"{x:.4g}"), low), high)


def value(dim, s):
    kind, *v = dim
    u = s.uniform()
    if kind == "uniform":
        return within(v[0] + u * (v[1] - v[0]), *v)
    if kind == "log":
        return within(math.exp((1 - u) * math.log(v[0]) + u * math.log(v[1])), *v)
    if kind == "integer":
        return v[0] + int(u * (v[1] - v[0] + 1))
    return v[int(u * len(v))]


def moved(dim, x, s):
    """A neighbor of a value, up or down."""
    up, (kind, *v) = s.word() >> 63, dim
    if kind == "choice":
        return v[min(max(v.index(x) + (1 if up else -1), 0), len(v) - 1)]
    y = (1.2 if up else .8) * x
    return min(max(round(y), v[0]), v[1]) if kind == "integer" else within(y, *v)


def runs(values):
    return values.get("algorithm.momentum", 0) < 1


def candidate(space, s):
    while True:
        values = {k: value(space[k], s) for k in sorted(space)}
        if runs(values):
            return values


def count(law, mean, u):
    """The least k that at most k trials have a probability above u of: Papernot, Steinke
    2022, Definition 1."""
    if law == "geometric":
        return 1 + int(math.log1p(-u) / math.log1p(-1 / mean))
    if law == "poisson":
        k, p = 0, math.exp(-mean)
        total = p
        while total <= u:
            k += 1
            p *= mean / k
            total += p
        return k
    g = solved(mean)
    k = total = 0
    while total <= u:
        k += 1
        total += (1 - g) ** k / k / math.log(1 / g)
    return k


class Member:
    """DSGD of one trial, round by round."""

    def __init__(self, number, noted=False, parts=None):
        self.keep, self.out = parts or held(SHARE)
        self.count = sum(map(len, self.out))
        self.p = Drawn(rate=RATE, z=Z, parts=self.keep)
        self.all = Drawn(parts=self.out)
        if number:
            self.reseed(number)
        if noted:  # ledgers begin with a note, which has number 1
            self.p.seq = {a: 1 for a in range(N)}
        self.x, self.opts, self.k = start(self.p), [Optimizer() for _ in range(N)], 0

    def reseed(self, number):
        self.p.seed = draws.public(SEED, "trial", number).word()

    def advance(self, values, rounds):
        W, clip = GRAPHS[values.get("topology.graph", "ring")], values.get("privacy.max_grad_norm", .4)
        while self.k < rounds:
            for o in self.opts:
                o.beta = values.get("algorithm.momentum", 0.)
            g = [self.p.answer(a, self.x[a], clip) for a in range(N)]
            d = np.array([o.direction(v, x) for o, v, x in zip(self.opts, g, self.x)])
            eta = values.get("algorithm.step_size", .8) * min(1, (self.k + 1) / values.get(
                "algorithm.warmup", 1))
            self.x, self.k = W @ self.x - eta * d, self.k + 1

    def noisy(self, metric, z, clip):
        """The sum of the agents' scores of their own held-out records over the public number
        of those: a charge of each, after those of training."""
        total = 0.
        for a in range(N):
            X, y = self.all.X[a], self.all.y[a]
            self.p.asked(a)
            if metric == "accuracy":
                total += sum(self.all.right(X, y, self.x[a]))
            else:
                total += np.minimum(self.all.losses(X, y, self.x[a]), clip).sum()
            total += z * clip * self.p.key(a, NOISE).normals(1)[0]
        return total / self.count

    def seen(self, metric):
        """Of all held-out records, in the mean over models."""
        X, y = np.vstack(self.all.X), np.concatenate(self.all.y)
        if metric == "accuracy":
            return float(np.mean([self.all.right(X, y, t).mean() for t in self.x]))
        return float(np.mean([self.all.losses(X, y, t).mean() for t in self.x]))


def row(generation, trial, from_, values, score):
    return {"generation": generation, "trial": trial, "from": from_, "score": float(score),
            "values": [str(v).removesuffix(".0") for _, v in sorted(values.items())]}


def first(rows):
    return sorted(rows, key=lambda r: (-r["score"], r["trial"]))


def settings(name, space, secret=None, **more):
    p = Drawn()
    sets = case(name, "dsgd", start(p), p, clip=.4, noise=noisy(Z), step_size=.8, privacy__sample_rate=RATE,
                tune__validation=SHARE, tune__seed=SEARCH, privacy__target_delta=DELTA, **more)["set"]
    taken = set(space)
    flags = [k + "=" + (",".join(v[1:]) if v[0] == "choice" else ":".join(map(str, v)))
             for k, v in space.items()]
    return {"name": name, "set": [s for s in sets if s.split("=")[0] not in taken], "space": flags,
            "secret": secret.hex() if secret else ""}


def random(name, metric, mean, law=None, secret=None, space=SPACE, **more):
    choices, rows = Choices(secret), []
    n, clip = mean, more.get("tune__score_clip", 1.)
    if law:
        n = count(law, mean, choices.of("number of trials").uniform())
        more |= dict(tune__law=law, tune__score_noise_multiplier=2.0, **(
            {} if secret else dict(tune__simulated="true")))
    else:
        more["tune__accept_cost_not_included"] = "true"
    for i in range(1, n + 1):
        values, m = candidate(space, choices.of("candidate", i)), Member(choices.number(i), not law)
        m.advance(values, ROUNDS)
        figure = m.noisy(metric, 2., clip) if law else m.seen(metric)
        rows.append(row(1, i, 0, values, figure if metric == "accuracy" else -figure))
    out = settings(name, space, secret, tune__metric=metric, tune__trials=mean, **more) | {
        "rows": rows, "best": first(rows)[0]["trial"] if rows else 0}
    cost = epsilon(RATE, Z, ROUNDS, 2., mean, law, DELTA) if law and rows else 0
    return out | {"charged": bool(law), "epsilon": cost}


def population(name, metric, members, interval, space, quantile=.4, resample=.3):
    """The last of the ranking copy one of the first, with its whole state, and change its
    values; batches and noise stay their own."""
    here = {i: (candidate(space, draws.public(SEARCH, "candidate", i)), Member(i, True), 0)
            for i in range(1, members + 1)}
    rows, copies = [], min(math.ceil(quantile * members), members // 2)
    for g in range(1, -(-ROUNDS // interval) + 1):
        last = []
        for i, (values, m, from_) in here.items():
            m.advance(values, min(g * interval, ROUNDS))
            figure = m.seen(metric)
            last.append(row(g, i, from_, values, figure if metric == "accuracy" else -figure))
        rows += last
        order, new = [r["trial"] for r in first(last)], {}
        for i, (values, m, _) in here.items():
            new[i] = (values, m, i)
            if i in order[members - copies:]:
                s = draws.public(SEARCH, "population", g, i)
                donor = order[s.below(copies)]
                while True:
                    values = {k: value(space[k], s) if s.uniform() < resample else moved(
                        space[k], v, s) for k, v in sorted(here[donor][0].items())}
                    if runs(values):
                        break
                m = copy.deepcopy(here[donor][1])
                m.reseed(i)
                new[i] = (values, m, donor)
        here = new
    return settings(name, space, tune__method="pbt", tune__metric=metric, tune__population=members,
                    tune__interval=interval, tune__quantile=quantile, tune__resample=resample,
                    tune__accept_cost_not_included="true") | {"rows": rows, "best": order[0]}


def scored():
    """Runs whose agents release a score. Under add-remove records that are held out have
    coins of their own and no public number: that of the expected batch stands for it."""
    keys = dict(noise=noisy(Z), clip=.4, step_size=.8, privacy__sample_rate=RATE, evaluate__validation=SHARE,
                evaluate__score_noise_multiplier=1.5)
    for metric, clip in ("accuracy", 1.0), ("loss", .25):
        m = Member(None)
        m.advance({}, ROUNDS)
        c = case(f"score-{metric}", "dsgd", m.x, m.p, evaluate__score=metric, **(
            dict(evaluate__score_clip=clip) if metric == "loss" else {}), **keys)
        yield c | {"score": float(m.noisy(metric, 1.5, clip))}
    keep, out, row = [], [], 0
    for X, y in zip(Drawn().X, Drawn().y):
        hit = [coin(b"sotto records, held-out records, seed %d\n" % SEED + np.float32(x).astype(
            "<f4").tobytes() + b"label %d\n" % (v > 0)) < SHARE for x, v in zip(X, y)]
        keep.append([row + k for k, h in enumerate(hit) if not h])
        out.append([row + k for k, h in enumerate(hit) if h])
        row += len(y)
    m = Member(None, parts=(keep, out))
    m.p.expected, m.count = 2.5, 2.5 / RATE * SHARE / (1 - SHARE) * N
    keys["noise"] = noisy(Z, **{"privacy.adjacency": "add-remove", "privacy.batch_size": 2.5,
                                "privacy.target_delta": .01})
    m.advance({}, ROUNDS)
    c = case("score-add-remove", "dsgd", m.x, m.p, evaluate__score="loss", evaluate__score_clip=.25, **keys)
    yield c | {"score": float(m.noisy("loss", 1.5, .25))}


def searches():
    loss = dict(tune__score_clip=.25)
    steps = SPACE | {"algorithm.momentum": ("uniform", 0.0, 1.8)}
    yield random("search-geometric", "accuracy", 4, "geometric")
    yield random("search-logarithmic", "loss", 3, "logarithmic", **loss)
    yield random("search-poisson", "loss", 3, "poisson", **loss)
    yield random("search-secret", "loss", 6, "geometric", SECRET, **loss)
    yield random("search-none", "loss", 1, "poisson", OTHER, **loss)
    yield random("search-secret-poisson", "accuracy", 5, "poisson", SECRET)
    yield random("search-uncounted", "loss", 6, space=steps)
    yield random("search-uncounted-accuracy", "accuracy", 4)
    steps.pop("topology.graph")
    yield population("search-population", "loss", 5, 3, steps)
