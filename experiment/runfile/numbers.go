package runfile

import "regexp"

// A number or list of numbers, and its parts that begin or end with a point.
var (
	numbers = regexp.MustCompile(`^\s*(\[[-+.0-9eE_,\s\[\]]*\]|` +
		`[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*\.)([eE][-+]?[0-9]+)?)\s*$`)
	leading = regexp.MustCompile(`(^|[-+,\s\[])\.([0-9])`)
	ending  = regexp.MustCompile(`([0-9])\.([eE,\s\]]|$)`)
)

// WithZeros writes numbers as TOML does: .5 as 0.5 and 5. as 5.0, alone or in lists.
// Other text stays as it is.
func WithZeros(text string) string {
	if !numbers.MatchString(text) {
		return text
	}
	return ending.ReplaceAllString(leading.ReplaceAllString(text, "${1}0.${2}"), "${1}.0${2}")
}
