//go:build !linux

package scratch

const memory = ""

func roomy(string) bool { return false }
