package main

// activationFile writes rectifiers and their gradients, and the elementwise product that applies any other derivative.
func activationFile() []byte {
	t := assembly()
	t.vectors("rectify8", []string{"y", "x"}, "slope", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VCMPPS $0x16, Y14, Y0, Y1") // not at most 0: positive or NaN
		t.op("VMULPS Y15, Y0, Y2")
		t.op("VBLENDVPS Y1, Y0, Y2, Y2")
		t.op("VMOVUPS Y2, %s", at(0))
	})
	t.vectors("relu8", []string{"y", "x"}, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VCMPPS $0x16, Y14, Y0, Y1")
		t.op("VANDPS Y0, Y1, Y2")
		t.op("VMOVUPS Y2, %s", at(0))
	})
	t.vectors("rectifyGradient8", []string{"dx", "dy", "x"}, "slope", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(2))
		t.op("VCMPPS $0x16, Y14, Y0, Y1")
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VMULPS Y15, Y0, Y2")
		t.op("VBLENDVPS Y1, Y0, Y2, Y2")
		t.op("VMOVUPS Y2, %s", at(0))
	})
	t.vectors("mul8", []string{"dst", "a", "b"}, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VMULPS %s, Y0, Y0", at(2))
		t.op("VMOVUPS Y0, %s", at(0))
	})
	return t.Bytes()
}
