"""The runs of reference.py: of each algorithm some."""
import json

import numpy as np

import figures
import tables
import wakes
from problem import (COMPLETE, INIT, M, N, PATH, RING, STAR, Problem, clipped, metropolis, slem)
from rounds import *
from steps import *


def case(name, algorithm, models, problem, graph="ring", rounds=12, clip=None, noise=None,
         within=None, **keys):
    """One run: what its run file sets, and what comes out. Keys are of [algorithm] unless
    they name another section; None leaves one out."""
    sets = {"algorithm.name": algorithm, "topology.graph": graph, "rounds": rounds,
            "model.init_from": "DIR/init.safetensors", "privacy.sample_rate": 1.0,
            "privacy.max_grad_norm": clip}
    label = {"logistic": "y", "poisson": "n", "softmax": "k"}.get(problem.loss, "t")
    other = [c for c in "ytnkp" if c != label and not (c == "p" and problem.persons)]
    sets |= {"model.name": problem.loss, "data.drop": json.dumps(other)}
    sets["data.label" if problem.classes else "data.target"] = label
    if problem.classes:
        sets["data.label_values"] = '["a","b"]'
    if problem.loss == "softmax":
        sets |= {"model.name": "logistic", "data.label_values": '["u","v","w"]',
                 "model.init_from": "DIR/init9.safetensors"}
    if problem.rows:
        sets |= {"model.name": "additive", "model.bins": tables.BINS,
                 "model.init_from": "DIR/init13.safetensors"}
    if problem.persons:
        sets |= {"data.unit_column": "p", "privacy.unit": "person",
                 "privacy.max_rows_per_person": problem.persons,
                 "privacy.person_gradient": "sum" if problem.whole else "mean"}
    if problem.loss == "huber":
        sets["model.delta"] = .5
    if problem.constant:
        sets |= {"model.intercept": "true", "model.init_from": "DIR/init4.safetensors"}
    if problem.mean:
        sets |= {"model.init_from": None, "privacy.sample_rate": None, "privacy.unit": "owner"}
    for k, v in keys.items():
        sets[k.replace("__", ".") if "__" in k else "algorithm." + k] = v
    if noise:
        sets |= {"privacy.mechanism": "gaussian", "privacy.noise_multiplier": 1e-7} | noise
    out = {} if within is None else {"within": within}
    return out | {"name": name, "set": [f"{k}={v}" for k, v in sets.items() if v is not None],
            "models": [list(map(float, m)) for m in models], **problem.figures(models)}


ARCS = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 0)]
FILES = {"arcs.txt": "".join(f"{j} {i}\n" for j, i in ARCS),
         "hub.txt": "0 1\n1 2\n2 3\n3 0\n1 0\n2 0\n"}


def synchronous(p, sq):
    R = 12
    geo, geo_keys = geometric(.8, .1), dict(step_size=.8, step_size_final=.1, schedule="geometric")
    cos, cos_keys = cosine(.5, .05), dict(step_size=.5, step_size_final=.05, schedule="cosine")
    inv, inv_keys = inverse(.3, 4), dict(step_size=.3, step_size_tau=4, schedule="inverse")
    yield case("dsgd", "dsgd", dsgd(p, RING, geo, R, clip=.3), p, clip=.3, **geo_keys)
    yield case("dsgd-path-mix-first", "dsgd",
               dsgd(p, PATH, warm(cos, 3), R, "mix-then-grad", dict(decay=.05)), p, "path",
               order="mix-then-grad", weight_decay=.05, warmup=3, **cos_keys)
    yield case("dsgd-momentum", "dsgd",
               dsgd(p, STAR, inv, R, opt=dict(beta=.7, decay=.1), clip=.4, average=dict(ema=.6)), p,
               "star", clip=.4, momentum=.7, weight_decay=.1, ema=.6, **inv_keys)
    yield case("dsgd-adam", "dsgd",
               dsgd(p, COMPLETE, constant(.05), R, opt=dict(kind="adam", decay=.2, beta1=.8,
                    beta2=.95, eps=1e-3), average=dict(tail=.4)), p, "complete", optimizer="adam",
               weight_decay=.2, beta1=.8, beta2=.95, adam_epsilon=1e-3, step_size=.05, tail=.4)
    yield case("dsgd-squares", "dsgd", dsgd(sq, PATH, constant(.1), R, clip=1.), sq, "path", clip=1.,
               step_size=.1)
    yield case("dsgd-clipped", "dsgd", dsgd(p, STAR, geo, R, robust=clipped_gossip(.05)), p, "star",
               mixing="clipped", mixing_clip=.05, **geo_keys)
    yield case("dsgd-clipped-trim", "dsgd", dsgd(p, COMPLETE, geo, R, robust=clipped_gossip(f=1)), p,
               "complete", mixing="clipped", mixing_trim=1, **geo_keys)
    yield case("dsgd-trimmed", "dsgd", dsgd(p, COMPLETE, geo, R, robust=trimmed_mean(1)), p,
               "complete", mixing="trimmed", mixing_trim=1, **geo_keys)
    yield case("dsgt", "dsgt", dsgt(p, RING, geo, R, clip=.3), p, clip=.3, **geo_keys)
    yield case("dsgt-path", "dsgt", dsgt(sq, PATH, constant(.05), R), sq, "path", step_size=.05)
    yield case("dinno", "dinno", dinno(p, PATH, geometric(.05, .005), R, clip=.3), p, "path", clip=.3,
               step_size=.05, step_size_final=.005, schedule="geometric")
    yield case("dinno-steps", "dinno",
               dinno(p, STAR, constant(.1), R, rho=.2, scale=1.3, top=.6, steps=3, kind="sgd"), p,
               "star", rho=.2, rho_scale=1.3, rho_max=.6, primal_steps=3, optimizer="sgd",
               step_size=.1)
    yield case("dinno-adam", "dinno",
               dinno(p, RING, constant(.01), R, steps=2, kind="adam", self_prox=True), p,
               primal_steps=2, optimizer="adam", self_prox="true", step_size=.01)
    yield case("dinno-momentum", "dinno",
               dinno(p, RING, constant(.05), R, rho=.1, kind="momentum", beta=.5), p, rho=.1,
               optimizer="momentum", momentum=.5, step_size=.05)
    yield case("gossip-sgd", "gossip-sgd", gossip_sgd(p, STAR, geo, R, clip=.3), p, "star", clip=.3,
               **geo_keys)
    for kind in ["chebyshev", "chebyshev-ns", "paper", "jacobi"]:
        more = dict(spectral_dimension=2) if kind == "jacobi" else {}
        yield case(f"gossip-sgd-{kind}", "gossip-sgd",
                   gossip_sgd(p, PATH, geo, 14, 4, kind, 2, dict(beta=.5)), p, "path", 14, gossip=4,
                   acceleration=kind, momentum=.5, **geo_keys, **more)
        yield case(f"gossip-average-{kind}", "gossip-average", gossip_average(p, PATH, 6, kind, .4, 2),
                   Problem("mean"), "path", 6, acceleration=kind, clip=.4, **more)
    P = directed(ARCS)
    yield case("sgp", "sgp", sgp(p, P, geo, R, clip=.3), p, "directed-file", clip=.3,
               topology__path="DIR/arcs.txt", **geo_keys)
    yield case("sgp-momentum", "sgp", sgp(p, P, constant(.2), R, dict(beta=.5, decay=.1)), p,
               "directed-file", topology__path="DIR/arcs.txt", momentum=.5, weight_decay=.1,
               step_size=.2)
    yield case("local", "local", local(p, geo, R, dict(beta=.5, decay=.1), .3), p, clip=.3,
               momentum=.5, weight_decay=.1, **geo_keys)
    one = dict(topology__agents=1, graph="complete", data__merge_groups="true")
    yield case("central", "central", central(p, geo, R, dict(beta=.9, decay=.01), .3), p, clip=.3,
               momentum=.9, weight_decay=.01, **geo_keys, **one)
    yield case("central-adam", "central",
               central(p, constant(.05), R, dict(kind="adam"), .3, dict(ema=.5)), p, clip=.3,
               optimizer="adam", ema=.5, step_size=.05, **one)


def fixed_points(p, sq):
    R = 12
    for problem, w in ((p, "logistic"), (sq, "squares")):
        for op in ["forward", "forward-backward", "backward", "douglas-rachford"]:
            l1 = .15 if op in ("forward-backward", "douglas-rachford") else 0
            gamma = .4
            keys = dict(operator=op, gamma=gamma, **(dict(l1=l1) if l1 else {}))
            yield case(f"km-{op}-{w}", "km", km(problem, RING, R, op, gamma, l1), problem, **keys)
    yield case("km-clips", "km", km(p, PATH, R, "forward", 1.5, alpha=.2, tau=5, bound=.05, clip=.25),
               p, "path", operator="forward", gamma=1.5, clip=.25, alpha=.2, alpha_schedule="inverse",
               alpha_tau=5, residual_clip=.05)
    yield case("km-own-state", "km", km(p, RING, R, "forward", .4), p, operator="forward", gamma=.4,
               own_state="true")


FILES["pairs.txt"] = "0 1\n0 2\n1 2\n2 3\n"
LINKS = {(0, 1): .5, (1, 2): .3, (2, 3): .4, (0, 2): .2}
FILES["links.txt"] = "".join(f"{i} {j} {w}\n" for (i, j), w in LINKS.items())
WAKES = [2, 0, 3, 1, 1, 0, 2, 3, 3, 1, 0, 2, 1, 3, 0, 0, 2, 1, 3, 2]
PAIRS = [(0, 1), (3, 2), (2, 0), (1, 2), (1, 0), (2, 3), (0, 2), (2, 1), (0, 1), (3, 2)]
FILES["wakes.csv"] = "time,agent,peer\n" + "".join(f"{t + 1},{i},\n" for t, i in enumerate(WAKES))
FILES["pairs.csv"] = "time,agent,peer\n" + "".join(f"{t + 1},{i},{j}\n"
                                                    for t, (i, j) in enumerate(PAIRS))


def personal(p, sq):
    """Runs of wakes, on a graph whose weights are those of the objective."""
    S = np.zeros((N, N))
    for (i, j), w in LINKS.items():
        S[i, j] = S[j, i] = w
    q = wakes.Personal(S, .3)
    keys = dict(graph="file", topology__path="DIR/links.txt", privacy__sample_rate=None, mu=.3,
                rounds=None)
    woken = dict(clock__replay="DIR/wakes.csv", clock__wakes=len(WAKES), **keys)
    paired = dict(clock__replay="DIR/pairs.csv", clock__wakes=len(PAIRS), **keys)
    none = {"model__init_from": None}

    def of(name, algorithm, models, problem=p, constants=q, **keys):
        return case(name, algorithm, models, problem, **keys) | {
            "objective": constants.value(problem, models)}

    yield of("bcd", "bcd", wakes.bcd(p, q, WAKES, clip=.3), clip=.3, **none, **woken)
    yield of("bcd-init", "bcd", wakes.bcd(p, q, WAKES, "init", clip=.5, norm="l1", updates=3,
             after="average"), start="init", clip=.5, norm="l1", updates=3, after="average", **woken)
    yield of("bcd-fit", "bcd", wakes.bcd(p, q, WAKES, "fit", propagate=2, updates=2), start="fit",
             propagate=2, updates=2, **none, **woken)
    other = wakes.Personal(S, .3, lam=.2, power=2, smooth=.5)
    yield of("bcd-constants", "bcd", wakes.bcd(p, other, WAKES, "fit", fit_lam=.4), constants=other,
             start="fit", fit_lambda=.4, confidence_power=2, smoothness=.5, **{"lambda": .2}, **none,
             **woken)
    squares = wakes.Personal(S, .3, c=.5, smooth=4.)
    yield of("bcd-squares", "bcd", wakes.bcd(sq, squares, WAKES, "init"), sq, squares, start="init",
             smoothness=4., confidence=.5, **woken)
    alike = np.array([np.mean(X * y[:, None], axis=0) for X, y in zip(p.X, p.y)])
    alike /= np.linalg.norm(alike, axis=1)[:, None]
    like = np.exp((alike @ alike.T - 1) / .1)
    close = wakes.Personal(np.where(like < .43, 0, like) - np.eye(N), .3)
    yield of("bcd-similar", "bcd", wakes.bcd(p, close, WAKES), constants=close, **none, **(woken | dict(
             graph="similarity", topology__path=None, topology__vectors="data", topology__gamma=.1,
             topology__threshold=.43)))
    unit = wakes.Personal((RING > 0) * 1. - np.eye(N), .3)
    yield of("bcd-ring", "bcd", wakes.bcd(p, unit, WAKES), constants=unit, **none,
             **(woken | dict(graph="ring", topology__path=None)))
    yield of("model-propagation", "model-propagation", wakes.bcd(p, q, WAKES, "fit", propagate=99),
             **none, **woken)
    yield of("local-fit", "local-fit", wakes.local_fit(p, q, .1), fit_lambda=.1, **none, **woken)
    small = {"privacy.mechanism": "gaussian"}
    laplace = {"privacy.mechanism": "laplace", "privacy.noise_multiplier": 1e-6}
    bounded = Problem()  # a private fit scales features to norm 1
    bounded.X = [np.array([clipped(x, 1) for x in X]) for X in p.X]
    yield of("noisy-bcd", "bcd", wakes.bcd(p, q, WAKES, clip=.3, updates=4), clip=.3, updates=4,
             noise=small, **none, **woken)
    yield of("noisy-bcd-laplace", "bcd", wakes.bcd(p, q, WAKES, clip=.3, norm="l1", updates=4),
             clip=.3, updates=4, norm="l1", noise=laplace, within=1e-4, **none, **woken)
    yield of("noisy-local-fit", "local-fit", wakes.local_fit(bounded, q, .1), fit_lambda=.1,
             noise=small, **none, **woken)
    yield of("noisy-model-propagation", "model-propagation",
             wakes.bcd(bounded, q, WAKES, "fit", fit_lam=.2, propagate=99), fit_lambda=.2,
             noise=small, **none, **woken)
    yield of("noisy-gossip-admm", "gossip-admm", wakes.gossip_admm(p, q, PAIRS, clip=.3), clip=.3,
             noise=small, **none, **paired)
    yield of("noisy-bcd-late", "bcd", wakes.bcd(p, q, WAKES, clip=.3, updates=4, after="average"),
             clip=.3, updates=4, after="average", alloc="late", contraction=.9, noise=small, **none,
             **woken)
    yield of("noisy-bcd-fit", "bcd", wakes.bcd(bounded, q, WAKES, "fit", propagate=2, updates=2, clip=1,
             gradients_of=p), clip=1.0, start="fit", propagate=2, updates=2, noise=small, **none, **woken)
    yield of("gossip-admm", "gossip-admm", wakes.gossip_admm(p, q, PAIRS, clip=.3), clip=.3, **none,
             **paired)
    yield of("gossip-admm-init", "gossip-admm", wakes.gossip_admm(p, q, PAIRS, .4, 3, "init"),
             rho=.4, local_steps=3, start="init", **paired)
    yield of("gossip-admm-fit", "gossip-admm", wakes.gossip_admm(p, q, PAIRS, 1., 5, "fit"),
             local_steps=5, start="fit", **none, **paired)


# Which agents hold a token, one after the other.
def held(walk, tokens):
    return [[i for k, i, _ in walk.visits if k == token] for token in range(tokens)]


VISITS = held(wakes.Walk(PATH, 1, 16), 1)
PUBLIC = held(wakes.Walk(COMPLETE, 2, 10, public=True), 2)


def others(p, sq):
    """Tokens and tables."""
    keys = dict(privacy__sample_rate=None)
    geo = geometric(.8, .1)
    steps = dict(step_size=.8, step_size_final=.1, schedule="geometric", **keys)
    yield case("walk", "walk", wakes.walk(p, VISITS, geo, .3), p, "path", 16, .3,
               privacy__unit="owner", **steps)
    yield case("walk-radius", "walk", wakes.walk(p, VISITS, geo, most=3, radius=.5), p, "path", 16,
               privacy__unit="owner", contributions=3, radius=.5, after="nothing", **steps)
    yield case("noisy-walk", "walk", wakes.walk(p, VISITS, geo, .3, most=3), p, "path", 16, .3,
               contributions=3, noise={"privacy.mechanism": "gaussian", "privacy.unit": "owner"}, **steps)
    yield case("walk-records", "walk", wakes.walk(p, PUBLIC, geo, .3, unit="record"), p, "complete",
               10, .3, token__count=2, token__hops="public", **steps)
    clips = dict(clip=1.0, **keys)  # without a max_grad_norm nothing is clipped
    for graph, W, rounds in (("complete", COMPLETE, 10), ("path", PATH, 95)):
        yield case(f"newton-{graph}", "newton", tables.newton(p, W, rounds, clip=.1), p, graph, rounds,
                   gradient_clip=.1, **clips)
        yield case(f"newton-squares-{graph}", "newton", tables.newton(sq, W, rounds, target=.7), sq,
                   graph, rounds, target_bound=.7, **clips)
    free = dict(clip=np.inf, target=np.inf, bound=np.inf)
    yield case("newton-free", "newton", tables.newton(p, RING, 31, 4, **free), p, "ring", 31, steps=4,
               gradient_clip=.1, **keys)
