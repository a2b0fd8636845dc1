"""scikit-learn beside sotto: see TestBeside. Arguments: a folder with a CSV file for each split, and the
public bound of the records' norm. Prints means over splits, with the standard deviation."""
import glob
import sys
import warnings

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import accuracy_score, roc_auc_score

warnings.filterwarnings("ignore")


def perturbed(x, y, bound, epsilon, rng, c=1.0):
    """Objective perturbation, pure epsilon, records of norm at most 1 after scaling (Algorithm 2 of Chaudhuri,
    Monteleoni, Sarwate 2011, with its constant 1/4 of the logistic loss). The constant column is part of a record."""
    x = np.hstack([x, np.ones((len(x), 1))]) / np.hypot(bound, 1)
    s = 2.0 * y - 1
    n, d = x.shape
    lam = 1.0 / (n * c)
    rest = epsilon - np.log(1 + 2 * 0.25 / (n * lam) + 0.0625 / (n * lam) ** 2)
    extra = 0.0
    if rest <= 0:
        extra = 0.25 / (n * (np.exp(epsilon / 4) - 1)) - lam
        rest = epsilon / 2
    b = rng.normal(size=d)
    b *= rng.gamma(d, 2 / rest) / np.linalg.norm(b)

    def loss(w):
        m = s * (x @ w)
        p = 1 / (1 + np.exp(m))
        return (np.logaddexp(0, -m).mean() + (lam + extra) / 2 * w @ w + b @ w / n,
                -(x * (s * p)[:, None]).mean(0) + (lam + extra) * w + b / n)

    w = minimize(loss, np.zeros(d), jac=True, method="L-BFGS-B").x
    return lambda z: np.hstack([z, np.ones((len(z), 1))]) / np.hypot(bound, 1) @ w


def figures(score, owners):
    """Means over the owners whose tests have both classes of AUROC, and over all of accuracy."""
    auroc, accuracy = [], []
    for x, y in owners:
        z = score(x)
        accuracy.append(accuracy_score(y, z > 0))
        if len(set(y)) == 2:
            auroc.append(roc_auc_score(y, z))
    return np.mean(auroc), np.mean(accuracy)


def main(folder, bound):
    rows = {}
    for k, path in enumerate(sorted(glob.glob(folder + "/*.csv"))):
        t = np.loadtxt(path, delimiter=",")
        owner, test, y, x = t[:, 0], t[:, 1] == 1, t[:, 2].astype(int), t[:, 3:]
        tested = np.unique(owner[test])
        tests = {i: (x[test & (owner == i)], y[test & (owner == i)]) for i in tested}
        alone = []
        for i in tested:
            m = ~test & (owner == i)
            few = np.bincount(y[m], minlength=2).min()
            if few < 2:  # one class: nothing to fit
                alone.append((np.nan, np.mean(tests[i][1] == np.bincount(y[m], minlength=2).argmax())))
                continue
            fit = LogisticRegressionCV(Cs=8, cv=min(5, few), scoring="neg_log_loss", max_iter=2000).fit(x[m], y[m])
            alone.append(figures(fit.decision_function, [tests[i]]))
        rows.setdefault("scikit-learn, alone", []).append(np.nanmean(alone, axis=0))
        whole = LogisticRegression(C=1.0, max_iter=5000).fit(x[~test], y[~test])
        rows.setdefault("scikit-learn, all records", []).append(figures(whole.decision_function, tests.values()))
        for epsilon in (1.0, 3.0):
            f = perturbed(x[~test], y[~test], bound, epsilon, np.random.default_rng(k))
            rows.setdefault("objective perturbation, all records, epsilon %g" % epsilon, []).append(
                figures(f, tests.values()))
    for name, values in rows.items():
        mean, sd = np.nanmean(values, axis=0), np.nanstd(values, axis=0, ddof=1)
        print("%-50s auroc %.3f +- %.3f  accuracy %.3f +- %.3f" % (name, mean[0], sd[0], mean[1], sd[1]))


main(sys.argv[1], float(sys.argv[2]))
