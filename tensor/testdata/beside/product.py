"""GFLOP/s of one thread of PyTorch: product.py MxKxN...; C = A B in float32."""
import sys
import time

import torch

torch.set_num_threads(1)
for shape in sys.argv[1:]:
    m, k, n = map(int, shape.split("x"))
    a, b, c = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
    best, stop = float("inf"), time.perf_counter() + 0.3
    while time.perf_counter() < stop:
        began = time.perf_counter()
        for _ in range(8):
            torch.mm(a, b, out=c)
        best = min(best, (time.perf_counter() - began) / 8)
    print(shape, 2e-9 * m * k * n / best)
