"""Newton and boosting of reference.py, by the comments of algo.Newton and algo.Boosting:
no paper has them. Averages are those of 004."""
import numpy as np

from problem import N, clipped, slem, start


def fresh(W):
    """What is sent from here on is of another average."""
    if hasattr(W, "begin"):
        W.begin()


def chebyshev(W, y, count):
    fresh(W)
    rho, previous = slem(W), y
    for k in range(count):
        a = 1.0 if k == 0 else 2 / (1 + np.sqrt(1 - rho ** 2))
        y, previous = a * (W @ y) - (a - 1) * previous, y
    return y


def inverse(H, least=0.0):
    """Of H with eigenvalues of at least what noise makes, and 1e-5 of their mean."""
    values, vectors = np.linalg.eigh(H)
    values = np.maximum(values, max(least, 1e-5 * np.trace(H) / len(H)))
    return vectors @ np.diag(1 / values) @ vectors.T


CURVATURE = {"logistic": .25, "softmax": .5, "huber": 1, "poisson": 1}
SLOPE = {"logistic": 1, "softmax": np.sqrt(2), "huber": .5, "poisson": 10, "least-squares": 1}


def packed(M):
    """The upper triangle by row, with sqrt(2) times what is beside the diagonal."""
    i, j = np.triu_indices(len(M))
    return M[i, j] * np.where(i == j, 1, np.sqrt(2))


def unpacked(v, n):
    M = np.zeros((n, n))
    i, j = np.triu_indices(n)
    M[i, j] = M[j, i] = v / np.where(i == j, 1, np.sqrt(2))
    return M


def newton(p, W, rounds, steps=8, clip=.5, target=1.0, bound=np.sqrt(3), z=0.0, ridge=.5, more=1.0):
    """Second moments once, then gradients, all averaged over the graph; models are averaged
    in the rounds that are left. Squares take one release and no step. The moments of counts
    weigh a record by its count."""
    d, bound = p.X[0].shape[1], np.hypot(bound, p.constant)
    X = [np.array([clipped(x, bound) for x in p.X[a]]) for a in p.agents]
    answers = 1 if p.squares else steps + 1
    each = (rounds - 1) // answers
    of = [np.maximum(1, y) if p.loss == "poisson" else np.ones(len(y)) for y in p.y]
    order, whole = d, X
    if p.squares:
        order = d + 1
        whole = [np.column_stack([x, np.clip(p.y[a], -target, target)]) for a, x in enumerate(X)]
    M = np.array([packed(x.T @ (w[:, None] * x)) for x, w in zip(whole, of)])
    size = (10 if p.loss == "poisson" else 1) * bound ** 2 + (target ** 2 if p.squares else 0)
    M = M + more * np.array([p.noise(a, M.shape[1], size) + np.zeros(M.shape[1]) for a in p.agents])
    M = np.array([unpacked(v, order) for v in chebyshev(W, M, each)])
    b, M = M[:, :d, d:].reshape(N, -1), M[:, :d, :d]
    least = ridge * np.sqrt(2 * d / N) * z * more * size if z else 0  # times the curvature
    if p.squares:
        x = np.array([inverse(M[a], least) @ b[a] for a in p.agents])
    else:
        x = start(p)
        longest = clip * SLOPE[p.loss] * bound
        for _ in range(steps):
            g = np.array([sum(clipped(r, longest) for r in p.gradients(a, x[a])) + p.noise(
                a, x.shape[1], longest) for a in p.agents])
            c = CURVATURE[p.loss]
            x = x - np.array([(inverse(M[a] * c, least * c) @ g.reshape(d, -1)).ravel()
                              for a, g in enumerate(chebyshev(W, g, each))])
    fresh(W)
    for _ in range(rounds - 1 - each * answers):
        x = W @ x
    return x


BINS = 3


def weights(X):
    """Rows of an additive model: of each number in [-1, 1] the weights of the two knots
    beside it, and the constant."""
    at = (np.clip(X, -1, 1) + 1) / 2 * BINS
    hats = np.maximum(0, 1 - np.abs(at[:, :, None] - np.arange(BINS + 1)))
    return np.hstack([hats.reshape(len(X), -1), np.ones((len(X), 1))])


def simplex(v):
    """The nearest point with values of at least 0 and sum 1, by bisection."""
    low, high = v.min() - 1, v.max()
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if np.maximum(v - t, 0).sum() > 1 else (low, t)
    return np.maximum(v - t, 0)


def boosting(p, W, rounds, steps=9, clip=.5, swing=1.5, target=1.0, z=0.0, spread=.3, bound=2.0):
    """All features take their step together, by the averaged gradient of rows less the
    mean row: theta_f <- theta_f - (c C_f + lam R_f)^-1 g_f, lam at least c n/100. p has rows
    of weights. What the constant gains keeps the output of the mean row. Answers are over
    an agent's own length, and so are averages where they are used."""
    K, F = BINS + 1, (p.X[0].shape[1] - 1) // (BINS + 1)
    each, c = (rounds - 1) // (steps + 1), 2. if p.squares else .25
    counts = chebyshev(W, np.array([np.append(X.sum(axis=0) + p.noise(a, X.shape[1], bound), len(X))
                                    for a, X in enumerate(p.X)]), each)
    records = counts[:, -1]
    mean = np.array([simplex(u) for u in (counts[:, :-2] / records[:, None]).reshape(-1, K)]).reshape(N, -1)
    length = np.sqrt(1 + np.sum(mean * (1 - mean), axis=1))
    walk = np.diff(np.eye(K), axis=0)
    R = walk.T @ walk * (K - 1) / swing ** 2
    slope = 2 * target if p.squares else 1.
    x = np.tile(p.init, (N, 1))
    for _ in range(steps):
        g = np.zeros_like(x)
        for a in p.agents:
            rows = p.X[a] - np.append(mean[a], 0)
            slopes = p.slopes(p.X[a] @ x[a], p.y[a])
            g[a] = sum(clipped(r * s, clip * slope * length[a]) for r, s in zip(rows, slopes))
            g[a] = g[a] / length[a] + p.noise(a, len(g[a]), clip * slope)
        g = chebyshev(W, g, each) * length[:, None]
        for a in p.agents:
            n, s = records[a], clip * slope * length[a] * z / np.sqrt(N) if z else 0.0
            lam = max(s * np.sqrt(steps) / (spread * (target if p.squares else 1)), c * n / 100)
            gain = g[a, -1] / (c * n + s)
            for f in range(F):
                u = mean[a, f * K:f * K + K]
                H = c * n * (np.diag(u) - np.outer(u, u)) + lam * R
                step = np.linalg.pinv(H, rcond=1e-9) @ g[a, f * K:f * K + K]
                x[a, f * K:f * K + K] -= step
                gain -= u @ step
            x[a, -1] -= gain
    return x
