"""Algorithms of wakes, pairs and tokens of reference.py, by lists of wakes, and how those
are drawn."""
import struct

import numpy as np

import draws
from draws import SEED, mix, unit
from problem import INIT, M, N, clipped, fit


class Personal:
    """The constants of Q(Theta) = 1/2 sum_{i<j} S_ij |Theta_i - Theta_j|^2
    + mu sum_i D_i c_i L_i(Theta_i), L_i the mean loss + lam_i |theta|^2 (001, eq. 3)."""

    def __init__(self, S, mu, lam=None, c=None, power=1.0, smooth=.25):
        self.S, self.D, self.mu = S, S.sum(axis=1), mu
        self.lam = np.array([lam or 1 / m for m in M])
        self.c = np.array([c or (m / max(M)) ** power for m in M])
        self.smooth = smooth + 2 * self.lam  # of the mean loss with its regulariser

    def value(self, p, x):
        q = sum(self.S[i, j] * np.sum((x[i] - x[j]) ** 2) for i in range(N) for j in range(i)) / 2
        for i in range(N):
            own = p.losses(p.X[i], p.y[i], x[i]).mean() + self.lam[i] * x[i] @ x[i]
            q += self.mu * self.D[i] * self.c[i] * own
        return float(q)


def cut(v, clip, norm):
    if clip is None:
        return v
    size = np.abs(v).sum() if norm == "l1" else np.linalg.norm(v)
    return v * min(1, clip / max(size, 1e-300))


def begin(p, q, start, fit_lam):
    if start == "zero":
        return np.zeros((N, 3))
    if start == "init":
        return np.tile(p.init, (N, 1))
    lam = [fit_lam or q.lam[i] for i in range(N)]
    return np.array([fit(p.bounded or p, i, lam[i]) + p.of_fit(i, lam[i]) for i in range(N)])


def bcd(p, q, wakes, start="zero", fit_lam=None, propagate=0, updates=0, after="silent", clip=None,
        norm="l2", gradients_of=None, factors=None):
    """001, eq. 4 and 6: a step of length 1/B_i on the block of who wakes. All neighbors
    have the newest vectors. The first wakes of an agent may propagate its fit."""
    x = begin(p, q, start, fit_lam)
    own, count, answers = x.copy(), [0] * N, [[] for _ in range(N)]
    for i in wakes:
        mean = q.S[i] @ x / q.D[i]
        muc = q.mu * q.c[i]
        count[i] += 1
        if count[i] <= propagate:
            x[i] = (mean + muc * own[i]) / (1 + muc)
            continue
        if updates and count[i] - propagate > updates:
            if after == "silent":
                continue
            g = np.mean(answers[i], axis=0)
        else:
            of = [cut(r, clip, norm) for r in (gradients_of or p).gradients(i, x[i])]
            if p.came:  # before the agent's wake of this number, from 0
                of = [r if came < count[i] else 0 * r for r, came in zip(of, p.came[i])]
            g = np.mean(of, axis=0) + p.noise(i, x.shape[1], clip, norm) / len(of) * (
                factors[i][len(answers[i])] if factors else 1)
            answers[i].append(g)
        alpha = 1 / (1 + muc * q.smooth[i])
        x[i] = (1 - alpha) * x[i] + alpha * (mean - muc * (g + 2 * q.lam[i] * x[i]))
    return x


def local_fit(p, q, fit_lam=None):
    return begin(p, q, "fit", fit_lam)


def gossip_admm(p, q, pairs, rho=1.0, steps=10, start="zero", fit_lam=None, clip=None):
    """Vanhaesebrouck, Bellet, Tommasi 2017. theta[l][a] is l's copy of a's model; Z and
    Lam are kept by edge, end and model."""
    x = begin(p, q, start, fit_lam)
    near = [[h for h in range(N) if q.S[l, h] > 0] for l in range(N)]
    theta = [{a: x[a].copy() for a in near[l] + [l]} for l in range(N)]
    Z = {(l, h, a): x[a].copy() for l in range(N) for h in near[l] for a in (l, h)}
    Lam = {k: np.zeros(3) for k in Z}
    for i, j in pairs:
        for l in (i, j):
            minimise(p, q, l, near[l], theta[l], Z, Lam, rho, steps, clip)
        for a in (i, j):
            u = [theta[l][a] + Lam[l, h, a] / rho for l, h in ((i, j), (j, i))]
            for l, h in ((i, j), (j, i)):
                Z[l, h, a] = (u[0] + u[1]) / 2
                Lam[l, h, a] = Lam[l, h, a] + rho * (theta[l][a] - Z[l, h, a])
    return [theta[l][l] for l in range(N)]


def minimise(p, q, l, near, theta, Z, Lam, rho, steps, clip):
    """Gradient steps on l's own model, its copies at their minimisers."""
    def copies():
        for h in near:
            w = q.S[l, h] / 2
            theta[h] = (w * theta[l] + rho * Z[l, h, h] - Lam[l, h, h]) / (w + rho)

    loss = q.mu * q.D[l] * q.c[l]
    length = 1 / (loss * q.smooth[l] + q.D[l] / 2 + rho * len(near))
    for _ in range(steps):
        copies()
        x = theta[l]
        g = loss * (p.answer(l, x, clip) + 2 * q.lam[l] * x)
        for h in near:
            g = g + q.S[l, h] / 2 * (x - theta[h]) + Lam[l, h, l] + rho * (x - Z[l, h, l])
        theta[l] = x - length * g
    copies()


def walk(p, hops, eta, clip=None, most=None, radius=None, unit="owner"):
    """004: tokens visit agents, which take a step on their own gradient while they have
    answers left. hops has a list of visits for each token, all in step."""
    tokens, rounds = len(hops), len(hops[0])
    most = most or int(np.ceil(1.25 * tokens * rounds / N))
    x, given, visits = np.tile(INIT, (tokens, 1)), [0] * N, [0] * N
    for t in range(rounds):
        for k in range(tokens):
            i = hops[k][t]
            visits[i] += 1
            if given[i] == most:
                g = p.blank(i, visits[i] - 1, x.shape[1], clip, unit)
                if np.ndim(g):
                    x[k] = clipped(x[k] - eta(t, rounds) * g, radius)
                continue
            given[i] += 1
            g = (p.of_owner if unit == "owner" else p.answer)(i, x[k], clip)
            x[k] = clipped(x[k] - eta(t, rounds) * g, radius)
    return x


class Clock:
    """Wakes at rate N, of any agent, with a neighbor where there are pairs."""

    def __init__(self, near=None):
        self.near, self.number, self.now = near, 0, 0.0

    def next(self):
        h = mix(mix(SEED ^ int.from_bytes(b"wake", "big")) ^ self.number)
        self.number += 1
        self.now += -np.log1p(-unit(h)) / N
        h = mix(h + 1)
        i = int(unit(h) * N)
        j = None
        if self.near:
            j = self.near[i][int(unit(mix(h + 1)) * len(self.near[i]))]
        return self.now, i, j


class Links:
    """Who is away, and what has arrived, where agents wake."""

    def __init__(self, drop=0.0, latency=0.0, churn=0.0, churn_period=10.0):
        self.drop, self.latency, self.churn, self.period = drop, latency, churn, churn_period

    def away(self, i, time):
        period = struct.unpack(">Q", struct.pack(">d", float(time // self.period)))[0]
        return unit(mix(mix(mix(SEED ^ int.from_bytes(b"churn", "big")) ^ period) ^ i)) < self.churn

    def hash(self, j, i, number):
        return mix(mix(mix(SEED ^ int.from_bytes(b"links", "big")) ^ number) ^ (j << 32 ^ i))

    def lost(self, j, i, number):
        return unit(self.hash(j, i, number)) < self.drop

    def arrived(self, j, i, number, sent, now):
        at = sent + self.latency * unit(mix(self.hash(j, i, number) + 1))
        return not self.lost(j, i, number) and at <= now and not self.away(i, at)


class Walk:
    """Visits of tokens: a start that all agents have the same chance of, then hops by the
    row of who holds the token, neighbors first in ascending order. The visit of an agent
    has a stream of its own, and the start of a token one of the agent 2^32 - 1; public
    hops have one of token and step."""

    def __init__(self, W, tokens, ticks, public=False, links=Links(), clip=None):
        self.visits = []  # (token, agent, step), in their order
        count, steps = [0] * N, [0] * tokens
        at = [self.stream(public, 2 ** 32 - 1, k, k, 2 ** 64 - 1).below(N) for k in range(tokens)]
        before = list(at)
        for tick in range(ticks):
            here = [(at[k], k) for k in range(tokens) if not links.away(at[k], float(tick)) and (
                before[k] == at[k] or not links.lost(before[k], at[k], tick * tokens + k))]
            for i, k in sorted(here):
                u, to = self.stream(public, i, count[i], k, steps[k]).uniform(), i
                for j in range(N):
                    u -= W[i, j] if j != i else 0
                    if u < 0:
                        to = j
                        break
                self.visits.append((k, i, steps[k]))
                count[i], steps[k], before[k], at[k] = count[i] + 1, steps[k] + 1, i, to

    def stream(self, public, i, visit, token, step):
        if public:
            return draws.public(SEED, "hop", token, step)
        return draws.simulated(SEED, i, visit, draws.CHOICE)

    def run(self, p, tokens, eta, rounds, clip, unit="owner", most=None):
        most = most or int(np.ceil(1.25 * tokens * rounds / N))
        x, given, seen = np.tile(INIT, (tokens, 1)), [0] * N, [0] * N
        for k, i, step in self.visits:
            if given[i] < most:
                given[i] += 1
                g = (p.of_owner if unit == "owner" else p.answer)(i, x[k], clip)
            else:
                g = p.blank(i, seen[i], 3, clip, unit)
            seen[i] += 1
            x[k] = x[k] - eta(step, rounds) * g
        return x
