package tensor

import "syscall"

// permitTiles asks the kernel for the state of tiles, for this process and all its
// threads (Documentation/arch/x86/xstate.rst).
func permitTiles() bool {
	const (
		requestPermission = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData          = 18
	)
	_, _, err := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return err == 0
}
