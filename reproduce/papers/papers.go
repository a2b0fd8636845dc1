// Package papers joins the publications whose results are reproduced.
package papers

import (
	"sotto/reproduce"
	"sotto/reproduce/adad2p"
	"sotto/reproduce/bellet2018"
	"sotto/reproduce/dkm"
	"sotto/reproduce/dpdl2023"
	"sotto/reproduce/muffliato2022"
)

// All are all of them.
var All = reproduce.Papers{dpdl2023.Paper, bellet2018.Paper, adad2p.Paper, dkm.Paper, muffliato2022.Paper}
