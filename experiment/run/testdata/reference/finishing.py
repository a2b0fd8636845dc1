"""Owners' own models of reference.py: [personal]."""
import copy

import numpy as np

import draws
import figures
import nets
from cases import case
from draws import SEED
from drawn import GEO, GKEYS, Drawn
from networks import act, linear
from problem import Problem, newton_minimum
from rounds import *

STRENGTHS = [10.0 ** k for k in range(-3, 5)]


def around(p, X, y, prior, strength):
    """The minimiser of the mean loss with a prior that counts as so many records."""
    m = len(y)
    return newton_minimum(
        lambda u: X.T @ p.slopes(X @ u, y) / m + strength / m * (u - prior),
        lambda u: X.T @ (p.curvatures(X @ u, y)[:, None] * X) / m + strength / m * np.eye(len(u)), prior)


def dealt(records, folds):
    """The fold of each record."""
    s, order = draws.public(SEED, "folds of an owner"), list(range(records))
    for k in range(records - 1, 0, -1):
        j = s.below(k + 1)
        order[k], order[j] = order[j], order[k]
    fold = np.empty(records, int)
    fold[order] = np.arange(records) % folds
    return fold


def own(p, a, shared, folds=5):
    """The models alone, shared and around the shared one, and their mixture: strengths and
    weights, in tenths, are those of the smallest loss on records held out by folds."""
    X, y = p.X[a], p.y[a]
    fold = dealt(len(y), folds)

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


class Training:
    """Adam in batches of 32 on the mean loss and a prior that counts as so many records,
    each epoch in an order of its own."""

    def __init__(self, p, X, y, start, strength, first=0):
        self.p, self.X, self.y, self.start, self.first = p, X, y, start, first
        self.theta, self.pull = start.copy(), strength / len(y)
        self.m, self.v, self.t = 0., 0., 0
        self.order, self.s = list(range(len(y))), draws.public(SEED, "order of an owner's records")

    def epoch(self):
        for k in range(len(self.order) - 1, 0, -1):
            j = self.s.below(k + 1)
            self.order[k], self.order[j] = self.order[j], self.order[k]
        for lo in range(0, len(self.order), 32):
            rows = self.order[lo:lo + 32]
            self.p.X, self.p.y = [self.X[rows]], [self.y[rows]]
            g = self.p.gradients(0, self.theta).mean(axis=0) + self.pull * (self.theta - self.start)
            g[:self.first] = 0  # layers that stay
            self.t += 1
            self.m, self.v = .9 * self.m + .1 * g, .999 * self.v + .001 * g * g
            m, v = self.m / (1 - .9 ** self.t), self.v / (1 - .999 ** self.t)
            self.theta = self.theta - .005 * m / (np.sqrt(v) + 1e-8)


def trained(p, X, y, fold, start, strengths, first=0):
    """The strength and the number of epochs with the smallest loss on what is held out; a
    training ends after six epochs that gain nothing, or after 60."""
    best = (np.inf, 0, 0, [start] * len(set(fold)))
    for strength in strengths:
        runs = [Training(p, X[fold != f], y[fold != f], start, strength, first) for f in sorted(set(fold))]
        least, at, e = np.inf, 0, 0
        while e < 60 and e - at < 6:
            e += 1
            for r in runs:
                r.epoch()
            loss = held_out(p, X, y, fold, [r.theta for r in runs])
            if loss < least:
                least, at = loss, e
            if loss < best[0]:
                best = (loss, strength, e, [r.theta.copy() for r in runs])
    whole = Training(p, X, y, start, best[1], first)
    for _ in range(best[2]):
        whole.epoch()
    return best[3], whole.theta


def held_out(p, X, y, fold, thetas):
    return sum(p.losses(X[fold == f], y[fold == f], t).sum() for f, t in enumerate(thetas)) / len(y)


def own_network(p, a, shared, layers, linear):
    """As own, by training: alone from where the run began, or of outputs that are linear
    around 0; around the shared model its last layers. Networks are not mixed."""
    X, y, folds, q = p.X[a], p.y[a], 5 if linear else 3, copy.copy(p)
    fold = dealt(len(y), folds)
    strengths = STRENGTHS if linear else [.1, 3, 100]
    first = len(shared) - p.layers[-1].count if layers == "last" and not linear else 0
    found = [trained(q, X, y, fold, 0 * p.init if linear else p.init, strengths if linear else [0]),
             ([shared] * folds, shared), trained(q, X, y, fold, shared, strengths, first)]
    tenths = 10 if linear else 1
    weights = [(i / tenths, j / tenths, (tenths - i - j) / tenths)
               for i in range(tenths, -1, -1) for j in range(tenths - i, -1, -1)]
    best = min(weights, key=lambda w: held_out(p, X, y, fold, [
        sum(v * found[c][0][f] for c, v in enumerate(w)) for f in range(folds)]))
    return best, [m for _, m in found] + [sum(v * m for v, (_, m) in zip(best, found))]


def networks():
    """Of two owners: softmax regression, and networks with one layer trained or all."""
    flat = (1, 1, 3)
    mlp = lambda out: nets.chain(flat, linear(4), act("tanh"), linear(out))
    names = ("accuracy", "auroc", "log_loss")
    for name, p, layers, more in (
            ("softmax", Drawn("softmax"), "all", {}),
            ("mlp", nets.Network(mlp(3), nets.cross_entropy), "last", {}),
            ("mlp-all", nets.Network(mlp(3), nets.cross_entropy), "all", dict(personal__layers="all")),
            ("mlp-squares", nets.Network(mlp(1), nets.squared, "least-squares"), "last", {})):
        whole = copy.copy(p)
        for part in "X", "y", "Xtest", "ytest":
            of = getattr(whole, part)
            setattr(p, part, [np.concatenate([of[a], of[a + 2]]) for a in range(2)])
        p.agents, lines, loss, right = range(2), [], [], []
        x = dsgd(p, np.full((2, 2), .5), GEO, 12)
        for a in range(2):
            X, y = p.Xtest[a], p.ytest[a]
            weights, models = own_network(p, a, x[a], layers, name == "softmax")
            lines.append(list(map(float, weights)))
            for t in models:
                if p.classes:
                    z = np.array([p.output(v, t) for v in X]) if name != "softmax" else X @ t.reshape(-1, 3)
                    P = np.exp(z) / np.exp(z).sum(axis=1)[:, None]
                    f = figures.classes(P, y.astype(int))
                else:
                    f = figures.numbers(None, np.array([p.output(v, t)[0] for v in X]), y)
                lines[-1] += [float(f[n]) for n in (names if p.classes else ("rmse", "r2"))]
            loss.append(p.losses(X, y, x[a]).mean())
            right.append(p.right(X, y, x[a]).mean() if p.classes else 0)
        keys = dict(model__name="mlp", model__hidden=[4], model__activation='"tanh"',
                    model__init_from=None) if name != "softmax" else {}
        c = case(f"finished-{name}", "dsgd", x, p, "complete", topology__agents=2, data__merge_groups="true",
                 personal__enabled="true", evaluate__on="own", within=1e-4, **keys, **more, **GKEYS)
        c["loss"] = float(np.mean(loss))
        if p.classes:
            c["accuracy"] = float(np.mean(right))
        yield c | {"own": lines}
