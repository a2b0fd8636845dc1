"""ResNet-18 of "Sensitivity-Aware Differentially Private Decentralized Learning with
Adaptive Noise" in PyTorch: figure 2 and the procedure for G. It shares nothing with sotto
but what docs/draws.md says of initial model, partition and batches, so that runs without
noise are those of sotto in float32. Noise is PyTorch's.

All runs go side by side: a model is a row of every tensor, a convolution is one batched
product of matrices. Usage: resnet18.py DATA OUT [key=value ..]; DATA has the files of
CIFAR-10 in binary form, keys are those of Plan."""
import hashlib
import json
import math
import os
import struct
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../experiment/run/testdata/reference"))
import draws  # noqa: E402

AGENTS, STEP, HOPS = 20, .05, (1, 2, 4, 8, 16)
MEAN, STD = (.4914, .4822, .4465), (.2470, .2435, .2616)


class Plan:
    """What is run. methods are NAME:SIGMA:BOUND:SEED, NAME one of sgp, adad2p, constd2p,
    clipd2p; batch is 1, one uniform record of an agent and round as in Algorithm 1, or
    the size of batches without replacement."""
    methods = "sgp:0:0:1"
    batch, rounds, every, test, train, tf32, half, limit_s = 1, 3500, 175, 1000, 1000, 0, 0, 10 ** 9

    def __init__(self, words):
        for w in words:
            k, v = w.split("=", 1)
            setattr(self, k, type(getattr(Plan, k))(v))
        self.runs = [(n, float(s), float(b), int(seed)) for n, s, b, seed in
                     (m.split(":") for m in self.methods.split(","))]


# the network


def patches(x, k, stride):
    """x of models x channels x images x height x width as models x (row, column, channel) x
    (image, row, column): what stands under a filter at each position."""
    m, c, b, h, w = x.shape
    p = k // 2
    x = F.pad(x, (p, p, p, p)) if p else x
    ho, wo = (h - 1) // stride + 1, (w - 1) // stride + 1
    s = x.stride()
    return x.as_strided((m, k, k, c, b, ho, wo), (s[0], s[3], s[4], s[1], s[2], s[3] * stride,
                                                  s[4] * stride)).reshape(m, k * k * c, b * ho * wo)


class Conv(torch.autograd.Function):
    """A convolution with w of models x (row, column, channel) x filters, sotto's order,
    padded by half of an odd k. half: products of bfloat16 numbers, summed in float32."""
    half = False

    @staticmethod
    def forward(ctx, x, w, k, stride, first):
        kind = torch.bfloat16 if Conv.half else x.dtype
        col, v = patches(x.to(kind), k, stride), w.to(kind)
        ctx.save_for_backward(col, v)
        ctx.shape = (*x.shape, k, stride, first)
        (m, c, b, h, wd), d = x.shape, stride
        return torch.bmm(v.transpose(1, 2), col).float().view(m, -1, b, (h - 1) // d + 1, (wd - 1) // d + 1)

    @staticmethod
    def backward(ctx, dy):
        col, w = ctx.saved_tensors
        m, c, b, h, wd, k, stride, first = ctx.shape
        dy = dy.to(w.dtype)
        flat = dy.reshape(m, dy.shape[1], -1)
        dw, dx = torch.bmm(col, flat.transpose(1, 2)).float(), None
        if first:
            pass
        elif stride == 1:
            turned = w.view(m, k, k, c, -1).flip(1, 2).transpose(3, 4).reshape(m, -1, c)
            dx = torch.bmm(turned.transpose(1, 2), patches(dy.contiguous(), k, 1)).float()
            dx = dx.view(m, c, b, h, wd)
        else:
            (ho, wo), p = dy.shape[3:], k // 2
            dcol = torch.bmm(w, flat).float().view(m, k, k, c, b, ho, wo)
            dx = torch.zeros(m, c, b, h + 2 * p, wd + 2 * p, device=dy.device)
            for i in range(k):
                for j in range(k):
                    dx[..., i:i + stride * (ho - 1) + 1:stride, j:j + stride * (wo - 1) + 1:stride] += dcol[:, i, j]
            dx = dx[..., p:p + h, p:p + wd]
        return dx, dw, None, None, None


class Norm(torch.autograd.Function):
    """Group normalisation in 32 groups, scaled and shifted by channel."""

    @staticmethod
    def forward(ctx, x, scale, shift):
        m, c, b, h, w = x.shape
        v = x.view(m, 32, c // 32, b, h * w)
        var, mean = torch.var_mean(v, dim=(2, 4), unbiased=False, keepdim=True)
        root = torch.rsqrt(var + 1e-5)
        v = (v - mean).mul_(root).view(x.shape)
        ctx.save_for_backward(v, root, scale)
        return torch.addcmul(shift.view(m, c, 1, 1, 1), v, scale.view(m, c, 1, 1, 1))

    @staticmethod
    def backward(ctx, dy):
        v, root, scale = ctx.saved_tensors
        m, c, b, h, w = dy.shape
        dscale, dshift = (dy * v).sum((2, 3, 4)), dy.sum((2, 3, 4))
        d = (dy * scale.view(m, c, 1, 1, 1)).view(m, 32, c // 32, b, h * w)
        v = v.view(d.shape)
        n = d.shape[2] * d.shape[4]
        a, e = d.sum((2, 4), keepdim=True) / n, (d * v).sum((2, 4), keepdim=True) / n
        return ((d - a).sub_(v * e)).mul_(root).view(dy.shape), dscale, dshift


def layout():
    """Names and shapes of the parameters, in sotto's order, with the inputs of one output."""
    out = []

    def conv(name, into, filters, k):
        out.append((name, (k * k * into, filters), k * k * into))
        out.append((name + ".scale", (filters,), 1))
        out.append((name + ".shift", (filters,), 0))

    conv("stem", 3, 64, 3)
    into = 64
    for i, c in enumerate((64, 128, 256, 512)):
        for block in (0, 1):
            conv(f"{i}.{block}.a", into, c, 3)
            conv(f"{i}.{block}.b", c, c, 3)
            if i > 0 and block == 0:
                conv(f"{i}.{block}.project", into, c, 1)
            into = c
    return out + [("head", (512, 10), 512), ("head.bias", (10,), 512)]


def logits(p, x):
    """p maps names to tensors with a row a model; x is models x 3 x images x 32 x 32."""
    def conv(name, x, k, stride=1):
        y = Conv.apply(x, p[name], k, stride, name == "stem")
        return Norm.apply(y, p[name + ".scale"], p[name + ".shift"])

    x = torch.relu(conv("stem", x, 3))
    for i in range(4):
        for block in (0, 1):
            at, stride = f"{i}.{block}.", 2 if i > 0 and block == 0 else 1
            y = torch.relu(conv(at + "a", x, 3, stride))
            y = conv(at + "b", y, 3)
            x = torch.relu(y + (conv(at + "project", x, 1, 2) if stride == 2 else x))
    x = x.mean((3, 4)).transpose(1, 2)  # models x images x channels
    return torch.baddbmm(p["head.bias"].unsqueeze(1), x, p["head"])


# what sotto draws


def stream_bytes(key, blocks):
    """The key stream of AES-256 in counter mode, domain 3: blocks side by side."""
    keys = torch.tensor(draws.expanded(key), dtype=torch.uint8)
    box = torch.tensor(draws.SBOX, dtype=torch.uint8)
    twice = torch.tensor([draws.doubled(b) for b in range(256)], dtype=torch.uint8)
    rows = torch.tensor([(i + 4 * (i % 4)) % 16 for i in range(16)])
    out = []
    for lo in range(0, blocks, 1 << 19):
        n = min(1 << 19, blocks - lo)
        number = np.arange(lo, lo + n, dtype=">u8").view(np.uint8).reshape(n, 8)
        s = np.zeros((n, 16), dtype=np.uint8)
        s[:, 7], s[:, 8:] = draws.CHOICE, number
        s = torch.from_numpy(s) ^ keys[0]
        for r in range(1, 15):
            s = box[s.long()][:, rows]
            if r < 14:
                a = s.view(n, 4, 4)
                every = a[:, :, 0] ^ a[:, :, 1] ^ a[:, :, 2] ^ a[:, :, 3]
                s = (a ^ every.unsqueeze(2) ^ twice[(a ^ a.roll(-1, 2)).long()]).view(n, 16)
            s = s ^ keys[r]
        out.append(s.numpy())
    return np.concatenate(out)


def initial(seed):
    """Weights and biases in sotto's order; scales are 1, shifts 0."""
    shapes = layout()
    count = sum(math.prod(s) for n, s, _ in shapes if not n.endswith(("scale", "shift")))
    key = draws.derive("sotto public 1", b"initial model", struct.pack(">Q", seed))
    words = stream_bytes(key, (count + 1) // 2).reshape(-1).view("<u8")
    uniform, at, p = (words >> np.uint64(11)).astype(np.float64) / 2 ** 53, 0, {}
    for name, shape, fan in shapes:
        if name.endswith(("scale", "shift")):
            p[name] = np.full(shape, float(fan), dtype=np.float32)
            continue
        n = math.prod(shape)
        v = (2 * uniform[at:at + n] - 1) / math.sqrt(fan)
        p[name], at = v.astype(np.float32).reshape(shape), at + n
    return p


def parts(seed, records):
    r = draws.PCG(seed, int.from_bytes(b"partitio", "big"))
    order = r.shuffle(list(range(records)))
    return [sorted(order[i * records // AGENTS:(i + 1) * records // AGENTS]) for i in range(AGENTS)]


def chosen(seed, rounds, size, batch):
    """Rows of an agent's part by round and agent. Batches of more than one are not sotto's,
    which are Poisson samples."""
    if batch > 1:
        r = np.random.default_rng([seed, batch])
        return np.stack([np.stack([r.permutation(size)[:batch] for _ in range(AGENTS)])
                         for _ in range(rounds)])
    return np.array([[[draws.simulated(seed, a, k + 1, draws.SAMPLE).below(size)] for a in range(AGENTS)]
                     for k in range(rounds)])


def images(data, name, count):
    raw = np.fromfile(os.path.join(data, name), dtype=np.uint8)[:count * 3073].reshape(-1, 3073)
    x = raw[:, 1:].reshape(-1, 3, 32, 32).astype(np.float64) / 255
    x = (x - np.array(MEAN).reshape(3, 1, 1)) / np.array(STD).reshape(3, 1, 1)
    return torch.from_numpy(x.astype(np.float32)), torch.from_numpy(raw[:, 0].astype(np.int64))


def kept(name, make):
    """What make returns, arrays by name; in the folder KEPT from one process to the next."""
    path = os.path.join(os.environ.get("KEPT", ""), name + ".npz")
    if "KEPT" in os.environ and os.path.exists(path):
        with np.load(path) as f:
            return dict(f)
    out = make()
    if "KEPT" in os.environ:
        np.savez(path, **out)
    return out


# the runs


class Runs:
    def __init__(self, plan, data, device):
        self.plan, self.device, self.count = plan, device, len(plan.runs)
        self.train = [t.to(device) for t in images(data, "data_batch_1.bin", 10000)]
        self.test = [t.to(device) for t in images(data, "test_batch.bin", plan.test)]
        seeds = sorted({r[3] for r in plan.runs})
        models = {s: kept(f"initial-{s}", lambda: initial(s)) for s in seeds}
        per = {s: self.rows(s) for s in seeds}
        self.batches = torch.from_numpy(np.stack([per[r[3]] for r in plan.runs], 1)).to(device)
        self.p = {}
        for name, shape, _ in layout():
            v = torch.stack([torch.from_numpy(models[r[3]][name]) for r in plan.runs])
            v = v.unsqueeze(1).expand(self.count, AGENTS, *shape).reshape(self.count * AGENTS, *shape)
            self.p[name] = v.to(device).contiguous().requires_grad_()
        self.noise = torch.Generator(device=device)
        self.noise.manual_seed(sum(seeds))
        self.noisy = any(r[1] > 0 for r in plan.runs)
        column = lambda f: torch.tensor([[f(r)] * AGENTS for r in plan.runs], device=device).view(-1)
        self.sigma = column(lambda r: r[1])
        self.bound = column(lambda r: r[2])
        self.adaptive = column(lambda r: r[0] == "adad2p")
        self.clips = column(lambda r: r[0] == "clipd2p")

    def rows(self, seed):
        n = len(self.train[1])
        mine = np.array(parts(seed, n))
        local = kept(f"rows-{seed}-{self.plan.batch}", lambda: {"rows": chosen(
            seed, self.plan.rounds, n // AGENTS, self.plan.batch).astype(np.uint16)})["rows"]
        return np.take_along_axis(mine[None], local.astype(np.int64), 2)

    def losses(self, p, index, mean=True):
        """Of the rows index of models x images."""
        x = self.train[0][index].transpose(1, 2).contiguous()
        z = logits(p, x)
        return F.cross_entropy(z.reshape(-1, 10), self.train[1][index].reshape(-1),
                               reduction="none").view(index.shape).mean(1)

    @torch.no_grad()
    def mix(self, k):
        hop = HOPS[k % len(HOPS)]
        for v in self.p.values():
            a, out = v.data.view(self.count, AGENTS, -1), torch.empty_like(v.data)
            o = out.view(a.shape)
            torch.lerp(a[:, hop:], a[:, :-hop], .5, out=o[:, hop:])
            torch.lerp(a[:, :hop], a[:, -hop:], .5, out=o[:, :hop])
            v.data = out

    def round(self, k):
        """Mixes first and then asks, as sotto's sgp. Returns the norms of what was asked."""
        self.mix(k)
        index = self.batches[k].reshape(self.count * AGENTS, -1)
        self.losses(self.p, index).sum().backward()
        with torch.no_grad():
            norm = sum(torch.linalg.vector_norm(v.grad.flatten(1), dim=1).double().square()
                       for v in self.p.values()).sqrt()
            scale = -STEP * torch.where(self.clips & (norm > self.bound), self.bound / norm,
                                        torch.ones_like(norm)).float()
            spread = -STEP * (self.sigma * torch.where(self.adaptive, norm, self.bound.double())).float()
            for v in self.p.values():
                shape = (-1,) + (1,) * (v.dim() - 1)
                v.addcmul_(v.grad, scale.view(shape))
                if self.noisy:
                    z = torch.empty_like(v).normal_(generator=self.noise)
                    v.addcmul_(z, spread.view(shape))
                v.grad = None
        return norm.view(self.count, AGENTS)

    def mean_models(self):
        return {n: v.detach().view(self.count, AGENTS, *v.shape[1:]).mean(1) for n, v in self.p.items()}

    def agent_models(self, i):
        return {n: v.detach().view(self.count, AGENTS, *v.shape[1:])[:, i].contiguous()
                for n, v in self.p.items()}

    @torch.no_grad()
    def tested(self, p):
        """Accuracy and loss of each run's model on the test images."""
        right, loss, n = 0, 0, len(self.test[1])
        for lo in range(0, n, 100):
            x, y = self.test[0][lo:lo + 100], self.test[1][lo:lo + 100]
            z = logits(p, x.transpose(0, 1).unsqueeze(0).expand(self.count, -1, -1, -1, -1).contiguous())
            right = right + (z.argmax(2) == y).sum(1)
            loss = loss + F.cross_entropy(z.reshape(-1, 10), y.repeat(self.count),
                                          reduction="none").view(self.count, -1).sum(1)
        return (right / n).tolist(), (loss / n).tolist()

    def trained(self, p):
        """Loss and norm of the mean gradient on the first training images at mean models."""
        p = {n: v.clone().requires_grad_() for n, v in p.items()}
        total, n = 0, self.plan.train
        for lo in range(0, n, 50):
            index = torch.arange(lo, min(lo + 50, n), device=self.device).repeat(self.count, 1)
            loss = self.losses(p, index) * (index.shape[1] / n)
            loss.sum().backward()
            total = total + loss.detach()
        norm = sum(v.grad.flatten(1).square().sum(1) for v in p.values()).sqrt()
        return total.tolist(), norm.tolist()

    def evaluate(self, k):
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return self.evaluated(k)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = bool(self.plan.tf32)

    def evaluated(self, k):
        mean = self.mean_models()
        (acc, loss), (train, gradient) = self.tested(mean), self.trained(mean)
        agents = [self.tested(self.agent_models(i)) for i in (0, 10)]  # as sotto looks at two
        return [{"round": k, "run": self.plan.methods.split(",")[r], "mean_accuracy": acc[r],
                 "mean_loss": loss[r], "agent_accuracy": [a[0][r] for a in agents],
                 "agent_loss": [a[1][r] for a in agents], "train_loss": train[r],
                 "gradient_norm": gradient[r]} for r in range(self.count)]


def main():
    data, out, plan = sys.argv[1], sys.argv[2], Plan(sys.argv[3:])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32, Conv.half = bool(plan.tf32), bool(plan.half)
    started = time.time()
    runs = Runs(plan, data, device)
    with open(__file__, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    head = {"program": digest, "torch": torch.__version__, "device": torch.cuda.get_device_name()
            if device == "cuda" else device, "tf32": plan.tf32, "half": plan.half, "batch": plan.batch,
            "rounds": plan.rounds, "test": plan.test, "train": plan.train}
    log = open(out, "w")

    def write(row):
        log.write(json.dumps(row) + "\n")
        log.flush()

    write(head)
    print(head, "ready after", round(time.time() - started, 1), "s", flush=True)
    for row in runs.evaluate(0):
        write(row)
    norms, begun = [], time.time()
    for k in range(plan.rounds):
        norms.append(runs.round(k))
        last = k + 1 == plan.rounds or time.time() - started > plan.limit_s
        if (k + 1) % plan.every == 0 or last:
            seen = torch.stack(norms)  # rounds x runs x agents
            rms, most = seen.square().mean((0, 2)).sqrt().tolist(), seen.amax((0, 2)).tolist()
            median = seen.transpose(0, 1).reshape(runs.count, -1).median(1).values.tolist()
            norms = []
            trained = time.time() - begun
            rows = runs.evaluate(k + 1)
            for r, row in enumerate(rows):
                write(row | {"norm_rms": rms[r], "norm_max": most[r], "norm_median": median[r],
                             "seconds": round(time.time() - started, 1)})
            accuracy = " ".join(f"{100 * row['mean_accuracy']:.1f}" for row in rows)
            print(f"round {k + 1}: {trained / (k + 1) * 1e3:.1f} ms a round with evaluations, "
                  f"accuracy {accuracy}", flush=True)
        if last:
            break


main()
