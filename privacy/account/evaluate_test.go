package account_test

import (
	"fmt"
	"math"

	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
)

func (v vector) evaluate() (float64, error) {
	switch v.accountant {
	case "analytic_gaussian":
		if v.kind == "sigma" { // Noise would round to 6 digits
			return v.shift / gdp.Mu(v.eps, v.delta), nil
		}
		return v.answer("gdp")
	case "pld_pessimistic", "prv":
		return v.answer("pld")
	case "rdp_default_orders":
		return v.fixedOrders()
	case "kov", "kov_grid":
		return v.answer("kov")
	case "pld_optimistic":
		i, err := account.Epsilon(v.plan("pld"), v.delta)
		return i.Lower, err
	case "rdp_at_order", "rdp_quadrature":
		return v.atOrder()
	case "rdp_repeat_select":
		return v.selected()
	case "pld_tpr", "pld_gdp_mu":
		return v.readOut()
	case "hockey_stick":
		ev, err := v.event(v.noise)
		if err != nil {
			return 0, err
		}
		d, err := account.NewPLD(v.adjacency, account.Record())
		if err != nil {
			return 0, err
		}
		if err := d.Compose(ev, v.steps); err != nil {
			return 0, err
		}
		i, err := d.Delta(v.eps)
		return i.Upper, err
	}
	return 0, fmt.Errorf("no evaluation for accountant %q", v.accountant)
}

// answer is epsilon, or the calibrated noise of sigma rows.
func (v vector) answer(accountant string) (float64, error) {
	p := v.plan(accountant)
	if v.kind == "sigma" {
		r, err := account.Noise(p, account.Budget{Epsilon: v.eps, Delta: v.delta})
		if v.mechanism == "discrete_laplace" { // the row's figure is the parameter a
			return 1 / r.NoiseMultiplier, err
		}
		return r.NoiseMultiplier, err
	}
	a, err := account.New(accountant, v.adjacency, account.Record())
	if err != nil {
		return 0, err
	}
	for _, s := range p.Steps {
		ev, err := s.Event(p.NoiseMultiplier, 0)
		if err != nil {
			return 0, err
		}
		if err := a.Compose(ev, s.Times); err != nil {
			return 0, err
		}
	}
	var i account.Interval
	d, pld := a.(*account.PrivacyLoss)
	switch {
	case v.direction == "add":
		i, err = d.Add(v.delta)
	case v.direction == "remove" && v.accountant != "prv":
		i, err = d.Remove(v.delta)
	case pld: // prv rows give the remove direction, which is the maximum
		return d.UpperEpsilon(v.delta)
	default:
		i, err = a.Epsilon(v.delta)
	}
	return i.Upper, err
}

// fixedOrders answers on the row's grid of orders; the production accountant may only be
// tighter.
func (v vector) fixedOrders() (float64, error) {
	orders := account.DefaultOrders()
	switch v.params["orders"] {
	case "2..32 integers":
		orders = nil
		for a := 2.0; a <= 32; a++ {
			orders = append(orders, a)
		}
	case "1.001..99.999 step 0.001":
		orders = nil
		for i := 1001; i < 100000; i++ {
			orders = append(orders, float64(i)/1000)
		}
	}
	at := func(noise float64) (float64, error) {
		r, err := account.NewRDP(v.adjacency, account.Record(), orders...)
		if err != nil {
			return 0, err
		}
		for _, s := range v.plan("rdp").Steps {
			ev, err := s.Event(noise, 0)
			if err != nil {
				return 0, err
			}
			if err := r.Compose(ev, s.Times); err != nil {
				return 0, err
			}
		}
		i, err := r.Epsilon(v.delta)
		return i.Upper, err
	}
	if v.kind != "sigma" {
		return at(v.noise)
	}
	lo, hi := 0.1, 100.0
	for hi-lo > 1e-6*hi {
		mid := math.Sqrt(lo * hi)
		e, err := at(mid)
		if err != nil {
			return 0, err
		}
		if e > v.eps {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, nil
}

func (v vector) atOrder() (float64, error) {
	r, err := account.NewRDP(v.adjacency, account.Record())
	if err != nil {
		return 0, err
	}
	ev, err := v.event(v.noise)
	if err != nil {
		return 0, err
	}
	if err := r.Compose(ev, v.steps); err != nil {
		return 0, err
	}
	order := v.order
	if math.IsInf(order, 1) {
		order = 1e12
	}
	if order == 1 {
		order = 1 + 1e-12
	}
	return r.AtOrder(order)
}

func (v vector) selected() (float64, error) {
	g, err := account.Gaussian(v.noise, v.shift)
	if err != nil {
		return 0, err
	}
	ev, err := account.RepeatSelectPoisson(v.number("mean_runs"), g)
	if v.params["shape"] != "poisson" {
		ev, err = account.RepeatSelect(v.number("mean_runs"), v.number("shape"), g)
	}
	if err != nil {
		return 0, err
	}
	i, err := account.Epsilon(account.Plan{
		Accountant: "rdp",
		Adjacency:  v.adjacency,
		Unit:       account.Record(),
		Steps:      []account.PlanStep{account.Fixed(ev, 1)},
	}, v.delta)
	return i.Upper, err
}

func (v vector) readOut() (float64, error) {
	ev, err := v.event(v.noise)
	if err != nil {
		return 0, err
	}
	d, err := account.NewPLD(v.adjacency, account.Record())
	if err != nil {
		return 0, err
	}
	if err := d.Compose(ev, v.steps); err != nil {
		return 0, err
	}
	p, err := d.Profile()
	if err != nil {
		return 0, err
	}
	if v.kind == "mu" {
		return p.Mu(), nil
	}
	return p.TPR(v.number("fpr")), nil
}
