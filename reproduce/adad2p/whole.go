package adad2p

// wholeBound are the constants of the paper's bounds on the mean of ‖∇f(x̄^k)‖² over K
// rounds. Both grow with each but steps and rounds, so that constants which are too small
// give less than the bounds say.
type wholeBound struct {
	step, rounds, agents float64 // γ, K, n
	smooth               float64 // L
	gap                  float64 // f(x̄^0) - f*
	within, between      float64 // ζ², b²
	mixing               float64 // C/(1-q)
}

// standard is Ξ of (11) for models that begin at 0, or less where they do not.
func (b wholeBound) standard() float64 {
	return 4*b.gap/(b.step*b.rounds) + 2*b.step*b.smooth/b.agents*b.within +
		b.consensus()*(b.within+3*b.between)
}

// consensus is 12γ²L²C²/(1-q)².
func (b wholeBound) consensus() float64 {
	x := b.step * b.smooth * b.mixing
	return 12 * x * x
}

// noise is what noise of the given variance adds, dσ² times the mean of ‖∇f_i(z; ξ)‖² in
// (11), dσ² G² in (13): β is dσ²/K, and the sum over rounds has K terms.
func (b wholeBound) noise(variance float64) float64 {
	return (b.consensus() + 2*b.step*b.smooth/b.agents) * variance
}

// admissible is the largest step that Proposition 3 allows.
func (b wholeBound) admissible() float64 { return largestStep(b.smooth, b.mixing) }

// largestStep is min((1-q)/(6LC), 1/L).
func largestStep(smooth, mixing float64) float64 { return min(1/(6*mixing), 1) / smooth }
