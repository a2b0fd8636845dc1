package experiment

import "sotto/tensor"

// Arithmetic names what the bits of results depend on beside the engine version: kernels
// with fused multiply-add round differently, and so do the ways of bfloat16 products.
func (e *Experiment) Arithmetic() string {
	half := e.File.Model.Precision == "bf16"
	switch {
	case half && tensor.HasAMX():
		return "amx"
	case half && tensor.HasDotBF16():
		return "dot"
	case tensor.Kernels() == "portable":
		return "portable"
	}
	return "fma"
}

// Slow says that e's products are slower than others here would be; else it is empty.
func Slow(e *Experiment) string {
	if e.File.Model.Precision != "bf16" || tensor.HasAMX() || tensor.HasDotBF16() {
		return ""
	}
	return `precision = "bf16" is slower than "float32" here: the machine has no fast products of bfloat16 ` +
		`(AMX, or AVX512_BF16 of AMD)`
}
