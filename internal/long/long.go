//go:build long

// Package long says which tests run. Some sentences are tested by a small case in every
// run, and once more at full size, which takes seconds to show what the small case has
// shown:
//
//	go test -tags long ./...
package long

// Tests reports that cases of full size run too.
const Tests = true
