"""The runs of reference.py of operators with noise: km, as it is, with a state of its own,
and as published."""
import math

import numpy as np

from cases import case
from draws import NOISE, SAMPLE
from drawn import Drawn, noisy
from problem import M, N, PATH, RING, Problem, clipped, prox, slem
from rounds import *
from steps import *


def laplace(s, scale, bound=math.inf):
    """By inversion, of the part below the bound; then a sign."""
    size = -scale * math.log1p(s.uniform() * math.expm1(-bound / scale))
    return -size if s.word() & 1 == 0 else size


def normal(s, deviation, bound=math.inf):
    """Pairs of which the first is used, until one is within the bound."""
    while True:
        x = deviation * s.normals(2)[0]
        if abs(x) <= bound:
            return x


def falling(mass, delta):
    """Where a mass that falls is delta."""
    low, high = .5, 1e3
    for _ in range(200):
        mid = (low + high) / 2
        low, high = (mid, high) if mass(mid) > delta else (low, mid)
    return high


def gauss_strip(eps, delta):
    """Theorem 6 of 003, A over the sensitivity: the strip of width 1 below A has mass delta
    of density exp(-eps z^2) on [-A, A]."""
    r = math.sqrt(eps)
    return falling(lambda a: (math.erfc((a - 1) * r) - math.erfc(a * r)) / (2 * math.erf(a * r)), delta)


def general(s, scale, bound):
    """Of density exp(-(z/scale)^2) by inversion: that is erf."""
    p, low, high = s.uniform() * math.erf(bound / scale), 0., 40.
    for _ in range(200):
        mid = (low + high) / 2
        low, high = (mid, high) if math.erf(mid) < p else (low, mid)
    return -scale * low if s.word() & 1 == 0 else scale * low


def theorem1(bound, alphas, lam):
    """003: what the iterates of neighbors differ by, expected."""
    K, m = len(alphas), min(M)
    out = sum(2 * bound * a / (m * N) for a in alphas)
    for k in range(K):
        out += 4 * bound * (1 + 2 * alphas[k]) * sum(alphas[j] * lam ** (k - 1 - j) for j in range(k))
    return out


def family(name, sensitivity, eps, delta):
    """The noise of one value of an iterate."""
    if name == "laplace":
        return lambda s: laplace(s, sensitivity / eps)
    if name == "gaussian":
        return lambda s: normal(s, sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / eps)
    if name == "truncated-laplace":
        b = sensitivity / eps
        return lambda s: laplace(s, b, b * math.log(1 + (math.exp(eps) - 1) / (2 * delta)))
    bound = sensitivity * gauss_strip(eps, delta)
    scale = sensitivity / math.sqrt(eps)
    if name == "truncated-gaussian":
        return lambda s: normal(s, scale / math.sqrt(2), bound)
    return lambda s: general(s, scale, bound)  # truncated-generalized of shape 2


def with_state(p, W, rounds, gamma, alphas, bound, noise, one=False, clip=None,
               mean=None):
    """003, Algorithm 1: x <- W z + alpha r(x), of which z, with noise, is sent."""
    x = start(p)
    z = x.copy()
    for k in range(rounds):
        m, new = (mean(k) if mean else W) @ z, []
        for a in range(N):
            p.asked(a)
            g = p.gradients(a, x[a])
            g = g[p.key(a, SAMPLE).below(len(g))] if one else np.mean(
                [clipped(v, clip) for v in g], axis=0)
            x[a] = m[a] + alphas[k] * clipped(-gamma * g, bound)
            new.append(x[a] + noise(p.key(a, NOISE), a, k))
        z = np.array(new)
    return z


def operators():
    none = dict(operator="forward", gamma=.4)
    R = 8
    for rate in 1.0, .5:
        p = Drawn(rate=rate, z=.5)
        x = start(p)
        alpha = .99 * (1 + np.linalg.eigvalsh(RING)[0]) / 2
        for k in range(R):
            r = []
            for a in range(N):  # the answer is noisy: the noise is not clipped with it
                p.asked(a)
                g = p.gradients(a, x[a])
                mean = sum((clipped(g[j], .3) for j in p.batch(a, len(g))), np.zeros(3)) / (rate * M[a])
                r.append(clipped(-.4 * mean, 1) + .4 / (rate * M[a]) * p.added(a, 3, .3))
            x = RING @ x + alpha * np.array(r)
        yield case(f"drawn-km-{rate}", "km", x, p, rounds=R, clip=.3, noise=noisy(.5),
                   privacy__sample_rate=rate, **none)
    p = Drawn(z=.5)
    p.X = [np.array([clipped(x, .3) for x in X]) for X in p.X]
    S = [1.0]
    for k in range(R):
        S.append(1 + 2 * .3 * S[-1])
    x = with_state(p, PATH, R, .4, [.3] * R, 1., lambda s, a, k: .3 * .5 * .3 * .4 / M[a] * min(
        S[k], 2 * M[a] / (.3 * .4)) * s.normals(3))
    yield case("drawn-own-state", "km", x, p, "path", R, .3, noise=noisy(.5), own_state="true", alpha=.3,
               **none)
    eps, delta, bound = 40., .01, .05
    alphas = [.3 / (1 + k / 4) for k in range(R)]
    for name in "laplace", "gaussian", "truncated-laplace", "truncated-gaussian", "truncated-generalized":
        f = family(name, theorem1(bound, alphas, slem(PATH)), eps, delta)
        p = Drawn()
        x = with_state(p, PATH, R, .4, alphas, bound, lambda s, a, k: np.array([f(s) for _ in range(3)]),
                       one=True)
        yield case(f"published-{name}", "km", x, p, "path", R, own_state="true", alpha=.3,
                   alpha_schedule="inverse", alpha_tau=4, residual_clip=bound, replication__claim="true",
                   replication__noise=name, replication__one_record="true",
                   **({"replication__shape": 2.0} if "general" in name else {}), noise={
                       "privacy.noise_multiplier": None, "privacy.target_epsilon": eps,
                       "privacy.target_delta": delta}, **none)
