package main

// activationFile writes rectifiers with their derivatives, and the elementwise product that applies a derivative.
func activationFile() []byte {
	t := assembly()
	t.vectors("rectify8", []string{"y", "d", "x"}, "slope", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(2))
		t.op("VCMPPS $0x16, Y14, Y0, Y1") // not at most 0: positive or NaN
		t.op("VMULPS Y15, Y0, Y2")
		t.op("VBLENDVPS Y1, Y0, Y2, Y2")
		t.op("VBLENDVPS Y1, Y13, Y15, Y3")
		t.op("VMOVUPS Y2, %s", at(0))
		t.op("VMOVUPS Y3, %s", at(1))
	})
	t.vectors("relu8", []string{"y", "d", "x"}, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(2))
		t.op("VCMPPS $0x16, Y14, Y0, Y1")
		t.op("VANDPS Y0, Y1, Y2")
		t.op("VANDPS Y13, Y1, Y3")
		t.op("VMOVUPS Y2, %s", at(0))
		t.op("VMOVUPS Y3, %s", at(1))
	})
	t.vectors("mul8", []string{"dst", "a", "b"}, "", func(at func(int) string) {
		t.op("VMOVUPS %s, Y0", at(1))
		t.op("VMULPS %s, Y0, Y0", at(2))
		t.op("VMOVUPS Y0, %s", at(0))
	})
	return t.Bytes()
}
