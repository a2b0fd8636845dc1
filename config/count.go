package config

import "strconv"

// Count writes a number and the noun for it: "1 member", "2 members". The plural is the
// noun with an s.
func Count[N ~int | ~uint64 | ~int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}
