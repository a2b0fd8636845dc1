"""Figures of models, of reference.py."""
import numpy as np


def figures(p, models):
    """Of the test records, in the mean over models: those that a summary has."""
    X, y = np.vstack(p.Xtest), np.concatenate(p.ytest)
    if p.classes:
        label = (y > 0).astype(int) if p.loss == "logistic" else y.astype(int)
        all = [classes(probabilities(p, X, t), label) for t in models]
    else:
        all = [numbers(p, X @ t, y) for t in models]
    return {k: float(np.mean([f[k] for f in all])) for k in all[0]}


def numbers(p, s, y):
    if p and p.loss == "poisson":
        m = np.exp(s)
        logs = y * np.log(np.maximum(y, 1e-300) / m)
        deviance = np.mean(2 * (logs - y + m))
        return numbers(None, m, y) | {"deviance": deviance, "mean_ratio": m.mean() / y.mean()}
    return {"r2": 1 - np.sum((y - s) ** 2) / np.sum((y - y.mean()) ** 2),
            "mae": np.mean(np.abs(y - s)), "rmse": np.sqrt(np.mean((y - s) ** 2))}


def probabilities(p, X, t):
    if p.loss == "logistic":
        q = 1 / (1 + np.exp(-X @ t))
        return np.stack([1 - q, q], axis=1)
    e = np.exp(X @ t.reshape(-1, 3))
    return e / e.sum(axis=1)[:, None]


def classes(P, y):
    """Of two classes those of class 1, else the mean over classes that occur."""
    K, said = P.shape[1], P.argmax(axis=1)
    one = np.eye(K)[y]
    top = P[:, 1] if K == 2 else P.max(axis=1)
    hit = (y == 1) if K == 2 else (said == y)
    which = np.minimum((top * 10).astype(int), 9)
    gap = sum(abs(np.sum(top[which == b]) - np.sum(hit[which == b])) for b in range(10)) / len(y)
    brier = np.mean((P[:, 1] - y) ** 2) if K == 2 else np.mean(np.sum((P - one) ** 2, axis=1))
    out = {"accuracy": np.mean(said == y), "log_loss": -np.mean(np.log(P[np.arange(len(y)), y])),
           "brier": brier, "calibration_error": gap}
    each = [against(P[:, c], y == c, said == c) for c in ([1] if K == 2 else np.unique(y))]
    return out | {k: np.mean([e[k] for e in each]) for k in each[0]}


def against(score, is_, said):
    """One class against all others."""
    pairs = [1. if a > b else .5 if a == b else 0. for a in score[is_] for b in score[~is_]]
    area, before = 0., 0
    for s in sorted(set(score), reverse=True):
        found = np.sum(is_ & (score >= s))
        area += (found - before) / is_.sum() * found / np.sum(score >= s)
        before = found
    right = np.sum(is_ & said)
    return {"auroc": np.mean(pairs), "auprc": area, "sensitivity": right / is_.sum(),
            "specificity": np.sum(~is_ & ~said) / np.sum(~is_),
            "precision": right / max(1, said.sum()), "f1": 2 * right / (is_.sum() + said.sum())}


def looks(p, models):
    """At the training records, at the mean model; and how long each model is."""
    mean = np.mean(models, axis=0)
    g = np.vstack([p.gradients(a, mean) for a in p.agents])
    loss = np.concatenate([p.losses(p.X[a], p.y[a], mean) for a in p.agents])
    sizes = np.linalg.norm(g, axis=1)
    return {"train_loss all": float(loss.mean()),
            "gradient_norm all": float(np.linalg.norm(g.mean(axis=0))),
            "gradient_rms all": float(np.sqrt(np.mean(sizes ** 2))),
            "gradient_max all": float(sizes.max()),
            "parameter_norm 2": float(np.linalg.norm(models[2])),
            "parameter_norm max": float(np.linalg.norm(models, axis=1).max())}
