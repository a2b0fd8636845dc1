"""Algorithms in rounds of reference.py. Row i of W is the receiver's."""
import numpy as np

from problem import N, clipped, prox, slem, start
from steps import Average, Optimizer


def central(p, eta, rounds, opt=dict(), clip=None, average=dict()):
    """One site with all records: v <- beta v + g + wd theta, theta <- theta - eta v."""
    x, o = p.init.copy(), Optimizer(**opt)
    out = Average(x, rounds, **average)
    for k in range(rounds):
        g = np.mean([clipped(r, clip) for a in p.agents for r in p.gradients(a, x)], axis=0)
        x = x - eta(k, rounds) * o.direction(g, x)
        out.take(k, x)
    return [out.e]


def local(p, eta, rounds, opt=dict(), clip=None, average=dict()):
    """Every agent alone."""
    all = []
    for a in p.agents:
        x, o = p.init.copy(), Optimizer(**opt)
        out = Average(x, rounds, **average)
        for k in range(rounds):
            x = x - eta(k, rounds) * o.direction(p.answer(a, x, clip), x)
            out.take(k, x)
        all.append(out.e)
    return all


def dsgd(p, W, eta, rounds, order="grad-then-mix", opt=dict(), clip=None, average=dict(),
         robust=None, clips=None, answers=np.inf, opts=None):
    """000, Algorithm 1: theta_i <- sum_j w_ij theta_j - eta g(theta_i), or with the
    gradient at the mean."""
    x, os = start(p), opts or [Optimizer(**opt) for _ in p.agents]
    out = Average(x, rounds, **average)
    for k in range(rounds):
        mean = robust(W, x) if robust else (W(k) if callable(W) else W) @ x
        at = x if order == "grad-then-mix" else mean
        g = [clips[a].answer(p, a, at[a]) if clips else p.answer(a, at[a], clip) for a in p.agents]
        d = np.array([os[a].direction(g[a], at[a]) for a in p.agents])
        x = mean - (eta(k, rounds) * d if k < answers else 0)
        out.take(k, x)
    return out.e


def clipped_gossip(tau=None, f=0):
    """ClippedGossip: differences to neighbors are cut to length tau, or to that of the
    (f+1)-th longest of them."""
    def mean(W, x, tau=tau):
        y = x.copy()
        for i in range(N):
            if f:
                near = [np.linalg.norm(x[j] - x[i]) for j in range(N) if j != i and W[i, j] > 0]
                tau = sorted(near)[-f - 1]
            for j in range(N):
                if j != i and W[i, j] > 0:
                    d = x[j] - x[i]
                    y[i] = y[i] + W[i, j] * d * min(1, tau / max(np.linalg.norm(d), 1e-300))
        return y
    return mean


def trimmed_mean(f):
    """By coordinate, without the f largest and f smallest of the neighbors' values; the
    weights that are left are scaled to sum to what all did."""
    def mean(W, x):
        y = x.copy()
        for i in range(N):
            near = [j for j in range(N) if j != i and W[i, j] > 0]
            for c in range(x.shape[1]):
                kept = sorted(near, key=lambda j: x[j, c])[f:len(near) - f]
                w = np.array([W[i, i]] + [W[i, j] for j in kept])
                y[i, c] = w @ np.array([x[i, c]] + [x[j, c] for j in kept]) / w.sum()
        return y
    return mean


def dsgt(p, W, eta, rounds, clip=None, answers=np.inf):
    """000, Algorithm 2: theta <- W (theta - eta y), y <- W y + G' - G, y = G = 0 at
    first."""
    x = start(p)
    y, g = np.zeros_like(x), np.zeros_like(x)
    for k in range(rounds):
        both = (W(k) if callable(W) else W) @ np.hstack([x, y])
        x, y = both[:, :x.shape[1]], both[:, x.shape[1]:]
        x = x - eta(k, rounds) * y
        new = np.array([p.answer(a, x[i], clip) for i, a in enumerate(p.agents)])
        if k >= answers:
            new = g
        y, g = y + new - g, new
    return x


def dinno(p, W, eta, rounds, rho=.5, scale=1.0, top=10.0, steps=1, kind="adam-fresh", beta=0.0,
          self_prox=False, ascend=False, clip=None, average=dict(), answers=np.inf, lost=None):
    """000, Algorithm 3: the dual gains rho times what the neighbors differ by, then some
    steps on the augmented Lagrangian. Fresh moments start anew in every round."""
    x = start(p)
    dual = np.zeros_like(x)
    near = [[j for j in range(N) if j != i and W[i, j] > 0] for i in range(N)]
    os = [Optimizer("adam" if "adam" in kind else "sgd", beta) for _ in range(N)]
    out = Average(x, rounds, **average)
    links = near
    for k in range(rounds):
        rho = min(rho * scale, top)
        new = x.copy()
        if lost:  # who is not heard is no neighbor in this round
            near = [[j for j in links[i] if lost(k, j, i) is None] for i in range(N)]
        for i, a in enumerate(p.agents):
            dual[i] += rho * sum((x[i] - x[j] for j in near[i]), np.zeros(x.shape[1]))
            if kind == "adam-fresh":
                os[i] = Optimizer("adam")
            psi = x[i].copy()
            for _ in range(steps):
                g = p.answer(a, psi, clip) + dual[i]
                g = g + 2 * rho * sum((psi - (x[i] + x[j]) / 2 for j in near[i]), 0 * g)
                if self_prox:
                    g = g + 2 * rho * (psi - x[i])
                psi = psi - (-1 if ascend else 1) * eta(k, rounds) * os[i].direction(g, psi)
            if k >= answers:
                psi = np.mean([(x[i] + x[j]) / 2 for j in near[i]], axis=0)
            new[i] = psi
        x = new
        out.take(k, x)
    return out.e


def recursion(W, y, count, kind="plain", dimension=1.0, rho=None, mean=None):
    """count rounds of averaging: plain, Chebyshev's with one weight or with Golub's and
    Varga's, that of 004, or Jacobi's of Berthier, Bach and Gaillard. mean gives for each
    round what averages in place of W."""
    rho = slem(W) if rho is None else rho
    previous, omega = y, 1.0
    for k in range(count):
        a, b, c = 1.0, 0.0, 0.0
        if kind == "chebyshev" and k > 0:
            a = 2 / (1 + np.sqrt(1 - rho ** 2))
            c = a - 1
        elif kind == "chebyshev-ns" and k > 0:
            omega = 1 / (1 - rho ** 2 / 2) if k == 1 else 1 / (1 - rho ** 2 * omega / 4)
            a, c = omega, omega - 1
        elif kind == "paper" and k > 0:
            gap = 1 - np.sort(np.linalg.eigvalsh(W))[-2]
            a = 2 * (1 - np.sqrt(gap * (1 - gap / 4))) / (1 - gap / 2) ** 2
            c = a - 1
        elif kind == "jacobi":
            D = dimension
            a, b = (D + 4) / (2 * (D + 2)), D / (2 * (D + 2))
            if k > 0:
                low = (k + 1 + D / 2) ** 2
                a = (2 * k + D / 2 + 1) * (2 * k + D / 2 + 2) / (2 * low)
                b = D ** 2 * (2 * k + D / 2 + 1) / (8 * low * (2 * k + D / 2))
                c = k ** 2 * (2 * k + D / 2 + 2) / (low * (2 * k + D / 2))
        y, previous = a * ((mean(k) if mean else W) @ y) + b * y - c * previous, y
    return y


def gossip_sgd(p, W, eta, rounds, gossip=1, kind="plain", dimension=1.0, opt=dict(), clip=None,
               answers=np.inf, mean=None):
    """Muffliato-SGD of 004: a gradient step, then K rounds of averaging. The product's
    round is one of averaging: gradients in rounds 0, K, 2K, .., none in the last."""
    x, os = start(p), [Optimizer(**opt) for _ in range(N)]
    for k in range(0, rounds - 1, gossip):
        d = np.array([os[i].direction(p.answer(a, x[i], clip), x[i])
                      for i, a in enumerate(p.agents)])
        if k >= answers * gossip:
            d = 0
        x = recursion(W, x - eta(k, rounds) * d, min(gossip, rounds - 1 - k), kind, dimension,
                      mean=(lambda r: mean(k + 1 + r)) if mean else None)
    return x


def gossip_average(p, W, rounds, kind="plain", clip=None, dimension=1.0):
    """004: the mean of the owner's features, cut to the clip, then averaging."""
    y = np.array([clipped(p.X[a].mean(axis=0), clip) for a in p.agents])
    return recursion(W, y, rounds - 1, kind, dimension)


def sgp(p, P, eta, rounds, opt=dict(), clip=None, average=dict(), answers=np.inf):
    """002 and Assran et al.: push-sum with the gradient at z = x/w. The product mixes
    before its first gradient too. P has columns that sum to 1."""
    x, w = start(p), np.ones(N)
    os = [Optimizer(**opt) for _ in range(N)]
    out = Average(x, rounds, **average)
    for k in range(rounds):
        if callable(P):
            x, w = P(k) @ x, P(k) @ w
        else:
            x, w = P @ x, P @ w
        z = x / w[:, None]
        d = np.array([os[i].direction(p.answer(a, z[i], clip), z[i])
                      for i, a in enumerate(p.agents)])
        x = x - (eta(k, rounds) * d if k < answers else 0)
        out.take(k, x / w[:, None])
    return out.e


def soft(x, t):
    return np.sign(x) * np.maximum(np.abs(x) - t, 0)


def km(p, W, rounds, operator, gamma, l1=0.0, alpha=None, tau=None, bound=None, clip=None,
       answers=np.inf, mean=None):
    """003 in its all-noisy form: x <- W x + alpha_k clip_B(T(x) - x). mean is as for
    recursion."""
    if alpha is None:
        alpha = .99 * (1 + np.linalg.eigvalsh(W)[0]) / 2
    x = start(p)
    for k in range(rounds):
        r = np.zeros_like(x)
        for i, a in enumerate(p.agents):
            v = x[i]
            if operator == "forward":
                t = v - gamma * p.answer(a, v, clip)
            elif operator == "forward-backward":
                t = soft(v - gamma * p.answer(a, v, clip), gamma * l1)
            elif operator == "backward":
                t = prox(p, a, v, gamma)
            else:
                s = soft(v, gamma * l1)
                t = v + prox(p, a, 2 * s - v, gamma) - s
            r[i] = clipped(t - v, bound)
        step = alpha / (1 + k / tau) if tau else alpha
        x = (mean(k) if mean else W) @ x + step * (r if k < answers else 0)
    return soft(x, gamma * l1) if operator == "douglas-rachford" else x


def attacked(p, W, eta, rounds, attack, scale, who=1, robust=None):
    """DSGD of which one agent sends another vector than its own: all else as ever."""
    x, first = start(p), None
    sent = x.copy()
    for k in range(rounds):
        bad = {"sign-flip": lambda: -(scale or 1) * x[who], "stale": lambda: p.init,
               "large-norm": lambda: scale}.get(attack, lambda: None)()
        if attack == "alie":  # of its own and of what it has received in the last round
            seen = np.vstack([x[who], sent[[j for j in range(N) if j != who and W[who, j] > 0]]])
            bad = x[who] if k == 0 else seen.mean(axis=0) - scale * seen.std(axis=0)
        new = np.zeros_like(x)
        for i in range(N):
            heard = x.copy()
            if i != who:
                heard[who] = bad
            mean = robust(W, heard)[i] if robust else W[i] @ heard
            new[i] = mean - eta(k, rounds) * p.answer(i, x[i])
        sent, x = x, new
    return x


def short(v):
    """bfloat16, the upper half of a float32: to nearest, ties to even."""
    b = np.float32(v).view(np.uint32)
    b = (b + np.uint32(0x7fff) + (b >> 16 & 1)) >> 16 << 16
    return b.astype(np.uint32).view(np.float32).astype(float)


def short_messages(p, W, eta, rounds):
    """DSGD whose messages are bfloat16, while what an agent has of its own stays."""
    x = start(p)
    own = np.diag(np.diag(W))
    for k in range(rounds):
        g = np.array([p.answer(a, x[a]) for a in p.agents])
        x = own @ x + (W - own) @ short(x) - eta(k, rounds) * g
    return x


def in_turn(p, W, eta, rounds):
    """DSGD whose agents step one after the other, each with what was sent before."""
    x = start(p)
    for k in range(rounds):
        for i in range(N):
            x[i] = W[i] @ x - eta(k, rounds) * p.answer(i, x[i])
    return x


def directed(arcs):
    """Each sender divides itself evenly between its receivers and itself."""
    P = np.eye(N)
    for j, i in arcs:
        P[i, j] = 1
    return P / P.sum(axis=0)
