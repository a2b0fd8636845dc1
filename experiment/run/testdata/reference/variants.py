"""The runs of reference.py that vary noise, budgets, units, models and deviations."""
import numpy as np

import figures
import tables
from problem import (COMPLETE, INIT, M, N, PATH, RING, STAR, Problem, clipped, metropolis, slem)
from rounds import *
from steps import *
from cases import ARCS, case


def noisy(p, sq):
    """The same by the private way, with noise that is too small to be seen: other oracles,
    integers in place of numbers, charges."""
    R, geo = 12, geometric(.8, .1)
    g = dict(step_size=.8, step_size_final=.1, schedule="geometric")
    small = {"privacy.mechanism": "gaussian"}
    yield case("noisy-dsgd", "dsgd", dsgd(p, RING, geo, R, clip=.3), p, clip=.3, noise=small, **g)
    replace = {"privacy.adjacency": "replace-one", "privacy.noise": "fast"}
    yield case("noisy-replace", "dsgd", dsgd(p, RING, geo, R, clip=.3), p, clip=.3, noise=replace, **g)
    opt = dict(kind="adam-bc", eps=1e-3)
    yield case("noisy-adam-bc", "dsgd", dsgd(p, RING, constant(.05), R, opt=opt, clip=.3), p, clip=.3,
               optimizer="adam-bc", adam_epsilon=1e-3, step_size=.05, noise=small)
    yield case("noisy-dsgt", "dsgt", dsgt(p, RING, geo, R, clip=.3), p, clip=.3, noise=small, **g)
    yield case("noisy-dinno", "dinno", dinno(p, RING, constant(.1), R, kind="sgd", clip=.3), p,
               clip=.3, optimizer="sgd", step_size=.1, noise=small)
    yield case("noisy-sgp", "sgp", sgp(p, directed(ARCS), geo, R, clip=.3), p, "directed-file",
               clip=.3, topology__path="DIR/arcs.txt", noise=small, **g)
    yield case("noisy-gossip-sgd", "gossip-sgd", gossip_sgd(p, PATH, geo, 14, 4, "chebyshev", clip=.3),
               p, "path", 14, clip=.3, gossip=4, acceleration="chebyshev", noise=small, **g)
    decor = {"privacy.mechanism": "decor", "privacy.pair_noise_ratio": 3.0}
    yield case("noisy-decor", "dsgd", dsgd(p, RING, geo, R, clip=.3), p, clip=.3, noise=decor, **g)
    yield case("noisy-km", "km", km(p, RING, R, "forward", .4, clip=.3, bound=1), p, clip=.3,
               operator="forward", gamma=.4, noise=small)
    short = Problem()  # where gradients are not clipped, features are
    short.X = [np.array([clipped(x, .3) for x in X]) for X in p.X]
    for op in "backward", "douglas-rachford":
        l1 = dict(l1=.05) if op == "douglas-rachford" else {}
        yield case(f"noisy-km-{op}", "km", km(short, RING, R, op, 2., bound=1, **l1), p, clip=.3,
                   operator=op, gamma=2.0, noise=small, **l1)
        yield case(f"noisy-own-state-{op}", "km", km(short, PATH, R, op, 2., bound=1, **l1), p, "path",
                   clip=.3, operator=op, gamma=2.0, own_state="true", noise=small, **l1)
    yield case("noisy-own-state", "km", km(short, RING, R, "forward", .4, alpha=.3, tau=3, bound=1), p,
               clip=.3, operator="forward", gamma=.4, alpha=.3, alpha_schedule="inverse", alpha_tau=3,
               own_state="true", noise=small)
    yield case("own-state-clip", "km", km(p, RING, R, "forward-backward", .4, .1, bound=.05), p,
               operator="forward-backward", gamma=.4, l1=.1, residual_clip=.05, own_state="true")
    each = np.array([np.mean([clipped(x, .4) for x in X], axis=0) for X in p.X])
    yield case("noisy-average-records", "gossip-average", recursion(PATH, each, 5), Problem("mean"),
               "path", 6, clip=.4, noise=small | {"privacy.unit": "record"})
    keys = dict(privacy__sample_rate=None, clip=1.0, noise=small)
    yield case("noisy-newton", "newton", tables.newton(p, COMPLETE, 19, clip=.1), p, "complete", 19,
               gradient_clip=.1, within=1e-4, **keys)
    yield case("noisy-newton-squares", "newton", tables.newton(sq, PATH, 15, target=.7), sq, "path", 15,
               target_bound=.7, within=1e-4, **keys)
    yield case("noisy-gossip-average", "gossip-average", gossip_average(p, PATH, 6, "plain", .4),
               Problem("mean"), "path", 6, clip=.4, noise=small)


def clips_and_losses(p):
    R, step = 12, constant(.5)
    for kind, keys in (("schedule", dict(rate=.8)), ("quantile", dict(rate=.3, share=.4)),
                       ("released", dict(factor=1.5, average=.6))):
        clips = [Clip(kind, .4, .1, **keys) for _ in range(N)]
        names = {"rate": "clip_decay" if kind == "schedule" else "clip_rate", "share": "clip_quantile",
                 "factor": "clip_factor", "average": "clip_average"}
        yield case(f"clip-{kind}", "dsgd", dsgd(p, RING, step, R, clips=clips), p, clip=.4,
                   step_size=.5, privacy__clipping=kind, privacy__clip_min=.1,
                   **({"privacy__clip_count_std": 1.0} if kind == "quantile" else {}),
                   **{"privacy__" + names[k]: v for k, v in keys.items()})
    for loss in "huber", "poisson", "least-squares", "logistic":
        q = Problem(loss, constant=True)
        yield case(f"dsgd-{loss}-constant", "dsgd", dsgd(q, RING, constant(.1), R, clip=.6), q, clip=.6,
                   step_size=.1)


def more(p):
    R, geo = 12, geometric(.8, .1)
    g = dict(step_size=.8, step_size_final=.1, schedule="geometric")
    adam = dict(kind="adam", decay=.1)
    akeys = dict(optimizer="adam", weight_decay=.1, step_size=.05)
    yield case("sgp-adam", "sgp", sgp(p, directed(ARCS), constant(.05), R, adam, average=dict(ema=.7)),
               p, "directed-file", topology__path="DIR/arcs.txt", ema=.7, **akeys)
    yield case("sgp-tail", "sgp", sgp(p, directed(ARCS), geo, R, average=dict(tail=.3)), p,
               "directed-file", topology__path="DIR/arcs.txt", tail=.3, **g)
    yield case("dinno-tail", "dinno", dinno(p, RING, constant(.05), R, kind="sgd", average=dict(tail=.5)),
               p, optimizer="sgd", tail=.5, step_size=.05)
    yield case("local-tail", "local", local(p, geo, R, average=dict(tail=1.0)), p, tail=1.0, **g)
    yield case("gossip-sgd-adam", "gossip-sgd", gossip_sgd(p, PATH, constant(.05), R, 3, opt=adam), p,
               "path", gossip=3, **akeys)
    lazy, most = (STAR + np.eye(N)) / 2, metropolis([(0, 1), (1, 2), (2, 3)])
    yield case("dsgd-lazy", "dsgd", dsgd(p, lazy, geo, R), p, "star", topology__weights="lazy", **g)
    A = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]) / 3
    yield case("dsgd-max-degree", "dsgd", dsgd(p, A + np.diag(1 - A.sum(1)), geo, R), p, "path",
               topology__weights="max-degree", **g)

    def exponential(k):
        return directed([(j, (j + 2 ** (k % 2)) % N) for j in range(N)])

    yield case("sgp-exponential", "sgp", sgp(p, exponential, geo, R), p, "exp-directed", **g)
    yield case("sgp-path", "sgp", sgp(p, directed([(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]), geo,
               R), p, "path", topology__weights="column", **g)


def exhausted(p):
    """Runs whose budget is spent after five answers, and go on."""
    R, geo, five = 12, geometric(.8, .1), dict(answers=5)
    g = dict(step_size=.8, step_size_final=.1, schedule="geometric", clip=.3)
    g["noise"] = {"privacy.target_epsilon": 2.8e14, "privacy.accountant": "gdp"}
    yield case("spent-dsgd", "dsgd", dsgd(p, PATH, geo, R, clip=.3, **five), p, "path", **g)
    yield case("spent-mix-first", "dsgd", dsgd(p, PATH, geo, R, "mix-then-grad", clip=.3, **five), p,
               "path", order="mix-then-grad", **g)
    yield case("spent-dsgt", "dsgt", dsgt(p, PATH, geo, R, clip=.3, **five), p, "path", **g)
    yield case("spent-dinno", "dinno", dinno(p, PATH, geo, R, rho=.2, kind="sgd", clip=.3, **five), p,
               "path", rho=.2, optimizer="sgd", **g)
    yield case("spent-sgp", "sgp", sgp(p, directed(ARCS), geo, R, clip=.3, **five), p, "directed-file",
               topology__path="DIR/arcs.txt", **g)
    yield case("spent-gossip-sgd", "gossip-sgd", gossip_sgd(p, PATH, geo, 16, 2, clip=.3, **five), p,
               "path", 16, gossip=2, **g)
    del g["step_size"], g["step_size_final"], g["schedule"]
    yield case("spent-km", "km", km(p, RING, R, "forward", .4, clip=.3, bound=1, **five), p,
               operator="forward", gamma=.4, **g)


def units():
    R, geo = 12, geometric(.8, .1)
    g = dict(step_size=.8, step_size_final=.1, schedule="geometric")
    p = Problem("softmax")
    yield case("dsgd-softmax", "dsgd", dsgd(p, PATH, geo, R, clip=.5), p, "path", clip=.5, **g)
    yield case("noisy-softmax", "dsgd", dsgd(p, PATH, geo, R, clip=.5), p, "path", clip=.5,
               noise={"privacy.mechanism": "gaussian"}, **g)
    for whole in False, True:
        for noise in None, {"privacy.mechanism": "gaussian"}:
            p = Problem(persons=2, whole=whole)
            yield case(f"persons-{whole}-{bool(noise)}", "dsgt", dsgt(p, PATH, geo, R, clip=.3), p,
                       "path", clip=.3, noise=noise, **g)


def deviations(p):
    R, geo = 12, geometric(.8, .1)
    g = dict(step_size=.8, step_size_final=.1, schedule="geometric")
    yield case("gauss-seidel", "dsgd", in_turn(p, PATH, geo, R), p, "path",
               replication__mix="gauss-seidel", **g)
    yield case("short-messages", "dsgd", short_messages(p, PATH, geo, R), p, "path", messages="bf16", **g)
    yield case("dinno-ascend", "dinno", dinno(p, PATH, constant(.02), 6, rho=.1, kind="sgd", ascend=True),
               p, "path", 6, optimizer="sgd", rho=.1, ascend="true", step_size=.02)
    yield case("km-unsafe", "km", km(p, PATH, R, "forward", .4, alpha=.9), p, "path",
               operator="forward", gamma=.4, alpha=.9, replication__unsafe_alpha="true")
    y = np.array([clipped(p.X[a].mean(axis=0), .4) for a in p.agents])
    rho = slem(PATH)
    omega = 2 / (1 + np.sqrt(1 - rho ** 2))
    before = np.zeros_like(y)
    for _ in range(5):
        y, before = omega * (PATH @ y) + (1 - omega) * before, y
    yield case("zero-start", "gossip-average", y, Problem("mean"), "path", 6, clip=.4,
               acceleration="chebyshev", replication__zero_start="true")
    for attack, scale in ("sign-flip", 2.0), ("alie", 1.5), ("stale", None):
        for robust in None, clipped_gossip(.05):
            x = attacked(p, COMPLETE, geo, R, attack, scale, robust=robust)
            more = dict(mixing="clipped", mixing_clip=.05) if robust else {}
            c = case(f"attack-{attack}-{bool(robust)}", "dsgd", x, p, "complete",
                     faults__adversaries="[1]", faults__attack=attack, faults__attack_scale=scale,
                     **more, **g)
            yield c | p.figures(np.delete(x, 1, axis=0))  # of the others


def additive():
    keys = dict(privacy__sample_rate=None)
    for loss in "logistic", "least-squares":
        p = Problem(loss, rows=tables.weights)
        yield case(f"dsgd-additive-{loss}", "dsgd", dsgd(p, PATH, constant(.1), 12, clip=.5), p, "path",
                   clip=.5, step_size=.1)
        yield case(f"boosting-{loss}", "boosting", tables.boosting(p, COMPLETE, 11, clip=.3, swing=2.),
                   p, "complete", 11, 1.0, gradient_clip=.3, swing=2.0, within=1e-4, **keys)
        yield case(f"boosting-path-{loss}", "boosting", tables.boosting(p, PATH, 61, 4, np.inf), p,
                   "path", 61, steps=4, **keys)


def measured():
    """One run of each kind of model with all figures."""
    for loss in "logistic", "softmax", "least-squares", "poisson":
        p = Problem(loss)
        x = dsgd(p, PATH, constant(.3), 12, clip=.5)
        c = case(f"figures-{loss}", "dsgd", x, p, "path", clip=.5, step_size=.3,
                 evaluate__figures="true", evaluate__gradients=sum(M),
                 evaluate__metrics='["parameter_norm"]')
        yield c | {"figures": figures.figures(p, x), "metrics": figures.looks(p, x)}


def newtons():
    for loss in "huber", "poisson", "softmax", "logistic", "least-squares":
        p = Problem(loss, constant=loss != "softmax")
        yield case(f"newton-{loss}-constant", "newton", tables.newton(p, RING, 41, 4, .2, .8), p,
                   rounds=41, clip=1.0, privacy__sample_rate=None, steps=4, gradient_clip=.2,
                   target_bound=.8)


def owned():
    """Each model is looked at on its owner's test records."""
    for loss in "logistic", "huber":
        p = Problem(loss)
        x = dsgd(p, PATH, constant(.3), 12)
        losses = [p.losses(p.Xtest[a], p.ytest[a], x[a]).mean() for a in p.agents]
        c = case(f"own-tests-{loss}", "dsgd", x, p, "path", step_size=.3, evaluate__on="own",
                 evaluate__metrics='["parameter_norm"]')
        c |= {"loss": float(np.mean(losses)), "metrics": {
            "loss 1": float(losses[1]), "loss max": float(max(losses)), "loss min": float(min(losses)),
            "parameter_norm mean": float(np.mean(np.linalg.norm(x, axis=1)))}}
        if p.classes:
            c["accuracy"] = float(np.mean([p.right(p.Xtest[a], p.ytest[a], x[a]).mean()
                                           for a in p.agents]))
        yield c


def traced(p):
    """Runs that are looked at after every round: what there is then is what a run of so
    many rounds ends with, where steps are constant."""
    eta, R = constant(.3), 12
    hub = directed([(0, 1), (1, 2), (2, 3), (3, 0), (1, 0), (2, 0)])
    runs = {
        "dsgd": (lambda r: dsgd(p, PATH, eta, r, clip=.3, average=dict(ema=.6)), dict(ema=.6)),
        "dsgt": (lambda r: dsgt(p, PATH, eta, r, clip=.3), {}),
        "dinno": (lambda r: dinno(p, PATH, eta, r, kind="sgd", rho=.2, clip=.3),
                  dict(optimizer="sgd", rho=.2)),
        "gossip-sgd": (lambda r: gossip_sgd(p, PATH, eta, r, 4, "chebyshev", clip=.3),
                       dict(gossip=4, acceleration="chebyshev")),
        "sgp": (lambda r: sgp(p, hub, eta, r, clip=.3),
                dict(graph="directed-file", topology__path="DIR/hub.txt")),
        "local": (lambda r: local(p, eta, r, dict(beta=.5), .3), dict(momentum=.5)),
    }
    for name, (models, keys) in runs.items():
        c = case(f"trace-{name}", name, models(R), p, keys.pop("graph", "path"), R, .3, step_size=.3,
                 evaluate__every=1, **keys)
        yield c | {"trace": [p.figures(models(r))["loss"] for r in range(1, R + 1)]}
    dr = dict(operator="douglas-rachford", gamma=.4, l1=.15)
    c = case("trace-km", "km", km(p, RING, R, "douglas-rachford", .4, .15), p, evaluate__every=1, **dr)
    yield c | {"trace": [p.figures(km(p, RING, r, "douglas-rachford", .4, .15))["loss"]
                         for r in range(1, R + 1)]}
