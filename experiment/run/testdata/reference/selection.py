"""What the best of a drawn number of trials costs, of reference.py: Papernot, Steinke 2022,
Theorems 2 and 6, over Renyi divergences by numeric integration."""
import math

import numpy as np


def divergence(rate, z, order):
    """The larger one of rate N(1, z^2) + (1 - rate) N(0, z^2) and N(0, z^2)."""
    x = np.linspace(-12 * z - 2, order + 12 * z + 2, 40001)
    p = -x * x / (2 * z * z)
    q = np.logaddexp(math.log(rate) - (x - 1) ** 2 / (2 * z * z), math.log1p(-rate) + p)
    scale = math.log((x[1] - x[0]) / (z * math.sqrt(2 * math.pi)))

    def of(a, b):
        return (np.logaddexp.reduce(order * a + (1 - order) * b) + scale) / (order - 1)
    # N(0) to a power over the mixture's falls as N(0) does, on the left
    return max(of(q, p), of(p, q), 0)


def epsilon(rate, z, answers, score, mean, law, delta):
    """Of answers of Poisson batches and one score a trial."""
    orders = 1 + np.exp(np.linspace(math.log(.02), math.log(60), 400))
    rdp = np.array([answers * divergence(rate, z, o) + o / (2 * score * score) for o in orders])
    if law == "poisson":
        best = np.inf
        for o, e in zip(orders, rdp):
            hat = math.log1p(1 / (o - 1))
            with np.errstate(over="ignore"):
                deltas = np.exp((orders - 1) * (rdp - hat + np.log1p(-1 / orders)) - np.log(orders))
            best = min(best, e + mean * min(1, deltas.min()) + math.log(mean) / (o - 1)
                       + math.log1p(-1 / o) - math.log(delta * o) / (o - 1))
        return best
    eta, g = (1, 1 / mean) if law == "geometric" else (0, solved(mean))
    least = np.min((1 - 1 / orders) * rdp + math.log(1 / g) / orders)
    return float(np.min(rdp + (1 + eta) * least + math.log(mean) / (orders - 1) + np.log1p(-1 / orders)
                        - np.log(delta * orders) / (orders - 1)))


def solved(mean):
    """g of the logarithmic law: (1/g - 1)/ln(1/g) falls to the mean."""
    low, high = 1e-12, 1 - 1e-12
    for _ in range(200):
        g = (low + high) / 2
        low, high = (g, high) if (1 / g - 1) / math.log(1 / g) > mean else (low, g)
    return g
