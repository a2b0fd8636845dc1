package main

// extreme leaves in K2, or 11, which of the words in 2 are below leastRadiusWord or
// within nearOneWords of 2^64.
func (d *doubles) extreme() {
	const ends = leastRadiusWord + nearOneWords
	if d.wide() {
		d.with("VPADDQ", nearOneWords, 2, 11)
		d.op("VPCMPUQ.BCST $1, %s, Z11, K2", d.c.ref(ends))
		return
	}
	d.with("VPADDQ", nearOneWords|1<<63, 2, 11) // comparisons are signed
	d.op("VMOVUPD %s, Y10", d.c.ref(ends|1<<63))
	d.op("VPCMPGTQ Y11, Y10, Y11")
}

// addNormals adds scaled normal values to a value in grid units and rounds the sum to a
// whole number of them, as addNoise does after boxMuller, but where that is certain only:
// other elements keep their value, and have a bit in undecided.
func (d *doubles) addNormals(name string, wide bool) {
	name += d.isa.name
	signature, args := "(x *float32, words, undecided *byte, inv, step, sigma, limit float64, blocks int)",
		[]string{"x+0(FP), DI", "words+8(FP), SI", "undecided+16(FP), R8", "blocks+56(FP), CX"}
	first, bytes := 24, 64
	if wide {
		signature = "(x *float32, value *float64, words, undecided *byte, inv, step, sigma, limit float64, " +
			"blocks int)"
		args = []string{"x+0(FP), DI", "value+8(FP), DX", "words+16(FP), SI", "undecided+24(FP), R8",
			"blocks+64(FP), CX"}
		first, bytes = 32, 72
	}
	d.function("func "+name+signature, name, bytes)
	for _, arg := range args {
		d.op("MOVQ %s", arg)
	}
	for i, arg := range []string{"inv", "step", "sigma", "limit"} {
		d.op("VBROADCASTSD %s+%d(FP), %s", arg, first+8*i, d.isa.reg(12+i))
	}
	d.label("loop")
	d.normals(true)
	for half := range 2 {
		d.settle(half, wide)
	}
	if !d.wide() {
		d.op("SHLQ $4, BX")
		d.op("ORQ AX, BX")
		d.op("MOVB BX, (R8)")
	}
	d.op("ADDQ $%d, R8", d.lanes/4)
	d.op("ADDQ $%d, SI", 2*d.isa.bytes)
	d.op("ADDQ $%d, DI", d.isa.bytes)
	if wide {
		d.op("ADDQ $%d, DX", 2*d.isa.bytes)
	}
	d.op("DECQ CX")
	d.op("JNZ loop")
	d.end()
}

// settle adds the normal values in register half to the values of that half.
func (d *doubles) settle(half int, wide bool) {
	round := "VROUNDPD $8, %s, %s"
	if d.wide() {
		round = "VRNDSCALEPD $8, %s, %s"
	}
	at := half * d.lanes
	d.op("VCVTPS2PD %d(DI), %s", 4*at, d.isa.reg(2)) // what was there
	if wide {
		d.op("VMULPD %d(DX), %s, %s", 8*at, d.isa.reg(12), d.isa.reg(3))
	} else {
		d.do("VMULPD", 12, 2, 3)
	}
	d.op(round, d.isa.reg(3), d.isa.reg(4)) // its whole part
	d.do("VSUBPD", 4, 3, 3)
	d.do("VFMADD231PD", half, 14, 3)
	d.op(round, d.isa.reg(3), d.isa.reg(5))
	d.do("VSUBPD", 5, 3, 3)
	d.with(d.bitwise("VPAND"), 1<<63-1, 3, 3)
	d.do("VADDPD", 4, 5, 5)
	d.do("VMULPD", 13, 5, 5)
	const notAtMost = 6 // true for what is no number
	if d.wide() {
		d.op("VCMPPD $%d, Z15, Z3, K1", notAtMost)
		d.op("VMOVAPD Z2, K1, Z5")
		d.op("VCVTPD2PS Z5, Y5")
		d.op("VMOVUPS Y5, %d(DI)", 4*at)
		d.op("KMOVB K1, AX")
		d.op("MOVB AX, %d(R8)", half)
		return
	}
	d.op("VCMPPD $%d, Y15, Y3, Y3", notAtMost)
	d.op("VBLENDVPD Y3, Y2, Y5, Y5")
	d.op("VCVTPD2PSY Y5, X5")
	d.op("VMOVUPS X5, %d(DI)", 4*at)
	d.op("VMOVMSKPD Y3, %s", [2]string{"AX", "BX"}[half])
}

// addWide adds floats to doubles, 16 for each block.
func (d *doubles) addWide() {
	name := "addWide" + d.isa.name
	d.function("func "+name+"(dst *float64, x *float32, blocks int)", name, 24)
	for _, arg := range []string{"dst+0(FP), DI", "x+8(FP), SI", "blocks+16(FP), CX"} {
		d.op("MOVQ %s", arg)
	}
	d.label("loop")
	for at := 0; at < 16; at += d.lanes {
		d.op("VCVTPS2PD %d(SI), %s", 4*at, d.isa.reg(0))
		d.op("VADDPD %d(DI), %s, %[2]s", 8*at, d.isa.reg(0))
		d.op("VMOVUPD %s, %d(DI)", d.isa.reg(0), 8*at)
	}
	d.op("ADDQ $64, SI")
	d.op("ADDQ $128, DI")
	d.op("DECQ CX")
	d.op("JNZ loop")
	d.end()
}
