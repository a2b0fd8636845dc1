"""Networks of reference.py: forward and backward of one record at a time, from the
definitions of the layers. An image has the shape height x width x channels."""
import numpy as np

import draws
from draws import SEED
from drawn import Drawn


def tanh_gelu(x):
    c = np.sqrt(2 / np.pi)
    t = np.tanh(c * (x + .044715 * x ** 3))
    return .5 * x * (1 + t), .5 * (1 + t) + .5 * x * (1 - t * t) * c * (1 + 3 * .044715 * x * x)


def mish(x):
    t, s = np.tanh(np.log1p(np.exp(x))), 1 / (1 + np.exp(-x))
    return x * t, t + x * (1 - t * t) * s


def sigmoid(x):
    s = 1 / (1 + np.exp(-x))
    return s, s * (1 - s)


ACTIVATIONS = {"relu": lambda x: (np.maximum(x, 0), (x > 0) * 1.),
               "leaky-relu": lambda x: (np.where(x > 0, x, .01 * x), np.where(x > 0, 1, .01)),
               "tanh": lambda x: (np.tanh(x), 1 - np.tanh(x) ** 2),
               "sigmoid": sigmoid, "mish": mish, "gelu": tanh_gelu}


class Layer:
    def __init__(self, shape):
        self.shape, self.count = shape, 0

    def init(self, s):
        return []


class Activation(Layer):
    def __init__(self, shape, name, slope=None):
        super().__init__(shape)
        f = ACTIVATIONS[name]
        self.f = f if slope is None else lambda x: (np.where(x > 0, x, slope * x), np.where(x > 0, 1, slope))

    def forward(self, theta, x):
        y, self.d = self.f(x)
        return y

    def backward(self, theta, dy):
        return dy * self.d, np.zeros(0)


class Linear(Layer):
    """y = x W + b, W of inputs by outputs, then b."""

    def __init__(self, shape, out, bias=True):
        self.into, self.out, self.bias = int(np.prod(shape)), out, bias
        self.shape, self.count = (1, 1, out), (self.into + bias) * out

    def init(self, s):
        return uniform(s, self.into, self.count)

    def forward(self, theta, x):
        self.x, self.was = x.ravel(), x.shape
        y = self.x @ theta[:self.into * self.out].reshape(self.into, self.out)
        return (y + (theta[self.into * self.out:] if self.bias else 0)).reshape(1, 1, -1)

    def backward(self, theta, dy):
        dy = dy.ravel()
        W = theta[:self.into * self.out].reshape(self.into, self.out)
        g = np.outer(self.x, dy).ravel()
        return (W @ dy).reshape(self.was), np.append(g, dy) if self.bias else g


def uniform(s, fan, count):
    return [np.float32((2 * s.uniform() - 1) / np.sqrt(fan)) for _ in range(count)]


class Conv(Layer):
    """Weights of kernel row x kernel column x channel x filter, then biases. With standard
    those of a filter less their mean, over the root of their variance plus 1e-5."""

    def __init__(self, shape, filters, kernel, stride=1, padding=0, bias=True, standard=False):
        h, w, c = shape
        self.shape = ((h + 2 * padding - kernel) // stride + 1, (w + 2 * padding - kernel) // stride + 1,
                      filters)
        self.k, self.s, self.p, self.bias, self.standard = kernel, stride, padding, bias, standard
        self.taps = kernel * kernel * c
        self.count = (self.taps + bias) * filters

    def init(self, s):
        return uniform(s, self.taps, self.count)

    def weights(self, theta):
        W = theta[:self.taps * self.shape[2]].reshape(self.taps, -1)
        if not self.standard:
            return W
        self.root = 1 / np.sqrt(W.var(axis=0) + 1e-5)
        return (W - W.mean(axis=0)) * self.root

    def forward(self, theta, x):
        self.x = np.pad(x, ((self.p, self.p), (self.p, self.p), (0, 0)))
        W, y = self.weights(theta), np.zeros(self.shape)
        for i in range(self.shape[0]):
            for j in range(self.shape[1]):
                y[i, j] = self.patch(self.x, i, j).ravel() @ W
        return y + (theta[self.taps * self.shape[2]:] if self.bias else 0)

    def patch(self, x, i, j):
        return x[i * self.s:i * self.s + self.k, j * self.s:j * self.s + self.k]

    def backward(self, theta, dy):
        W, dx = self.weights(theta), np.zeros_like(self.x)
        g = np.zeros_like(W)
        for i in range(self.shape[0]):
            for j in range(self.shape[1]):
                patch = self.patch(self.x, i, j)
                g += np.outer(patch.ravel(), dy[i, j])
                self.patch(dx, i, j)[:] += (W @ dy[i, j]).reshape(patch.shape)
        if self.standard:
            g = self.root * (g - g.mean(axis=0) - W * (g * W).mean(axis=0))
        p = self.p
        dx = dx[p:dx.shape[0] - p, p:dx.shape[1] - p]
        return dx, np.append(g, dy.sum(axis=(0, 1))) if self.bias else g.ravel()


class Pool(Layer):
    """The largest, of equal ones the first, or the mean of each patch."""

    def __init__(self, shape, kernel, stride=None, mean=False):
        self.k, self.s, self.mean, self.was, self.count = kernel, stride or kernel, mean, shape, 0
        self.shape = ((shape[0] - kernel) // self.s + 1, (shape[1] - kernel) // self.s + 1, shape[2])

    def forward(self, theta, x):
        y, self.x = np.zeros(self.shape), x
        for i in range(self.shape[0]):
            for j in range(self.shape[1]):
                patch = self.at(x, i, j).reshape(-1, x.shape[2])
                y[i, j] = patch.mean(axis=0) if self.mean else patch.max(axis=0)
        return y

    def at(self, x, i, j):
        return x[i * self.s:i * self.s + self.k, j * self.s:j * self.s + self.k]

    def backward(self, theta, dy):
        dx = np.zeros(self.was)
        for i in range(self.shape[0]):
            for j in range(self.shape[1]):
                patch, to = self.at(self.x, i, j), self.at(dx, i, j)
                for c in range(self.was[2]):
                    if self.mean:
                        to[:, :, c] += dy[i, j, c] / (self.k * self.k)
                    else:
                        a, b = divmod(int(patch[:, :, c].argmax()), patch.shape[1])
                        to[a, b, c] += dy[i, j, c]
        return dx, np.zeros(0)


class GroupNorm(Layer):
    """Each group of channels less its mean, over the root of its variance plus 1e-5, times
    scales, plus shifts; each position by itself for layer normalisation."""

    def __init__(self, shape, groups, each=False):
        self.shape, self.groups, self.each, self.count = shape, groups, each, 2 * shape[2]

    def init(self, s):
        return [1.] * self.shape[2] + [0.] * self.shape[2]

    def grouped(self, x):
        h, w, c = self.shape
        return x.reshape(h * w, 1, c) if self.each else x.reshape(1, h * w, self.groups, -1)

    def means(self, x):
        """Of each group, in place of all its values."""
        g = self.grouped(x)
        axes = (2,) if self.each else (1, 3)
        return np.broadcast_to(g.mean(axis=axes, keepdims=True), g.shape).reshape(self.shape)

    def forward(self, theta, x):
        c = self.shape[2]
        mean = self.means(x)
        self.root = 1 / np.sqrt(self.means((x - mean) ** 2) + 1e-5)
        self.v = (x - mean) * self.root
        return self.v * theta[:c] + theta[c:]

    def backward(self, theta, dy):
        g = np.append((dy * self.v).sum(axis=(0, 1)), dy.sum(axis=(0, 1)))
        d = dy * theta[:self.shape[2]]
        return self.root * (d - self.means(d) - self.v * self.means(d * self.v)), g


class Residual(Layer):
    def __init__(self, inner, project):
        self.inner, self.project, self.shape = inner, project, inner[-1].shape
        self.count = count(inner) + count(project)

    def init(self, s):
        return starts(self.inner, s) + starts(self.project, s)

    def forward(self, theta, x):
        n = count(self.inner)
        return run(self.inner, theta[:n], x) + run(self.project, theta[n:], x)

    def backward(self, theta, dy):
        n = count(self.inner)
        a, g = back(self.inner, theta[:n], dy)
        b, h = back(self.project, theta[n:], dy)
        return a + b, np.append(g, h)


def count(layers):
    return sum(l.count for l in layers)


def starts(layers, s):
    return [v for l in layers for v in l.init(s)]


def run(layers, theta, x):
    at = 0
    for l in layers:
        x, at = l.forward(theta[at:at + l.count], x), at + l.count
    return x


def back(layers, theta, dy):
    g, end = np.zeros(0), len(theta)
    for l in layers[::-1]:
        dy, own = l.backward(theta[end - l.count:end], dy)
        g, end = np.append(own, g), end - l.count
    return dy, g


def cross_entropy(z, y, x):
    e = np.exp(z - z.max())
    return np.log(e.sum()) + z.max() - z[int(y)], e / e.sum() - np.eye(len(z))[int(y)]


def squared(z, y, x):
    return (z[0] - y) ** 2, 2 * (z - y)


def huber(z, y, x):  # of delta .5
    r = z[0] - y
    return r * r / 2 if abs(r) <= .5 else .5 * (abs(r) - .25), np.clip(z - y, -.5, .5)


def hinge(z, y, x):
    return max(0, 1 - y * z[0]), np.array([-y if y * z[0] < 1 else 0.])


def logistic(z, y, x):
    return np.log1p(np.exp(-y * z[0])), np.array([-y / (1 + np.exp(y * z[0]))])


def reconstruction(z, y, x):
    return np.mean((z - x.ravel()) ** 2), 2 * (z - x.ravel()) / len(z)


class Network(Drawn):
    """A problem whose model is layers and a loss of their outputs."""

    def __init__(self, layers, loss, of="softmax", image=None, **keys):
        super().__init__(of, **keys)
        self.layers, self.of = layers, loss
        self.init = np.array(starts(layers, draws.public(SEED, "initial model")))
        self.image = image or (1, 1, self.X[0].shape[1])

    def output(self, x, theta):
        return run(self.layers, theta, x.reshape(self.image)).ravel()

    def gradients(self, a, theta):
        out = []
        for x, y in zip(self.X[a], self.y[a]):
            _, dz = self.of(self.output(x, theta), y, x)
            out.append(back(self.layers, theta, dz.reshape(1, 1, -1))[1])
        return np.array(out)

    def losses(self, X, y, theta):
        return np.array([self.of(self.output(x, theta), v, x)[0] for x, v in zip(X, y)])

    def right(self, X, y, theta):
        z = np.array([self.output(x, theta) for x in X])
        return (z[:, 0] > 0) == (y > 0) if z.shape[1] == 1 else z.argmax(axis=1) == y


def chain(shape, *makers):
    """Layers, each made of the shape before it."""
    layers = []
    for make in makers:
        layers.append(make(shape))
        shape = layers[-1].shape
    return layers
