package descriptors

import (
	"os"
	"testing"
)

func TestInUseCountsAnOpenFile(t *testing.T) {
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("this system lists no descriptors: ", err)
	}
	before := InUse()
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := InUse(); got != before+1 {
		t.Errorf("%d in use after %d and one more file", got, before)
	}
	if n, known := Limit(); known && n < InUse() {
		t.Errorf("a limit of %d with %d in use", n, InUse())
	}
}
