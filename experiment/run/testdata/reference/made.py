"""The runs of reference.py on made data, on records that are dealt by drawn shares, and on
a graph of a given connectivity."""
import math

import numpy as np

import draws
from cases import case
from draws import SEED
from drawn import GEO, GKEYS, Drawn, connected, initial
from problem import PATH, RING, Problem, metropolis
from rounds import *

N = 4


def single(x):
    return np.float32(x).astype(float)


def generator(purpose):
    return draws.PCG(SEED, int.from_bytes(purpose, "big"))


def gamma(r, shape):
    """Marsaglia, Tsang 2000, of a shape of at least 1."""
    d = shape - 1 / 3
    while True:
        x = r.normal()
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(1 - r.uniform()) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v


def shares(r, n, beta):
    """Of a gamma variable of beta + 1 and u^(1/beta) each."""
    logs = np.array([math.log(gamma(r, beta + 1)) + math.log(1 - r.uniform()) / beta for _ in range(n)])
    x = np.exp(logs - logs.max())
    return x / x.sum()


def dirichlet(y, n, beta, least):
    """Of each class a share of its records, rounded down, and the rest to the largest; all
    again until everyone has the least. Then records in a drawn order."""
    r, classes = generator(b"partitio"), range(int(max(y)) + 1)
    while True:
        take = []
        for c in classes:
            s, count = shares(r, n, beta), int(np.sum(y == c))
            of = [int(v * count) for v in s]
            of[int(np.argmax(s))] += count - sum(of)
            take.append(of)
        if min(map(sum, zip(*take))) >= least:
            break
    parts = [[] for _ in range(n)]
    for c in classes:
        rows = r.shuffle([int(k) for k in np.flatnonzero(y == c)])
        for i, m in enumerate(take[c]):
            parts[i], rows = parts[i] + rows[:m], rows[m:]
    return [sorted(p) for p in parts]


def dealt():
    y = np.concatenate(Problem("softmax").y)
    for beta, least in (.3, 2), (5.0, 4):
        p = Drawn("softmax", rate=.5, parts=dirichlet(y, N, beta, least))
        yield case(f"dealt-dirichlet-{beta}", "dsgd", dsgd(p, RING, GEO, 12), p, data__partition="dirichlet",
                   data__beta=beta, data__min_records=least, privacy__sample_rate=.5, **GKEYS)
    for target, p in (.3, 0), (.39, .6):
        r, link = generator(b"fiedler"), p
        while True:
            if not p:  # between the target and 1
                link = target + (1 - target) * r.uniform()
            links = gaps(r, 10, link)
            if connected(10, links) and abs(connectivity(10, links) - target) <= .05:
                break
        order = generator(b"partitio").shuffle(list(range(20)))
        q = Drawn(parts=[sorted(order[2 * i:2 * i + 2]) for i in range(10)])
        yield case(f"graph-er-fiedler-{target}", "dsgd", dsgd(q, metropolis(links, 10), GEO, 12), q,
                   "er-fiedler", data__partition="iid", topology__agents=10, topology__target=target,
                   **({"topology__p": p} if p else {}), **GKEYS)


def gaps(r, n, p):
    pairs, at, links = [(i, j) for i in range(n) for j in range(i)], -1, []
    while True:
        at += 1 + int(np.floor(np.log1p(-r.uniform()) / np.log1p(-p)))
        if at >= len(pairs):
            return links
        links.append(pairs[at])


def connectivity(n, links):
    """The second eigenvalue of the Laplacian over that of the complete graph, n."""
    L = np.zeros((n, n))
    for i, j in links:
        L[i, i], L[j, j], L[i, j], L[j, i] = L[i, i] + 1, L[j, j] + 1, -1, -1
    return np.sort(np.linalg.eigvalsh(L))[1] / n


class Made(Drawn):
    def __init__(self, loss, train, test, dim):
        super().__init__(loss, start=initial((dim, dim)))
        (X, y, owner), (self.Xtest, self.ytest) = train, [[v] for v in test]
        X, y = single(X), single(y)
        self.X = [X[owner == a] for a in range(N)]
        self.y = [y[owner == a] for a in range(N)]


def normals(r, n):
    return single([r.normal() for _ in range(n)])


def regression(r, truth, n, noise):
    X, y = [], []
    for _ in range(n):
        X.append(normals(r, len(truth)))
        y.append(X[-1] @ truth + (noise * r.normal() if noise else 0))
    return np.array(X), single(y)


def coins(r, truth, n):
    X, y = [], []
    for _ in range(n):
        X.append(normals(r, len(truth)))
        y.append(1. if r.uniform() < 1 / (1 + math.exp(-X[-1] @ truth)) else -1.)
    return np.array(X), np.array(y)


def tasks(r, truth, sizes, flip, cube):
    X, y, owner = [], [], []
    for i, m in enumerate(sizes):
        for _ in range(m):
            x = single([2 * r.uniform() - 1 for _ in truth[0]]) if cube else normals(r, len(truth[0]))
            x = x if cube else x / np.linalg.norm(x)
            side = x @ truth[i] > 0
            X, owner = X + [x], owner + [i]
            y.append(1. if side != (r.uniform() < flip) else -1.)
    return np.array(X), np.array(y), np.array(owner)


def parameters(r, dim, zeros=0):
    return np.append(normals(r, dim - zeros), np.zeros(zeros))


def of(name, p, text, algorithm="dsgd", models=None, **more):
    if models is None:
        models, more = dsgd(p, PATH, GEO, 12), GKEYS
    c = case(f"made-{name}", algorithm, models, p, "path", **dict(
        data__drop=None, data__label=None, data__label_values=None, data__target=None,
        model__init_from=None) | more)
    c["data"] = f'dataset = "{name.split("+")[0]}"\nagents = 4\n{text}partition = "natural"\n'
    return c


def sets():
    by = lambda each: np.repeat(np.arange(N), each)
    r = generator(b"squares")
    truth = parameters(r, 5, 2)
    train, test = regression(r, truth, 12, .3), regression(r, truth, 7, .3)
    p = Made("least-squares", (*train, by(3)), test, 5)
    yield of("least-squares", p, "records = 3\ndim = 5\nnoise = 0.3\ntest = 7\nzeros = 2\n",
             models=dsgd(p, PATH, lambda k, rounds: .05, 12), step_size=.05)
    r = generator(b"logit")
    truth = parameters(r, 4)
    train, test = coins(r, truth, 24), coins(r, truth, 9)
    yield of("logistic-regression", Made("logistic", (*train, by(6)), test, 4),
             "records = 6\ndim = 4\ntest = 9\n")
    for cube in False, True:
        r = generator(b"linear")
        truth, sizes = np.zeros((N, 3)), []
        for i in range(N):
            truth[i, :2] = normals(r, 2)
            sizes.append(2 + r.below(7 - 2 + 1))
        train = tasks(r, truth, sizes, .2, cube)
        tests = [4, 0, 4, 0] if cube else [4] * N  # evenly spaced
        X, y, _ = tasks(r, truth, tests, .4 if cube else .2, cube)
        text = "dim = 3\nrecords_min = 2\nrecords_max = 7\nflip = 0.2\ntest = 4\n"
        yield of("linear-tasks" + "+cube" * cube, Made("logistic", train, (X, y), 3),
                 text + ('points = "cube"\ntest_flip = 0.4\ntest_agents = 2\n' if cube else ""))


def curved():
    """Quadratics of known curvatures, and values to average."""
    r, d, low, high = generator(b"quadrati"), 3, .5, 2.0
    h = [low * (high / low) ** (k / (d - 1)) for k in range(d)]
    f = np.sqrt(d * np.array(h) / 2)
    centre = np.array([2 * r.uniform() - 1 for _ in range(d)])
    b = np.array([centre + .7 * np.array([r.normal() for _ in range(d)]) for _ in range(N)])
    best = b.mean(axis=0)
    p = Made("least-squares", (np.vstack([np.diag(f)] * N), (f * b).ravel(), np.repeat(np.arange(N), d)),
             (single(np.diag(f)), single(f * best)), d)
    yield of("quadratics", p, "dim = 3\ncurvature_min = 0.5\ncurvature_max = 2.0\nspread = 0.7\n")
    for within in 0.0, .2:
        r, X = generator(b"values"), []
        for _ in range(N):
            centre = np.array([(2 * r.uniform() - 1) / math.sqrt(3) for _ in range(3)])
            X += [centre + (within * np.array([r.normal() for _ in range(3)]) if within else 0)
                  for _ in range(2)]
        X = single(X)
        p = Problem("mean")
        p.X, p.y = [X[2 * a:2 * a + 2] for a in range(N)], [np.zeros(2)] * N
        p.Xtest, p.ytest = [single(X.mean(axis=0))[None]], [np.zeros(1)]
        yield of(f"values+{within}", p, f"dim = 3\nrecords = 2\nwithin = {within}\n", "gossip-average",
                 gossip_average(p, PATH, 6), rounds=6)


def made():
    yield from dealt()
    yield from sets()
    yield from curved()
