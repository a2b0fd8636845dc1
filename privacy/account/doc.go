// Package account composes privacy losses and reads off epsilon: for a run that was
// recorded, and for one that is planned.
//
// # Accounting DP-SGD
//
// One epoch after another of clipped gradient sums over Poisson-sampled batches, with
// normal noise:
//
//	plan := account.DPSGD(account.AddRemove, 0.01, 1000) // rate q, steps T; one record
//	plan.NoiseMultiplier = 1 // noise standard deviation over max_grad_norm
//	eps, err := account.Epsilon(plan, 1e-5) // [1.8185, 1.8282]
//	// noise multiplier 1.41463
//	fit, err := account.Noise(plan, account.Budget{Epsilon: 1, Delta: 1e-5})
//
// [Steps] and [Rate] solve for the other two parameters (Steps counts periods of the
// plan: build it with one step). A run that really happens is not a plan: it feeds an
// [Accountant], or a ledger that does, one [Event] per noisy answer:
//
//	acc, err := account.New(account.Default, account.AddRemove, account.Record())
//	g, err := account.Gaussian(1, 1) // noise multiplier, sensitivity over clip
//	step, err := account.PoissonSampled(0.01, g)
//	err = acc.Compose(step, 1000)
//	i, err := acc.Epsilon(1e-5)
//
// # Terms
//
// An [Event] describes one release relative to the clip: noise_multiplier is noise
// standard deviation over the clip under every adjacency, and shift is sensitivity over
// clip (a clipped sum: 1, or 2 under [ReplaceOne]; a clipped residual: 2 always), so that
// the effective multiplier is noise_multiplier/shift. Under Poisson sampling and
// ReplaceOne a shift of 2 means contributions of +C and -C; that curve is not the
// AddRemove curve at half the noise. A [Release] says what a query is about to release
// and wraps the mechanism's event with its sampler, so that the rate is never typed
// twice.
//
// [Adjacency] and [Unit] belong to every epsilon. An event that carries other ones than
// the accountant is refused. [ZeroOut] has the curves of AddRemove. The unit of a group
// of k multiplies unsampled shifts by k and turns Poisson sampling into a binomial
// mixture; the unit of an owner admits no sampling of records.
//
// # Accountants
//
//	name        holds                                                 lower bound
//	pld         privacy loss distributions, any mechanism with a      yes
//	            dominating pair; the default
//	rdp         Renyi divergences; also private selection, zCDP and   0
//	            RDP black boxes
//	gdp, exact  unsampled Gaussian mechanisms, exactly                exact
//	kov         (epsilon, delta) black boxes, optimally               0
//
// Sources: Doroshenko et al. 2022, Gopi, Lee, Wutschitz 2021, Zhu, Dong, Wang 2022 and
// Balle, Barthe, Gaboardi 2018 (pld); Mironov 2017, Mironov, Talwar, Zhang 2019 and Wang,
// Balle, Kasiviswanathan 2019 (rdp); Balle, Wang 2018 and Dong, Roth, Su 2022 (gdp);
// Kairouz, Oh, Viswanath 2015 (kov).
//
// Every answer is an [Interval]; its Upper is the guarantee and every error term is on
// its side. What has no proof here is [ErrUnsupported], never an approximation:
//
//	sampler                   AddRemove          ReplaceOne     ZeroOut
//	full batch                pld, gdp, rdp      the same       the same
//	Poisson                   pld, rdp           pld            pld, rdp
//	truncated Poisson         refused            pld, upper     refused
//	fixed size, no replacing  refused            pld, rdp       refused
//	shuffled, cyclic          refused            no amplification (also ZeroOut)
//
// # Edge cases
//
// Nothing composed costs 0; no-ops are free. Non-private events and absent noise cost
// +Inf, never NaN. Counts may reach 2^53 and cost no time. delta = 0 asks for pure
// differential privacy and is answered with the sum of the pure epsilons, +Inf for
// Gaussian noise. Deltas below 1e-200, or below what a transform resolves, are
// [ErrDeltaTooSmall] unless the pure epsilon is finite. Answers do not depend on the
// order of composition, bit for bit, and accountants can be saved (json.Marshal) and
// restored ([Restore]).
//
// # How pld works
//
// Each event has a dominating pair (P, Q), known by the tails of its loss ln(P/Q).
// Connect-the-dots puts the loss on a grid of step h, preserving both laws in each cell:
// the profile becomes the linear interpolation of delta in e^eps, an upper bound. Both
// directions are composed apart, by powers of Fourier spectra of exponentially tilted
// laws, so that digits hold at any delta; mass outside the window, round-off and cut
// tails are added to delta. Seen from the other side the grid rounds every loss at random
// by at most h, with mean drift below h^2/8, so by Hoeffding's inequality the same array
// gives a lower bound:
//
//	delta(eps) >= profile(eps + t) - eta,  t = T h^2/8 + h sqrt(T/2 ln(1/eta)).
//
// The grid is refined until rounding moves epsilon by less than 2e-5 relative and, for
// intervals, until they are about 1% wide. Where no grid that fits is so fine, because
// losses are rare but large and the tilted law lies among them, the composition is made
// anew: the outcomes B of which some loss is far above epsilon add P(B) - e^eps Q(B), and
// little else, the others have the tilt of the narrowest window, round-off is charged by
// its 2-norm, and t is smaller by a Chernoff bound on the sum near epsilon.
//
// # Filters
//
// Filters decide before a release whether the budget allows it, also when parameters
// depend on earlier answers: [CountFilter] (fixed events, any accountant), [RDPFilter]
// and [GDPFilter]. [Odometer] states a running figure that is valid at all times at once.
package account
