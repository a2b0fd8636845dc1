// GFLOP/s of one thread of oneDNN: product MxKxN...; C = A B in float32, row-major.
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static float *random_values(size_t n) {
	float *v = malloc(n * sizeof *v);
	for (size_t i = 0; i < n; i++) {
		v[i] = rand() / (float)RAND_MAX - .5f;
	}
	return v;
}

int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		long m, k, n;
		if (sscanf(argv[i], "%ldx%ldx%ld", &m, &k, &n) != 3) {
			return 2;
		}
		float *a = random_values(m * k), *b = random_values(k * n), *c = random_values(m * n);
		double best = 1e9, stop = now() + .3;
		while (now() < stop) {
			double began = now();
			for (int r = 0; r < 8; r++) {
				if (dnnl_sgemm('N', 'N', m, n, k, 1, a, k, b, n, 0, c, n) != dnnl_success) {
					return 1;
				}
			}
			double took = (now() - began) / 8;
			best = took < best ? took : best;
		}
		printf("%s %g\n", argv[i], 2e-9 * m * k * n / best);
		free(a), free(b), free(c);
	}
	return 0;
}
