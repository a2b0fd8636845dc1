package rng

import (
	"golang.org/x/sys/cpu"

	"sotto/tensor"
)

// vectorAES says that the key stream comes from vector instructions: the processor has
// them, and SOTTO_CPU permits AVX-512. Only tests change it.
var vectorAES = cpu.X86.HasAES && cpu.X86.HasAVX512VAES && tensor.Kernels() == "avx512"

// expandKey writes the 15 round keys of AES-256 (FIPS 197, section 5.2).
//
//go:noescape
func expandKey(schedule *[15 * 16]byte, key *Key)

// counterBlocks encrypts 16*units blocks, units >= 1: domain, and numbers from next on,
// each of 64 bits with the highest byte first.
//
//go:noescape
func counterBlocks(dst *byte, units int, schedule *[15 * 16]byte, domain, next uint64)
