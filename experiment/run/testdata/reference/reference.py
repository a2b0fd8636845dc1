#!/usr/bin/env python3
"""Reference trajectories of the algorithms, in float64, apart from the Go code.

Each algorithm is written here from its paper, from the specification of algorithms, or,
where neither has it, from the comment of its type; what is drawn, from docs/draws.md. The
program prints the problem and, for each run, the final parameters of every agent and the
figures of the summary. TestReference of experiment/run holds runs against them:

    cd experiment/run/testdata && python3 -B reference/reference.py > reference.json

The problem: four agents with 4, 5, 6 and 5 records of three features, with labels, a
number and a count to predict, and twelve test records. Runs of cases.py and variants.py
have full batches and no noise, or noise too small to be seen; in those of drawn.py,
links.py and operators.py batches, noise, graphs, links, wakes and records are drawn as in
the product, by the generators of draws.py. networks.py has networks, of images too;
made.py, rated.py and glyphs.py data that the product makes; failing.py averages that lose
messages; searches.py scores and searches, which TestReference of experiment/tune holds.
"""
import json

import cases
import drawn
import failing
import finishing
import glyphs
import links
import made
import networks
import operators
import rated
import searches
import tables
import variants
from problem import INIT, TEST, TRAIN, Problem, csv

INITS = {"init.safetensors": list(map(float, INIT)),
         "init4.safetensors": list(map(float, Problem(constant=True).init)),
         "init13.safetensors": list(map(float, Problem(rows=tables.weights).init)),
         "init9.safetensors": list(map(float, Problem("softmax").init))}


def short(x):
    """Nine digits of every number."""
    if isinstance(x, float):
        return float(f"{x:.9g}")
    if isinstance(x, dict):
        return {k: short(v) for k, v in x.items()}
    return [short(v) for v in x] if isinstance(x, list) else x


def main():
    p, sq = Problem(), Problem("least-squares")
    runs = [*cases.synchronous(p, sq), *cases.fixed_points(p, sq), *cases.personal(p, sq),
            *cases.others(p, sq), *variants.noisy(p, sq), *variants.clips_and_losses(p),
            *variants.more(p), *variants.exhausted(p), *variants.units(), *variants.deviations(p),
            *variants.additive(), *variants.traced(p), *variants.owned(), *variants.newtons(),
            *variants.measured(), *drawn.sampled(), *drawn.dealt(), *drawn.clips(), *drawn.adam(),
            *drawn.fitted(), *links.faults(), *links.changing(), *links.personal(), *links.walking(),
            *links.coming(), *links.coins(), *operators.operators(), *networks.dense(),
            *networks.images(), *finishing.finished(), *finishing.networks(), *failing.failing(),
            *made.made(), *glyphs.glyphs(), *rated.rated(), *searches.scored()]
    files = {"train.csv": csv(TRAIN), "test.csv": csv(TEST), **cases.FILES, **networks.FILES,
             **rated.FILES}
    print('{"files": ' + json.dumps(files) + ',\n "init": ' + json.dumps(INITS) + ',\n "cases": [')
    print(",\n".join(json.dumps(short(r)) for r in runs))
    print('],\n "search_text": ' + json.dumps(searches.TEXT) + ',\n "searches": [')
    print(",\n".join(json.dumps(short(r)) for r in searches.searches()) + "\n]}")


if __name__ == "__main__":
    main()
