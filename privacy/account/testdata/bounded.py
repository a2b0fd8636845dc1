# Writes bounded.csv: python3 bounded.py > bounded.csv
#
# delta(eps) of noise p(z) ~ f(z/s) on [-A, A] against itself one further on: the integral of
# max(0, p(z) - e^eps p(z-1)), by mpmath quadrature with 60 digits, in pieces that halve towards both ends.
from mpmath import mp, mpf, quad, exp
mp.dps = 60
F = {"laplace": lambda x: exp(-abs(x)), "gaussian": lambda x: exp(-x*x/2),
     "generalized": lambda x: exp(-abs(x)**3)}
def delta(family, s, A, eps):
    f = F[family]; s, A, eps = mpf(s), mpf(A), mpf(eps)
    g = lambda z: f(z/s)/s if -A <= z <= A else mpf(0)
    def integral(h, lo, hi):
        if hi <= lo: return mpf(0)
        ends = {e for k in range(24) for e in (lo + (hi - lo)/2**k, hi - (hi - lo)/2**k)}
        pts = sorted({lo, hi} | ends | {p for p in (mpf(0), mpf(1), s, 1-s, -s, 1+s, 4*s, -4*s, 12*s, -12*s) if lo < p < hi})
        return quad(h, pts)
    c = integral(g, -A, A)
    d = integral(g, -A, min(A, 1 - A))          # below the neighbor's outcomes
    lo, hi = 1 - A, A                           # both: the integrand falls; find where it ends
    if hi > lo:
        h = lambda z: g(z) - exp(eps)*g(z-1)
        # loss ln g(z) - ln g(z-1) is non-increasing: bisect
        a, b = lo, hi
        if h(a + 0) > 0:
            if h(b) > 0: e = b
            else:
                for _ in range(250):
                    m = (a+b)/2
                    if h(m) > 0: a = m
                    else: b = m
                e = a
            d += integral(h, lo, e)
    return d / c
if __name__ == "__main__":
    # fractions of the largest loss where both outcomes are possible
    print("family,scale,truncation,epsilon,delta")
    for fam in F:
        for s, A in ((500, .5), (550, .55), (1000, 1), (1, 1), (.05, 1), (1e4, 10), (50, 40), (10, 40), (40./12, 40),
                     (1e6, 1e3), (1e7, 1e7), (1e9, 1e6), (2.5e6, 3e7), (1e8, 1e9), (1e15, 1e12)):
            if fam == "generalized" and A < 1: continue # the largest loss is not at the edge
            big = {"laplace": 1/s, "gaussian": (2*A-1)/(2*s*s), "generalized": (A**3-(A-1)**3)/s**3}[fam]
            for frac in (0, .3, .999, 1.5):
                eps = frac*big
                d = delta(fam, s, A, eps)
                if d > 1e-300: print('%s,%r,%r,%r,%s' % (fam, float(s), float(A), float(eps), mp.nstr(d, 17)))
