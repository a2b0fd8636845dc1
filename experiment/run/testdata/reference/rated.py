"""The runs of reference.py on ratings, whose features are factors of ratings."""
import math

import numpy as np

from drawn import GEO, GKEYS
from made import Made, generator, of, single
from problem import PATH
from rounds import dsgd

USERS, ITEMS, OPEN, N = [3, 4, 7, 8, 11, 20, 21], 6, 3, 4


def ratings():
    """Of each user two to six, in a mixed order of lines."""
    g, all = np.random.default_rng(5), []
    for u in USERS:
        for j in g.permutation(ITEMS)[:2 + int(g.integers(5))]:
            all.append((u, int(j) + 1, int(g.integers(1, 6))))
    return [all[k] for k in g.permutation(len(all))]


RATINGS = ratings()
FILES = {"u.data": "".join(f"{u}\t{j}\t{v}\t{k}\n" for k, (u, j, v) in enumerate(RATINGS))}


def factors(given, dim, lam, sweeps):
    """Of sum (r - m_u - U_u V_j)^2 + lam (|U|^2 + |V|^2) by turns, movies last; movies begin
    normal, of variance 1/dim, and those that nobody has rated end at 0."""
    r = generator(b"als")
    V = np.array([r.normal() for _ in range(ITEMS * dim)]).reshape(ITEMS, dim) / math.sqrt(dim)
    mean = {u: np.mean([v for w, _, v in given if w == u]) for u, _, _ in given}
    U = {}

    def solved(rows):
        if not rows:
            return np.zeros(dim)
        A, b = np.array([o for o, _ in rows]), np.array([v for _, v in rows])
        return np.linalg.solve(A.T @ A + lam * np.eye(dim), A.T @ b)

    for _ in range(sweeps):
        for u in mean:
            U[u] = solved([(V[j - 1], v - mean[u]) for w, j, v in given if w == u])
        V = np.array([solved([(U[u], v - mean[u]) for u, k, v in given if k == j + 1]) for j in range(ITEMS)])
    return single(V)


def rated():
    """Public users are drawn, and of each other one the ratings that are held out."""
    for name, all, own in ("public-users", False, False), ("all-users", True, True):
        open_ = {USERS[k] for k in generator(b"partitio").shuffle(list(range(len(USERS))))[:OPEN]}
        users, r, held = [u for u in USERS if u not in open_], generator(b"partitio"), set()
        for u in users:
            lines = r.shuffle([k for k, v in enumerate(RATINGS) if v[0] == u])
            held |= set(lines[:int(.4 * len(lines))])
        train = [v for k, v in enumerate(RATINGS) if v[0] in users and k not in held]
        test = [v for k, v in enumerate(RATINGS) if k in held]
        given = [v for v in RATINGS if v[0] in open_]
        V = factors(train + given if all else given, 2, .5, 3)
        V = single(V * (1.5 / np.linalg.norm(V, axis=1).max()))
        mean = {u: np.mean([v for w, _, v in train if w == u]) if own else 2.5 for u in users}

        def part(some):
            return (np.array([V[j - 1] for _, j, _ in some]), np.array([v - mean[u] for u, _, v in some]),
                    np.array([users.index(u) for u, _, _ in some]))
        X, y, _ = part(test)
        p = Made("least-squares", part(train), (X, single(y)), 2)
        c = of(f"movielens+{name}", p, "", models=dsgd(p, PATH, GEO, 12), **GKEYS)
        c["data"] = f"""dataset = "movielens"
path = "DIR/u.data"
features = "{name}"
dim = 2
als_lambda = 0.5
als_sweeps = 3
feature_norm = 1.5
public_users = 3
test_fraction = 0.4
center = 2.5
user_mean = {str(own).lower()}
partition = "natural"
"""
        yield c
