"""The problem of reference.py: records, losses, graphs."""
import numpy as np

N, M = 4, [4, 5, 6, 5]
INIT = np.float32([.3, -.2, .1]).astype(float)  # as init_from holds it

CHEBYSHEV = "chebyshev"


def rows(seed, counts):
    """Records by owner: features to three digits, a label, a target."""
    g, out = np.random.default_rng(seed), []
    for o, m in enumerate(counts):
        for _ in range(m):
            x = np.round(g.uniform(-1, 1, 3) * [1, .8, .6] + [.1 * o, -.1 * o, .2], 3)
            s = x @ [1.5, -1, .5] + .4 * (o - 1.5) + .5 * g.standard_normal()
            out.append((x, int(s > 0), round(float(s), 2), o, int(g.poisson(np.exp(s / 2))),
                        int(np.argmax(x * [1, -1, 2])), f"o{o}p{len(out) // 3}"))
    return out


def csv(records):
    text = "f1,f2,f3,y,t,n,k,p,g\n"
    for x, y, t, o, n, k, who in records:
        text += ",".join(repr(float(v)) for v in x) + f",{'ab'[y]},{t},{n},{'uvw'[k]},{who},o{o}\n"
    return text


TRAIN, TEST = rows(1, M), rows(2, [3] * N)


class Problem:
    """Records, a loss and a start. s is the score x.theta:

    logistic       ln(1 + e^(-y s)), y = -1 or 1
    least-squares  (s - y)^2
    huber          r^2/2 of r = s - y, from |r| = 1/2 on (|r| - 1/4)/2
    poisson        e^s - y s + y ln y - y, y a count
    mean           |x - theta|^2/2
    softmax        ln sum_j e^(s_j) - s_y of three scores, theta a row for each feature

    persons is 0 where each record counts by itself, else how many records of a person
    are read, the first ones: what is cut to the clip is the mean of their gradients, or
    with whole their sum. rows makes other rows of the features, of an additive model.
    """

    def __init__(self, loss="logistic", constant=False, persons=0, whole=False, rows=None):
        self.loss, self.constant, self.agents = loss, constant, range(N)
        self.persons, self.whole = persons, whole
        self.squares, self.mean = loss == "least-squares", loss == "mean"
        self.classes = loss in ("logistic", "softmax")
        self.init = np.append(INIT, INIT[0]) if constant else INIT
        if loss == "softmax":
            self.init = np.float32(np.linspace(-.4, .4, 9)).astype(float)
        if rows:
            self.init = np.float32(np.linspace(-.4, .4, 13)).astype(float)
        self.rows, self.bounded = rows, None  # what a private fit sees in place of this
        self.came = None  # the round from which a record is there
        self.who = [[r[6] for r in TRAIN if r[3] == o] for o in range(N)]
        self.X, self.y = self.part(TRAIN)
        self.Xtest, self.ytest = self.part(TEST)

    def part(self, records):
        # the product holds records in float32
        of = {"logistic": lambda r: 2 * r[1] - 1, "poisson": lambda r: r[4],
              "softmax": lambda r: r[5]}
        y = of.get(self.loss, lambda r: r[2])
        X = [np.array([list(r[0]) + [1] * self.constant for r in records if r[3] == o],
                      np.float32).astype(float) for o in range(N)]
        if self.rows:
            X = [self.rows(x) for x in X]
        return X, [np.array([y(r) for r in records if r[3] == o], np.float32).astype(float)
                   for o in range(N)]

    def losses(self, X, y, theta):
        if self.loss == "softmax":
            s = X @ theta.reshape(-1, 3)
            return np.log(np.exp(s).sum(axis=1)) - s[np.arange(len(y)), y.astype(int)]
        s = X @ theta
        if self.mean:
            return np.sum((X - theta) ** 2, axis=1) / 2
        if self.squares:
            return (s - y) ** 2
        if self.loss == "huber":
            r = np.abs(s - y)
            return np.where(r <= .5, r * r / 2, (r - .25) / 2)
        if self.loss == "poisson":
            return np.exp(s) - y * s + y * np.log(np.maximum(y, 1)) - y
        return np.log1p(np.exp(-y * s))

    def slopes(self, s, y):
        if self.squares:
            return 2 * (s - y)
        if self.loss == "huber":
            return np.clip(s - y, -.5, .5)
        if self.loss == "poisson":
            return np.exp(s) - y
        return -y / (1 + np.exp(y * s))

    def curvatures(self, s, y):
        q = 1 / (1 + np.exp(-s))
        return 2 + 0 * s if self.squares else q * (1 - q)

    def gradients(self, a, theta):
        if self.mean:
            return theta - self.X[a]
        if self.loss == "softmax":
            s = np.exp(self.X[a] @ theta.reshape(-1, 3))
            s = s / s.sum(axis=1)[:, None] - np.eye(3)[self.y[a].astype(int)]
            return np.array([np.outer(x, r).ravel() for x, r in zip(self.X[a], s)])
        return self.X[a] * self.slopes(self.X[a] @ theta, self.y[a])[:, None]

    def answer(self, a, theta, clip=None):
        """The mean of the records' gradients, each cut to the clip."""
        g = self.gradients(a, theta)
        if self.persons:
            mine = [[v for v, w in zip(g, self.who[a]) if w == who][:self.persons]
                    for who in dict.fromkeys(self.who[a])]
            g = [(np.sum if self.whole else np.mean)(m, axis=0) for m in mine]
        return np.mean([clipped(v, clip) for v in g], axis=0)

    def noise(self, a, dim, clip, norm="l2"):
        """What an answer's sum has beside it: see draws."""
        return 0.0

    def of_fit(self, a, lam):
        return 0.0

    def of_owner(self, a, theta, clip):
        """The mean gradient, cut to the clip."""
        return clipped(self.answer(a, theta), clip)

    def blank(self, a, visit, dim, clip, unit):
        """An answer of noise alone."""
        return 0.0

    def right(self, X, y, theta):
        if self.loss == "softmax":
            return (X @ theta.reshape(-1, 3)).argmax(axis=1) == y
        return (X @ theta > 0) == (y > 0)

    def figures(self, models):
        """Of all test records: mean loss and share of right labels over agents, and how
        far the models are from their mean, root mean square."""
        X, y = np.vstack(self.Xtest), np.concatenate(self.ytest)
        loss = [float(self.losses(X, y, t).mean()) for t in models]
        apart = np.array(models) - np.mean(models, axis=0)
        out = {"loss": float(np.mean(loss)),
               "consensus": float(np.sqrt(np.mean(np.sum(apart ** 2, axis=1))))}
        if self.classes:
            out["accuracy"] = float(np.mean([self.right(X, y, t).mean() for t in models]))
        return out


def start(p):
    return np.tile(p.init, (len(p.agents), 1))


def clipped(v, c):
    return v if c is None else v * min(1, c / max(np.linalg.norm(v), 1e-300))


def newton_minimum(gradient, hessian, x):
    for _ in range(100):
        x = x - np.linalg.solve(hessian(x), gradient(x))
    return x


def prox(p, a, v, gamma):
    """The minimiser u of f(u) + |u - v|^2/(2 gamma), f the mean loss of agent a."""
    X, y, m = p.X[a], p.y[a], len(p.y[a])
    return newton_minimum(
        lambda u: X.T @ p.slopes(X @ u, y) / m + (u - v) / gamma,
        lambda u: X.T @ (p.curvatures(X @ u, y)[:, None] * X) / m + np.eye(3) / gamma, v)


def fit(p, a, lam):
    """The minimiser of the mean loss + lam |theta|^2."""
    X, y, m = p.X[a], p.y[a], len(p.y[a])
    return newton_minimum(
        lambda u: X.T @ p.slopes(X @ u, y) / m + 2 * lam * u,
        lambda u: X.T @ (p.curvatures(X @ u, y)[:, None] * X) / m + 2 * lam * np.eye(3),
        np.zeros(3))


def metropolis(links, n=N):
    """w_ij = 1/(1 + max(deg i, deg j)) on links, the rest on the diagonal."""
    deg = [sum(i in l for l in links) for i in range(n)]
    W = np.zeros((n, n))
    for i, j in links:
        W[i, j] = W[j, i] = 1 / (1 + max(deg[i], deg[j]))
    return W + np.diag(1 - W.sum(axis=1))


def slem(W):
    e = np.sort(np.linalg.eigvalsh(W))
    return max(abs(e[-2]), abs(e[0]))


RING = metropolis([(0, 1), (1, 2), (2, 3), (0, 3)])
PATH = metropolis([(0, 1), (1, 2), (2, 3)])
STAR = metropolis([(0, 1), (0, 2), (0, 3)])
COMPLETE = metropolis([(i, j) for i in range(N) for j in range(i + 1, N)])
