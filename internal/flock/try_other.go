//go:build !linux && !darwin

package flock

import (
	"fmt"
	"os"
	"runtime"
)

// Try is an error: there are no such locks here.
func Try(*os.File) (taken bool, err error) {
	return false, fmt.Errorf("no flock on %s", runtime.GOOS)
}
