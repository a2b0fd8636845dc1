package bench

import (
	"sotto/rng"
	"sotto/tensor"
)

// Machine is what a run has to work with here.
type Machine struct {
	Kernels string // in use, see [tensor.Kernels]
	AMX     bool   // tiles for precision "bf16"
	Dot     bool   // or the dot product of AVX512_BF16
	Random  bool   // the operating system's generator gives keys that differ
}

// Look looks at the machine without measuring anything.
func Look() Machine {
	a, b := rng.NewKey(), rng.NewKey()
	return Machine{Kernels: tensor.Kernels(), AMX: tensor.HasAMX(), Dot: tensor.HasDotBF16(),
		Random: a != b && a != rng.Key{}}
}
