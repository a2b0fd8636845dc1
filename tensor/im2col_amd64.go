package tensor

// copyRuns8 is CopyRuns for length >= 8; the strides are in bytes. The last 8 elements of
// a run overlap those before.
//
//go:noescape
func copyRuns8(dst *float32, to int, src *float32, from, n, length int)

// copyPatches8 is copyPatches for length >= 8; the strides are in bytes.
//
//go:noescape
func copyPatches8(dst *float32, to int, src *float32, from, pitch, n, kernel, length int)

// addRuns8 adds runs; mask is where the mask table has length%8 set words left.
//
//go:noescape
func addRuns8(dst *float32, to int, src *float32, from, n, length int, mask int)

// cutRuns returns how many of n runs one call handles.
func cutRuns(n, length int) int { return min(n, max(1, longest/length)) }

func fastCopyRuns(dst []float32, to int, src []float32, from, n, length int) bool {
	if active == portable || length < 8 || length > longest {
		return false
	}
	for i := 0; i < n; {
		some := min(n-i, cutRuns(n, length))
		copyRuns8(&dst[i*to], 4*to, &src[i*from], 4*from, some, length)
		i += some
	}
	return true
}

func fastAddRuns(dst []float32, to int, src []float32, from, n, length int) bool {
	if active == portable || length < 8 || length > longest {
		return false
	}
	for i := 0; i < n; {
		some := min(n-i, cutRuns(n, length))
		addRuns8(&dst[i*to], 4*to, &src[i*from], 4*from, some, length, 32-4*(length%8))
		i += some
	}
	return true
}

func fastCopyPatches(dst []float32, to int, src []float32, from, pitch, n, kernel, length int) bool {
	if active == portable || length < 8 || kernel*length > longest {
		return false
	}
	for i := 0; i < n; {
		some := min(n-i, cutRuns(n, kernel*length))
		copyPatches8(&dst[i*to], 4*to, &src[i*from], 4*from, 4*pitch, some, kernel, length)
		i += some
	}
	return true
}
