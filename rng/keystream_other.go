//go:build !amd64

package rng

// vectorAES says that there are no vector instructions for AES here.
const vectorAES = false

func expandKey(_ *[15 * 16]byte, _ *Key) { panic("rng: no vector AES") }

func counterBlocks(_ *byte, _ int, _ *[15 * 16]byte, _, _ uint64) { panic("rng: no vector AES") }
