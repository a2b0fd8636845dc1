"""The run of reference.py on drawn digits. What the strokes are is not derived from anything:
they are those of data/glyphs.go."""
import math

import numpy as np

import draws
from cases import case
from draws import SEED
from drawn import Drawn, initial
from rounds import dsgd

SIDE, COUNTS, TURN = 28, (12, 6), 2 * math.pi


def line(*xy):
    """Through points, in steps of a sixth."""
    at = list(zip(xy[::2], xy[1::2]))
    return [(a + t / 6 * (c - a), b + t / 6 * (d - b)) for (a, b), (c, d) in zip(at, at[1:])
            for t in range(6)] + at[-1:]


def arc(cx, cy, rx, ry, a, b):
    """Of an ellipse, in turns from the right downwards, twenty steps a turn."""
    n = math.ceil(20 * abs(b - a))
    angles = [TURN * (a + (b - a) * k / n) for k in range(n + 1)]
    return [(cx + rx * math.cos(t), cy + ry * math.sin(t)) for t in angles]


SHAPES = [[[arc(.5, .5, .3, .42, 0, 1)], [arc(.5, .5, .22, .42, 0, 1)], [arc(.5, .5, .34, .36, -.2, .75)]],
    [[line(.5, .08, .5, .92)], [line(.32, .28, .52, .08, .52, .92)],
        [line(.32, .26, .5, .08, .5, .92), line(.28, .92, .72, .92)]],
    [[arc(.48, .32, .28, .24, .5, 1.08), line(.75, .42, .2, .9, .82, .9)],
        [arc(.48, .3, .26, .22, .5, 1.2), line(.58, .52, .24, .9), arc(.3, .82, .1, .08, .3, 1.1),
            line(.4, .86, .8, .9)]],
    [[arc(.45, .29, .26, .21, .55, 1.25), arc(.45, .71, .3, .21, -.25, .45)],
        [line(.22, .1, .72, .1, .44, .42), arc(.44, .67, .3, .25, -.25, .42)]],
    [[line(.62, .92, .62, .08, .18, .64, .84, .64)],
        [line(.26, .1, .22, .52, .76, .52), line(.7, .12, .66, .92)]],
    [[line(.76, .1, .3, .1, .26, .46), arc(.46, .67, .29, .24, -.3, .42)],
        [line(.72, .1, .32, .12, .3, .42, .5, .42), arc(.5, .66, .24, .24, -.25, .38)]],
    [[arc(.66, .6, .42, .52, .72, .5), arc(.5, .68, .25, .22, 0, 1)],
        [line(.6, .08, .3, .52), arc(.5, .67, .26, .23, .42, 1.42)]],
    [[line(.2, .1, .8, .1, .4, .92)], [line(.2, .1, .78, .1, .42, .92), line(.34, .5, .74, .5)],
        [line(.22, .22, .22, .1, .78, .1, .54, .5, .5, .92)]],
    [[arc(.5, .29, .22, .2, 0, 1), arc(.5, .7, .28, .22, 0, 1)],
        [line(.72, .16, .3, .3, .68, .66), arc(.48, .74, .22, .17, -.1, .5),
            line(.26, .74, .3, .6, .72, .16)]],
    [[arc(.5, .32, .25, .22, 0, 1), line(.75, .32, .7, .92)],
        [arc(.48, .31, .25, .22, 0, 1), arc(.34, .4, .4, .52, -.02, .3)]]]


def warp(r):
    """Of the unit square to pixels: three waves, then turned, sheared, scaled and moved."""
    u = lambda low, high: low + (high - low) * r.uniform()
    bend = u(.01, .05)
    waves = [(u(-1.2, 1.2), u(-1.2, 1.2), u(0, 1), u(0, 1)) for _ in range(3)]
    angle, shear = u(-.25, .25), u(-.3, .3)
    sx, sy = u(15, 23), u(17, 24)
    turned = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    A = turned @ np.array([[1, shear], [0, 1]]) @ np.diag([sx, sy])
    middle = np.array([SIDE / 2 + u(-2, 2), SIDE / 2 + u(-1.5, 1.5)])

    def apply(p):
        x, y = p[0] - .5, p[1] - .5
        dx = sum(math.sin(TURN * (f * x + g * y + a)) for f, g, a, _ in waves)
        dy = sum(math.sin(TURN * (f * x + g * y + b)) for f, g, _, b in waves)
        return middle + A @ np.array([x + bend * dx, y + bend * dy])
    return apply


def draw(ink, p, q, radius, pressure):
    """A pixel has what the distance of its middle from the segment leaves of the pen."""
    c = np.arange(SIDE) + .5
    at = np.stack(np.meshgrid(c, c), axis=-1)  # x, y by row
    d = q - p
    t = np.clip((at - p) @ d / max(d @ d, 1e-300), 0, 1)
    far = np.linalg.norm(at - p - t[:, :, None] * d, axis=2)
    np.maximum(ink, pressure * np.clip(radius + .5 - far, 0, 1), out=ink)


def glyph(part, i):
    r, ink = draws.PCG(SEED, part << 32 | i), np.zeros((SIDE, SIDE))
    label = r.below(10)
    to = warp(r)
    radius, pressure = .6 + 1.1 * r.uniform(), .65 + .35 * r.uniform()
    for stroke in SHAPES[label][r.below(len(SHAPES[label]))]:
        points = [to(p) for p in stroke]
        for p, q in zip(points, points[1:]):
            draw(ink, p, q, radius, pressure)
    for _ in range(r.below(2)):  # a stray mark
        p = np.array([SIDE * r.uniform(), SIDE * r.uniform()])
        turn, length = TURN * r.uniform(), 2 + 6 * r.uniform()
        draw(ink, p, p + length * np.array([math.cos(turn), math.sin(turn)]), .8 * radius, pressure)
    noise = .02 + .08 * r.uniform()
    noisy = ink.ravel() + noise * np.array([r.normal() for _ in range(SIDE * SIDE)])
    return np.floor(255 * np.clip(noisy, 0, 1) + .5), label


class Glyphs(Drawn):
    def __init__(self):
        super().__init__("softmax", start=initial((SIDE * SIDE, SIDE * SIDE * 10)))
        parts = []
        for part, n in zip((1, 2), COUNTS):
            px, labels = zip(*[glyph(part, i) for i in range(n)])
            parts.append((np.float32((np.array(px) / 255 - .125) / .25).astype(float), np.array(labels)))
        r = draws.PCG(SEED, int.from_bytes(b"partitio", "big"))
        order = r.shuffle(list(range(COUNTS[0])))
        rows = [sorted(order[6 * i:6 * i + 6]) for i in range(2)]
        (X, y), (T, u) = parts
        self.X, self.y, self.agents = [X[k] for k in rows], [y[k] for k in rows], range(2)
        self.Xtest, self.ytest = [T], [u]

    def scores(self, X, theta):
        return X @ theta.reshape(-1, 10)

    def losses(self, X, y, theta):
        s = self.scores(X, theta)
        top = s.max(axis=1)
        return np.log(np.exp(s - top[:, None]).sum(axis=1)) + top - s[np.arange(len(y)), y]

    def gradients(self, a, theta):
        s = self.scores(self.X[a], theta)
        e = np.exp(s - s.max(axis=1)[:, None])
        e = e / e.sum(axis=1)[:, None] - np.eye(10)[self.y[a]]
        return np.array([np.outer(x, v).ravel() for x, v in zip(self.X[a], e)])

    def right(self, X, y, theta):
        return self.scores(X, theta).argmax(axis=1) == y


def glyphs():
    p = Glyphs()
    x = dsgd(p, np.full((2, 2), .5), lambda k, rounds: .002, 4)
    c = case("made-glyphs", "dsgd", x, p, "complete", 4, step_size=.002, topology__agents=2,
             model__init_from=None, data__drop=None, data__label=None, data__label_values=None)
    c["data"] = f'dataset = "glyphs"\ntrain = {COUNTS[0]}\ntest = {COUNTS[1]}\npartition = "iid"\n'
    yield c | {"each": 97, "models": [m[::97] for m in c["models"]],
               "norms": [float(np.linalg.norm(m)) for m in x]}
