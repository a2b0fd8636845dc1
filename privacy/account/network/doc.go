// Package network says who learns what about whom: how much of one agent's private value
// an adversary gets who sees only part of a decentralized computation. Its figures stand
// beside the guarantee against everyone, which holds for every release, and never replace
// it.
//
// # One noise draw per value, then averaging
//
// Every agent i releases x_i + N(0, s_i^2) once and the network averages by public
// matrices ([Gossip]). All messages are linear in one noise vector. Let the rows of B be
// what an [Adversary] receives, as functions of the noised values, without the columns
// that it knows. Its view is exactly a Gaussian mechanism in the value of agent u, with
// the loss of the full release times
//
//	leak(u) = e_u' B^+ B e_u,   mu^2 = (sensitivity/s_u)^2 leak(u),
//
// the squared length of e_u in the row space of B (of B diag(s) where noise differs). It
// is 0 for an agent of which nothing arrives and 1 for one whose noised value can be
// solved for; the leaks of all agents add up to the rank of B; more rounds, links or
// colluders never lower it.
//
// # Three agents in a line
//
// 0 - 1 - 2 with weights 1/3, two rounds, observer 2. It receives m0 = x_1 and m1 = (x_0
// + x_1 + x_2)/3 and knows its own x_2, hence x_0 = 3 m1 - m0 - x_2: leak(0) = 1,
// although 0 and 2 share no link. The published pairwise bound ([MuffliatoPrinted]) adds
// what each message would tell if it had noise of its own and says 1/3. It is no bound,
// and is here for comparison only.
//
// # Other computations
//
// Pairwise noise that cancels in the sum: [Decor]. A token that walks from agent to
// agent: [WalkMixture], with its conditions; the printed closed form is
// [WalkPrintedObserver]. Which values an adversary gets exactly where there is no noise:
// [Reconstruct].
//
// In training over many rounds other agents react to an agent's update through messages
// that a partial observer never sees, so the figures of this package do not apply to it:
// there the guarantee against everyone is what holds. [Training] stacks all steps as if
// updates were given beforehand, and labels what comes of it an estimate.
package network
