//go:build !amd64

package tensor

func supported() level { return portable }

// fastProduct says that there are no kernels for this architecture.
func fastProduct(_ Mat, _, _ strided, _ int, _ bool) bool { return false }

// SpinFMA does rounds > 0 rounds of multiplications and additions with the inner loop of the products and returns the
// number of floating-point operations. Timed, it measures what the best product could reach.
func SpinFMA(rounds int) int { return spinPortable(rounds) }
