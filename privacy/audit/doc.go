// Package audit attacks what sotto claims. It plays an adversary who knows everything but
// one record (or one owner's value), looks at what really leaves an agent, guesses
// whether the record was there, and turns how often it is right into a lower bound of
// epsilon that holds with a stated confidence. A lower bound above the claim is a bug, in
// the code or in the claim; a lower bound below it proves nothing.
//
// It knows no algorithm and no data set: a [Target] is injected, which package
// experiment/attack builds from a run file and tests build with planted faults.
//
// Bounds (spec section 16.2):
//
//	clopper-pearson  any mechanism: exact limits of both error rates at a threshold
//	gdp              the claim "mu-GDP": the same limits, read through the Gaussian
//	                 trade-off function
//	one-run          m canaries with independent coins in one run (Steinke, Nasr,
//	                 Jagielski 2023, arXiv 2305.08846)
//	one-run-fdp      the same for a Gaussian trade-off function (Mahloujifar, Melis,
//	                 Chaudhuri 2024, arXiv 2410.22235)
package audit
