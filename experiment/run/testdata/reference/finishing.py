"""Owners' own models of reference.py: [personal]."""
import numpy as np

import draws
import figures
from cases import case
from draws import SEED
from drawn import GEO, GKEYS, Drawn
from problem import Problem, newton_minimum
from rounds import *

STRENGTHS = [10.0 ** k for k in range(-3, 5)]


def around(p, X, y, prior, strength):
    """The minimiser of the mean loss with a prior that counts as so many records."""
    m = len(y)
    return newton_minimum(
        lambda u: X.T @ p.slopes(X @ u, y) / m + strength / m * (u - prior),
        lambda u: X.T @ (p.curvatures(X @ u, y)[:, None] * X) / m + strength / m * np.eye(len(u)), prior)


def own(p, a, shared, folds=5):
    """The models alone, shared and around the shared one, and their mixture: strengths and
    weights, in tenths, are those of the smallest loss on records held out by folds."""
    X, y = p.X[a], p.y[a]
    s, order = draws.public(SEED, "folds of an owner"), list(range(len(y)))
    for k in range(len(y) - 1, 0, -1):
        j = s.below(k + 1)
        order[k], order[j] = order[j], order[k]
    fold = np.empty(len(y), int)
    fold[order] = np.arange(len(y)) % folds

    def loss(out):
        return p.losses(out[:, None], y, np.ones(1)).mean()

    found, outputs = [], []
    for prior in np.zeros(3), shared:
        tried = []
        for strength in STRENGTHS:
            out = np.empty(len(y))
            for f in range(folds):
                rest = fold != f
                out[~rest] = X[~rest] @ around(p, X[rest], y[rest], prior, strength)
            tried.append(out)
        at = int(np.argmin([loss(o) for o in tried]))
        outputs.append(tried[at])
        found.append(around(p, X, y, prior, STRENGTHS[at]))
    outputs = [outputs[0], X @ shared, outputs[1]]
    weights = [(i / 10, j / 10, (10 - i - j) / 10) for i in range(11) for j in range(11 - i)]
    best = min(weights, key=lambda w: loss(sum(v * o for v, o in zip(w, outputs))))
    models = [found[0], shared, found[1]]
    return best, models + [sum(v * m for v, m in zip(best, models))]


def finished():
    """Of two owners with the records of two groups each."""
    for loss, names in (("logistic", ("accuracy", "auroc", "log_loss")), ("least-squares", ("rmse", "r2"))):
        q = Problem(loss)
        p = Drawn(loss)
        for part in "X", "y", "Xtest", "ytest":
            of = getattr(q, part)
            setattr(p, part, [np.concatenate([of[a], of[a + 2]]) for a in range(2)])
        p.agents, lines = range(2), []
        x = dsgd(p, np.full((2, 2), .5), GEO, 12)
        for a in range(2):
            weights, models = own(p, a, x[a])
            mine = Problem(loss)
            mine.Xtest, mine.ytest = [p.Xtest[a]], [p.ytest[a]]
            of = [figures.figures(mine, [m]) for m in models]
            lines.append(list(map(float, [*weights, *(f[n] for f in of for n in names)])))
        c = case(f"finished-{loss}", "dsgd", x, p, "complete", topology__agents=2, data__merge_groups="true",
                 personal__enabled="true", evaluate__on="own", **GKEYS)
        for key in "loss", "accuracy":
            c.pop(key, None)
        c["loss"] = float(np.mean([p.losses(p.Xtest[a], p.ytest[a], x[a]).mean() for a in range(2)]))
        if p.classes:
            c["accuracy"] = float(np.mean([p.right(p.Xtest[a], p.ytest[a], x[a]).mean() for a in range(2)]))
        yield c | {"own": lines}
