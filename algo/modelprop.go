package algo

import "sotto/agent"

// FitParams are the parameters of the algorithms that only use an agent's own minimiser.
type FitParams struct {
	Personal
	FitLambda float64 `toml:"fit_lambda,omitempty"` // λ of an agent's loss, a public constant; 0 means λ_i
}

// NewModelPropagation decodes FitParams. Model propagation spreads local models over the
// graph (Vanhaesebrouck, Bellet, Tommasi 2017, with L_i = 1/2 |Θ_i - θ̂_i|²): block
// coordinate descent's propagation for as long as the run lasts. One charge for each
// agent, at the start; all else is post-processing.
func NewModelPropagation(decode func(any) error) (agent.Factory, error) {
	return newFitted("model-propagation", decode)
}

// NewLocalFit decodes FitParams. Every agent keeps the minimiser of its own loss and
// sends nothing: the local-only reference of personal models.
func NewLocalFit(decode func(any) error) (agent.Factory, error) {
	return newFitted("local-fit", decode)
}

func newFitted(name string, decode func(any) error) (agent.Factory, error) {
	p := FitParams{Personal: defaultPersonal()}
	if err := decode(&p); err != nil {
		return nil, err
	}
	b := bcdDefaults()
	b.Personal, b.FitLambda, b.Start = p.Personal, p.FitLambda, "fit"
	if err := b.validate(); err != nil {
		return nil, err
	}
	return b.factory(name), nil
}
