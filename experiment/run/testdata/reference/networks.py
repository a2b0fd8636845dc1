"""The runs of reference.py of networks."""
import json

import numpy as np

import draws
import nets
from cases import case
from draws import SEED
from drawn import noisy
from nets import back, Activation, Conv, GroupNorm, Linear, Network, Pool, Residual, chain
from problem import PATH, RING, clipped
from rounds import *
from steps import *

ADJUST = dict(model__init_from=None)


def linear(out, bias=True):
    return lambda s: Linear(s, out, bias)


def act(name, slope=None):
    return lambda s: Activation(s, name, slope)


def conv(*args, **keys):
    return lambda s: Conv(s, *args, **keys)


def pool(*args, **keys):
    return lambda s: Pool(s, *args, **keys)


def norm(groups=1, each=False):
    return lambda s: GroupNorm(s, groups, each)


def residual(inner, project):
    return lambda s: Residual(chain(s, *inner), chain(s, *project))


def dense():
    step, keys = constant(.3), dict(step_size=.3, **ADJUST)
    flat = (1, 1, 3)
    for a in nets.ACTIVATIONS:
        p = Network(chain(flat, linear(5), act(a), linear(4), act(a), linear(3)), nets.cross_entropy)
        yield case(f"mlp-{a}", "dsgd", dsgd(p, RING, step, 12, clip=.4), p, clip=.4, model__name="mlp",
                   model__hidden=[5, 4], model__activation=json.dumps(a), **keys)
    p = Network(chain(flat, linear(4), act("relu"), linear(1)), nets.squared, "least-squares")
    yield case("mlp-squares", "dsgt", dsgt(p, RING, step, 12), p, model__name="mlp", model__hidden=[4],
               **keys)
    p = Network(chain(flat, linear(5), act("mish"), linear(3)), nets.cross_entropy, rate=.5, z=.5)
    yield case("mlp-drawn", "dsgd", dsgd(p, RING, step, 12, clip=.4), p, clip=.4, model__name="mlp",
               model__hidden=[5], model__activation='"mish"', noise=noisy(.5), privacy__sample_rate=.5,
               **keys)
    p = Network(chain(flat, linear(2), linear(3)), nets.reconstruction, "least-squares")
    yield case("autoencoder-linear", "dsgd", dsgd(p, RING, step, 12, clip=.4), p, clip=.4,
               model__name="autoencoder", model__hidden=[2], **keys)
    p = Network(chain(flat, linear(4), act("tanh"), linear(2), linear(4), act("tanh"), linear(3)),
                nets.reconstruction, "least-squares")
    yield case("autoencoder-tanh", "dsgd", dsgd(p, RING, step, 12, clip=.4), p, clip=.4,
               model__name="autoencoder", model__hidden=[4, 2], model__activation='"tanh"', **keys)
    for loss, of, out in ((nets.hinge, "logistic", "hinge"), (nets.logistic, "logistic", "logistic"),
                          (nets.huber, "least-squares", "huber")):
        p = Network(chain(flat, linear(4, False), norm(each=True), act("leaky-relu", .2), linear(1)),
                    loss, of)
        text = '[{kind="linear",units=4,bias=false},{kind="layernorm"},{kind="leaky-relu",slope=0.2},' \
               '{kind="linear",units=1}]'
        more = {"model__delta": .5} if out == "huber" else {}
        yield case(f"layers-{out}", "dsgd", dsgd(p, RING, step, 12, clip=.4), p, clip=.4,
                   model__name="layers", model__layers=text, model__loss=json.dumps(out), **more, **keys)


SIDE, COUNTS = 14, (12, 6)


def pictures():
    """Files of IDX, all of whose bytes are below 128: those of text."""
    g, files = np.random.default_rng(3), {}
    parts = []
    for name, n in zip(("train", "t10k"), COUNTS):
        pixels, labels = g.integers(0, 128, (n, SIDE, SIDE)), g.integers(0, 10, n)
        for i, c in enumerate(labels):
            pixels[i, c:c + 3] = np.minimum(pixels[i, c:c + 3] + 60, 127)
        head = bytes([0, 0, 8, 3, 0, 0, 0, n, 0, 0, 0, SIDE, 0, 0, 0, SIDE])
        files[f"mnist/{name}-images-idx3-ubyte.gz"] = (head + bytes(pixels.ravel().tolist())).decode()
        files[f"mnist/{name}-labels-idx1-ubyte.gz"] = (bytes([0, 0, 8, 1, 0, 0, 0, n]) + bytes(
            labels.tolist())).decode()
        parts.append((np.float32((pixels / 255 - .1307) / .3081).astype(float).reshape(n, -1), labels))
    return files, parts


FILES, PARTS = pictures()


class Pictures(Network):
    def __init__(self, layers, **keys):
        super().__init__(layers, nets.cross_entropy, image=(SIDE, SIDE, 1), **keys)
        (X, y), (T, u) = PARTS
        r = draws.PCG(SEED, int.from_bytes(b"partitio", "big"))
        order = r.shuffle(list(range(len(y))))
        parts = [sorted(order[6 * i:6 * i + 6]) for i in range(2)]
        self.X, self.y, self.agents = [X[p] for p in parts], [y[p] for p in parts], range(2)
        self.Xtest, self.ytest = [T], [u]


class Views(Pictures):
    """Batches whose records' gradients are means over three views each."""

    def __init__(self, layers, shift=0, crop=0, flip=False, **keys):
        super().__init__(layers, **keys)
        self.shift, self.crop, self.flip = shift, crop, flip

    def view(self, x, s):
        most = self.shift or self.crop
        down, right = s.below(2 * most + 1) - most, s.below(2 * most + 1) - most
        padded = np.pad(x.reshape(SIDE, SIDE), most, mode="reflect" if self.crop else "constant")
        v = padded[most - down:most - down + SIDE, most - right:most - right + SIDE]
        return v[:, ::-1] if self.flip and s.word() >> 63 else v

    def answer(self, a, theta, clip=None):
        self.asked(a)
        s = self.key(a, draws.SAMPLE)
        total = np.zeros(len(theta))
        for k in s.select(range(len(self.y[a])), self.rate):
            g = 0
            for _ in range(3):
                x = self.view(self.X[a][k], s).ravel()
                g = g + back(self.layers, theta, self.of(self.output(x, theta), self.y[a][k], x)[1].reshape(
                    1, 1, -1))[1] / 3
            total += clipped(g, clip)
        return (total + self.added(a, len(theta), clip)) / (self.rate * len(self.y[a]))


def images():
    """Of two owners, on a small MNIST. Of large models every so many parameters are held."""
    cnn = [conv(16, 8, 2, 3), act("tanh"), pool(2, 1), conv(32, 4, 2), act("tanh"), pool(2, 1), linear(32),
           act("tanh"), linear(10)]
    convnet = [conv(3, 5), act("mish"), pool(2), linear(64), act("mish"), linear(10)]
    listed = [conv(4, 3, 2, 1), norm(2), act("gelu"), residual([
        conv(4, 3, 1, 2, standard=True), norm(1, True), act("relu"), conv(6, 3, 2, bias=False)],
        [conv(6, 1, 2)]), pool(2, 1), conv(3, 2), pool(2, mean=True), linear(10)]
    text = """[{kind="conv2d",filters=4,kernel=3,stride=2,padding=1},{kind="groupnorm",groups=2},
{kind="gelu"},{kind="residual",layers=[
{kind="ws-conv2d",filters=4,kernel=3,padding=2},{kind="layernorm"},{kind="relu"},
{kind="conv2d",filters=6,kernel=3,stride=2,bias=false}],projection=[{kind="conv2d",filters=6,kernel=1,
stride=2}]},{kind="maxpool",kernel=2,stride=1},{kind="conv2d",filters=3,kernel=2},
{kind="avgpool",kernel=2},{kind="linear",units=10}]""".replace("\n", "")
    for name, makers, keys, each in (
            ("cnn", cnn, dict(model__activation='"tanh"'), 29), ("convnet", convnet, {}, 17),
            ("layers", listed, dict(model__layers=text), 3)):
        for clip, way in (None, {}), (.5, {}), *([(.5, dict(shift=2, flip=True)), (.5, dict(crop=3))] * (
                name == "layers")):
            p = Pictures(chain((SIDE, SIDE, 1), *makers))
            if way:
                p = Views(p.layers, rate=.5, z=.1, **way)
            x = dsgd(p, np.full((2, 2), .5), constant(.1), 4, clip=clip)
            c = case(f"images-{name}-{clip}" + "".join("-" + w for w in way), "dsgd", x, p, "complete", 4,
                     clip, within=1e-4 if clip else None, step_size=.1, model__name=name, topology__agents=2,
                     data__drop=None, data__label=None, data__label_values=None, **ADJUST, **keys,
                     **({"noise": noisy(.1), "privacy__sample_rate": .5, "data__augmentations": 3}
                        if way else {}),
                     **{f"data__augment_{k}": "true" if v is True else v for k, v in way.items()})
            c["data"] = 'dataset = "mnist"\nallow_altered = true\npartition = "iid"\n'
            yield c | {"each": each, "models": [m[::each] for m in c["models"]],
                       "norms": [float(np.linalg.norm(m)) for m in x]}
