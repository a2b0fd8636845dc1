package network

// Method is a way to average: y^{k+1} = a W y^k + b y^k - c y^{k-1} with public
// coefficients of round k = 0, 1, .... c is 0 at k = 0.
type Method struct {
	Name string
	Step func(k int) (a, b, c float64)
	// plain methods have a = 1 and b = c = 0, so that fractions stay fractions.
	plain bool
}

// Plain is y^{k+1} = W y^k.
func Plain() Method {
	return Method{Name: "plain", plain: true, Step: func(int) (a, b, c float64) { return 1, 0, 0 }}
}

// Averaging has the coefficients a, b and c of each round, as algo.Recursion computes
// them for the agents and the accountant alike; nil is plain. Step panics past the last
// round.
func Averaging(name string, rounds [][3]float64) Method {
	if rounds == nil {
		return Plain()
	}
	return Method{Name: name, Step: func(k int) (a, b, c float64) {
		return rounds[k][0], rounds[k][1], rounds[k][2]
	}}
}
