// Package papers joins the publications whose results are reproduced, and studies of our
// own.
package papers

import (
	"sotto/reproduce"
	"sotto/reproduce/adad2p"
	"sotto/reproduce/bellet2018"
	"sotto/reproduce/dkm"
	"sotto/reproduce/dpdl2023"
	"sotto/reproduce/joining"
	"sotto/reproduce/muffliato2022"
	"sotto/reproduce/suggest"
)

// All are all of them.
var All = reproduce.Papers{dpdl2023.Paper, bellet2018.Paper, adad2p.Paper, dkm.Paper, muffliato2022.Paper,
	joining.Paper, suggest.Paper}
