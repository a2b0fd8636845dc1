package account

// Default is the accountant that plans and ledgers use when none is named.
const Default = "pld"

// Accountants maps names to constructors.
var Accountants = map[string]func(Adjacency, Unit) (Accountant, error){
	"exact": func(a Adjacency, u Unit) (Accountant, error) { return asAccountant(NewExactGaussian(a, u)) },
	"gdp":   func(a Adjacency, u Unit) (Accountant, error) { return asAccountant(NewExactGaussian(a, u)) },
	"kov":   func(a Adjacency, u Unit) (Accountant, error) { return asAccountant(NewKOV(a, u)) },
	"pld":   func(a Adjacency, u Unit) (Accountant, error) { return asAccountant(NewPLD(a, u)) },
	"rdp":   func(a Adjacency, u Unit) (Accountant, error) { return asAccountant(NewRDP(a, u)) },
}

// asAccountant avoids a non-nil interface that holds a nil pointer.
func asAccountant[A Accountant](a A, err error) (Accountant, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}
