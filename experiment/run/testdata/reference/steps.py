"""Steps, optimizers, clips and averages of reference.py."""
import numpy as np


def constant(a):
    return lambda k, rounds: a


def geometric(a, b):
    return lambda k, rounds: a * (b / a) ** (k / (rounds - 1))


def inverse(a, tau):
    return lambda k, rounds: a / (1 + k / tau)


def cosine(a, b):
    return lambda k, rounds: b + (a - b) * (1 + np.cos(np.pi * k / (rounds - 1))) / 2


def warm(eta, w):
    return lambda k, rounds: eta(k, rounds) * min(1, (k + 1) / w)


class Optimizer:
    """The direction of one agent's answers. Weight decay is part of the answer for sgd
    and momentum, and moves the parameters directly beside Adam's direction."""

    def __init__(self, kind="sgd", beta=0.0, decay=0.0, beta1=.9, beta2=.999, eps=1e-8):
        self.kind, self.beta, self.decay = kind, beta, decay
        self.b1, self.b2, self.eps = beta1, beta2, eps
        self.m, self.v, self.t = 0.0, 0.0, 0

    def direction(self, g, at):
        self.t += 1
        if "adam" in self.kind:
            self.m = self.b1 * self.m + (1 - self.b1) * g
            self.v = self.b2 * self.v + (1 - self.b2) * g * g
            m, v = self.m / (1 - self.b1 ** self.t), self.v / (1 - self.b2 ** self.t)
            d = m / (np.sqrt(v) + self.eps)
            if self.kind == "adam-bc":  # of noise whose variance is nothing
                d = m / np.sqrt(np.maximum(v, self.eps ** 2))
            return d + self.decay * at
        self.m = self.beta * self.m + g + self.decay * at
        return self.m


class Clip:
    """The clip of one agent, by what was answered: of schedule, quantile or released."""

    def __init__(self, kind, norm, least, rate=0.0, share=0.0, factor=0.0, average=0.0):
        self.kind, self.first, self.norm, self.least = kind, norm, norm, least
        self.rate, self.share, self.factor, self.average = rate, share, factor, average
        self.mean, self.rounds = None, 0

    def answer(self, p, a, x):
        g, answer = p.gradients(a, x), p.answer(a, x, self.norm)
        self.rounds += 1
        if self.kind == "schedule":
            self.norm = max(self.least, self.first * self.rate ** self.rounds)
        elif self.kind == "quantile":
            within = np.mean(np.linalg.norm(g, axis=1) <= self.norm)
            self.norm = max(self.least, self.norm * np.exp(-self.rate * (within - self.share)))
        else:
            r, w = np.linalg.norm(answer), self.average
            self.mean = r if self.mean is None else w * self.mean + (1 - w) * r
            self.norm = max(self.least, min(self.factor * self.mean, self.first))
        return answer


class Average:
    """What is put out in place of the last parameters: an exponential average from the
    start on, or the mean of the last tail of all rounds."""

    def __init__(self, x, rounds, ema=0.0, tail=0.0):
        self.ema, self.first, self.rounds = ema, rounds - int(np.ceil(tail * rounds)), rounds
        self.e, self.kept, self.tail = x.copy(), [], tail

    def take(self, k, x):
        if self.ema:
            self.e = self.ema * self.e + (1 - self.ema) * x
        elif self.tail:
            if k >= self.first:
                self.kept.append(x.copy())
            self.e = np.mean(self.kept, axis=0) if self.kept else x
        else:
            self.e = x.copy()
